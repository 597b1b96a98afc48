"""Render an answer and its cited passages as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labext.messages import pluralize
from labext_widgets.answers import markdown
from labext_widgets.answers.text import (
    AnswerState,
    citation_place,
    interruption_text,
    number_citations,
    replace_numbers,
    search_text,
    without_marks,
)
from labext_widgets.core.markup import BAD, BUSY, MUTED, colour, div, edge, escape, span, tidy

if TYPE_CHECKING:
    from labext.nb.records import Answer, Citation

CONTEXT_LENGTH = 1500
"""Characters at most of the passage on each side of the quote."""

_MARK = "background-color:#ffe082;color:#212121;border-radius:2px"  # in both themes
_LINES = "white-space:pre-line;overflow-wrap:break-word"


def passage_html(citation: Citation) -> str:
    """Return the passage; the quote by itself, where it does not stand in the passage."""
    passage, quote = tidy(citation.passage), tidy(citation.quote)
    place = _locate_quote(quote, passage)
    if place is None:
        rows = [_mark_html(quote)] if quote else []
        rows += [html.escape(_head(passage, 2 * CONTEXT_LENGTH))] if passage else []
        drawn = "".join(div(each, _LINES) for each in rows)
        return drawn or div("The service has sent no passage.", MUTED)
    start, end = place
    before, after = _tail(passage[:start], CONTEXT_LENGTH), _head(passage[end:], CONTEXT_LENGTH)
    return div(f"{html.escape(before)}{_mark_html(passage[start:end])}{html.escape(after)}", _LINES)


def _locate_quote(quote: str, passage: str) -> tuple[int, int] | None:
    """Return where the quote stands, also if lines end in other places."""
    if not quote.strip():
        return None
    found = re.search(r"\s+".join(map(re.escape, quote.split())), passage)
    return found and found.span()


def _mark_html(text: str) -> str:
    return f'<mark style="{_MARK}">{html.escape(text)}</mark>'


def _tail(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[-most:].lstrip()}"


def _head(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()}…"


LONG = 4000
"""Characters at most of a question, or of the reasoning behind the searches."""

STYLE = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6;overflow-wrap:break-word"
_SIDE = "margin:6px 0;padding:0 0 0 10px;border-left:3px solid rgba(128,128,128,0.4)"


def render_html(told: AnswerState, *, live: bool = False) -> str:
    """Return what has come; `live` with buttons for the marks, as `js/answer.js` expects them."""
    rows = [div(escape(told.question, LONG), "font-weight:600")] if told.question else []
    rows += (
        _pending_html(told, live) if told.answer is None else _answer_html(told, told.answer, live)
    )
    return div("".join(rows), STYLE)


def live_state(told: AnswerState) -> dict[str, Any]:
    """Return the state of the live view."""
    return {
        "html": render_html(told, live=True),
        "spoken": announcement(told),
        "busy": told.answer is None and not told.broken,
        "whole": told.answer is not None,
    }


def announcement(told: AnswerState) -> str:
    """Return what a screen reader is told while the answer comes."""
    if told.answer is not None:
        return f"The answer is there, with {pluralize(len(told.answer.citations), 'citation')}."
    return interruption_text(told) or _current_step(told)


def _pending_html(told: AnswerState, live: bool) -> list[str]:
    """What there is before the answer: searches, and what they say so far."""
    rows: list[str] = []
    cited: list[Citation] = []
    if told.searches:
        rows.append(div(escape(search_text(told), LONG), MUTED))
    for text, citations in told.partials:
        drawn, found = _text_html(text, citations, live, len(cited))
        cited += found
        rows.append(div(drawn, _SIDE))
    rows.append(_citations_html(cited))
    if told.broken:
        rows.append(
            div(escape(interruption_text(told)), f"margin:6px 0;padding:2px 8px;{edge(*BAD)}")
        )
    else:
        dot = span("●", colour("color", *BUSY))
        rows.append(
            f'<span class="labext-now">{dot} {span(escape(_current_step(told)), MUTED)}</span>'
        )
    return rows


def _answer_html(told: AnswerState, answer: Answer, live: bool) -> list[str]:
    drawn, cited = _text_html(answer.text, answer.citations, live, 0)
    rows = [
        div(drawn),
        _citations_html(cited) or div("Nothing is cited.", MUTED),
        _search_steps_html(told),
    ]
    if answer.model:
        rows.append(div(f"Answered by {escape(answer.model)}.", MUTED))
    return rows


def _current_step(told: AnswerState) -> str:
    if not told.searches and not told.partials:
        return "Asking…"
    return "Searching…" if len(told.partials) < len(told.searches) else "Putting it together…"


def _text_html(
    text: str, citations: Sequence[Citation], live: bool, before: int
) -> tuple[str, tuple[Citation, ...]]:
    """Return a text with its marks, and the citations in their order, `before` others."""
    found = number_citations(text, citations)

    def mark(number: int) -> str:
        if not live:
            return f'<sup style="line-height:0">[{before + number}]</sup>'
        of = escape(citation_place(found.citations[number - 1]))
        name = f'aria-label="Citation {before + number}: {of}" aria-expanded="false"'
        return f'<button type="button" class="labext-cite" {name}>{before + number}</button>'

    return replace_numbers(markdown.to_html(found.text), mark), found.citations


def _citations_html(citations: Sequence[Citation]) -> str:
    """The citations, each with its passage folded away."""
    rows = [
        _details_html(
            f"[{number}] {escape(citation_place(each))}",
            passage_html(each),
            'class="labext-citation"',
        )
        for number, each in enumerate(citations, 1)
    ]
    return div("".join(rows), "margin:8px 0") if rows else ""


def _search_steps_html(told: AnswerState) -> str:
    """How the answer was found, folded away."""
    rows = [div(escape(told.reasoning, LONG), MUTED)] if told.reasoning else []
    rows += [div(escape(search_text(told), LONG))] if told.searches else []
    for each in told.partials:
        rows.append(div(markdown.to_html(without_marks(*each)), _SIDE))
    return _details_html("How it was found", "".join(rows)) if rows else ""


def _details_html(title: str, inner: str, attributes: str = "") -> str:
    body = div(inner, "margin:2px 0 8px;padding-left:16px")
    summary = f'<summary style="cursor:pointer">{title}</summary>'
    return f"<details{attributes and ' ' + attributes}>{summary}{body}</details>"
