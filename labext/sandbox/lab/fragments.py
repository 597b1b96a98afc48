"""A stretch of a sequence as a sequence of its own, with the marks that lie within it."""

from __future__ import annotations

from collections.abc import Iterable

from labext.sandbox.lab.features import Marks
from labext.sandbox.lab.records import Entry
from labext.sandbox.lab.store import Record


def stretch(entry: Entry, start: int, length: int) -> tuple[str, Marks]:
    """The bases of a stretch, and what is marked within it, counted from its first base.

    Args:
        entry: the sequence; of a circular one the stretch may go over the origin.
        start: from 0.
        length: at most the sequence's; within its end where it is linear.
    """
    bases, marks = entry.bases, entry.marks
    around = bases + bases[: start + length - len(bases)] if entry.circular else bases
    kept = Marks(
        *(
            [*_within(these, start, length, len(bases))]
            for these in (marks.annotations, marks.translations, marks.primers)
        )
    )
    return around[start : start + length], kept


def as_part(source_id: str, length: int) -> Record:
    """How a sequence says that all its bases are from another."""
    return {"start": 0, "end": length, "strand": 1, "sequenceId": source_id}


def _within(marks: Iterable[Record], start: int, length: int, whole: int) -> Iterable[Record]:
    for mark in marks:
        first = (mark["start"] - start) % whole
        span = (mark["end"] - mark["start"]) % whole or whole
        if first + span <= length:
            yield _moved(mark, first, span, start, whole)


def _moved(mark: Record, first: int, span: int, by: int, whole: int) -> Record:
    moved = mark | {"start": first, "end": first + span}
    if "bindPosition" in mark:
        moved["bindPosition"] = (mark["bindPosition"] - by) % whole
    if "regions" in mark:
        moved["regions"] = [
            {
                "start": (start := (region["start"] - by) % whole),
                "end": start + region["end"] - region["start"],
            }
            for region in mark["regions"]
        ]
    return moved
