"""A sequence record as a molecule that can be drawn and searched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from labext.dna import reverse_complement
from labext.errors import InputError
from labext.lab.files.encoding import to_fields
from labext.messages import quote_value
from labext_widgets.core.arguments import as_integer
from labext_widgets.core.markup import plain

_COLOR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_PALETTE = ("#4e9fd1", "#5cad56", "#e08a3c", "#b07cc6", "#d9667b", "#3fada8", "#a8983a", "#8290d8")
_BASES = re.compile(r"[ACGTUMRWSYKVHDBNXI*.-]*", re.IGNORECASE)
_AMINO_ACIDS = re.compile(r"[A-Za-z*.-]*")


@dataclass(frozen=True)
class Annotation:
    """A named feature: 0-based `start`, exclusive `end`, strand 1, -1 or 0 for both.

    If it spans the origin of a circular molecule, `end` is not greater than `start`.
    """

    name: str
    type: str
    start: int
    end: int
    strand: int
    color: str


@dataclass(frozen=True)
class Translation(Annotation):
    """A coding feature.

    Attributes:
        regions: start and end of each exon, in the order of the upper strand.
        amino_acids: the protein in the record, often without its stop; "" if it has none.
    """

    regions: tuple[tuple[int, int], ...]
    amino_acids: str


@dataclass(frozen=True)
class Molecule:
    """A sequence with its annotations, as displayed by the viewer.

    Attributes:
        annotations: sorted by start.
        translations: features that are also displayed as amino acids.
        omitted: the number of annotations that lie outside the sequence.
    """

    name: str
    bases: str
    circular: bool
    annotations: tuple[Annotation, ...] = ()
    translations: tuple[Translation, ...] = ()
    omitted: int = 0

    def __len__(self) -> int:
        """Return the number of bases."""
        return len(self.bases)

    @cached_property
    def reading(self) -> str:
        """The bases normalized for searching: upper-case DNA letters."""
        return self.bases.upper().replace("U", "T")

    @cached_property
    def is_rna(self) -> bool:
        """Whether the bases include U, and not T."""
        return not {"U", "u"}.isdisjoint(self.bases) and {"T", "t"}.isdisjoint(self.bases)

    def span(self, start: int, end: int) -> int:
        """Return the number of bases in a range; a range with equal ends is the full circle."""
        return end - start if end > start else end - start + len(self)

    def part(self, start: int, end: int, strand: int = 1) -> str:
        """Return the bases of a range as read on its strand, across the origin if necessary."""
        read = (
            self.bases[start:end] if end > start else self.bases[start:] + self.bases[: max(end, 0)]
        )
        if strand >= 0:
            return read
        reverse = reverse_complement(read)
        return reverse.replace("T", "U").replace("t", "u") if self.is_rna else reverse

    def has(self, start: int, end: int) -> bool:
        """Return whether a range lies on the molecule."""
        inside = 0 <= start < len(self) and 0 <= end <= len(self)
        return inside and (end > start or self.circular)


def parse_molecule(record: Mapping[str, Any]) -> Molecule:
    """Parse a record: `name`, `bases`, `isCircular`, `annotations`, `translations`.

    Raises:
        InputError: there are no bases, or they contain invalid letters.
    """
    if not hasattr(record, "keys"):
        raise InputError(
            f"A sequence record is a mapping, not {type(record).__name__}.",
            'Take it from the platform: lab.sequence("pBAD30").',
        )
    if hasattr(record, "columns"):
        raise InputError(
            "A sequence viewer shows one record, not a DataFrame.",
            "Pass a row, such as frame.iloc[0].",
        )
    fields = to_fields(record)
    name = plain(_text(fields.get("name")) or _text(fields.get("id")) or "sequence", 200)
    bases = _bases(fields.get("bases"), name)
    bare = Molecule(name, bases, _is_true(fields.get("isCircular")))
    annotation_rows = _as_list(fields.get("annotations"))
    translation_rows = _as_list(fields.get("translations"))
    read = (_parse_annotation(number, row, bare) for number, row in enumerate(annotation_rows))
    annotations = [annotation for annotation in read if annotation is not None]
    translations = _parse_translations(translation_rows, bare)
    return Molecule(
        name,
        bases,
        bare.circular,
        tuple(sorted(annotations, key=_position)),
        tuple(sorted(translations, key=_position)),
        len(annotation_rows) - len(annotations) + len(translation_rows) - len(translations),
    )


def _position(annotation: Annotation) -> tuple[int, int]:
    return annotation.start, annotation.end


def _bases(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"{name}: the record has no bases.",
            'Fetch the whole record, lab.sequence("…"), or name `bases` among the columns.',
        )
    bases = "".join(value.split())
    if not _BASES.fullmatch(bases):
        odd = next(letter for letter in bases if not _BASES.fullmatch(letter))
        raise InputError(
            f"{name}: {quote_value(odd)} is not a base.",
            "Give DNA or RNA as plain text, without numbers or a heading.",
        )
    return bases


def _parse_translations(rows: list[Any], molecule: Molecule) -> list[Translation]:
    """Return the translations that lie on the molecule."""
    translations = []
    for number, row in enumerate(rows):
        if (annotation := _parse_annotation(number, row, molecule)) is None:
            continue
        spans = [_parse_span(region, molecule) for region in _as_list(row.get("regions"))]
        regions = tuple(span for span in spans if span is not None)
        regions = regions or ((annotation.start, annotation.end),)
        amino_acids = _text(row.get("aminoAcids"))
        if not _AMINO_ACIDS.fullmatch(amino_acids):
            amino_acids = ""
        codons = sum(molecule.span(start, end) for start, end in regions) // 3
        is_standard = row.get("geneticCode") in (None, "STANDARD")
        if amino_acids and not is_standard and codons == len(amino_acids) + 1:
            amino_acids += "*"  # AGA is a stop in mitochondria of vertebrates
        translations.append(
            Translation(**vars(annotation), regions=regions, amino_acids=amino_acids)
        )
    return translations


def _parse_annotation(number: int, row: Any, molecule: Molecule) -> Annotation | None:
    """Return an annotation; None if it does not lie on the molecule."""
    span = _parse_span(row, molecule)
    if span is None:
        return None
    mark, (start, end) = row, span
    kind, color = _text(mark.get("type")), mark.get("color")
    return Annotation(
        name=plain(_text(mark.get("name")) or kind or "unnamed", 120),
        type=plain(kind, 60),
        start=start,
        end=end,
        strand=_sign(mark.get("strand")),
        color=color
        if isinstance(color, str) and _COLOR.fullmatch(color)
        else _PALETTE[number % len(_PALETTE)],
    )


def _parse_span(mark: Any, molecule: Molecule) -> tuple[int, int] | None:
    """Return the start and end of a mark; None if it does not lie on the molecule."""
    if not isinstance(mark, Mapping):
        return None
    start, end = as_integer(mark.get("start")), as_integer(mark.get("end"))
    if start is None or end is None:
        return None
    if molecule.circular and start == len(molecule):
        start = 0
    end = end or len(molecule)  # services write the end of the sequence as 0
    return (start, end) if molecule.has(start, end) else None


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _sign(value: Any) -> int:
    number = as_integer(value) or 0
    return (number > 0) - (number < 0)


def _is_true(value: Any) -> bool:
    """Return whether a boolean is true, including those of pandas and numpy."""
    return type(value).__name__ in ("bool", "bool_") and bool(value)
