"""Questions with expected answers: the file, and the comparison of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest

from labext.errors import InputError, ServiceError
from labext.nb import Answer, Citation, views
from labext.nb.evaluation import EvaluationRun, is_refusal, resolve_sources, summary_frame
from labext.nb.questions import ExpectedAnswer, contains_fact, parse_questions, read_questions
from labext.sandbox.nb.ask.citation_check import NOT_FOUND

PAPER, PROTOCOL = "source:paper", "source:protocol"
IDS = {"paper.pdf": frozenset({PAPER}), "protocol": frozenset({PROTOCOL})}


class Client:
    """Answers questions from a list, and finds the passages of `hits`."""

    def __init__(self, answers: Sequence[Answer | Exception], hits: Sequence[Any] = ()) -> None:
        self._answers = iter(answers)
        self._hits = hits

    def ask(self, *_: Any, **__: Any) -> Answer:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def search(self, *_: Any, **__: Any) -> pd.DataFrame:
        return pd.DataFrame(self._hits, columns=["id", "match"])


def evaluate(
    expected: ExpectedAnswer | list[ExpectedAnswer],
    *answers: Answer | Exception,
    hits: Sequence[tuple[str, str]] = (),
) -> Any:
    run = EvaluationRun(
        cast("Any", Client(answers, hits)), None, IDS, "text" if hits else None, None, None
    )
    rows = list(run.rows(expected if isinstance(expected, list) else [expected]))
    return rows if isinstance(expected, list) else rows[0]


def cited(text: str, *citations: tuple[str, str]) -> Answer:
    return Answer(text, tuple(Citation(id, quote=quote) for id, quote in citations))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_file_is_read_as_a_spreadsheet_writes_it(separator: str, tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    lines = [
        ["Question", "Kind", "Facts", "Sources", "Refused"],
        ["Who?", "fact", '"J. Kaiser|Jim Kaiser; 1966"', "paper.pdf", ""],
        ["Why?", "", "", "", "Yes"],
    ]
    text = "\n".join(separator.join(cells) for cells in lines)
    file.write_text(text, encoding="utf-8-sig")
    who, why = read_questions(file)
    assert who.facts == (("J. Kaiser", "Jim Kaiser"), ("1966",))
    assert (who.kind, who.sources, who.refused) == ("fact", ("paper.pdf",), False)
    assert (why.kind, why.refused) == ("unanswerable", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1 has no column `question`"),
        ("question,fact\nA?,b", 'row 1: the column "fact" is not known'),
        ("question,facts\n", "has no questions"),
        ("question,facts\nA?,b\n,c", "row 3, column question is empty"),
        ("question,facts\nA?,", "row 2, column facts is empty"),
        ("question,facts\nA?,b,c", "row 2 has 3 columns, the header 2"),
        ("question,refused\nA?,perhaps", 'row 2, column refused: "perhaps" is neither yes nor no'),
        ("question,facts,refused\nA?,b,yes", "row 2, column facts: a question that is to be"),
        ('question,facts\n"A?,b', "row 2 is not valid CSV"),
        ("question,facts\nA?,['b']", "row 2, column facts is a Python list"),
    ],
)
def test_bad_file_is_refused_with_its_row_and_column(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_questions(text, "q.csv")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_only_line_breaks_end_a_row() -> None:
    text = 'question,facts\r\nA\u2028or\x0cB\x85?,b\r\n"Two\nlines?",c\rC?,d'
    questions = parse_questions(text, "q.csv")
    assert [expected.question for expected in questions] == [
        "A\u2028or\x0cB\x85?",
        "Two\nlines?",
        "C?",
    ]


def test_facts_are_whole_words_in_any_case_and_spacing() -> None:
    assert contains_fact("The  Kaiser\nwindow’s beta", ("kaiser window's",))
    assert contains_fact("holds -20 °C", ("-20 °C",))
    assert contains_fact("the Mu\u0308ller broth", ("M\u00fcller",))
    assert not contains_fact("15200 units", ("520",))
    assert contains_fact(
        "of ∆lacZ at −20 °C in 2–3 μL of H₂O", ("ΔlacZ at -20 °C in 2-3 µL of H2O",)
    )
    assert contains_fact("between 10 and 15", ("ten", "10 and 15"))


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        ("2.5 mM Tris", "5 mM Tris"),
        ("1,500 bp", "500 bp"),
        ("for 10.5 minutes", "10"),
        ("5,000 cells", "5"),
        ("stored at -20 °C", "20 °C"),
        ("(−20 °C)", "20 °C"),
    ],
)
def test_facts_are_whole_numbers(answer: str, fact: str) -> None:
    assert not contains_fact(answer, (fact,))
    assert contains_fact(answer, (answer.strip("()"),))


def test_numbers_of_lists_ranges_and_ends_of_sentences_are_found() -> None:
    answer = "It takes 10, 20 or 30 minutes at pH 7.4. Heat to 50-60 °C, then 65–70 °C."
    for fact in ("10", "20", "7.4", "60 °C", "70 °C", "50"):
        assert contains_fact(answer, (fact,))


def test_facts_are_found_despite_markup_and_citation_marks() -> None:
    answer = "> Sorbitol did not **improve**\n> **solubility** [source:a1] at 0.5 M. 2**3 is 8."
    assert contains_fact(answer, ("did not improve solubility at 0.5 M",))
    assert contains_fact(answer, ("2**3",))
    assert not contains_fact(answer, ("did improve",))


def test_facts_in_chinese_need_no_blanks_around_them() -> None:
    answer = "三十七度时倍增时间为141分钟，即一百四十一分钟。"
    for fact in ("一百四十一", "141", "141分钟", "倍增时间"):
        assert contains_fact(answer, (fact,))
    for fact in ("41", "14", "九十二"):
        assert not contains_fact(answer, (fact,))


def test_answer_is_right_with_all_facts_and_cited_right_with_their_passages() -> None:
    expected = ExpectedAnswer(
        "?", "comparison", (("p15A",), ("autoclaved",)), ("paper.pdf", "protocol")
    )
    both = cited("p15A; it is autoclaved.", (PAPER, "the p15A origin"), (PROTOCOL, "autoclaved"))
    row = evaluate(expected, both)
    assert (row["right"], row["cited_right"], row["refused_right"]) == (True, True, None)
    swapped = cited("p15A; it is autoclaved.", (PAPER, "autoclaved"), (PROTOCOL, "p15A"))
    assert evaluate(expected, swapped)["cited_right"] is False
    half = cited("It has p15A.", (PAPER, "the p15A origin"))
    row = evaluate(expected, half)
    assert (row["right"], row["cited_right"]) == (False, False)


def test_refusals_are_answers_without_citations_or_with_a_statement() -> None:
    expected = ExpectedAnswer("?", "near miss", refused=True)
    assert evaluate(expected, Answer("No passage matches well enough."))["refused_right"]
    cited_answer = cited("The sources do not mention pUC19 [source:paper].", (PAPER, "pBAD30"))
    assert evaluate(expected, cited_answer)["right"] is True
    answered = cited("It is 4,923 bp long.", (PAPER, "4,923 base pairs"))
    assert evaluate(expected, answered)["right"] is False
    assert not is_refusal(answered)


@pytest.mark.parametrize(
    "text",
    [
        "pBAD30 has 4,923 bp [source:paper]. The sources do not state who built it.",
        "It says: “Cells were not found” [source:paper].",
        "It says: “Cells were not found [source:paper]”.",
        "> Cells were not found [source:paper].\n\nThe sources do not state why.",
        'The strain "does not contain plasmids" and is BW27783 [source:paper].',
        f"pUC19 has 2,686 bp {NOT_FOUND}. The sources do not state who built it.",
    ],
)
def test_answer_with_a_statement_after_its_first_citation_or_in_a_quotation_is_no_refusal(
    text: str,
) -> None:
    assert not is_refusal(cited(text, (PAPER, "pBAD30")))


def test_answer_without_a_right_citation_is_no_refusal() -> None:
    assert not is_refusal(Answer(f"pUC19 has 2,686 bp {NOT_FOUND}."))
    assert is_refusal(Answer(f"The sources don’t mention pUC19 {NOT_FOUND}."))


def test_rank_is_that_of_the_first_passage_with_a_fact_from_its_source() -> None:
    expected = ExpectedAnswer("?", "fact", (("p15A",),), ("paper.pdf",))
    hits = [(PROTOCOL, "p15A"), (PAPER, "other"), (PAPER, "the p15A origin")]
    assert evaluate(expected, cited("p15A"), hits=hits)["rank"] == 3


def test_failures_are_rows_and_end_the_evaluation_after_three() -> None:
    questions = [ExpectedAnswer(f"{n}?", "fact", (("a",),)) for n in range(6)]
    failure = ServiceError("The model failed.")
    rows = evaluate(questions, cited("a"), failure, cited("a"), failure, failure, failure)
    assert [row["error"] is None for row in rows] == [True, False, True, False, False, False]
    assert rows[1]["right"] is False
    assert len(evaluate(questions, cited("a"), failure, failure, failure, cited("a"))) == 4
    with pytest.raises(ServiceError):
        evaluate(questions, failure)


def test_unknown_source_is_refused_with_its_first_row(titles: Any, service: Any) -> None:
    bench = service.notebook("Bench")
    paper = service.source("Tight control", bench, asset={"file_path": "/data/paper.pdf"})
    note = service.note("plan", bench)
    service.source("papr.pdf", "notebook:other")
    rows = "question,sources\nA?,paper.pdf;plan\nB?,papr.pdf\nC?,papr.pdf"
    questions = parse_questions(rows, "q.csv")
    assert resolve_sources(titles, questions[:1], "bench") == {"paper.pdf": {paper}, "plan": {note}}
    with pytest.raises(InputError, match=r'row 3, column sources: .*did you mean "paper.pdf"'):
        resolve_sources(titles, questions, "bench")


def test_summary_has_a_row_for_each_kind_and_for_all() -> None:
    questions = [
        ExpectedAnswer("1?", "fact", (("p15A",),), ("paper.pdf",)),
        ExpectedAnswer("2?", "fact", (("p15A",),), ("paper.pdf",)),
        ExpectedAnswer("3?", "near miss", refused=True),
        ExpectedAnswer("4?", "number", (("4,542",),), ("paper.pdf",)),
    ]
    answers = [cited("p15A", (PAPER, "p15A")), cited("none", (PAPER, "x")), Answer("Nothing.")]
    answers.append(cited("4,542"))
    rows = evaluate(questions, *answers, hits=[(PAPER, "other"), (PAPER, "p15A")])
    fact, near_miss, number, overall = summary_frame(views.evaluation_frame(rows)).to_dict(
        "records"
    )
    assert [row["kind"] for row in (fact, near_miss, overall)] == ["fact", "near miss", "all"]
    assert number["reciprocal_rank"] == 0
    assert near_miss["reciprocal_rank"] is None or pd.isna(near_miss["reciprocal_rank"])
    assert (fact["questions"], fact["right"], fact["cited_right"]) == (2, 0.5, 0.5)
    assert fact["reciprocal_rank"] == 0.5
    assert near_miss["refused_right"] == 1
    assert overall["right"] == pytest.approx(3 / 4)
