"""`%nb evaluate`: a row for each question, a summary, and the rows that an interrupt keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from labext_test_shell import Refused, Run

from labext.nb import Answer, NotebookClient

pytestmark = pytest.mark.contract

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


def test_answers_are_compared_and_summarized(
    run: Run, questions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(f"%nb evaluate {questions} --search-type text --limit 5")
    assert result["right"].tolist() == [True, False, True]
    assert result["cited_right"].tolist()[:2] == [True, False]
    assert result["refused_right"].tolist()[2] is True
    assert result["rank"].tolist()[0] == 1
    assert (result["seconds"] > 0).all()
    output = capsys.readouterr().out
    assert "3 of 3 complete" in output
    assert "rightly cited" in output
    assert "67%" in output


def test_interrupt_keeps_the_questions_that_were_asked(
    run: Run, questions: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []

    def ask(_: NotebookClient, question: str, *__: Any, **___: Any) -> Answer:
        prompts.append(question)
        if len(prompts) == 2:
            raise KeyboardInterrupt
        return Answer("It has the p15A origin.")

    monkeypatch.setattr(NotebookClient, "ask", ask)
    assert run(f"%nb evaluate {questions}")["question"].tolist() == prompts[:1]
    assert "Interrupted after 1 of 3 questions" in capsys.readouterr().out


def test_bad_file_is_refused_before_anything_is_asked(
    run: Run, refused: Refused, questions: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NotebookClient, "ask", None)
    (tmp_path / "bad.csv").write_text("question,facts,sources\nWhy?,sugar,papper.pdf\n")
    assert '"bad.csv", row 2, column sources: there is no source "papper.pdf"' in str(
        refused("%nb evaluate bad.csv")
    )
    assert "can't be read" in str(refused("%nb evaluate none.csv"))
