"""The files that sources were made from."""

from __future__ import annotations

from pathlib import Path

from labext import wording
from labext.errors import NotFoundError
from labext.nb.records import Record


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
