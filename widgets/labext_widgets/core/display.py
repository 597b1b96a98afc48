"""Display sanitized HTML with its plain text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from labext.sanitize import strip_control
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import message_html, plain, view_html

_target: ContextVar[str | None] = ContextVar("labext_display_target", default=None)


@contextmanager
def displayed_in(name: str) -> Iterator[None]:
    """Let displays replace the display called `name` instead of being added to the cell."""
    token = _target.set(name)
    try:
        yield
    finally:
        _target.reset(token)


def display_html(html: str, text: str, name: str | None = None) -> None:
    """Display HTML and text in the running cell; with a name it can be updated later."""
    import IPython.display

    if (target := _target.get()) is not None:
        update_html(html, text, target)
        return

    display: Any = IPython.display.display
    display(mime_bundle(html, text), raw=True, display_id=name)


def update_html(html: str, text: str, name: str) -> None:
    """Update the display called `name`, from any thread."""
    import IPython.display

    update_display: Any = IPython.display.update_display
    update_display(mime_bundle(html, text), raw=True, display_id=name)


def mime_bundle(html: str, text: str) -> dict[str, str]:
    """Return both without terminal control characters and direction overrides."""
    return {"text/html": strip_control(html), "text/plain": strip_control(text)}


MAX_MESSAGE = 2000
"""Maximum length in characters; longer messages are cut."""


def display_message(text: str) -> None:
    """Display one line: printed in a terminal, else as HTML and plain text."""
    if front_end() is FrontEnd.TERMINAL:
        print(plain(text, MAX_MESSAGE))
        return
    display_html(*render_message(text))


def render_message(text: str) -> tuple[str, str]:
    """Return the line as HTML and as plain text."""
    return view_html(message_html(text, MAX_MESSAGE), "font-size:13px"), plain(text, MAX_MESSAGE)
