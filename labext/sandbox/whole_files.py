"""Files that are put there whole or not at all; only their owner reads them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from secrets import token_hex


def write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put a file there, in place of what there is; another mode for what is no secret."""
    part = _part(path, content)
    part.chmod(mode)
    part.replace(path)


def write_first(path: Path, content: bytes) -> None:
    """Put a file there, unless somebody else was first."""
    part = _part(path, content)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(part)
    part.unlink()


def _part(path: Path, content: bytes) -> Path:
    part = path.with_name(f".{path.name}.{token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError:
        part.unlink()
        raise
    return part
