"""Read the source of a view: a file or its content."""

from __future__ import annotations

from pathlib import Path

from labext.errors import InputError
from labext.messages import quote_value


def read_source(source: str | bytes | Path) -> tuple[str | bytes, str]:
    """Return the content and the file name of a source; the name of given content is empty.

    Raises:
        InputError: the file cannot be read.
    """
    if not isinstance(source, Path):
        return source, ""
    try:
        return source.read_bytes(), source.name
    except OSError as error:
        raise InputError(
            f"{quote_value(source.name)} cannot be read: {error.strerror}.", "Check the path."
        ) from error
