"""What moves and is clicked in a notebook: progress, answers as they come, and sequences.

Nothing here imports ipywidgets or anywidget before a live view is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext_widgets.answers import AnswerView, answer, answered
from labext_widgets.ingestion import follow_ingestion
from labext_widgets.messages import message
from labext_widgets.podcasts import follow_podcast, player
from labext_widgets.transfer import Transfer
from labext_widgets.watching import watch

if TYPE_CHECKING:
    from labext_widgets.sequence import Selection, SequenceViewer, sequence_viewer

__all__ = [
    "AnswerView",
    "Selection",
    "SequenceViewer",
    "Transfer",
    "answer",
    "answered",
    "follow_ingestion",
    "follow_podcast",
    "message",
    "player",
    "sequence_viewer",
    "unload",
    "watch",
]

_LATER = ("Selection", "SequenceViewer", "sequence_viewer")


def __getattr__(name: str) -> Any:
    """Import the sequence viewer when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from labext_widgets import sequence

    return getattr(sequence, name)


def unload() -> None:
    """End the threads, close the widgets, and leave the pictures as they are."""
    import sys

    if background := sys.modules.get("labext_widgets.background"):
        background.end_all()
    if placeholder := sys.modules.get("labext_widgets.placeholder"):
        placeholder.close_all()
    if hub := sys.modules.get("labext_widgets.hub"):
        hub.close()
