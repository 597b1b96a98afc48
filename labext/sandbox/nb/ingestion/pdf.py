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

_HEADING_WORDS = 12
"""A heading has so many words at most."""

_SENTENCE_END = re.compile(r"[.!?:;,…]['\")\]»”’]*$")


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
        yield number, with_headings_apart(_BROKEN_WORD.sub("", _text(document, number - 1)))


def with_headings_apart(text: str) -> str:
    """A page's text with blank lines around what looks like a heading.

    A PDF has lines alone. One that is short, ends no sentence and stands between the end of a
    sentence and a capital letter is no part of the sentence that follows it.
    """
    lines = text.splitlines()
    told: list[str] = []
    for number, line in enumerate(lines):
        if _is_heading(lines, number):
            told += ["", line, ""]
        else:
            told.append(line)
    return "\n".join(told)


def _is_heading(lines: list[str], number: int) -> bool:
    line = lines[number].strip()
    before = lines[number - 1].strip() if number else ""
    after = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return (
        0 < len(line.split()) <= _HEADING_WORDS
        and not _SENTENCE_END.search(line)
        and (line[0].isupper() or line[0].isdigit())
        and (not before or bool(_SENTENCE_END.search(before)))
        and (after[:1].isupper() or after[:1].isdigit())
        and len(line) < max(map(len, lines)) * 0.8
    )


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
