"""Widgets for progress, answers, podcasts and sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext_widgets.answers import AnswerView, answer_view, stream_answer
from labext_widgets.core.display import display_message
from labext_widgets.podcasts import follow_podcast, show_player
from labext_widgets.progress.transfer import Transfer
from labext_widgets.progress.watch import watch, watch_ingestion

if TYPE_CHECKING:
    from labext_widgets.sequence import Selection, SequenceViewer, sequence_viewer

__all__ = [
    "AnswerView",
    "Selection",
    "SequenceViewer",
    "Transfer",
    "answer_view",
    "display_message",
    "follow_podcast",
    "sequence_viewer",
    "show_player",
    "stream_answer",
    "unload",
    "watch",
    "watch_ingestion",
]

_LAZY = ("Selection", "SequenceViewer", "sequence_viewer")


def __getattr__(name: str) -> Any:
    """Import the sequence viewer on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from labext_widgets import sequence

    return getattr(sequence, name)


def unload() -> None:
    """Stop the threads and close the widgets; the static views stay."""
    import sys

    if background := sys.modules.get("labext_widgets.progress.background"):
        background.end_all()
    if placeholder := sys.modules.get("labext_widgets.core.placeholder"):
        placeholder.close_all()
    if hub := sys.modules.get("labext_widgets.core.hub"):
        hub.close()
