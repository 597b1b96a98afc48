"""`%nb add library.bib`: a source for each reference, and none twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from labext_test_shell import Printed, Refused, Run

pytestmark = pytest.mark.contract

LIBRARY = """@article{one, title = {Induction}, author = {Guzman, L.}, year = 1995, doi = {10.1/x},
  file = {protocol.pdf}, abstract = {Arabinose induces pBAD.}}
@book{two, title = {Repression}, abstract = {Glucose represses pBAD.}}
"""


@pytest.mark.parametrize("server", ["sandbox", "open_notebook_server"])
def test_references_are_added_once_with_their_files(
    run: Run, printed: Printed, tmp_path: Path, request: pytest.FixtureRequest, server: str
) -> None:
    if server != "sandbox":
        request.getfixturevalue(server)
    path = tmp_path / "library.bib"
    path.write_text(LIBRARY)
    (tmp_path / "protocol.pdf").write_bytes((tmp_path / "data" / "paper.pdf").read_bytes())
    run("%nb use References --create")
    assert "library.bib: added 2 references to References." in printed("%nb add library.bib")
    titles = sorted(str(title) for title in run("%nb sources")["title"])
    assert len(titles) == 3
    assert titles[:2] == ["Induction", "Repression"]
    again = printed("%nb add library.bib --wait")
    assert "added 0 references to References; kept 2 existing." in again
    assert "protocol.pdf is already in References; kept." in again
    assert len(run("%nb sources")) == 3


def test_broken_reference_is_named_and_the_others_are_added(
    run: Run, refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "library.bib").write_text(f"@book{{bad, title={{no end\n{LIBRARY}")
    run("%nb use Broken --create")
    error = refused("%nb add library.bib")
    assert "1 reference of library.bib can't be read: bad (line 1)." in str(error)
    assert sorted(run("%nb sources")["title"])[-1] == "Repression"


def test_title_is_refused_for_a_library(run: Run, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "library.bib").write_text(LIBRARY)
    run("%nb use Titled --create")
    assert "a library has several" in str(refused("%nb add library.bib --title T"))
