"""Evaluate answers: ask questions with known answers, and compare."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from labext import messages
from labext.errors import InputError, LabextError
from labext.nb import records
from labext.nb.questions import ExpectedAnswer, contains_fact
from labext.nb.records import EVALUATION_SUMMARY, Answer, Citation, Record
from labext.nb.references import CITATION_MARK
from labext.nb.resource import TitleResolver, match_title

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.search import SearchResource

SearchType = Literal["text", "vector", "hybrid"]

DEFAULT_RANKS = 10
"""Passages per search, unless another number is given."""

MAX_FAILURES = 3
"""Consecutive failures after which no further question is asked."""

_REFUSAL = re.compile(
    r"no (?:processed |matching )?(?:passage|source|information|mention|answer|evidence)"
    r"|(?:do|does|did)(?: not|n't) (?:contain|mention|say|state|provide|include|answer|specify|"
    r"cover|describe|discuss|name)"
    r"|(?:is|are|was|were)(?: not|n't) (?:mentioned|stated|found|given|specified|covered|"
    r"described|discussed|provided|included|named|available)"
    r"|(?:can ?not|can't|could not|couldn't|unable to) (?:be answered|answer|find|determine)"
    r"|not enough information|insufficient information",
    re.IGNORECASE,
)
_OPENING = 400
"""Characters at the beginning of an answer in which a refusal is looked for."""

_NOT_FOUND = "(not found in the sources)"
"""Ends a sentence of an answer of which no citation was right."""

_FIRST_MARK = re.compile(rf"(?s)(?:{CITATION_MARK.pattern}|{re.escape(_NOT_FOUND)}).*")
_QUOTATION = re.compile(r"(?m)^>.*$|[“„][^“”]*[“”]?|\"[^\"\n]*\"|«[^«»]*»?")


@dataclass(frozen=True)
class Evaluation:
    """Questions that are checked and can be asked one by one.

    Attributes:
        questions: the questions.
        rows: an iterator that asks the next question and yields its row. It ends early after
            `MAX_FAILURES` failures in a row, which are rows with an `error`.
    """

    questions: Sequence[ExpectedAnswer]
    rows: Iterator[Record]


def is_refusal(answer: Answer) -> bool:
    """Return whether an answer says that the sources do not answer the question.

    That is an answer without citations, whether right or wrong, or one that has such a statement
    before the first of them.
    """
    opening = _QUOTATION.sub("", _FIRST_MARK.sub("", answer.text))[:_OPENING]
    is_claim = bool(answer.citations) or _NOT_FOUND in answer.text
    return not is_claim or _REFUSAL.search(opening.replace("’", "'")) is not None


def summary_frame(evaluation: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of right answers by kind of question, with a last row for all."""
    groups = [
        (str(kind), part)
        for kind, part in evaluation.groupby("kind", sort=False, observed=True, dropna=False)
    ]
    if len(groups) != 1:
        groups.append(("all", evaluation))
    searched = bool(evaluation["rank"].notna().any())
    rows = (_summarize(kind, part, searched=searched) for kind, part in groups)
    return records.to_frame(EVALUATION_SUMMARY, rows)


def _summarize(kind: str, part: pd.DataFrame, *, searched: bool) -> Record:
    def share(column: str) -> float | None:
        values = part[column].dropna()
        return float(values.astype(float).mean()) if len(values) else None

    ranks = part["rank"].dropna()
    answerable = part["refused_right"].isna().sum()
    tokens = part["tokens"].dropna()
    return {
        "kind": kind,
        "questions": len(part),
        "right": share("right"),
        "cited_right": share("cited_right"),
        "refused_right": share("refused_right"),
        "reciprocal_rank": (
            float((1 / ranks.astype(float)).sum() / answerable) if searched and answerable else None
        ),
        "seconds": share("seconds"),
        "tokens": int(tokens.sum()) if len(tokens) else None,
    }


@dataclass(frozen=True)
class EvaluationRun:
    """Asks questions and compares the answers.

    `cited` has the identifiers of the records that each expected source names.
    """

    client: SearchResource
    notebook: str | None
    cited: Mapping[str, frozenset[str]]
    search_type: SearchType | None
    limit: int | None
    model: str | None

    def rows(self, questions: Iterable[ExpectedAnswer]) -> Iterator[Record]:
        """Ask the questions one by one, and yield a row for each; see `Evaluation.rows`."""
        failures = 0
        for number, expected in enumerate(questions):
            began = time.monotonic()
            try:
                answer = self.client.ask(
                    expected.question, self.notebook, limit=self.limit, model_override=self.model
                )
                seconds = time.monotonic() - began
                rank = self._rank(expected)
            except LabextError as error:
                if number == 0:
                    raise
                failures += 1
                yield self._row(expected, time.monotonic() - began, error=error)
                if failures == MAX_FAILURES:
                    return
            else:
                failures = 0
                yield self._row(expected, seconds, answer=answer, rank=rank)

    def _row(
        self,
        expected: ExpectedAnswer,
        seconds: float,
        *,
        answer: Answer | None = None,
        rank: int | None = None,
        error: LabextError | None = None,
    ) -> Record:
        right, cited, refused = self._compare(expected, answer)
        citations = () if answer is None else answer.citations
        usage = None if answer is None else answer.usage
        return {
            "question": expected.question,
            "kind": expected.kind,
            "right": right,
            "cited_right": cited,
            "refused_right": refused,
            "rank": rank,
            "seconds": round(seconds, 3),
            "tokens": (usage and usage.input_tokens + usage.output_tokens) or None,
            "answer": None if answer is None else answer.text,
            "citations": [dict(vars(citation)) for citation in citations],
            "note": None if answer is None else answer.note,
            "error": None if error is None else error.message,
        }

    def _compare(
        self, expected: ExpectedAnswer, answer: Answer | None
    ) -> tuple[bool, bool | None, bool | None]:
        """Return whether an answer is right, rightly cited, and rightly refused."""
        if expected.refused:
            refused = answer is not None and is_refusal(answer)
            return refused, None, refused
        if answer is None:
            return False, None if not expected.sources else False, None
        cited = self._is_cited(expected, answer.citations) if expected.sources else None
        if expected.facts:
            has_all = all(contains_fact(answer.text, fact) for fact in expected.facts)
            return has_all, cited, None
        return bool(cited), cited, None

    def _is_cited(self, expected: ExpectedAnswer, citations: Sequence[Citation]) -> bool:
        """Return whether all sources are cited, and their passages contain the facts."""
        texts: dict[str, str] = {}
        for citation in citations:
            passage = f"{citation.quote}\n{citation.passage}"
            texts[citation.id] = f"{texts.get(citation.id, '')}\n{passage}"
        if not all(self.cited[source] & texts.keys() for source in expected.sources):
            return False
        if not any(text.strip() for text in texts.values()):
            return True  # a server that reports no passages
        return all(
            any(
                contains_fact(texts[identifier], fact)
                for source in expected.source_of(number)
                for identifier in self.cited[source] & texts.keys()
            )
            for number, fact in enumerate(expected.facts)
        )

    def _rank(self, expected: ExpectedAnswer) -> int | None:
        """Return the position, from 1, of the first right passage in a search; None without one."""
        if self.search_type is None or expected.refused:
            return None
        hits = self.client.search(
            expected.question, self.search_type, self.notebook, limit=self.limit or DEFAULT_RANKS
        )
        for rank, (identifier, text) in enumerate(zip(hits["id"], hits["match"], strict=True), 1):
            if self._is_right_hit(expected, str(identifier), text):
                return rank
        return None

    def _is_right_hit(self, expected: ExpectedAnswer, identifier: str, text: Any) -> bool:
        if not expected.facts or not isinstance(text, str):
            return any(identifier in self.cited[source] for source in expected.sources)
        return any(
            contains_fact(text, fact)
            and (
                not expected.sources
                or any(identifier in self.cited[name] for name in expected.source_of(number))
            )
            for number, fact in enumerate(expected.facts)
        )


def resolve_sources(
    titles: TitleResolver, questions: Iterable[ExpectedAnswer], notebook: str | None
) -> dict[str, frozenset[str]]:
    """Return the identifiers of the sources and notes that the questions name.

    Raises:
        InputError: a name is unknown; the message says in which row.
    """
    names: dict[str, ExpectedAnswer] = {}
    for expected in questions:
        for name in expected.sources:
            names.setdefault(name, expected)  # an error names the first row
    if not names:
        return {}
    within = None if notebook is None else titles.find("notebook", notebook)
    known = [*titles.records("source", within), *titles.records("note", within)]
    resolved = {}
    for name, expected in names.items():
        matches = [str(record["id"]) for record in known if record["id"] == name]
        matches = matches or [str(record["id"]) for record in match_title(name, known)]
        if not matches:
            similar = [str(record.get("file_name") or record["title"]) for record in known]
            location = expected.location
            subject = f"{location}, column sources: there" if location else "There"
            raise InputError(
                f"{subject} is no source {messages.quote_value(name)}"
                f"{messages.did_you_mean(name, similar)}.",
                "Correct the name, or add the source first.",
            )
        resolved[name] = frozenset(matches)
    return resolved
