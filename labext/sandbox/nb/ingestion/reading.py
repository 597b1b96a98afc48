"""The text of a file, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from labext.sandbox.nb.ingestion import kinds, texts
from labext.sandbox.nb.ingestion.reasons import Unreadable

Tell = Callable[[str], None]
"""Takes a stage in a few words, such as `page 12 of 300`."""

Pages = Sequence[tuple[int | None, str]]
"""Texts with the numbers of their pages, from 1; a text without pages is one, numbered None."""

_BETWEEN_PAGES = "\n\n"

_READERS: Mapping[kinds.Kind, str] = {
    "pdf": "pdf",
    "word": "word",
    "html": "html",
    "markdown": "plain",
    "text": "plain",
    "sound": "sound",
    "video": "sound",
}
"""The module of each kind, which has `read(file, tell)`: loaded when there is such a file."""


@dataclass(frozen=True)
class File:
    """A file to be read.

    Attributes:
        path: its bytes.
        name: what it was called.
        media_type, charset: what a web server said of it.
        most: bytes that its text may have.
        hear: writes down what is said in a file of sound; None is the built-in model.
    """

    path: Path
    name: str
    media_type: str | None = None
    charset: str | None = None
    most: int = 64 << 20
    hear: Callable[[Path, Tell], str] | None = None

    def content(self) -> bytes:
        """Its bytes, where they are text.

        Raises:
            Unreadable: there are far more than its text may have.
        """
        if self.path.stat().st_size > 2 * self.most:
            raise too_long(self.most)
        return self.path.read_bytes()


@dataclass(frozen=True)
class Reading:
    """What was read: pages in their order, and the title that the document gives itself."""

    pages: Pages
    title: str | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return _BETWEEN_PAGES.join(text for _page, text in self.pages)


def read(file: File, tell: Tell) -> Reading:
    """Read a file.

    Raises:
        Unreadable: it can't be read, or has no text.
    """
    tell("reading")
    kind = kinds.kind_of(file.path, file.name, file.media_type)
    reader = import_module(f"labext.sandbox.nb.ingestion.{_READERS[kind]}")
    found: Reading = reader.read(file, tell)
    pages = [(number, texts.clean(text)) for number, text in found.pages]
    return checked(Reading(pages, texts.title(found.title)), file.most)


def checked(reading: Reading, most: int) -> Reading:
    """See that there is text, and not too much.

    Raises:
        Unreadable: there is none, or more than `most` bytes.
    """
    if not any(text for _page, text in reading.pages):
        raise Unreadable("There is no text in it.")
    if sum(len(text.encode()) for _page, text in reading.pages) > most:
        raise too_long(most)
    return reading


def too_long(most: int) -> Unreadable:
    """The reason of a text that is too long."""
    return Unreadable(f"Its text is bigger than {most:,} bytes; add it in parts.")
