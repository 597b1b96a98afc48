"""Base class of objects that are displayed as a static view with a live view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder


class LiveOutput(ABC):
    """An object that is displayed in any number of cells, each with its own live view.

    A terminal prints `str()` of it; a front end that cannot answer gets the static view only.
    """

    def __init__(self) -> None:
        self._outputs: list[Placeholder] = []

    def close(self) -> None:
        """Close the live views; the static views stay."""
        for output in list(self._outputs):
            output.close()

    def _ipython_display_(self, **_: Any) -> None:
        front = front_end()
        if front is FrontEnd.TERMINAL:
            print(self)
        elif front is FrontEnd.EXECUTED:
            display_html(*self._render())
        else:
            self._open()

    def _open(self) -> None:
        from labext_widgets.core.placeholder import Placeholder

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
