"""Widgets for progress, answers, podcasts, sequences, structures, alignments and plots."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labext_widgets.answers import AnswerView, answer_view, stream_answer, stream_reply
from labext_widgets.core.display import display_message
from labext_widgets.podcasts import follow_podcast, show_player
from labext_widgets.progress.transfer import ListProgress, Transfer
from labext_widgets.progress.watch import watch, watch_ingestion

if TYPE_CHECKING:
    from labext_widgets.alignment import AlignmentView, TreeView, alignment_view, tree_view
    from labext_widgets.plots import Plot, table_plot
    from labext_widgets.sequence import Selection, SequenceViewer, sequence_viewer
    from labext_widgets.structure import ResidueRange, StructureViewer, structure_viewer

__all__ = [
    "AlignmentView",
    "AnswerView",
    "ListProgress",
    "Plot",
    "ResidueRange",
    "Selection",
    "SequenceViewer",
    "StructureViewer",
    "Transfer",
    "TreeView",
    "alignment_view",
    "answer_view",
    "display_message",
    "follow_podcast",
    "sequence_viewer",
    "show_player",
    "stream_answer",
    "stream_reply",
    "structure_viewer",
    "table_plot",
    "tree_view",
    "unload",
    "watch",
    "watch_ingestion",
]

_LAZY = {
    **dict.fromkeys(("AlignmentView", "TreeView", "alignment_view", "tree_view"), "alignment"),
    **dict.fromkeys(("Plot", "table_plot"), "plots"),
    **dict.fromkeys(("Selection", "SequenceViewer", "sequence_viewer"), "sequence"),
    **dict.fromkeys(("ResidueRange", "StructureViewer", "structure_viewer"), "structure"),
}
"""Names of packages that are imported on first use."""


if not TYPE_CHECKING:  # which would accept any name

    def __getattr__(name: str) -> Any:
        """Import a viewer on first use."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"labext_widgets.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def unload() -> None:
    """Stop the threads and close the widgets; the static views remain."""
    import sys

    if background := sys.modules.get("labext_widgets.progress.background"):
        background.end_all()
    if placeholder := sys.modules.get("labext_widgets.core.placeholder"):
        placeholder.close_all()
    if hub := sys.modules.get("labext_widgets.core.hub"):
        hub.close()
