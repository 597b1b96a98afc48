"""Classify result files by their names, for viewers and listings."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

OutputKind = Literal[
    "structure",
    "tree",
    "alignment",
    "rna",
    "digest",
    "primers",
    "domains",
    "picture",
    "table",
    "text",
]

_BY_NAME: dict[str, OutputKind] = {
    "alignment.fasta": "alignment",
    "fragments.csv": "digest",
    "hits.csv": "domains",
    "primers.csv": "primers",
}
_BY_SUFFIX: dict[str, OutputKind] = {
    ".pdb": "structure",
    ".ent": "structure",
    ".cif": "structure",
    ".mmcif": "structure",
    ".sdf": "structure",
    ".nwk": "tree",
    ".newick": "tree",
    ".tree": "tree",
    ".dbn": "rna",
    ".aln": "alignment",
    ".afa": "alignment",
    ".svg": "picture",
    ".png": "picture",
    ".csv": "table",
    ".txt": "text",
    ".log": "text",
    ".md": "text",
    ".json": "text",
    ".yaml": "text",
    ".fasta": "text",
    ".fa": "text",
    ".gff3": "text",
    ".hmm": "text",
}


def output_kind(path: str) -> OutputKind | None:
    """Return the kind of a result file, or None if there is no viewer for it.

    A file in the format of a known tool's table, such as `fragments.csv`, has its own kind.
    """
    name = PurePosixPath(path.lower())
    return _BY_NAME.get(name.name) or _BY_SUFFIX.get(name.suffix)


_LABELS: dict[OutputKind, str] = {"digest": "map and gel", "rna": "RNA drawing"}
"""Names of kinds for users, where they differ from the kind."""


def view_label(path: str) -> str | None:
    """Return a short description of the view of a result file, or None if there is no viewer."""
    kind = output_kind(path)
    return None if kind is None else _LABELS.get(kind, kind)
