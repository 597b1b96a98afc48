"""Reads PDF, page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from labext.sandbox.nb.ingestion.reading import File, Reading, Tell
from labext.sandbox.nb.ingestion.reasons import Unreadable

_BROKEN_WORD = re.compile("(?<=\\w)[\x02\ufffe](?:\r\n|[\r\n])?")
"""What PDFium puts where a hyphen ends a line."""

_NO_TITLE = re.compile(
    r"(?i)(untitled|microsoft word - .*|.*\.(docx?|tex|dvi|pdf|indd|qxd|ps|rtf|odt)|slide \d+|"
    r"document\d*|powerpoint.*|doi:.*)"
)
"""What programs write where a title should stand."""


def read(file: File, tell: Tell) -> Reading:
    """Read a PDF."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(file.path)
    except pypdfium2.PdfiumError as error:
        raise _refused(str(error)) from None
    with closing(document):
        pages = [*_pages(document, tell)]
        title = _title(document)
    if not pages:
        raise Unreadable("The PDF has no pages: it is broken.")
    if not any(text.strip() for _number, text in pages):
        raise Unreadable(
            f"There is no text on its {len(pages)} page{'s' if len(pages) > 1 else ''}: it looks "
            "scanned. Have a program for text recognition (OCR) add the text, then add it again."
        )
    return Reading(pages, title)


def _refused(why: str) -> Unreadable:
    if "password" in why.lower():
        return Unreadable("The PDF is encrypted: save it without a password and add it again.")
    if "security" in why.lower():
        return Unreadable("The PDF is protected in a way that can't be read; save it without that.")
    return Unreadable("The PDF is broken: see that it opens, save it anew and add it again.")


def _pages(document: Any, tell: Tell) -> Iterator[tuple[int, str]]:
    count = len(document)
    for number in range(1, count + 1):
        tell(f"page {number} of {count}")
        yield number, _BROKEN_WORD.sub("", _text(document, number - 1))


def _text(document: Any, index: int) -> str:
    """The text of a page; of one that is broken, none."""
    import pypdfium2

    try:
        with closing(document[index]) as page, closing(page.get_textpage()) as text:
            return str(text.get_text_bounded())
    except pypdfium2.PdfiumError:
        return ""


def _title(document: Any) -> str | None:
    title = str(document.get_metadata_dict(skip_empty=True).get("Title", "")).strip()
    return None if _NO_TITLE.fullmatch(title) else title
