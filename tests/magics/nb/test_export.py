"""`%nb export`: a document with citations, on both kinds of server."""

from __future__ import annotations

from pathlib import Path

import pytest
from labext_test_shell import Printed, Refused, Run
from open_notebook import Replay

from labext.errors import ConflictError

pytestmark = pytest.mark.contract


def test_answers_are_exported_with_their_sources(
    run: Run, printed: Printed, refused: Refused, tmp_path: Path
) -> None:
    run('%nb use "Exported" --create')
    run("%nb add data/paper.pdf --wait")
    run('%nb note "Try 0.02 % first." --title Plan')
    run('%nb ask "Which origin of replication does the plasmid have?"')
    run('%nb chat "Why is glucose added to the uninduced culture?"')
    output = printed("%nb export answers.html --bibliography library.bib")
    assert output.startswith("Wrote 1 note, 1 answer, 1 chat, ")
    assert output.endswith("to answers.html.\nWrote the cited sources to library.bib.\n")
    assert "p15A" in (tmp_path / "answers.html").read_text()
    library = (tmp_path / "library.bib").read_text()
    assert library.startswith("@misc{tight-control")
    assert "howpublished = {paper.pdf}" in library
    run('%nb note "Another note." --title More')
    error = refused("%nb export answers.html")
    assert isinstance(error, ConflictError)
    assert "`--overwrite`" in str(error)
    run("%nb export answers.html --overwrite")
    assert "Another note." in (tmp_path / "answers.html").read_text()


def test_notebook_of_open_notebook_is_exported(
    open_notebook_server: Replay, run: Run, tmp_path: Path
) -> None:
    run('%nb use "Exported" --create')
    run('%nb note "Try 0.02 % first." --title Plan')
    run("%nb export plan.md --only notes")
    assert "### Plan\n\nTry 0.02 % first." in (tmp_path / "plan.md").read_text()
    run("%nb export all.ipynb")
