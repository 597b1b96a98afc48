"""`%nb view`: the page of a PDF, and text where a service does not provide the file."""

from __future__ import annotations

from typing import Any

import pytest
from labext_test_shell import Refused, Run

from labext.errors import InputError, LabextError, NotFoundError, ServiceError
from labext.nb.sources import Sources

pytestmark = pytest.mark.contract

NO_FILE = "The service does not provide the PDF, so its text is shown, without pages."


@pytest.fixture
def added(run: Run) -> None:
    run('%nb use "Views" --create')
    run("%nb add data/paper.pdf data/protocol.docx --wait")


def test_pages_and_passages_of_sources(run: Run, refused: Refused, added: None) -> None:
    view = run("%nb view paper.pdf --page 2")
    assert (view.page, view.pages) == (2, 2)
    assert view.picture().startswith(b"\x89PNG")
    assert run('%nb view paper.pdf --passage "Vary the concentration"').page == 2
    assert "arabinose" in run("%nb view protocol.docx").text
    assert "its pages are 1 to 2" in str(refused("%nb view paper.pdf --page 3"))


def test_view_marks_the_passage_that_was_last_found_or_cited(run: Run, added: None) -> None:
    assert run("%nb view paper.pdf --page 1").passage == ""
    run('%nb search "catabolite repression"')
    found = run("%nb view paper.pdf --page 1")
    assert "This is catabolite repression" in " ".join(found.passage.split())
    assert found.picture() != found.at(1).picture(), "the passage is highlighted"
    assert run("%nb view paper.pdf").page == 1
    assert run("%nb view paper.pdf --page 2").passage not in found.passage
    assert run('%nb view paper.pdf --page 1 --passage "The switch"').passage == "The switch"
    answer = run('%nb ask "Why is glucose added to the uninduced culture?"').answer
    cited = run("%nb view paper.pdf --page 1").passage
    assert cited == (answer.citations[0].quote or answer.citations[0].passage)


@pytest.mark.parametrize("error", [NotFoundError("No file"), ServiceError("No", status=405)])
def test_text_is_shown_without_the_file(
    run: Run, added: None, monkeypatch: pytest.MonkeyPatch, error: LabextError
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(Sources, "download", refuse)
    view = run('%nb view paper.pdf --page 2 --passage "Vary the concentration"')
    assert NO_FILE in str(view)
    assert "*Vary the concentration" in str(view)
    with pytest.raises(InputError, match="displayed as text"):
        view.picture()
