"""An answer as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labext_widgets.answers.marks import Numbered, numbered, replaced
from labext_widgets.answers.told import Told
from labext_widgets.markup import plain

if TYPE_CHECKING:
    from labext.nb.answers import Answer, Citation

LONG = 300
"""Characters at most of a quote in a list."""


def text(told: Told) -> str:
    """Return everything that has come: the question, and the answer or what there is of it."""
    rows = [plain(told.question)]
    if told.answer is not None:
        rows += ["", whole(told.answer)]
    else:
        rows += [searching(told), *(partial(*each) for each in told.partials), broken(told)]
    return "\n".join(rows if told.answer else filter(None, rows))


def whole(answer: Answer) -> str:
    """Return an answer with its marks as numbers, and its citations below it."""
    found = numbered(answer.text, answer.citations)
    rows = [with_numbers(found)]
    if found.citations:
        rows += ["", *(f"[{n}] {cited(each)}" for n, each in enumerate(found.citations, 1))]
    return "\n".join(rows)


def with_numbers(found: Numbered) -> str:
    """Return the text with `[1]` where a citation is marked."""
    return replaced(found.text, lambda number: f" [{number}]")


def cited(citation: Citation) -> str:
    """Return `Title, page 3: “quote”`."""
    quote = plain(citation.quote, LONG)
    return f"{place(citation)}: “{quote}”" if quote else place(citation)


def place(citation: Citation) -> str:
    """Return where a citation is from: its title, else its identifier, and its page."""
    where = plain(citation.title) or plain(citation.id)
    return where if citation.page is None else f"{where}, page {plain(citation.page)}"


def searching(told: Told) -> str:
    """Return what is searched for, on one line; nothing where nothing is."""
    return f"Searching: {'; '.join(map(plain, told.searches))}" if told.searches else ""


def partial(text: str, citations: Sequence[Citation]) -> str:
    """Return a partial answer without its marks."""
    return f"· {without_marks(text, citations)}"


def without_marks(text: str, citations: Sequence[Citation]) -> str:
    """Return a text without its marks, but for those of which nothing is cited."""
    return replaced(numbered(text, citations).text, lambda _: "")


def broken(told: Told) -> str:
    """Return that the answer was broken off, and why; nothing where it was not."""
    return f"Broken off: {plain(told.broken)}" if told.broken else ""
