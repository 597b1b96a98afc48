"""Views of multiple sequence alignments and phylogenetic trees."""

from labext_widgets.alignment.viewer import AlignmentView, TreeView, alignment_view, tree_view

__all__ = ["AlignmentView", "TreeView", "alignment_view", "tree_view"]
