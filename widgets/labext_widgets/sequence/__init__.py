"""The sequence viewer."""

from labext_widgets.sequence.enzymes import Site
from labext_widgets.sequence.molecule import Annotation, Molecule
from labext_widgets.sequence.search import Hit
from labext_widgets.sequence.viewer import Selection, SequenceViewer, sequence_viewer

__all__ = [
    "Annotation",
    "Hit",
    "Molecule",
    "Selection",
    "SequenceViewer",
    "Site",
    "sequence_viewer",
]
