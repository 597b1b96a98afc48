"""A pipeline watched in JupyterLab: its stages told as they come, on a real local service."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from labext_test_gate import Gate
from notebook_page import NotebookPage
from own_server import until

pytestmark = pytest.mark.browser

SETUP = "%load_ext labext\n%lab sandbox start --rate off"
PIPELINE = """%%jobs pipeline p1 --wait
initialInputs: [{inputs}]
stages:
  - {{task: Structure Prediction, toolSettings: {{peptide_build: {{sequence: pipe}}}}}}
  - task: Scoring PDB
    toolSettings: {{normal_modes: {{pdbFile: pipe}}, structure_summary: {{pdbFile: pipe}}}}
""".format(inputs=", ".join(["ACDEFGHIKLMNPQRSTVWY" * 4] * 12))
FAILING = """%%jobs pipeline p2 --wait
inputs: [AC]
stages:
  - {task: Structure Prediction, toolSettings: {peptide_build: {sequence: pipe}}}
  - {task: Scoring PDB, toolSettings: {normal_modes: {pdbFile: pipe}}}
"""


def test_pipeline_shows_its_stages(
    page_of: Callable[..., NotebookPage], gate: Gate, refused: list[str]
) -> None:
    nb = page_of().write(PIPELINE, SETUP, FAILING).open()
    nb.run(1)
    nb.wait_for_text("The sandbox was already running", cell=1)
    gate.hold("peptide_build")
    gate.hold("normal_modes")
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    nb.wait_for_bar_text("Stage 1 of 2: Structure Prediction")
    nb.wait_for_text("12 jobs so far")
    nb.shot("pipeline-first-stage-page")
    gate.open("peptide_build")
    nb.wait_for_bar_text("Stage 2 of 2: Scoring PDB")
    nb.wait_for_text("36 jobs so far")
    nb.shot("pipeline-second-stage-page")
    gate.open("normal_modes")
    nb.wait_for_bar_text("Complete, 36 of 36 complete")
    nb.idle()
    outputs = nb.save().cells[0].outputs
    (picture,) = [output for output in outputs if "labext-bar" in output.data.get("text/html", "")]
    assert set(picture.data) == {"text/html", "text/plain"}
    assert picture.data["text/plain"].startswith("p1: Complete, 36 of 36 complete (pipeline")
    nb.run(2)
    nb.wait_for_text("Stage 2 (Scoring PDB) failed: p2-stage2-normal_modes", cell=2)
    until(lambda: "JobFailedError" in nb.output(2).inner_text(), "the error")
    nb.shot("pipeline-ends-page")
    assert nb.errors == []
    assert refused == []
