"""Find a passage on the page of a PDF."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MIN_LENGTH = 12
"""Minimum number of letters and digits of a part of a passage that is searched by itself."""

_CLOSING = frozenset(".,;:!?…%)]}\"'”’»")
"""Characters that belong to the passage before them."""

_SENTENCE_END = re.compile(r"(?<=[.!?…:;])\s+|\n{2,}")


@dataclass(frozen=True)
class Box:
    """A rectangle on a page, from its lower left corner, in points."""

    left: float
    bottom: float
    right: float
    top: float


def find_passage(passage: str, characters: Sequence[str]) -> list[tuple[int, int]]:
    """Return where a passage is among a page's characters, as ranges with an exclusive end.

    Only letters and digits are compared, so line breaks, hyphenation, ligatures and quotation marks
    may differ. If the whole passage is not found, its sentences and lines are searched one by one.
    """
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(characters):
        for letter in _letters(character):
            letters.append(letter)
            places.append(place)
    page = "".join(letters)
    target = _letters(passage)
    if not target:
        return []

    def span(at: int, length: int) -> tuple[int, int]:
        end = places[at + length - 1] + 1
        while end < len(characters) and characters[end] in _CLOSING:
            end += 1
        return places[at], end

    at = page.find(target)
    if at >= 0:
        return [span(at, len(target))]
    parts = (_letters(part) for part in _SENTENCE_END.split(passage))
    spans = _find_parts(page, parts) or _find_parts(page, map(_letters, passage.splitlines()))
    return [span(*part) for part in spans]


def merge_boxes(boxes: Iterable[Box]) -> list[Box]:
    """Merge the boxes of one line of text, which a change of font or a gap has separated."""
    merged: list[Box] = []
    for box in boxes:
        previous = merged[-1] if merged else None
        if previous is not None and _on_one_line(previous, box):
            merged[-1] = Box(
                min(previous.left, box.left),
                min(previous.bottom, box.bottom),
                max(previous.right, box.right),
                max(previous.top, box.top),
            )
        else:
            merged.append(box)
    return merged


def _find_parts(page: str, parts: Iterable[str]) -> list[tuple[int, int]]:
    """Return the position and length of the parts that are on the page, in their order."""
    spans, after = [], 0
    for part in parts:
        if len(part) < MIN_LENGTH:
            continue
        at = page.find(part, after)
        if at < 0:
            at = page.find(part)
        if at >= 0:
            spans.append((at, len(part)))
            after = at + len(part)
    return spans


def _letters(text: str) -> str:
    """Return the letters and digits of a text, ligatures as single letters, without case."""
    normal = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, normal))


def _on_one_line(first: Box, second: Box) -> bool:
    """Return True if two boxes overlap by half in height and the second continues the first."""
    height = min(first.top - first.bottom, second.top - second.bottom)
    overlap = min(first.top, second.top) - max(first.bottom, second.bottom)
    gap = max(second.left - first.right, first.left - second.right)
    return overlap > height / 2 and gap < 3 * max(height, 1)
