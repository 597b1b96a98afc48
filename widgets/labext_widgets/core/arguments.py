"""Check arguments of views: integers, and a file or its content."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import Any

from labext.errors import InputError
from labext.messages import quote_value


def as_integer(value: Any) -> int | None:
    """Return an integer, also from numpy types; None for any other value, such as a boolean."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    return int(value)


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
