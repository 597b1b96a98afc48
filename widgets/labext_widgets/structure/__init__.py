"""View molecular structures (PDB, mmCIF, SDF) in three dimensions."""

from labext_widgets.structure.viewer import ResidueRange, StructureViewer, structure_viewer

__all__ = ["ResidueRange", "StructureViewer", "structure_viewer"]
