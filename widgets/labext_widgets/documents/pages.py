"""The pages of a source: pictures of a PDF, text of other sources."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import Path

from labext_widgets.answers.documents import is_markdown
from labext_widgets.documents.pdf import Pdf, Picture, find_passage


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


class PdfPages(Pages):
    """The pages of a PDF."""

    is_markdown = False

    def __init__(self, path: Path, title: str) -> None:
        self._pdf = Pdf(path, title)
        self.count = self._pdf.page_count
        self._rendered: dict[tuple[int, str], Picture] = {}
        self._page_of: dict[str, int | None] = {}

    def text(self, page: int) -> str:
        """Return the text of a page."""
        return self._pdf.text(page)

    def find(self, passage: str) -> int | None:
        """Return the first page with a passage; None if no page has it."""
        if passage not in self._page_of:
            self._page_of[passage] = self._pdf.find(passage)
        return self._page_of[passage]

    def render(self, page: int, passage: str) -> Picture | None:
        """Return a page as a picture with the passage highlighted."""
        key = page, passage
        if key not in self._rendered:
            if len(self._rendered) >= _KEPT:
                self._rendered.pop(next(iter(self._rendered)))
            self._rendered[key] = self._pdf.render(page, passage)
        return self._rendered[key]

    def png(self, page: int, passage: str) -> bytes | None:
        """Return a page as a PNG."""
        return self._pdf.png(page, passage)


_KEPT = 16
"""Number of rendered pages that are kept."""


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
