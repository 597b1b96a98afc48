"""The sequence viewer: `viewer` is what a user holds.

- `molecule`: a record of the platform as it is drawn and searched.
- `search`: a pattern on both strands. `enzymes`: restriction sites.
- `picture`: what stays in a saved notebook; of a `circle` or a `line`, out of the pieces of `svg`.

The live view is `js/sequence`.
"""

from labext_widgets.sequence.enzymes import Site
from labext_widgets.sequence.molecule import Annotation, Molecule
from labext_widgets.sequence.search import Hit
from labext_widgets.sequence.viewer import LIVE, Selection, SequenceViewer, sequence_viewer

__all__ = [
    "LIVE",
    "Annotation",
    "Hit",
    "Molecule",
    "Selection",
    "SequenceViewer",
    "Site",
    "sequence_viewer",
]
