"""The files that sources were made from."""

from __future__ import annotations

import os
import re
from pathlib import Path

from labext import wording
from labext.errors import AccessError, NotFoundError
from labext.nb.dialects import Request
from labext.nb.records import Record
from labext.nb.wire import Wire

COMPARED = 2**20
"""Bytes up to which an original is compared with a local file; of a larger one only the size is.

Another text often has the same size (`0.1 %`, `0.2 %`), another PDF or recording hardly ever.
"""


def file_name(source: Record) -> str:
    """Return the name under which a source's file is kept; a bare one, whatever was told.

    Raises:
        NotFoundError: the source has no file.
    """
    name = Path(str(source["file_name"] or "").replace("\\", "/")).name
    if not name or name in {".", ".."}:
        raise NotFoundError(
            f"{wording.shown(source['title'] or source['id'])} has no file to download.",
            "Only what was uploaded as a file has one.",
        )
    return name


def is_numbered(stored: str, name: str) -> bool:
    """Tell whether a server has numbered a file name that was taken: `protocol (1).docx`."""
    stem, suffix = os.path.splitext(name)
    return re.fullmatch(rf"{re.escape(stem)} \(\d+\){re.escape(suffix)}", stored) is not None


def has_content(wire: Wire, original: Request, file: Path) -> bool | None:
    """Tell whether an original has the content of a local file; None if there is no original.

    Args:
        wire: sends the request.
        original: the request for the original.
        file: the local file.
    """
    size = file.stat().st_size
    try:
        with wire.open(original) as response:
            length = response.headers.get("Content-Length", "")
            if length.isdigit() and int(length) != size:
                return False
            if size > COMPARED:
                return True if length.isdigit() else None
            content: bytes = response.raw.read(COMPARED + 1, decode_content=True)
    except (NotFoundError, AccessError):
        return None
    return content == file.read_bytes()
