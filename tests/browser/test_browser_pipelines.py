"""A pipeline watched in JupyterLab: its stages told as they come, on a real local service."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from notebook_page import NotebookPage
from own_server import Server, until

from labext.sandbox import Sandbox

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


@pytest.fixture
def sandbox(server: Server) -> Iterator[None]:
    yield
    Sandbox(server.home / "labext-sandbox").stop()


@pytest.mark.usefixtures("sandbox")
def test_a_pipeline_tells_its_stages(
    page_of: Callable[..., NotebookPage], server: Server, refused: list[str]
) -> None:
    nb = page_of().write(PIPELINE, SETUP, FAILING).open()
    nb.run(1)
    until(lambda: nb.kernel_status() == "busy" or "The sandbox" in nb.output(1).inner_text())
    nb.says("The sandbox is running", cell=1)
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    nb.bar_says("Stage 1 of 2: Structure Prediction", 30)
    nb.says("12 jobs so far")
    nb.shot("pipeline-first-stage-page")
    nb.bar_says("Stage 2 of 2: Scoring PDB", 60)
    nb.shot("pipeline-second-stage-page")
    nb.bar_says("Complete, 36 of 36 complete", 60)
    nb.idle()
    outputs = nb.save().cells[0].outputs
    (picture,) = [each for each in outputs if "labext-bar" in each.data.get("text/html", "")]
    assert set(picture.data) == {"text/html", "text/plain"}
    assert picture.data["text/plain"].startswith("p1: Complete, 36 of 36 complete (pipeline")
    nb.run(2)
    nb.says("Stage 2 (Scoring PDB) failed: p2-stage2-normal_modes", cell=2)
    until(lambda: "JobFailedError" in nb.output(2).inner_text(), 15, "the error")
    nb.shot("pipeline-ends-page")
    assert nb.errors == []
    assert refused == []
