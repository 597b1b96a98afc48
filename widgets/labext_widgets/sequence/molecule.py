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
from labext_widgets.core.markup import plain

_COLOR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_PALETTE = ("#4e9fd1", "#5cad56", "#e08a3c", "#b07cc6", "#d9667b", "#3fada8", "#a8983a", "#8290d8")
_LETTERS = re.compile(r"[A-Za-z*.-]*")


@dataclass(frozen=True)
class Annotation:
    """A named part: 0-based `start`, exclusive `end`, strand 1, -1 or 0 for both.

    On a circular molecule it may go over the origin: then `end` is not above `start`.
    """

    name: str
    type: str
    start: int
    end: int
    strand: int
    color: str


@dataclass(frozen=True)
class Molecule:
    """What the viewer needs of a record.

    Attributes:
        annotations: in the order of their starts.
        translations: parts that are shown as amino acids too.
        left_out: how many marks of the record lie outside the sequence.
    """

    name: str
    bases: str
    circular: bool
    annotations: tuple[Annotation, ...] = ()
    translations: tuple[Annotation, ...] = ()
    left_out: int = 0

    def __len__(self) -> int:
        """Bases."""
        return len(self.bases)

    @cached_property
    def reading(self) -> str:
        """The bases as they are searched: capitals of DNA."""
        return self.bases.upper().replace("U", "T")

    def span(self, start: int, end: int) -> int:
        """How many bases a range has; one that ends where it starts goes once around."""
        return end - start if end > start else end - start + len(self)

    def part(self, start: int, end: int, strand: int = 1) -> str:
        """The bases of a range as its strand reads them, over the origin where it goes there."""
        read = (
            self.bases[start:end] if end > start else self.bases[start:] + self.bases[: max(end, 0)]
        )
        return reverse_complement(read) if strand < 0 else read

    def has(self, start: int, end: int) -> bool:
        """Whether a range lies on the molecule."""
        inside = 0 <= start < len(self) and 0 <= end <= len(self)
        return inside and (end > start or self.circular)


def parse_molecule(record: Mapping[str, Any]) -> Molecule:
    """Read a record: `name`, `bases`, `isCircular`, `annotations`, `translations`.

    Raises:
        InputError: there are no bases, or they are not the letters of a sequence.
    """
    if not hasattr(record, "keys"):
        raise InputError(
            f"A sequence's record is a mapping, and this is {type(record).__name__}.",
            'Take it from the platform: lab.sequence("pBAD30").',
        )
    found = {key: record[key] for key in record.keys()}  # noqa: SIM118  a row of pandas too
    name = plain(_text(found.get("name")) or _text(found.get("id")) or "sequence", 200)
    bases = _bases(found.get("bases"), name)
    shell = Molecule(name, bases, _is_true(found.get("isCircular")))
    annotations, wrong = _parse_annotations(found.get("annotations"), shell)
    translations, worse = _parse_annotations(found.get("translations"), shell)
    return Molecule(name, bases, shell.circular, annotations, translations, wrong + worse)


def _bases(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"{name}: the record has no bases.",
            'Fetch the whole record, lab.sequence("…"), or name `bases` among the columns.',
        )
    bases = "".join(value.split())
    if not _LETTERS.fullmatch(bases):
        odd = next(each for each in bases if not _LETTERS.fullmatch(each))
        raise InputError(
            f"{name}: {quote_value(odd)} is no letter of a sequence.",
            "Give the bases as plain text, without numbers or a heading.",
        )
    return bases


def _parse_annotations(value: Any, on: Molecule) -> tuple[tuple[Annotation, ...], int]:
    """The marks that lie on the molecule, and how many don't."""
    given = list(value) if isinstance(value, (list, tuple)) else []
    read = [each for each in _parse_annotation(given, on) if each is not None]
    return tuple(sorted(read, key=lambda each: (each.start, each.end))), len(given) - len(read)


def _parse_annotation(given: list[Any], on: Molecule) -> Iterator[Annotation | None]:
    for number, each in enumerate(given):
        mark = each if isinstance(each, Mapping) else {}
        start, end = _integer(mark.get("start")), _integer(mark.get("end"))
        if start is None or end is None:
            yield None
            continue
        if on.circular and start == len(on):
            start = 0
        if not on.circular and end == 0:
            end = len(on)  # so real services write the end of a sequence
        if not on.has(start, end):
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


def _integer(value: Any) -> int | None:
    """A whole number, also numpy's; nothing else is a position."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    return int(value)


def _sign(value: Any) -> int:
    number = _integer(value) or 0
    return (number > 0) - (number < 0)


def _is_true(value: Any) -> bool:
    """Whether a flag is set; pandas' and numpy's count, and what isn't known is not."""
    return type(value).__name__ in ("bool", "bool_") and bool(value)
