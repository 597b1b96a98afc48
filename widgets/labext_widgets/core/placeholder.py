"""An HTML output into which a live view is mounted."""

from __future__ import annotations

import contextlib
import secrets
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from labext.errors import CommandInterrupted
from labext.redaction import get_logger
from labext_widgets.core.display import display_html, displayed_in, mime_bundle, update_html
from labext_widgets.core.front_end import FrontEnd, cell_id, deleted_cells, front_end, get_shell
from labext_widgets.core.markup import UNTYPESET, escape

if TYPE_CHECKING:
    from labext_widgets.core.hub import View


_log = get_logger("labext.widgets")
_open: dict[str, Placeholder] = {}
_watching_cells: list[Any] = []
_host: ContextVar[Placeholder | None] = ContextVar("labext_host", default=None)
"""The output in which new placeholders are displayed, instead of a separate output."""


class Placeholder:
    """An output that can be updated, and that can have a live view.

    Args:
        html: the static view, with inline styles only, which survive the sanitizer of untrusted
            notebooks.
        text: the same as plain text.
        on_close: called once when the cell runs again, is deleted, or the extension is unloaded.
        displayed: False if the caller displays `markup` itself; then `update` has no effect.

    Attributes:
        markup: the static view as it was first displayed, with the place for the live view.
    """

    def __init__(
        self,
        html: str,
        text: str,
        *,
        on_close: Callable[[], None] | None = None,
        displayed: bool = True,
    ) -> None:
        self.name = f"labext-{secrets.token_hex(6)}"
        host = _host.get()
        self.cell: str | None = cell_id() if host is None else host.cell
        self._display: str = self.name if host is None else host._display
        self._inner: list[Placeholder] = []
        if host is not None:
            host._inner.append(self)
        self._on_close = on_close
        self._view: View | None = None
        self._lock = threading.Lock()
        self._updated: tuple[str, str] | None = None
        self._closed = False
        _open[self.name] = self
        _watch_cells()
        self.markup = self._wrapped(html)
        if displayed:
            display_html(self.markup, text, self.name)

    def update(self, html: str, text: str) -> None:
        """Change the static view, which is also saved in the notebook."""
        with self._lock:
            if not self._closed:
                self._updated = (self._wrapped(html), text)
                update_html(*self._updated, self._display)

    def show(self, view: Any) -> None:
        """Replace the content of this output by an object, also from a callback.

        Args:
            view: an object that displays itself, or one that IPython formats; None closes the
                object that was displayed before.
        """
        while self._inner:
            self._inner.pop().close()
        if view is None or self._closed:
            return
        token = _host.set(self)
        try:
            with displayed_in(self._display):
                if hasattr(view, "_ipython_display_"):
                    view._ipython_display_()
                else:
                    html, text = _formatted(view)
                    display_html(self._wrapped(html), text)
        finally:
            _host.reset(token)

    def add_below(self) -> Placeholder:
        """Display an empty output below this one, which is closed with it."""
        below = Placeholder("", "")
        self._inner.append(below)
        return below

    def live(
        self,
        view: str,
        state: Mapping[str, Any],
        on_message: Callable[[Any, list[Any]], None] | None = None,
    ) -> bool:
        """Mount the live view registered as `view`; return whether that is possible.

        It replaces the previous live view, if any.

        Args:
            view: a name registered in `js/views.js`, or a bundle in the hub's list.
            state: the view's state: JSON, with bytes at any depth.
            on_message: called with content and buffers when the view sends a message.
        """
        try:
            from labext_widgets.core import hub

            opened = hub.mount(self.name, view, dict(state), on_message, self._repeat_update)
        except (ImportError, OSError, RuntimeError, AttributeError) as error:
            _log.warning("The live view could not be opened; showing the static view: %s", error)
            return self._view is not None
        with self._lock:  # the cell may have run again in the meantime
            replaced, self._view = (opened, None) if self._closed else (self._view, opened)
        if replaced is not None:
            hub.unmount(replaced)
        return self._view is not None

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Replace the live view's state, if there is a live view."""
        with self._lock:
            if self._view is not None and not self._closed:
                self._view.state = dict(state)

    def update_state(self, change: Mapping[str, Any]) -> None:
        """Update a part of the live view's state, without sending all of it again."""
        with self._lock:
            if self._view is not None and not self._closed:
                self._view.update_state(dict(change))

    def send(self, content: Any, buffers: list[bytes] | None = None) -> None:
        """Send a message to the live view."""
        with self._lock:
            if self._view is not None and not self._closed:
                self._view.send(content, buffers)

    def close(self) -> None:
        """Close the live view; the static view remains."""
        with self._lock:
            if self._closed:
                return
        _open.pop(self.name, None)
        self.show(None)
        if self._on_close is not None:
            self._on_close()
        with self._lock:
            self._closed = True
            view, self._view = self._view, None
        if view is not None:
            from labext_widgets.core import hub

            hub.unmount(view)

    def _repeat_update(self) -> None:
        """Send the last update again, to a page that was opened or reloaded after it."""
        with self._lock:
            if self._updated is not None and not self._closed:
                from labext_widgets.core import hub

                hub.repeat_update(self._display, mime_bundle(*self._updated))

    def _wrapped(self, html: str) -> str:
        # Pages find the output of an update by the name of the display, see `js/saved_output.js`.
        host = "" if self._display == self.name else f" in-{self._display}"
        return f'<div class="{self.name} {UNTYPESET}{host}"><div>{html}</div></div>'


def _formatted(value: Any) -> tuple[str, str]:
    """Return an object as HTML and text, as IPython formats it."""
    formats, _ = get_shell().display_formatter.format(value)
    text = str(formats.get("text/plain", ""))
    return str(formats.get("text/html") or f"<pre>{escape(text, len(text))}</pre>"), text


def close_all() -> None:
    """Close every placeholder and stop watching cells."""
    for placeholder in list(_open.values()):
        placeholder.close()
    while _watching_cells:
        events = _watching_cells.pop()
        with contextlib.suppress(ValueError):
            events.unregister("pre_run_cell", _before_cell)


def _watch_cells() -> None:
    """Close the outputs of a cell from now on when it runs again or is deleted."""
    events = getattr(get_shell(), "events", None)
    if events is not None and events not in _watching_cells:
        events.register("pre_run_cell", _before_cell)
        _watching_cells.append(events)


def _before_cell(info: Any) -> None:
    # Code run from within a cell has no cell ID, and closes nothing.
    _close_cells([getattr(info, "cell_id", None)])
    deleted = deleted_cells()
    hub = sys.modules.get("labext_widgets.core.hub")
    if deleted and not (hub and hub.report_deleted_cells(deleted, _close_cells)):
        _close_cells(deleted)


def _close_cells(cells: Sequence[str | None]) -> None:
    for placeholder in list(_open.values()):
        if placeholder.cell is not None and placeholder.cell in cells:
            placeholder.close()


class LiveOutput(ABC):
    """An object that is displayed in any number of cells, each with its own live view.

    A terminal prints `str()` of it; a front end that cannot answer gets the static view only.
    """

    def __init__(self) -> None:
        self._outputs: list[Placeholder] = []

    def close(self) -> None:
        """Close the live views; the static views remain."""
        for output in list(self._outputs):
            output.close()

    def _ipython_display_(self, **_: Any) -> None:
        front = front_end()
        try:
            if front is FrontEnd.TERMINAL:
                print(self)
            elif front is FrontEnd.EXECUTED:
                display_html(*self._render())
            else:
                self._open()
        except KeyboardInterrupt:
            raise CommandInterrupted(
                "The display of the view was interrupted.", "Run the cell again to display it."
            ) from None

    def _open(self) -> None:
        output = Placeholder(*self._render(), on_close=lambda: self._outputs.remove(output))
        self._outputs.append(output)
        self._mount(output)

    @abstractmethod
    def _render(self) -> tuple[str, str]:
        """Return the static view as HTML and as plain text."""

    @abstractmethod
    def _mount(self, output: Placeholder) -> None:
        """Mount the live view into an output, unless the data are too large for it."""

    def _update_static(self) -> None:
        """Render the static views again."""
        for output in list(self._outputs):
            output.update(*self._render())

    def _send_change(self, change: Mapping[str, Any]) -> None:
        """Send a part of the state to all live views."""
        for output in list(self._outputs):
            output.update_state(change)
