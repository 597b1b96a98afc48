"""Render an answer and its cited passages as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labext.messages import pluralize
from labext_widgets.answers import markdown
from labext_widgets.answers.marking import join_wrapped_lines
from labext_widgets.answers.text import (
    AnswerState,
    citation_place,
    interruption_text,
    number_citations,
    replace_numbers,
    search_text,
    source_text,
    without_marks,
)
from labext_widgets.core.markup import BAD, BUSY, MUTED, colour, div, edge, escape, span, tidy
from labext_widgets.core.view_line import line_html, view_line

if TYPE_CHECKING:
    from labext.nb.records import Answer, Citation

CONTEXT_LENGTH = 1500
"""Maximum length of the passage on each side of the quote, in characters."""

MARK = "background-color:#ffe082;color:#212121;border-radius:2px"  # readable in both themes
_LINES = "white-space:pre-line;overflow-wrap:break-word"


def passage_html(citation: Citation) -> str:
    """Return the passage with the quote marked, or both apart if the quote is not found in it."""
    passage, quote = (join_wrapped_lines(tidy(text)) for text in (citation.passage, citation.quote))
    place = _locate_quote(quote, passage)
    if place is None:
        rows = [_mark_html(quote)] if quote else []
        rows += [html.escape(_head(passage, 2 * CONTEXT_LENGTH))] if passage else []
        rendered = "".join(div(row, _LINES) for row in rows)
        return rendered or div("The service sent no passage.", MUTED)
    start, end = place
    before, after = _tail(passage[:start], CONTEXT_LENGTH), _head(passage[end:], CONTEXT_LENGTH)
    return div(f"{html.escape(before)}{_mark_html(passage[start:end])}{html.escape(after)}", _LINES)


def _locate_quote(quote: str, passage: str) -> tuple[int, int] | None:
    """Return the position of the quote, ignoring differences in line breaks."""
    if not quote.strip():
        return None
    match = re.search(r"\s+".join(map(re.escape, quote.split())), passage)
    return match and match.span()


def _mark_html(text: str) -> str:
    return f'<mark style="{MARK}">{html.escape(text)}</mark>'


def _tail(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"…{text[-limit:].lstrip()}"


def _head(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()}…"


LONG = 4000
"""Maximum length of a question, or of the reasoning behind the searches, in characters."""

STYLE = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6;overflow-wrap:break-word"
_SIDE = "margin:6px 0;padding:0 0 0 10px;border-left:3px solid rgba(128,128,128,0.4)"


def render_html(state: AnswerState, *, live: bool = False, opens: bool = False) -> str:
    """Return the answer's state as HTML.

    Args:
        state: the state.
        live: the marks are buttons for `js/answer.js`.
        opens: the citations of the answer have buttons that open their sources.
    """
    rows = [div(escape(state.question, LONG), "font-weight:600")] if state.question else []
    rows += (
        _pending_html(state, live)
        if state.answer is None
        else _answer_html(state, state.answer, live, opens)
    )
    return div("".join(rows), STYLE)


def live_state(state: AnswerState, *, opens: bool = False) -> dict[str, Any]:
    """Return the state of the live view; with `opens`, citations can open their sources."""
    return {
        "html": render_html(state, live=True, opens=opens),
        "announcement": announcement(state),
        "busy": state.answer is None and not state.broken,
        "complete": state.answer is not None,
    }


def announcement(state: AnswerState) -> str:
    """Return the text for screen readers while the answer is streamed."""
    if state.answer is not None:
        return f"The answer is complete, with {pluralize(len(state.answer.citations), 'citation')}."
    return interruption_text(state) or _current_step(state)


def _pending_html(state: AnswerState, live: bool) -> list[str]:
    """Return the rows before the answer: searches and partial answers."""
    rows: list[str] = []
    cited: list[Citation] = []
    if state.searches:
        rows.append(div(escape(search_text(state), LONG), MUTED))
    for text, citations in state.partials:
        rendered, ordered = _text_html(text, citations, live, len(cited))
        cited += ordered
        rows.append(div(rendered, _SIDE))
    if state.writing:
        rows.append(div(markdown.to_html(tidy(state.writing))))
    rows.append(_citations_html(cited))
    if state.broken:
        rows.append(
            div(escape(interruption_text(state)), f"margin:6px 0;padding:2px 8px;{edge(*BAD)}")
        )
    else:
        dot = span("●", colour("color", *BUSY))
        rows.append(
            f'<span class="labext-phase">{dot} {span(escape(_current_step(state)), MUTED)}</span>'
        )
    return rows


def _answer_html(state: AnswerState, answer: Answer, live: bool, opens: bool) -> list[str]:
    rendered, cited = _text_html(answer.text, answer.citations, live, 0)
    rows = [
        div(rendered),
        _citations_html(cited, opens=opens) or div("No citations.", MUTED),
        _search_steps_html(state),
    ]
    if line := source_text(answer):
        rows.append(div(escape(line), MUTED))
    return rows


def cited_html(text: str, citations: Sequence[Citation]) -> str:
    """Return a text with its numbered citations below it."""
    rendered, cited = _text_html(text, citations, False, 0)
    return div(rendered) + _citations_html(cited)


def _current_step(state: AnswerState) -> str:
    if state.writing:
        return "Writing…"
    if not state.searches and not state.partials:
        return "Asking…"
    return "Searching…" if len(state.partials) < len(state.searches) else "Writing the answer…"


def _text_html(
    text: str, citations: Sequence[Citation], live: bool, before: int
) -> tuple[str, tuple[Citation, ...]]:
    """Return a text with numbered marks starting after `before`, and its citations in order."""
    numbered = number_citations(text, citations)

    def mark(number: int) -> str:
        if not live:
            return f'<sup style="line-height:0">[{before + number}]</sup>'
        place = escape(citation_place(numbered.citations[number - 1]))
        name = f'aria-label="Citation {before + number}: {place}" aria-expanded="false"'
        return f'<button type="button" class="labext-cite" {name}>{before + number}</button>'

    return replace_numbers(markdown.to_html(numbered.text), mark), numbered.citations


def _citations_html(citations: Sequence[Citation], *, opens: bool = False) -> str:
    """Return the citations, each with its passage folded, and how to open its source."""
    rows = [
        _details_html(
            f"[{number}] {escape(citation_place(citation))}",
            passage_html(citation) + _opening_html(citation, number, citations, opens),
            'class="labext-citation"',
        )
        for number, citation in enumerate(citations, 1)
    ]
    return div("".join(rows), "margin:8px 0") if rows else ""


def _opening_html(
    citation: Citation, number: int, citations: Sequence[Citation], opens: bool
) -> str:
    """Return a button that opens the cited source, or the line that does the same."""
    if opens and citation.id.startswith("source:"):
        button = opening_button(number, citation.page, citation_place(citation))
        return div(button, "margin-top:4px")
    is_unique = len({other.id for other in citations if other.title == citation.title}) == 1
    line = view_line(citation.id, citation.title if is_unique else "", citation.page)
    return div(line_html(line), "margin-top:4px") if line else ""


def opening_button(number: int, page: int | None, place: str) -> str:
    """Return a button of a live view that opens the source of a citation."""
    name = "Open the source" if page is None else f"Open page {page}"
    return (
        f'<button type="button" class="labext-button labext-open" value="{number}" '
        f'aria-expanded="false" title="{escape(place)}">{name}</button>'
    )


def _search_steps_html(state: AnswerState) -> str:
    """Return the searches and partial answers, folded."""
    rows = [div(escape(state.reasoning, LONG), MUTED)] if state.reasoning else []
    rows += [div(escape(search_text(state), LONG))] if state.searches else []
    for partial in state.partials:
        rows.append(div(markdown.to_html(without_marks(*partial)), _SIDE))
    return _details_html("Search steps", "".join(rows)) if rows else ""


def _details_html(title: str, inner: str, attributes: str = "") -> str:
    body = div(inner, "margin:2px 0 8px;padding-left:16px")
    summary = f'<summary style="cursor:pointer">{title}</summary>'
    return f"<details{attributes and ' ' + attributes}>{summary}{body}</details>"
