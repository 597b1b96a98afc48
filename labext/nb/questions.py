"""Read a set of questions with expected answers from a CSV file, and compare texts with them."""

from __future__ import annotations

import csv
import io
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labext import messages
from labext.cjk import UNSPACED
from labext.errors import InputError
from labext.nb.references import CITATION_MARK
from labext.storage import user_path

COLUMNS = ("question", "kind", "facts", "sources", "refused")
"""The columns of the file; only `question` is required in the header."""

_YES = frozenset({"yes", "true", "1", "y", "x"})
_NO = frozenset({"", "no", "false", "0", "n"})
_MAX_SIZE = 20_000_000

Fact = tuple[str, ...]
"""Alternative wordings of a fact, one of which must occur."""


@dataclass(frozen=True)
class ExpectedAnswer:
    """A question and the required content of its answer.

    Attributes:
        question: the text of the question.
        kind: the group of questions it is counted with.
        facts: texts that must occur in the answer; each may have alternatives.
        sources: titles or identifiers of the sources that must be cited.
        refused: True if the sources do not answer the question.
        location: the file and row, for error messages.
    """

    question: str
    kind: str
    facts: tuple[Fact, ...] = ()
    sources: tuple[str, ...] = ()
    refused: bool = False
    location: str = ""

    def source_of(self, number: int) -> tuple[str, ...]:
        """Return the sources in which a fact is expected: the paired source, else all."""
        if len(self.sources) == len(self.facts):
            return (self.sources[number],)
        return self.sources


def read_questions(path: str | os.PathLike[str]) -> list[ExpectedAnswer]:
    """Read a CSV file of questions with the columns `COLUMNS`.

    `facts` and `sources` are separated by semicolons, and alternatives of a fact by `|`. Each row
    needs facts, sources, or `yes` in the column `refused`.

    Raises:
        InputError: the file can't be read, or a cell is invalid; the message names row and column.
    """
    file = user_path(path)
    try:
        if file.stat().st_size > _MAX_SIZE:
            raise InputError(
                f"{messages.quote_value(file.name)} is larger than {_MAX_SIZE // 1_000_000} MB.",
                "Give a CSV file of questions.",
            )
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{messages.quote_value(str(path))} can't be read: {error.strerror or error}.",
            "Check the path of the file.",
        ) from None
    except UnicodeDecodeError:
        raise InputError(
            f"{messages.quote_value(file.name)} is not UTF-8 text.",
            "Save it as CSV with the encoding UTF-8.",
        ) from None
    return parse_questions(text, file.name)


def parse_questions(text: str, name: str) -> list[ExpectedAnswer]:
    """Parse the content of a file of questions; see `read_questions`."""
    # Spreadsheets write other separators than commas.
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    location = messages.quote_value(name)
    try:
        header = [cell.strip().lower() for cell in next(lines, [])]
        _check_header(header, location)
        questions: list[ExpectedAnswer] = []
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            row = f"{location}, row {lines.line_num}"
            if len(cells) > len(header):
                raise InputError(
                    f"{row} has {len(cells)} columns, the header {len(header)}.",
                    "Put cells that contain a comma or a semicolon into double quotes.",
                )
            values = dict(zip(header, (cell.strip() for cell in cells), strict=False))
            questions.append(_parse_row(values, row))
    except csv.Error as error:
        raise InputError(
            f"{location}, row {lines.line_num} is not valid CSV: {error}.",
            "Close every double quote, and double those inside a cell.",
        ) from None
    if not questions:
        raise InputError(
            f"{location} has no questions.", f"Add a row; the columns are {', '.join(COLUMNS)}."
        )
    return questions


_PYTHON_LIST = re.compile(r"\[\s*(['\"]).*\1\s*\]")


def _check_header(header: Sequence[str], location: str) -> None:
    if "question" not in header:
        raise InputError(
            f"{location}, row 1 has no column `question`.", f"The columns are {', '.join(COLUMNS)}."
        )
    unknown = [name for name in header if name and name not in COLUMNS]
    repeated = [name for name in COLUMNS if header.count(name) > 1]
    if unknown or repeated:
        problem = "is not known" if unknown else "occurs twice"
        raise InputError(
            f"{location}, row 1: the column {messages.quote_value((unknown or repeated)[0])} "
            f"{problem}.",
            f"The columns are {', '.join(COLUMNS)}.",
        )


def _parse_row(values: Mapping[str, str], row: str) -> ExpectedAnswer:
    question = values.get("question", "")
    if not question:
        raise InputError(f"{row}, column question is empty.", "Write a question or delete the row.")
    word = values.get("refused", "").lower()
    if word not in _YES | _NO:
        raise InputError(
            f"{row}, column refused: {messages.quote_value(word)} is neither yes nor no.",
            "Write yes if the sources do not answer the question, else leave it empty.",
        )
    for column in ("facts", "sources"):
        if _PYTHON_LIST.fullmatch(values.get(column, "")):
            raise InputError(
                f"{row}, column {column} is a Python list.",
                "Separate its texts by semicolons: `4,923; p15A`.",
            )
    facts = tuple(
        alternatives
        for fact in values.get("facts", "").split(";")
        if (alternatives := tuple(text for part in fact.split("|") if (text := part.strip())))
    )
    sources = tuple(part.strip() for part in values.get("sources", "").split(";") if part.strip())
    refused = word in _YES
    if refused and facts:
        raise InputError(
            f"{row}, column facts: a question that is to be refused has no facts.",
            "Empty one of the columns facts and refused.",
        )
    if not (refused or facts or sources):
        raise InputError(
            f"{row}, column facts is empty, and so are sources and refused.",
            "Write what the answer must contain, the sources it must cite, or yes under refused.",
        )
    kind = values.get("kind", "") or ("unanswerable" if refused else "question")
    return ExpectedAnswer(question, kind, facts, sources, refused, row)


def contains_fact(text: str, fact: Fact) -> bool:
    """Return whether a text contains one of the wordings, as whole words and numbers in any case.

    The marks of Markdown, such as those of bold words, and citation marks may part a wording.
    """
    texts = normalize_text(text), normalize_text(_MARKUP.sub("", CITATION_MARK.sub("", text)))
    return any(_pattern(wording).search(within) for wording in fact for within in texts)


_MARKUP = re.compile(r"(?m)\*\*|__|^[ \t]*>[ \t]?")


_PLAIN_SIGNS = str.maketrans(
    "’‘“”\u00a0\u2010\u2011\u2013\u2212\u2206₀₁₂₃₄₅₆₇₈₉", "''\"\" ----Δ0123456789"
)


def normalize_text(text: str) -> str:
    """Return a text in lower case, composed, with single spaces and plain signs.

    Fonts and keyboards have other quotation marks, hyphens, minus signs, deltas and indices.
    """
    plain = unicodedata.normalize("NFC", text).translate(_PLAIN_SIGNS)
    return " ".join(plain.casefold().split())


def _pattern(wording: str) -> re.Pattern[str]:
    plain = normalize_text(wording)
    start = rf"(?:(?<!\w)|(?<=[{UNSPACED}]))" if _begins_word(plain[:1]) else ""
    end = rf"(?:(?!\w)|(?=[{UNSPACED}]))" if _begins_word(plain[-1:]) else ""
    if plain[:1].isdigit():  # not the end of another number, such as 2.5, 1,500 or -20
        start += r"(?<!\d[.,])(?<![\s(][-−–])(?<!^[-−–])"
    if plain[-1:].isdigit():
        end += r"(?![.,]\d)"
    return re.compile(start + re.escape(plain) + end)


def _begins_word(character: str) -> bool:
    """Return whether a word with this character at an end needs a boundary there."""
    return character.isalnum() and not re.match(f"[{UNSPACED}]", character)
