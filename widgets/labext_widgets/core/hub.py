"""The one widget per kernel that mounts all live views."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets  # type: ignore[import-untyped]
import traitlets

from labext.redaction import get_logger

_STATIC = Path(__file__).parents[1] / "static"
_BUNDLES = {
    "alignment": "alignment.js",
    "gallery": "gallery.js",
    "player": "player.js",
    "plot": "plot.js",
    "sequence": "sequence.js",
    "structure": "structure.js",
    "structure_gallery": "structure.js",
}
"""The views with their own bundle; all others are in the hub's."""

_log = get_logger("labext.widgets")
_lock = threading.RLock()
_hub: Hub | None = None
_bundles: dict[str, Bundle] = {}
_opened: weakref.WeakSet[_RegisteredWidget] = weakref.WeakSet()


class _RegisteredWidget(ipywidgets.Widget):  # type: ignore[misc]
    """A widget that is registered before its comm opens.

    If an interrupt occurs during its creation, no caller could close it otherwise.
    """

    def __init__(self, **state: Any) -> None:
        _opened.add(self)
        super().__init__(**state)


class View(_RegisteredWidget):
    """The state of one live view."""

    view = traitlets.Unicode().tag(sync=True)
    target = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    changes = traitlets.Dict().tag(sync=True)
    """All parts of the state that were updated, the names of the last ones, and a counter."""

    def update_state(self, change: dict[str, Any]) -> None:
        """Update a part of the state; all updated parts are sent, but not the rest.

        They are a trait: a custom message is lost if the page has not loaded the view yet.
        """
        parts = {**self.changes.get("parts", {}), **change}
        number = self.changes.get("number", 0) + 1  # equal changes are sent, too
        self.changes = {"parts": parts, "last": [*change], "number": number}

    def __repr__(self) -> str:
        """Return a text without the address, so that saved notebooks do not change needlessly."""
        return f"View({self.view!r})"


class Bundle(_RegisteredWidget):
    """The JavaScript of views that are not in the hub's bundle."""

    code = traitlets.Unicode().tag(sync=True)

    def __repr__(self) -> str:
        """Return a text without the address and the code."""
        return "Bundle()"


class Hub(_RegisteredWidget, anywidget.AnyWidget):
    """The ids of the open views, and the front end code that mounts them."""

    _esm = _STATIC / "hub.js"
    views = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, **state: Any) -> None:
        super().__init__(**state)
        self.on_removed: Callable[[list[str]], None] = lambda _cells: None
        self.on_msg(self._receive_removed)

    def _receive_removed(self, _hub: Any, content: Any, _buffers: list[Any]) -> None:
        removed = content.get("removed") if isinstance(content, dict) else None
        if isinstance(removed, list):
            self.on_removed(removed)

    def __repr__(self) -> str:
        """Return a text without the address."""
        return "Hub()"


def mount(
    target: str,
    view: str,
    state: dict[str, Any],
    on_message: Callable[[Any, list[Any]], None] | None = None,
    on_loaded: Callable[[], None] | None = None,
) -> View:
    """Open a view for the placeholder with the class `target`.

    Args:
        target: the name of the placeholder.
        view: the name of the view.
        state: its state.
        on_message: called with content and buffers when the view sends a message.
        on_loaded: called when a page has loaded the view.
    """
    global _hub
    try:
        opened = View(view=view, target=target, bundle=_bundle(view), state=state)
        opened.on_msg(lambda _, content, buffers: _receive(content, buffers, on_message, on_loaded))
        with _lock:
            if _hub is None:
                _hub = Hub(views=[opened.model_id])
            else:
                _hub.views = [*_hub.views, opened.model_id]
    except BaseException:  # interrupted: no placeholder would close it
        for partial_view in [
            widget for widget in _opened if isinstance(widget, View) and widget.target == target
        ]:
            unmount(partial_view)
        raise
    return opened


def unmount(view: View) -> None:
    """Close a view; the front end displays the static view again."""
    with _lock:
        if _hub is not None:
            _hub.views = [identifier for identifier in _hub.views if identifier != view.model_id]
        view.close()


def repeat_update(name: str, data: dict[str, str]) -> None:
    """Send the content of a display to the pages, which replace the saved output if it differs.

    An update of the display would also be applied where nothing has changed. In a notebook that
    several pages share, JupyterLab (4.6) moves or loses outputs of the other pages then.
    """
    with _lock:
        if _hub is not None:
            _hub.send({"updated": {"name": name, "data": data}})


def report_deleted_cells(cells: list[str], on_removed: Callable[[list[str]], None]) -> bool:
    """Ask the pages which of these cells are gone; return False if there is no hub to ask.

    Args:
        cells: the ids of cells that were deleted, and may be back.
        on_removed: called with the ids of those that are not.
    """
    with _lock:
        if _hub is None:
            return False
        _hub.on_removed = on_removed
        _hub.send({"deleted": cells})
    return True


def close() -> None:
    """Close the hub and the widgets left by an interrupt; placeholders close their own views."""
    global _hub
    with _lock:
        for widget in list(_opened):
            if isinstance(widget, Hub):
                widget.layout.close()
            widget.close()
        _hub = None
        _bundles.clear()


def _bundle(view: str) -> str:
    """Return the id of the view's bundle, sending it on first use, or an empty string."""
    name = _BUNDLES.get(view)
    if name is None:
        return ""
    with _lock:
        if name not in _bundles:
            _bundles[name] = Bundle(code=(_STATIC / name).read_text("utf-8"))
        return str(_bundles[name].model_id)


def _receive(
    content: Any,
    buffers: list[Any],
    on_message: Callable[[Any, list[Any]], None] | None,
    on_loaded: Callable[[], None] | None = None,
) -> None:
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == "error":
        _log.error("A live view failed in the browser: %s", content.get("message"))
    elif kind == "loaded":
        if on_loaded is not None:
            on_loaded()
    elif on_message is not None:
        on_message(content, buffers)
