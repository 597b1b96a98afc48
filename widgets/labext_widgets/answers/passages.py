"""A cited passage as HTML, with the quote marked in it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from labext_widgets.markup import MUTED, div, tidy

if TYPE_CHECKING:
    from labext.nb.answers import Citation

AROUND = 1500
"""Characters at most of the passage on each side of the quote."""

_MARK = "background-color:#ffe082;color:#212121;border-radius:2px"  # in both themes
_LINES = "white-space:pre-line;overflow-wrap:break-word"


def to_html(citation: Citation) -> str:
    """Return the passage; the quote by itself, where it does not stand in the passage."""
    passage, quote = tidy(citation.passage), tidy(citation.quote)
    place = _found(quote, passage)
    if place is None:
        rows = [_marked(quote)] if quote else []
        rows += [html.escape(_until(passage, 2 * AROUND))] if passage else []
        drawn = "".join(div(each, _LINES) for each in rows)
        return drawn or div("The service has sent no passage.", MUTED)
    start, end = place
    before, after = _since(passage[:start], AROUND), _until(passage[end:], AROUND)
    return div(f"{html.escape(before)}{_marked(passage[start:end])}{html.escape(after)}", _LINES)


def _found(quote: str, passage: str) -> tuple[int, int] | None:
    """Return where the quote stands, also if lines end in other places."""
    if not quote.strip():
        return None
    found = re.search(r"\s+".join(map(re.escape, quote.split())), passage)
    return found and found.span()


def _marked(text: str) -> str:
    return f'<mark style="{_MARK}">{html.escape(text)}</mark>'


def _since(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[-most:].lstrip()}"


def _until(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()}…"
