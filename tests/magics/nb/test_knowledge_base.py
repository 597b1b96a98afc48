"""Cells of users: sources, libraries, evaluations and exports, run again unchanged."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run

from labext.errors import ConflictError
from labext.nb import Answer, NotebookClient
from labext_magics.nb import evaluate

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


def test_tutorial_cells_can_be_repeated(run, printed, done, shell):
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
    assert "with 1 note, 1 chat and 4 sources" in deleted
    assert run("%nb notebooks").query("name == 'Arabinose induction'").empty
    assert "this session uses it" in printed(CELLS[0])
    run(LAST)


def test_answers_are_exported_with_their_sources(run, printed, refused, tmp_path):
    run('%nb use "Exported" --create')
    run("%nb add data/paper.pdf --wait")
    run('%nb note "Try 0.02 % first." --title Plan')
    run('%nb ask "Which origin of replication does the plasmid have?"')
    run('%nb chat "Why is glucose added to the uninduced culture?"')
    output = printed("%nb export answers.html --bibliography library.bib")
    assert output.startswith("Wrote 1 note, 1 answer, 1 chat, ")
    assert " and 1 reference to answers.html.\nWrote the cited sources to library.bib." in output
    assert "p15A" in (tmp_path / "answers.html").read_text()
    library = (tmp_path / "library.bib").read_text()
    assert library.startswith("@misc{tight-control")
    assert "howpublished = {paper.pdf}" in library
    run('%nb note "Another note." --title More')
    error = refused("%nb export answers.html", ConflictError)
    assert "`--overwrite`" in str(error)
    run("%nb export answers.html --overwrite")
    assert "Another note." in (tmp_path / "answers.html").read_text()


def test_notebook_of_open_notebook_is_exported(open_notebook_server, run, tmp_path):
    run('%nb use "Exported" --create')
    run('%nb note "Try 0.02 % first." --title Plan')
    run("%nb export plan.md --only notes")
    assert "### Plan\n\nTry 0.02 % first." in (tmp_path / "plan.md").read_text()
    run("%nb export all.ipynb")


LIBRARY = """@article{one, title = {Induction}, author = {Guzman, L.}, year = 1995, doi = {10.1/x},
  file = {protocol.pdf;lost.pdf}, abstract = {Arabinose induces pBAD.}}
@book{two, title = {Repression}, abstract = {Glucose represses pBAD.}}
"""


@pytest.mark.parametrize("server", ["sandbox", "open_notebook_server"])
def test_references_are_added_once_with_their_files(run, printed, tmp_path, request, server):
    if server != "sandbox":
        request.getfixturevalue(server)
    path = tmp_path / "library.bib"
    path.write_text(LIBRARY)
    (tmp_path / "protocol.pdf").write_bytes((tmp_path / "data" / "paper.pdf").read_bytes())
    run("%nb use References --create")
    output = printed("%nb add library.bib")
    assert "library.bib: added 2 references to References." in output
    assert "Skipped attached files not in the library's folder: lost.pdf." in output
    titles = sorted(str(title) for title in run("%nb sources")["title"])
    assert len(titles) == 3
    assert titles[:2] == ["Induction", "Repression"]
    again = printed("%nb add library.bib --wait")
    assert "added 0 references to References; kept 2 existing." in again
    assert "protocol.pdf is already in References; kept." in again
    assert len(run("%nb sources")) == 3


def test_corrected_reference_is_not_added_twice(run, printed, tmp_path):
    path = tmp_path / "library.bib"
    path.write_text("@article{a, title={Induction}, author={Doe, J.}, journal={J}, year=1995}")
    run("%nb use Corrected --create")
    assert "Kept with other fields" not in printed("%nb add library.bib")
    path.write_text(
        "@article{a, title={Induction}, author={Doe, Jane}, journal={K}, year=1995, "
        "doi={10.1000/1}}\n@article{b, title={Induction}, author={Roe, J.}, year=1995}"
    )
    again = printed("%nb add library.bib")
    assert "added 1 reference to Corrected; kept 1 existing." in again
    (source,) = run("%nb sources").query("title == 'Induction'")["id"]
    assert f"Kept with other fields than in library.bib: Induction ({source})." in again
    path.write_text(
        "@article{a, title={Inductoin}, author={Doe, Jane}, doi={10.1000/1}}\n"
        "@article{c, title={Of a file}, doi={10.1000/3}}"
    )
    (tmp_path / "paper.md").write_text("# Of a file\n\nDOI: 10.1000/3\n\nArabinose induces.")
    run("%nb add library.bib paper.md --wait")
    path.write_text(path.read_text().replace("Inductoin", "Induction of pBAD"))
    again = printed("%nb add library.bib")
    assert "added 0 references to Corrected; kept 2 existing." in again
    assert "Kept with other fields than in library.bib: Induction of pBAD (" in again
    assert "Of a file (" not in again


@pytest.mark.parametrize("server", ["sandbox", "open_notebook_server"])
def test_tables_of_the_same_name_are_called_by_their_folders(
    run, printed, tmp_path, request, server
):
    if server != "sandbox":
        request.getfixturevalue(server)
    for folder in ("cut", "pcr"):
        (tmp_path / "out" / folder).mkdir(parents=True)
        (tmp_path / "out" / folder / "a.csv").write_text(f"name,kind\n{folder},{folder}")
    run("%nb use Tables --create")
    assert "Added to Tables: cut/a.csv, pcr/a.csv." in printed("%nb add out/**/a.csv")
    assert "already in Tables; kept" in printed("%nb add out/**/a.csv")
    sources = run("%nb sources")
    assert sorted(sources["title"]) == ["cut/a.csv", "pcr/a.csv"]
    assert set(sources["file_name"]) == {"a.csv"}


def test_broken_reference_is_named_and_the_others_are_added(run, refused, tmp_path):
    (tmp_path / "library.bib").write_text(f"@book{{bad, title={{no end\n{LIBRARY}")
    run("%nb use Broken --create")
    error = refused("%nb add library.bib")
    assert "1 reference of library.bib can't be read: bad (line 1)." in str(error)
    assert sorted(run("%nb sources")["title"])[-1] == "Repression"


def test_title_is_refused_for_a_library(run, refused, tmp_path):
    (tmp_path / "library.bib").write_text(LIBRARY)
    run("%nb use Titled --create")
    assert "a library has several" in str(refused("%nb add library.bib --title T"))


QUESTIONS = """question,kind,facts,sources,refused
Which origin of replication does pBAD30 have?,fact,p15A,paper.pdf,
How long is the plasmid pBAD30?,fact,"4,923|4923; <b>never</b>",paper.pdf,
What is the capital of Mongolia?,unanswerable,,,yes
"""


@pytest.fixture
def questions(run: Run, tmp_path: Path) -> str:
    run('%nb use "Evaluated" --create')
    run("%nb add data/paper.pdf --wait")
    (tmp_path / "my questions.csv").write_text(QUESTIONS)
    return '"my questions.csv"'


def test_answers_are_compared_and_summarized(run, questions, capsys, monkeypatch):
    monkeypatch.setattr(evaluate, "time", Mock(monotonic=itertools.count(0, 10).__next__))
    result = run(f"%nb evaluate {questions} --search-type text --limit 5")
    assert result["right"].tolist() == [True, False, True]
    assert result["cited_right"].tolist()[:2] == [True, False]
    assert result["refused_right"].tolist()[2] is True
    assert result["rank"].tolist()[0] == 1
    assert (result["seconds"] > 0).all()
    output = capsys.readouterr().out
    assert "3 of 3 complete (evaluation, watched 0:50)" in output
    assert "rightly cited" in output
    assert "67%" in output


def test_notes_of_searches_are_printed_once(run, printed, questions, monkeypatch):
    note = "Searched by words alone, as the embedding model failed."
    search = NotebookClient.search

    def noted_search(nb: NotebookClient, *args: Any, **options: Any) -> Any:
        hits = search(nb, *args, **options)
        hits.attrs["note"] = note
        return hits

    monkeypatch.setattr(NotebookClient, "search", noted_search)
    assert note in printed("hits = %nb search p15A")
    monkeypatch.setattr(NotebookClient, "ask", lambda *_, **__: Answer("It has p15A.", note=note))
    assert printed(f"result = %nb evaluate {questions}").count(note) == 1
    run("assert set(result['note']) == {hits.attrs['note']}")


def test_interrupt_returns_the_questions_asked_so_far(run, refused, questions, capsys, monkeypatch):
    prompts: list[str] = []

    def ask(_: NotebookClient, question: str, *__: Any, **___: Any) -> Answer:
        prompts.append(question)
        if len(prompts) == 2:
            raise KeyboardInterrupt
        return Answer("It has the p15A origin.")

    monkeypatch.setattr(NotebookClient, "ask", ask)
    assert run(f"%nb evaluate {questions}")["question"].tolist() == prompts[:1]
    del prompts[1:]  # the first question is interrupted
    assert refused(f"%nb evaluate {questions}").message == "The evaluation was interrupted."
    output = capsys.readouterr().out
    assert "Interrupted after 1 of 3 questions" in output
    assert "continues" not in output


def test_invalid_file_is_rejected_before_any_question_is_sent(
    run, refused, questions, tmp_path, monkeypatch
):
    monkeypatch.setattr(NotebookClient, "ask", None)
    (tmp_path / "bad.csv").write_text("question,facts,sources\nWhy?,sugar,papper.pdf\n")
    assert '"bad.csv", row 2, column sources: there is no source "papper.pdf"' in str(
        refused("%nb evaluate bad.csv")
    )
    assert "can't be read" in str(refused("%nb evaluate none.csv"))
