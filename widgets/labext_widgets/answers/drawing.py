"""An answer as HTML: live, with marks that are buttons; saved, with its citations to unfold.

The text, titles and passages come from a service and a model: they are shown, never obeyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labext.wording import count
from labext_widgets.answers import markdown, passages, words
from labext_widgets.answers.marks import numbered, replaced
from labext_widgets.answers.told import Told
from labext_widgets.markup import MUTED, colour, div, edge, escape, span
from labext_widgets.tints import BAD, BUSY

if TYPE_CHECKING:
    from labext.nb.answers import Answer, Citation

LONG = 4000
"""Characters at most of a question, or of the reasoning behind the searches."""

STYLE = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6;overflow-wrap:break-word"
_SIDE = "margin:6px 0;padding:0 0 0 10px;border-left:3px solid rgba(128,128,128,0.4)"


def html(told: Told, *, live: bool = False) -> str:
    """Return what has come; `live` with buttons for the marks, as `js/answer.js` expects them."""
    rows = [div(escape(told.question, LONG), "font-weight:600")] if told.question else []
    rows += _coming(told, live) if told.answer is None else _whole(told, told.answer, live)
    return div("".join(rows), STYLE)


def live(told: Told) -> dict[str, Any]:
    """Return the state of the live view."""
    return {
        "html": html(told, live=True),
        "spoken": announcement(told),
        "busy": told.answer is None and not told.broken,
        "whole": told.answer is not None,
    }


def announcement(told: Told) -> str:
    """Return what a screen reader is told while the answer comes."""
    if told.answer is not None:
        return f"The answer is there, with {count(len(told.answer.citations), 'citation')}."
    return words.broken(told) or _now(told)


def _coming(told: Told, live: bool) -> list[str]:
    """What there is before the answer: searches, and what they say so far."""
    rows: list[str] = []
    cited: list[Citation] = []
    if told.searches:
        rows.append(div(escape(words.searching(told), LONG), MUTED))
    for text, citations in told.partials:
        drawn, found = _text(text, citations, live, len(cited))
        cited += found
        rows.append(div(drawn, _SIDE))
    rows.append(_list(cited))
    if told.broken:
        rows.append(div(escape(words.broken(told)), f"margin:6px 0;padding:2px 8px;{edge(*BAD)}"))
    else:
        dot = span("●", colour("color", *BUSY))
        rows.append(f'<span class="labext-now">{dot} {span(escape(_now(told)), MUTED)}</span>')
    return rows


def _whole(told: Told, answer: Answer, live: bool) -> list[str]:
    drawn, cited = _text(answer.text, answer.citations, live, 0)
    rows = [div(drawn), _list(cited) or div("Nothing is cited.", MUTED), _way(told)]
    if answer.model:
        rows.append(div(f"Answered by {escape(answer.model)}.", MUTED))
    return rows


def _now(told: Told) -> str:
    if not told.searches and not told.partials:
        return "Asking…"
    return "Searching…" if len(told.partials) < len(told.searches) else "Putting it together…"


def _text(
    text: str, citations: Sequence[Citation], live: bool, before: int
) -> tuple[str, tuple[Citation, ...]]:
    """Return a text with its marks, and the citations in their order, `before` others."""
    found = numbered(text, citations)

    def mark(number: int) -> str:
        if not live:
            return f'<sup style="line-height:0">[{before + number}]</sup>'
        of = escape(words.place(found.citations[number - 1]))
        name = f'aria-label="Citation {before + number}: {of}" aria-expanded="false"'
        return f'<button type="button" class="labext-cite" {name}>{before + number}</button>'

    return replaced(markdown.to_html(found.text), mark), found.citations


def _list(citations: Sequence[Citation]) -> str:
    """The citations, each with its passage folded away."""
    rows = [
        _fold(
            f"[{number}] {escape(words.place(each))}",
            passages.to_html(each),
            'class="labext-citation"',
        )
        for number, each in enumerate(citations, 1)
    ]
    return div("".join(rows), "margin:8px 0") if rows else ""


def _way(told: Told) -> str:
    """How the answer was found, folded away."""
    rows = [div(escape(told.reasoning, LONG), MUTED)] if told.reasoning else []
    rows += [div(escape(words.searching(told), LONG))] if told.searches else []
    for each in told.partials:
        rows.append(div(markdown.to_html(words.without_marks(*each)), _SIDE))
    return _fold("How it was found", "".join(rows)) if rows else ""


def _fold(title: str, inner: str, attributes: str = "") -> str:
    body = div(inner, "margin:2px 0 8px;padding-left:16px")
    summary = f'<summary style="cursor:pointer">{title}</summary>'
    return f"<details{attributes and ' ' + attributes}>{summary}{body}</details>"
