"""The cells a user writes, as they stand in a notebook, and the same again."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Printed, Run

pytestmark = pytest.mark.contract

CELLS = """
%nb use "Arabinose induction" --create --description "pBAD30 notes"
# %%
%nb add data/paper.pdf data/protocol.docx data/page.html --wait
# %%
%%nb source --title "Bench notes"
Cells were induced with 0.2 % arabinose at an optical density of 0.5.
# %%
sources = %nb sources
# %%
%%nb note --title "Plan"
Check leaky expression without arabinose.
# %%
hits = %nb search "catabolite repression" --type vector --limit 10
# %%
%nb ask "Why is glucose added to the uninduced culture?"
# %%
%%nb chat
What should I vary first?
# %%
%nb notebooks
# %%
%nb delete "Arabinose induction" --preview
""".strip().split("\n# %%\n")
LAST = '%nb delete "Arabinose induction" --yes --delete-sources'


def counts(shell: InteractiveShell) -> Any:
    frame = shell.run_cell("%nb notebooks").result
    return frame.set_index("name").loc["Arabinose induction"]


@pytest.fixture
def done(run: Run) -> None:
    for cell in CELLS:
        run(cell)


def test_tutorial_cells_can_be_repeated(
    run: Run, printed: Printed, done: None, shell: InteractiveShell
) -> None:
    sources, hits = shell.user_ns["sources"], shell.user_ns["hits"]
    assert list(sources["status"]) == ["completed"] * 4
    assert set(sources["file_name"].dropna()) == {"paper.pdf", "protocol.docx", "page.html"}
    assert "Bench notes" in set(sources["title"])
    assert 1 <= len(hits) <= 10
    assert hits["match"].str.contains("catabolite repression").any()
    assert counts(shell)[["source_count", "note_count"]].tolist() == [4, 1]

    assert "This session uses Arabinose induction" in printed(CELLS[0])
    output = printed(CELLS[1])
    assert "paper.pdf, protocol.docx, page.html are already in Arabinose induction" in output
    assert "it was kept" in printed(CELLS[2])
    assert "it was kept" in printed(CELLS[4])
    for cell in CELLS[3:]:
        run(cell)
    assert list(shell.user_ns["sources"]["id"]) == list(sources["id"])
    assert counts(shell)[["source_count", "note_count"]].tolist() == [4, 1]

    answer = run(CELLS[6])
    assert "cyclic AMP" in answer.text
    assert answer.citations
    assert all(citation.quote in citation.passage for citation in answer.citations)
    assert "arabinose" in run(CELLS[7]).text

    preview = printed(CELLS[-1])
    assert "Nothing was changed" in preview
    deleted = printed(LAST)
    assert "with 1 note and 1 chat and 4 sources" in deleted
    assert run("%nb notebooks").query("name == 'Arabinose induction'").empty
    assert "this session uses it" in printed(CELLS[0])
    run(LAST)
