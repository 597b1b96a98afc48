"""The sequence viewer."""

from labext_widgets.sequence.viewer import Selection, SequenceViewer, sequence_viewer

__all__ = ["Selection", "SequenceViewer", "sequence_viewer"]
