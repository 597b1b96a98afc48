"""Display the log of a job, once or while it grows."""

from __future__ import annotations

import html
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from labext.errors import WatchInterrupted
from labext.redaction import mask_all
from labext.sanitize import DIRECTION_CONTROLS
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, current_execution, front_end
from labext_widgets.core.markup import (
    BAD,
    MUTED,
    PRINTED_WHOLE,
    WARN,
    color,
    div,
    edge,
    escape,
    plain,
    span,
    view_html,
)

LINES_SHOWN = 200
"""Default number of lines at the end of a log that are displayed."""

MAX_SHOWN_CHARACTERS = 60_000
"""Characters at the end of a log that are displayed in a notebook."""

MAX_LINE = 2_000
"""Characters of a line that are displayed."""

UPDATE_INTERVAL, SAVE_INTERVAL = 0.1, 2.0
"""Minimum interval in seconds between two updates of a followed log, and of its static view."""

_ESCAPE_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colors, cursor movements
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # titles
    "|\x1b[ -/]*[0-~]?"
)
_OVERWRITTEN = re.compile("^.*\r", re.MULTILINE)
_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_DIRECTION = re.compile(f"[{DIRECTION_CONTROLS}]")
_TEXT = (
    "font-family:var(--jp-code-font-family,monospace);font-size:12px;line-height:1.5;"
    "white-space:pre-wrap;overflow-wrap:anywhere;padding:4px 8px;"
)
_SCROLLED_TO_END = "display:flex;flex-direction:column-reverse;max-height:480px;overflow-y:auto;"
"""A reversed column is scrolled to its end at first, without a script."""


def clean_log(raw: str) -> str:
    """Return a log without terminal sequences, control characters and secrets.

    A line that is overwritten by carriage returns, such as a progress bar, is reduced to its last
    state.
    """
    text = _ESCAPE_SEQUENCE.sub("", raw.encode("utf-8", "replace").decode())
    text = re.sub("\r+\n", "\n", text).rstrip("\r")
    text = _OVERWRITTEN.sub("", text)
    return mask_all(_DIRECTION.sub("", _CONTROL.sub(" ", text)))


class JobLog(str):
    """The log of a job as text, displayed when it is the value of a cell.

    The text has no terminal sequences, control characters and secrets.

    Attributes:
        raw: the log as the service returned it.
        name: the job.
        state: the service's word for the job's state.
        reason: the reason why the job failed or was stopped; empty otherwise.
        tail: number of lines that are displayed; None for the default.
        more: the line that displays more.
    """

    raw: str
    name: str
    state: str
    reason: str
    tail: int | None
    more: str
    _displayed_in: object

    def __new__(
        cls,
        raw: str,
        *,
        name: str = "",
        state: str = "",
        reason: str = "",
        tail: int | None = None,
        more: str = "",
        displayed_in: object = None,
    ) -> JobLog:
        """Return the log as cleaned text."""
        self = super().__new__(cls, clean_log(raw))
        self.raw, self.name, self.state, self.reason = raw, name, state, reason
        self.tail, self.more, self._displayed_in = tail, more, displayed_in
        return self

    def _ipython_display_(self, **_: Any) -> None:
        if self._displayed_in is not None and self._displayed_in == current_execution():
            if front_end() is FrontEnd.TERMINAL:
                print(f"<JobLog {self.name}>")  # after IPython's `Out[…]: `
            return
        excerpt = Excerpt(self.tail or LINES_SHOWN)
        excerpt.add(self)
        text = excerpt.text(self.state, self.reason, self.more)
        if front_end() is FrontEnd.TERMINAL:
            print(text)
        else:
            display_html(excerpt.html(self.name, self.state, self.reason, self.more), text)


class Excerpt:
    """The last lines of a log.

    Args:
        tail: the number of lines.
    """

    def __init__(self, tail: int) -> None:
        self._lines: deque[str] = deque(maxlen=tail)
        self._count = 0

    def add(self, text: str) -> None:
        """Add whole lines of cleaned text."""
        lines = text.removesuffix("\n").split("\n") if text else []
        self._lines.extend(
            line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…" for line in lines
        )
        self._count += len(lines)

    def text(self, state: str, reason: str, more: str, note: str = "") -> str:
        """Return the lines, with the number of omitted lines above, and the end below."""
        above = [self._omission(len(self._lines), more)]
        below = [self._empty_text(state), _end_text(state, reason), plain(note)]
        return "\n".join([*filter(None, above), *self._lines, *filter(None, below)])

    def html(self, name: str, state: str, reason: str, more: str, note: str = "") -> str:
        """Return the log as HTML, below a heading with the job and its state."""
        lines = self._fitting_lines()
        heading = span(escape(name), "font-weight:600")
        rows = [div(f"{heading} {span(escape(state), MUTED)}" if state else heading)]
        # Also if it is empty: an added row would replace the following ones in the live view.
        rows.append(div(escape(self._omission(len(lines), more)), MUTED))
        if lines:
            label = html.escape(f"Log of {plain(name)}", quote=True)
            attributes = f'class="labext-scrolled" tabindex="0" role="group" aria-label="{label}"'
            body = html.escape("\n".join(lines))
            style = _SCROLLED_TO_END + edge("border-color1", "#bdbdbd")
            rows.append(PRINTED_WHOLE + div(div(body, _TEXT), style, attributes))
        elif empty := self._empty_text(state):
            rows.append(div(empty, MUTED))
        if end := _end_text(state, reason):
            name_, fallback = WARN if state == "Stopped" else BAD
            rows.append(div(escape(end, MAX_LINE), f"padding:2px 8px;{edge(name_, fallback)}"))
        if note:
            rows.append(div(escape(note), MUTED))
        style = f"font-size:13px;line-height:1.6;{color('color', 'ui-font-color1', 'inherit')}"
        return view_html(div("".join(rows), style))

    def _fitting_lines(self) -> list[str]:
        """Return as many of the last lines as a saved notebook should hold."""
        lines: list[str] = []
        left = MAX_SHOWN_CHARACTERS
        for line in reversed(self._lines):
            left -= len(line) + 1
            if left < 0 and lines:
                break
            lines.append(line)
        return lines[::-1]

    def _omission(self, count: int, more: str) -> str:
        if count >= self._count:
            return ""
        sentence = f"Showing the last {count:,} of {self._count:,} lines"
        return f"{sentence}; `{more}` shows more." if more else f"{sentence}."

    def _empty_text(self, state: str) -> str:
        if self._count:
            return ""
        return "The log is empty." if state == "Complete" else "The job has not printed anything."


class LogSurface(Protocol):
    """An output on which a growing log is displayed."""

    def add(self, text: str) -> None:
        """Display further lines, which are cleaned and whole."""

    def finish(self, state: str, reason: str, note: str = "") -> None:
        """Display the end."""


class TerminalLog:
    """Lines that are printed as they arrive."""

    def __init__(self, _name: str, _tail: int, _more: str) -> None:
        self._printed = False

    def add(self, text: str) -> None:
        """Print further lines."""
        if text:
            print(text.removesuffix("\n"), flush=True)
            self._printed = True

    def finish(self, state: str, reason: str, note: str = "") -> None:
        """Print the reason if the job failed."""
        if end := _end_text(state, reason) or ("" if self._printed else "The log is empty."):
            print(end)
        if note:
            print(note)


class FinalLog:
    """A single display at the end, for notebooks that are executed by a program."""

    def __init__(self, name: str, tail: int, more: str) -> None:
        self._name, self._more = name, more
        self._excerpt = Excerpt(tail)

    def add(self, text: str) -> None:
        """Store further lines."""
        self._excerpt.add(text)

    def finish(self, state: str, reason: str, note: str = "") -> None:
        """Display the last lines."""
        display_html(*self._render(state, reason, note))

    def _render(self, state: str, reason: str, note: str = "") -> tuple[str, str]:
        return (
            self._excerpt.html(self._name, state, reason, self._more, note),
            self._excerpt.text(state, reason, self._more, note),
        )


class LiveLog(FinalLog):
    """A live view, in which readers can scroll, with a static view that is updated less often."""

    def __init__(
        self, name: str, tail: int, more: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        from labext_widgets.core.placeholder import Placeholder

        super().__init__(name, tail, more)
        self._clock = clock
        html, text = self._render("Running", "")
        self._placeholder = Placeholder(html, text)
        is_live = self._placeholder.live("progress", self._state(html))
        self._pause = SAVE_INTERVAL if is_live else UPDATE_INTERVAL
        self._is_drawn = self._is_saved = True
        self._drawn = self._saved = clock()

    def add(self, text: str) -> None:
        """Display further lines, or the lines of an earlier call that was too early."""
        super().add(text)
        if text:
            self._is_drawn = self._is_saved = False
        now = self._clock()
        if not self._is_drawn and now - self._drawn >= UPDATE_INTERVAL:
            self._placeholder.set_state(self._state(self._render("Running", "")[0]))
            self._is_drawn, self._drawn = True, now
        if not self._is_saved and now - self._saved >= self._pause:
            self._placeholder.update(*self._render("Running", ""))
            self._is_saved, self._saved = True, now

    def finish(self, state: str, reason: str, note: str = "") -> None:
        """Display the last lines and the end."""
        html, text = self._render(state, reason, note)
        self._placeholder.set_state(self._state(html, f"{plain(self._name)}: {state or note}"))
        self._placeholder.update(html, text)

    def _state(self, html: str, announcement: str = "") -> dict[str, Any]:
        return {
            "name": plain(self._name),
            "html": html,
            "announcement": announcement,
            "busy": False,
            "pending": "",
            "controls": [],
        }


def follow_log(
    parts: Iterable[str],
    *,
    name: str,
    end: Callable[[], tuple[str, str]],
    again: str,
    tail: int | None = None,
    more: str = "",
) -> JobLog:
    """Display the log of a job while it grows, and return it once the job has ended.

    Args:
        parts: parts of the log in order; empty ones while there is nothing new. The first is
            taken before anything is displayed.
        name: the job.
        end: returns the job's state and the reason why it did not complete.
        again: the line that resumes following.
        tail: maximum number of lines to display in a notebook.
        more: the line that displays more.

    Raises:
        WatchInterrupted: the kernel was interrupted; the job continues.
    """
    received: list[str] = []
    pending = ""
    surface: LogSurface | None = None
    kind = {FrontEnd.TERMINAL: TerminalLog, FrontEnd.INTERACTIVE: LiveLog}.get(
        front_end(), FinalLog
    )
    try:
        for part in parts:
            surface = surface or kind(name, tail or LINES_SHOWN, more)
            received.append(part)
            # A line is cleaned as a whole: a part may end in the middle of a sequence.
            lines, newline, rest = (pending + part).rpartition("\n")
            surface.add(clean_log(lines + newline))
            pending = rest
        state, reason = end()
    except KeyboardInterrupt:
        message = f"Following stopped; {plain(name)} continues."
        if surface is not None:
            surface.add(clean_log(pending))
            surface.finish("", "", message)
        raise WatchInterrupted(message, f"`{again}` resumes following.") from None
    except BaseException as error:
        if surface is not None:
            surface.finish("", "", f"Following ended: {error}")
        raise
    if surface is not None:
        surface.add(clean_log(pending))
        surface.finish(state, reason)
    return JobLog(
        "".join(received),
        name=name,
        state=state,
        reason=reason,
        tail=tail,
        more=more,
        displayed_in=current_execution(),
    )


def _end_text(state: str, reason: str) -> str:
    return plain(f"{state}: {reason}" if state else reason, MAX_LINE) if reason else ""
