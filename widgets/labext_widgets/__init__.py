"""What moves in a notebook: progress, drawn from what a watcher reports.

Nothing here imports ipywidgets or anywidget before a live view is made.
"""

from __future__ import annotations

from labext_widgets.messages import message
from labext_widgets.transfer import Transfer
from labext_widgets.watching import watch

__all__ = ["Transfer", "message", "unload", "watch"]


def unload() -> None:
    """End the threads, close the widgets, and leave the pictures as they are."""
    import sys

    if background := sys.modules.get("labext_widgets.background"):
        background.end_all()
    if placeholder := sys.modules.get("labext_widgets.placeholder"):
        placeholder.close_all()
    if hub := sys.modules.get("labext_widgets.hub"):
        hub.close()
