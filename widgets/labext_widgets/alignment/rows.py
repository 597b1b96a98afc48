"""Parse a FASTA or Clustal alignment; consensus and conservation of its columns."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from labext.errors import InputError, SetupError
from labext.extras import install_line
from labext.messages import quote_value
from labext_widgets.core.markup import plain

Kind = Literal["protein", "DNA", "RNA"]

PROTEIN_CLASSES = {
    "hydrophobic": ("AILMFWV", "#77aadd"),
    "positive": ("KR", "#ee8866"),
    "negative": ("DE", "#ffaabb"),
    "polar": ("NQST", "#44bb99"),
    "aromatic": ("HY", "#99ddff"),
    "cysteine": ("C", "#bbaa33"),
    "glycine": ("G", "#bbcc33"),
    "proline": ("P", "#eedd88"),
}
"""Classes as in Clustal, in Paul Tol's light scheme, which is safe for color blindness."""

NUCLEOTIDE_CLASSES = {
    "A": ("A", "#44bb99"),
    "C": ("C", "#77aadd"),
    "G": ("G", "#eedd88"),
    "T": ("TU", "#ee8866"),
}

OTHER = "#dddddd"
"""Color of ambiguous and unknown residues."""

GAPS = "-."
_NOT_A_RESIDUE = re.compile(r"[^A-Za-z*.-]")


def residue_classes(kind: Kind) -> dict[str, str]:
    """Return the class of each residue of a kind of sequence, by its upper-case letter."""
    return {residue: name for name, (residues, _) in _classes(kind).items() for residue in residues}


def palette(kind: Kind) -> dict[str, str]:
    """Return the color of each residue of a kind of sequence, by its upper-case letter."""
    return {residue: color for residues, color in _classes(kind).values() for residue in residues}


def residue_color(residue: str, kind: Kind) -> str | None:
    """Return the color of a residue; None for a gap."""
    return None if residue in GAPS else palette(kind).get(residue.upper(), OTHER)


def _classes(kind: Kind) -> dict[str, tuple[str, str]]:
    return PROTEIN_CLASSES if kind == "protein" else NUCLEOTIDE_CLASSES


@dataclass(frozen=True)
class Alignment:
    """Aligned sequences of equal length, in the order of display; of `protein`, `DNA` or `RNA`."""

    names: tuple[str, ...]
    rows: tuple[str, ...]
    kind: Kind

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    @cached_property
    def consensus(self) -> str:
        """The most frequent residue of each column; a gap if most rows have one."""
        return "".join(residue for residue, _ in self._most_common)

    @cached_property
    def conservation(self) -> list[float]:
        """The share of rows with the most frequent residue, for each column, 0 to 1."""
        return [
            0.0 if residue == "-" else count / len(self.rows)
            for residue, count in self._most_common
        ]

    @cached_property
    def _most_common(self) -> list[tuple[str, int]]:
        rows = (row.upper() for row in self.rows)
        return [_most_common(column) for column in zip(*rows, strict=True)]

    def ordered(self, names: Iterable[str]) -> Alignment:
        """Return the alignment with its rows in the order of `names`."""
        rows = dict(zip(self.names, self.rows, strict=True))
        ordered = tuple(names)
        return replace(self, names=ordered, rows=tuple(rows[name] for name in ordered))


def parse_alignment(text: str) -> Alignment:
    """Return the alignment in a FASTA or Clustal file.

    A sequence is named by the first word of its header, or by the whole header if the first words
    are not unique.

    Raises:
        InputError: it has neither format, or the sequences are not aligned.
    """
    content = text.lstrip("\ufeff\r\n\t ").replace("\r\n", "\n").replace("\r", "\n")
    if content.startswith("CLUSTAL"):
        records = _read_clustal(content)
    elif content.startswith(">"):
        records = _read_fasta(content)
    else:
        raise InputError(
            "The alignment is not FASTA: a record starts with > and a name.",
            "Pass the text of a FASTA or Clustal file.",
        )
    names = [header.split()[0] if header else "" for header, _ in records]
    if len(set(names)) < len(names):
        names = [header for header, _ in records]
    seen: set[str] = set()
    for number, (name, (_, row)) in enumerate(zip(names, records, strict=True), 1):
        _check_record(number, name, row, seen, len(records[0][1]), names[0])
        seen.add(name)
    rows = tuple(row.replace(".", "-") for _, row in records)
    return Alignment(tuple(names), rows, _kind(rows))


def _read_fasta(content: str) -> list[tuple[str, str]]:
    try:
        from Bio.SeqIO.FastaIO import SimpleFastaParser
    except ImportError:
        raise missing_biopython() from None
    return [
        (plain(header), "".join(sequence.split()))
        for header, sequence in SimpleFastaParser(io.StringIO(content))
    ]


def _read_clustal(content: str) -> list[tuple[str, str]]:
    rows: dict[str, str] = {}
    for line in content.split("\n")[1:]:
        if not line.strip() or line[0].isspace():  # between blocks, or marks of conservation
            continue
        name, *parts = line.split()
        if not parts:
            raise InputError(
                f"The alignment is not valid Clustal: {quote_value(name)} has no sequence.",
                "Pass the text of a FASTA or Clustal file.",
            )
        rows[name] = rows.get(name, "") + parts[0]  # a number may follow
    if not rows:
        raise InputError("The alignment has no sequences.", "Pass another file.")
    return [(plain(name), row) for name, row in rows.items()]


def missing_biopython() -> SetupError:
    """Return the error for a missing Biopython."""
    return SetupError(
        "Alignments and trees need Biopython, in the extra `views`.",
        f"Install it: {install_line('views')}",
    )


def _check_record(
    number: int, name: str, row: str, seen: set[str], columns: int, first: str
) -> None:
    if not name:
        raise InputError(f"Record {number} of the alignment has no name.", "Add one after the >.")
    if name in seen:
        raise InputError(
            f"The name {quote_value(name)} occurs twice in the alignment.", "Rename one of the two."
        )
    if invalid := _NOT_A_RESIDUE.search(row):
        raise InputError(
            f"{quote_value(name)} in the alignment contains {invalid[0]!r}, which is not a "
            "residue.",
            "Use letters, and - for gaps.",
        )
    if not row:
        raise InputError(f"{quote_value(name)} in the alignment has no sequence.", "Remove it.")
    if len(row) != columns:
        raise InputError(
            f"The sequences are not aligned: {quote_value(first)} has {columns:,} columns, "
            f"{quote_value(name)} has {len(row):,}.",
            "Align the sequences first.",
        )


def _kind(rows: Iterable[str]) -> Kind:
    counts = Counter("".join(rows).upper())
    letters = sum(count for letter, count in counts.items() if letter.isalpha())
    bases = sum(counts[base] for base in "ACGTUN")
    if bases < 0.9 * letters:
        return "protein"
    return "RNA" if counts["U"] > counts["T"] else "DNA"


def _most_common(column: Iterable[str]) -> tuple[str, int]:
    """Return the most frequent residue and its count; at a tie the first in the alphabet."""
    counts = Counter(column)
    return min(counts.items(), key=lambda item: (-item[1], item[0] == "-", item[0]))
