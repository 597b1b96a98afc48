"""The sequence viewer."""

from labext_widgets.sequence.enzymes import Site
from labext_widgets.sequence.molecule import Annotation, Molecule
from labext_widgets.sequence.search import Hit
from labext_widgets.sequence.viewer import (
    MAX_LIVE_BASES,
    Selection,
    SequenceViewer,
    sequence_viewer,
)

__all__ = [
    "MAX_LIVE_BASES",
    "Annotation",
    "Hit",
    "Molecule",
    "Selection",
    "SequenceViewer",
    "Site",
    "sequence_viewer",
]
