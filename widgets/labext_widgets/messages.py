"""One line that says what was done."""

from __future__ import annotations

from labext_widgets.displays import show
from labext_widgets.front import FrontEnd, front_end
from labext_widgets.markup import UNTYPESET, escape, plain

LIMIT = 2000
"""Characters; what is longer is cut."""


def message(text: str) -> None:
    """Show one line: printed in a terminal, else as plain HTML and text."""
    if front_end() is FrontEnd.TERMINAL:
        print(plain(text, LIMIT))
        return
    show(*drawn(text))


def drawn(text: str) -> tuple[str, str]:
    """Return the line as HTML and as plain text."""
    html = f'<div class="labext {UNTYPESET}" style="font-size:13px">{escape(text, LIMIT)}</div>'
    return html, plain(text, LIMIT)
