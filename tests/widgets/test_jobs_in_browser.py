"""The main job in JupyterLab: 250 real jobs on a real local service, watched to their end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from labext_test_gate import Gate
from notebook_page import NotebookPage
from own_server import until

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[2] / "example_notebooks" / "data" / "hairpins.csv"
SETUP = f"""%load_ext labext
%lab sandbox start
import pandas as pd
frame = pd.read_csv({str(DATA)!r})"""
BATCH = (
    "%jobs batch folds --type rna_fold --from frame --name-column name --map sequence=bases\n"
    "%jobs watch folds"
)
AGAIN = "%jobs watch folds --background"


def test_batch_of_250_jobs_is_one_row(
    page_of: Callable[..., NotebookPage], gate: Gate, refused: list[str]
) -> None:
    pytest.importorskip("RNA", reason="ViennaRNA is an extra")
    nb = page_of().write(BATCH, SETUP, AGAIN).open()
    nb.run(1)
    nb.wait_for_text("The sandbox was already running", cell=1)
    gate.hold("rna_fold", after=100)
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    bar = nb.bar()
    assert bar.count() == 1
    until(lambda: 90 < int(bar.get_attribute("aria-valuenow") or 0) <= 100, "100 of 250")
    nb.shot("real-midway-page")
    gate.open("rna_fold")
    nb.wait_for_bar_text("Complete, 250 of 250 complete")
    nb.idle()
    nb.shot("real-complete-page")
    outputs = nb.save().cells[0].outputs
    (picture,) = [output for output in outputs if "labext-bar" in output.data.get("text/html", "")]
    assert "250 Complete" in picture.data["text/html"]
    assert set(picture.data) == {"text/html", "text/plain"}
    nb.run(2)
    nb.wait_for_text("■ 250 Complete", cell=2)
    assert nb.errors == []
    assert refused == []
