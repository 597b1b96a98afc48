"""Reads DOCX: paragraphs, headings and tables in their order."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from labext import archives
from labext.sandbox.nb.ingestion import kinds
from labext.sandbox.nb.ingestion.reading import File, Reading, Tell
from labext.sandbox.nb.ingestion.reasons import Unreadable

MOST_UNPACKED = 1 << 30
"""Bytes of all that is packed in a document."""

_DEEPEST = 20
"""Tables within tables."""

_BROKEN = "The Word document is broken: see that it opens, save it anew and add it again."


def read(file: File, _tell: Tell) -> Reading:
    """Read a Word document."""
    import docx

    _check_unpacked(file)
    try:
        with file.path.open("rb") as stream:
            document = docx.Document(stream)
        blocks = [*_blocks(document.element.body, document)]
        title = document.core_properties.title
    except Unreadable:
        raise
    except Exception as error:  # it has one of another kind for every fault
        raise Unreadable(_BROKEN) from error
    headings = [text for level, text in blocks if level is not None and text]
    text = "\n\n".join(f"{'#' * level} {text}" if level else text for level, text in blocks if text)
    return Reading([(None, text)], title or next(iter(headings), None))


def _check_unpacked(file: File) -> None:
    """A document unpacks to no more than it says; see that this is not too much."""
    try:
        with archives.opened(file.path, kinds.MOST_ENTRIES) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (archives.TooManyEntriesError, zipfile.BadZipFile, OSError, ValueError):
        raise Unreadable(_BROKEN) from None
    if size > MOST_UNPACKED:
        raise Unreadable(f"The Word document unpacks to more than {MOST_UNPACKED:,} bytes.")


def _blocks(parent: Any, document: Any, depth: int = 0) -> Iterator[tuple[int | None, str]]:
    """Each paragraph with its level, from 1, if it is a heading; each row of a table as a line."""
    from docx.oxml.ns import qn

    for element in parent.iterchildren(qn("w:p"), qn("w:tbl"), qn("w:sdt")):
        if element.tag == qn("w:p"):
            yield _paragraph(element, document)
        elif depth < _DEEPEST and element.tag == qn("w:tbl"):
            rows = element.iterchildren(qn("w:tr"))
            yield None, "\n".join(filter(None, (_row(row, document, depth) for row in rows)))
        elif depth < _DEEPEST:
            for content in element.iterchildren(qn("w:sdtContent")):
                yield from _blocks(content, document, depth + 1)


def _paragraph(element: Any, document: Any) -> tuple[int | None, str]:
    from docx.text.paragraph import Paragraph

    paragraph = Paragraph(element, document)
    style = paragraph.style.name if paragraph.style is not None else ""
    return _level(style or ""), paragraph.text.strip()


def _level(style: str) -> int | None:
    if style == "Title":
        return 1
    name, _, number = style.rpartition(" ")
    return int(number) if name == "Heading" and number in "123456" else None


def _row(row: Any, document: Any, depth: int) -> str:
    from docx.oxml.ns import qn

    cells = [
        " ".join(text for _level, text in _blocks(cell, document, depth + 1) if text)
        for cell in row.iterchildren(qn("w:tc"))
    ]
    return " | ".join(cells) if any(cells) else ""
