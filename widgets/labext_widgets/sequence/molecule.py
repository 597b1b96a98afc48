"""A sequence record as a molecule that can be drawn and searched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from labext.dna import reverse_complement
from labext.errors import InputError
from labext.messages import quote_value
from labext_widgets.core.arguments import as_integer
from labext_widgets.core.markup import plain

_COLOR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_PALETTE = ("#4e9fd1", "#5cad56", "#e08a3c", "#b07cc6", "#d9667b", "#3fada8", "#a8983a", "#8290d8")
_LETTERS = re.compile(r"[A-Za-z*.-]*")


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
    translations: tuple[Annotation, ...] = ()
    omitted: int = 0

    def __len__(self) -> int:
        """Return the number of bases."""
        return len(self.bases)

    @cached_property
    def reading(self) -> str:
        """The bases normalized for searching: upper-case DNA letters."""
        return self.bases.upper().replace("U", "T")

    def span(self, start: int, end: int) -> int:
        """Return the number of bases in a range; a range with equal ends is the full circle."""
        return end - start if end > start else end - start + len(self)

    def part(self, start: int, end: int, strand: int = 1) -> str:
        """Return the bases of a range as read on its strand, across the origin if necessary."""
        read = (
            self.bases[start:end] if end > start else self.bases[start:] + self.bases[: max(end, 0)]
        )
        return reverse_complement(read) if strand < 0 else read

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
    fields = {key: record[key] for key in record.keys()}  # noqa: SIM118  also for rows of pandas
    name = plain(_text(fields.get("name")) or _text(fields.get("id")) or "sequence", 200)
    bases = _bases(fields.get("bases"), name)
    bare = Molecule(name, bases, _is_true(fields.get("isCircular")))
    annotations, skipped = _parse_annotations(fields.get("annotations"), bare)
    translations, more_skipped = _parse_annotations(fields.get("translations"), bare)
    return Molecule(name, bases, bare.circular, annotations, translations, skipped + more_skipped)


def _bases(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"{name}: the record has no bases.",
            'Fetch the whole record, lab.sequence("…"), or name `bases` among the columns.',
        )
    bases = "".join(value.split())
    if not _LETTERS.fullmatch(bases):
        odd = next(letter for letter in bases if not _LETTERS.fullmatch(letter))
        raise InputError(
            f"{name}: {quote_value(odd)} is not a letter of a sequence.",
            "Give the bases as plain text, without numbers or a heading.",
        )
    return bases


def _parse_annotations(value: Any, molecule: Molecule) -> tuple[tuple[Annotation, ...], int]:
    """Return the annotations that lie on the molecule, and the number of the others."""
    rows = list(value) if isinstance(value, (list, tuple)) else []
    read = [
        annotation for annotation in _parse_annotation(rows, molecule) if annotation is not None
    ]
    return tuple(sorted(read, key=lambda annotation: (annotation.start, annotation.end))), len(
        rows
    ) - len(read)


def _parse_annotation(rows: list[Any], molecule: Molecule) -> Iterator[Annotation | None]:
    for number, row in enumerate(rows):
        mark = row if isinstance(row, Mapping) else {}
        start, end = as_integer(mark.get("start")), as_integer(mark.get("end"))
        if start is None or end is None:
            yield None
            continue
        if molecule.circular and start == len(molecule):
            start = 0
        if not molecule.circular and end == 0:
            end = len(molecule)  # services write the end of a linear sequence this way
        if not molecule.has(start, end):
            yield None
            continue
        kind, color = _text(mark.get("type")), mark.get("color")
        yield Annotation(
            name=plain(_text(mark.get("name")) or kind or "unnamed", 120),
            type=plain(kind, 60),
            start=start,
            end=end,
            strand=_sign(mark.get("strand")),
            color=color
            if isinstance(color, str) and _COLOR.fullmatch(color)
            else _PALETTE[number % len(_PALETTE)],
        )


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _sign(value: Any) -> int:
    number = as_integer(value) or 0
    return (number > 0) - (number < 0)


def _is_true(value: Any) -> bool:
    """Return whether a boolean is true, including those of pandas and numpy."""
    return type(value).__name__ in ("bool", "bool_") and bool(value)
