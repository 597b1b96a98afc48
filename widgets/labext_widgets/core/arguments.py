"""Check arguments of views: integers, and a file or its content."""

from __future__ import annotations

import re
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


_FILE_NAME = re.compile(r"[^>\n]*\.[A-Za-z]\w{0,5}")


def read_source(source: str | bytes | Path) -> tuple[str | bytes, str]:
    """Return the content and the file name of a source; the name of given content is empty.

    Raises:
        InputError: the file cannot be read, or its name is given as the content.
    """
    if not isinstance(source, Path):
        if isinstance(source, str) and _FILE_NAME.fullmatch(source):
            raise InputError(
                f"{quote_value(source)} is the name of a file, not its content.",
                'Pass it as a path: pathlib.Path("…").',
            )
        return source, ""
    try:
        return source.read_bytes(), source.name
    except OSError as error:
        raise InputError(
            f"{quote_value(source.name)} cannot be read: {error.strerror}.", "Check the path."
        ) from error
