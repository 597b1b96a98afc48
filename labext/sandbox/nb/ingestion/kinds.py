"""What kind of file it is: by its first bytes, then by its name, then by what was said of it."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath
from typing import Literal

from labext import archives
from labext.sandbox.nb.ingestion.reasons import Unreadable

Kind = Literal["pdf", "word", "html", "markdown", "text", "sound", "video"]

HEAD = 4096

MOST_ENTRIES = 10_000
"""Files and folders that a document may be packed of."""

READ = "PDF, DOCX, HTML, Markdown, plain text, sound or video"

_SUFFIXES: dict[str, Kind] = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".md", ".markdown", ".mkd", ".mdown"), "markdown"),
}
_MEDIA: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
}
_OTHERS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an encrypted document or one of an older Office"),
    (b"{\\rtf", "a document in rich text format"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"II*\0", "a picture"),
    (b"MM\0*", "a picture"),
    (b"\x1f\x8b", "a packed file"),
    (b"BZh", "a packed file"),
    (b"\xfd7zXZ\0", "a packed file"),
    (b"7z\xbc\xaf", "a packed file"),
    (b"Rar!", "a packed file"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program"),
)


def kind_of(path: Path, name: str, media_type: str | None = None) -> Kind:
    """The kind of a file.

    Args:
        path: its bytes.
        name: what it was called.
        media_type: what a web server says of it; it is believed only where the bytes say nothing.

    Raises:
        Unreadable: the file is empty, or of a kind that can't be read.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head.strip(b"\0"):
        raise Unreadable("The file is empty.")
    return (
        _by_bytes(path, head)
        or _SUFFIXES.get(PurePosixPath(name.lower()).suffix)
        or _MEDIA.get(media_type or "")
        or _by_beginning(head)
    )


def _by_bytes(path: Path, head: bytes) -> Kind | None:
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _of_archive(path)
    for beginning, what in _OTHERS:
        if head.startswith(beginning):
            raise _unsupported(what)
    return _of_sound(head)


def _of_archive(path: Path) -> Kind:
    try:
        with archives.opened(path, MOST_ENTRIES) as archive:
            names = set(archive.namelist())
    except archives.TooManyEntriesError as error:
        raise Unreadable(f"{error} Unpack it and add its files.") from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise Unreadable("The file is broken: an archive or a document without its end.") from None
    if "word/document.xml" in names:
        return "word"
    if any(name.startswith("ppt/") for name in names):
        raise _unsupported("a presentation", "save it as PDF")
    if any(name.startswith("xl/") for name in names):
        raise _unsupported("a spreadsheet", "save it as CSV")
    raise _unsupported("an archive", "unpack it and add its files")


def _of_sound(head: bytes) -> Kind | None:
    """Sound and video, by what their containers begin with."""
    if head[4:8] == b"ftyp":
        return "sound" if head[8:12] in (b"M4A ", b"M4B ", b"F4A ") else "video"
    if head.startswith((b"\x1aE\xdf\xa3", b"FLV\x01", b"\0\0\x01\xba")) or head[8:12] == b"AVI ":
        return "video"
    if head[:4] in (b"fLaC", b"OggS", b".snd", b"caff") or head.startswith(b"ID3"):
        return "sound"
    if head[8:12] in (b"WAVE", b"AIFF", b"AIFC"):
        return "sound"
    # An MPEG audio frame: eleven bits of one, then a layer and a bit rate that there are.
    if head[0] == 0xFF and len(head) > 2 and head[1] & 0xE6 in (0xE2, 0xE4, 0xE6):
        return "sound" if head[2] & 0xF0 != 0xF0 and head[:2] != b"\xff\xfe" else None
    return None


def _by_beginning(head: bytes) -> Kind:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    return "html" if start.startswith((b"<!doctype html", b"<html")) else "text"


def _unsupported(what: str, do: str | None = None) -> Unreadable:
    return Unreadable(
        f"It is {what}, which can't be read; {do or 'save it as another kind'}: {READ}."
    )
