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
_BUNDLES = {"player": "player.js", "sequence": "sequence.js"}
"""The views that have a bundle of their own; all others are in the hub's."""

_log = get_logger("labext.widgets")
_lock = threading.RLock()
_hub: Hub | None = None
_bundles: dict[str, Bundle] = {}
_opened: weakref.WeakSet[_Remembered] = weakref.WeakSet()


class _Remembered(ipywidgets.Widget):  # type: ignore[misc]
    """A widget that is known here from before its comm opens.

    An interrupt may come in the middle of its making, so that nobody has it to close it.
    """

    def __init__(self, **state: Any) -> None:
        _opened.add(self)
        super().__init__(**state)


class View(_Remembered):
    """What one live view knows."""

    view = traitlets.Unicode().tag(sync=True)
    target = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def tell(self, change: dict[str, Any]) -> None:
        """Change a part of the state, and send no more than that part."""
        self.state.update(change)  # in its place: this is what a page that opens later asks for
        self.send({"change": change})

    def __repr__(self) -> str:
        """Without the address, so that a saved notebook does not change for nothing."""
        return f"View({self.view!r})"


class Bundle(_Remembered):
    """The JavaScript of views that the hub does not carry."""

    code = traitlets.Unicode().tag(sync=True)

    def __repr__(self) -> str:
        """Without the address and the code."""
        return "Bundle()"


class Hub(_Remembered, anywidget.AnyWidget):
    """The ids of the views that are open, and the front end that mounts them."""

    _esm = _STATIC / "hub.js"
    views = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __repr__(self) -> str:
        """Without the address."""
        return "Hub()"


def mount(
    target: str,
    view: str,
    state: dict[str, Any],
    on_message: Callable[[Any, list[Any]], None] | None = None,
) -> View:
    """Open a view for the placeholder with the class `target`."""
    global _hub
    try:
        opened = View(view=view, target=target, bundle=_bundle(view), state=state)
        opened.on_msg(lambda _, content, buffers: _receive(content, buffers, on_message))
        with _lock:
            if _hub is None:
                _hub = Hub(views=[opened.model_id])
            else:
                _hub.views = [*_hub.views, opened.model_id]
    except BaseException:  # interrupted: without a placeholder that has it, it would stay
        for half in [each for each in _opened if isinstance(each, View) and each.target == target]:
            unmount(half)
        raise
    return opened


def unmount(view: View) -> None:
    """Close a view; the front end shows the picture again."""
    with _lock:
        if _hub is not None:
            _hub.views = [each for each in _hub.views if each != view.model_id]
        view.close()


def close() -> None:
    """Close the hub, and what an interrupt has left; views are closed by whoever opened them."""
    global _hub
    with _lock:
        for left in list(_opened):
            if isinstance(left, Hub):
                left.layout.close()
            left.close()
        _hub = None
        _bundles.clear()


def _bundle(view: str) -> str:
    """The id of the bundle that has the view, which is sent where it was not yet; or nothing."""
    name = _BUNDLES.get(view)
    if name is None:
        return ""
    with _lock:
        if name not in _bundles:
            _bundles[name] = Bundle(code=(_STATIC / name).read_text("utf-8"))
        return str(_bundles[name].model_id)


def _receive(
    content: Any, buffers: list[Any], on_message: Callable[[Any, list[Any]], None] | None
) -> None:
    if isinstance(content, dict) and content.get("kind") == "error":
        _log.error("A live view failed in the browser: %s", content.get("message"))
    elif on_message is not None:
        on_message(content, buffers)
