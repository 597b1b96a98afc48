"""Views of multiple sequence alignments and phylogenetic trees."""

from labext_widgets.alignment.viewer import (
    MAX_LIVE_CELLS,
    AlignmentView,
    TreeView,
    alignment_view,
    tree_view,
)

__all__ = ["MAX_LIVE_CELLS", "AlignmentView", "TreeView", "alignment_view", "tree_view"]
