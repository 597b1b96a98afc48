"""Fakes that record the output of widgets, a parser of its HTML, and the contrast of colors."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from labext.progress import Progress


class FakePlaceholder:
    """A placeholder that records its pictures, states and messages.

    Attributes:
        view: name of the live view.
        saved: pictures as HTML and text, in order.
        states: full states of the live view, in order.
        changes: partial state updates, in order.
        sent: custom messages with their buffers, in order.
        receive: callback for messages from the browser.
    """

    can_live = True

    def __init__(
        self,
        html: str,
        text: str,
        on_close: Callable[[], None] | None = None,
        displayed: bool = True,
    ) -> None:
        self.view = ""
        self.markup = html
        self.displayed = displayed
        self.saved = [(html, text)]
        self.states: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []
        self.sent: list[tuple[Any, list[bytes]]] = []
        self.receive: Any = None
        self._on_close = on_close

    @property
    def html(self) -> str:
        return self.saved[-1][0]

    @property
    def text(self) -> str:
        return self.saved[-1][1]

    @property
    def state(self) -> dict[str, Any]:
        return self.states[-1]

    @property
    def buttons(self) -> list[str]:
        return [control["label"] for control in self.state["controls"]]

    def live(self, view: str, state: dict[str, Any], receive: Any = None) -> bool:
        self.view, self.receive = view, receive
        self.states.append(state)
        return self.can_live

    def add_below(self) -> FakePlaceholder:
        from labext_widgets.core import placeholder  # where the fixture replaces the class

        below: Any = placeholder.Placeholder("", "")
        created: FakePlaceholder = below
        return created

    def update(self, html: str, text: str) -> None:
        self.saved.append((html, text))

    def set_state(self, state: dict[str, Any]) -> None:
        self.states.append(state)

    def update_state(self, change: dict[str, Any]) -> None:
        self.changes.append(change)

    def send(self, content: Any, buffers: list[bytes] | None = None) -> None:
        self.sent.append((content, buffers or []))

    def close(self) -> None:
        self.saved.append(("closed", ""))
        if self._on_close:
            self._on_close()

    def message(self, **content: Any) -> None:
        """Send a message as the browser does."""
        self.receive(content, [])


Placeholders = list[FakePlaceholder]


class FakeSurface:
    """A drawing surface that records the progress shown on it."""

    def __init__(self) -> None:
        self.shown: list[Progress] = []
        self.finished: list[tuple[Progress, str]] = []
        self.texts: list[str] = []

    def show(self, progress: Progress) -> None:
        self.shown.append(progress)

    def finish(self, progress: Progress, note: str = "") -> None:
        self.finished.append((progress, note))

    def replace_by_text(self, text: str) -> None:
        self.texts.append(text)


class FakeClock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeTerminal(io.StringIO):
    """Standard output on a terminal."""

    def isatty(self) -> bool:
        return True


class ParsedHtml(HTMLParser):
    """Tags, attributes, nesting depth and text of HTML as a browser reads it."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.depth = 0
        self.raw_text = ""
        self.feed(source)
        self.close()

    @property
    def attribute_names(self) -> set[str]:
        return {name for name, _ in self.attributes}

    @property
    def text(self) -> str:
        return " ".join(self.raw_text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.depth += 1
        self.raw_text += "\n" if tag in ("p", "br") else ""

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1

    def handle_data(self, data: str) -> None:
        self.raw_text += data


def words(source: str) -> str:
    """Return the text of HTML with a space between elements."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", source)).split())


def without_styles(source: str) -> str:
    """Return HTML without its `style` and `dir` attributes."""
    return re.sub(' (?:style|dir)="[^"]*"', "", source)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colors, from 1 to 21 (WCAG)."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)
