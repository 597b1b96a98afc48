"""The pages of a source, and the places of passages in their text."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from labext_widgets.answers.documents import is_markdown

MIN_LENGTH = 12
"""Minimum number of letters and digits of a part of a passage that is searched separately."""

_CLOSING = frozenset(".,;:!?…%)]}\"'”’»")
"""Characters that belong to the passage before them."""

_SENTENCE_END = re.compile(r"(?<=[.!?…:;])\s+|\n{2,}")

_VARIANTS = str.maketrans(
    dict(zip("ı\x0b\x0c\x0e\x0f\x1b\x1c\x1d\x1e\x1f", "iﬀﬁﬃﬄﬀﬁﬂﬃﬄ", strict=True))
)
"""Letters by their variants: the dotless i, and the codes of ligatures in LaTeX's bitmap fonts."""


@dataclass(frozen=True)
class Picture:
    """A rendered page.

    Attributes:
        data: the file, a PNG or JPEG.
        media_type: `image/png` or `image/jpeg`.
        width, height: in pixels.
        boxes: the number of highlighted rectangles, usually one for each line of the passage.
    """

    data: bytes
    media_type: str
    width: int
    height: int
    boxes: int


class Pages(ABC):
    """Pages with text, from 1, of which there may be pictures.

    Attributes:
        count: the number of pages.
        is_markdown: True if the text is Markdown.
    """

    count: int
    is_markdown: bool

    @abstractmethod
    def text(self, page: int) -> str:
        """Return the text of a page."""

    @abstractmethod
    def find(self, passage: str) -> int | None:
        """Return the first page with a passage; None if no page has it."""

    def render(self, page: int, passage: str) -> Picture | None:  # noqa: ARG002
        """Return a page as a picture with the passage highlighted; None if it is only text."""
        return None

    def png(self, page: int, passage: str) -> bytes | None:  # noqa: ARG002
        """Return a page as a PNG; None if it is only text."""
        return None


class TextPages(Pages):
    """A source's extracted text; form feeds separate its pages."""

    def __init__(self, text: str, file_name: str | None = None) -> None:
        self._pages = re.split("\f", text.rstrip("\f")) or [""]
        self.count = len(self._pages)
        self.is_markdown = is_markdown(text, file_name)

    def text(self, page: int) -> str:
        """Return the text of a page."""
        return self._pages[page - 1]

    def find(self, passage: str) -> int | None:
        """Return the first page with a passage; None if no page has it."""
        for number, text in enumerate(self._pages, 1):
            if locate(passage, text) is not None:
                return number
        return None


def locate(passage: str, text: str) -> tuple[int, int] | None:
    """Return the range of a passage in a text, from its first to its last part that was found."""
    span = find_passage(passage, text)
    return (min(start for start, _ in span), max(end for _, end in span)) if span else None


def find_passage(passage: str, characters: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of a passage in a page's characters, as ranges with an exclusive end.

    Only letters and digits are compared, so line breaks, hyphenation, ligatures and quotation marks
    may differ. If the whole passage is not found, its sentences are searched one by one, and the
    lines of those that are not found: they may begin or end on another page.
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
    parts: list[str] = []
    for sentence in _SENTENCE_END.split(passage):
        is_found = _letters(sentence) in page
        parts += map(_letters, [sentence] if is_found else sentence.splitlines())
    return [span(*part) for part in _find_parts(page, parts)]


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
    """Return the letters and digits of a text, ligatures as single letters, without case.

    Without accents too, which some fonts have as separate characters.
    """
    normal = unicodedata.normalize("NFKD", text.translate(_VARIANTS)).casefold()
    return "".join(filter(str.isalnum, normal))
