"""The protocol of services and workers of a cluster: versions, intervals, sizes and paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path, PurePosixPath

LEASE_SECONDS = 7.0
"""Seconds for which a worker continues an attempt after the latest time of its own clock that the
service has returned in a message that requests the attempt.
"""

LEASE_MARGIN_SECONDS = 1.5
"""Maximum seconds until a worker notices the end of a lease and has killed the processes."""

DOUBT_SECONDS = 3.5
"""Seconds without an answer after which a service gives up the tasks of a worker. It starts them
again once their lease has certainly ended.
"""

POLL_SECONDS = 2.0
"""Seconds after which a worker answers a service even if nothing has changed."""

RPC_SECONDS = 10.0
"""Time limit of any other request to a worker."""

CHUNK_BYTES = 4 << 20
"""Largest part of a file in one message."""

INLINE_BYTES = 256 << 10
"""Files of a task whose total size is at most this are sent within the other messages."""

LOG_BYTES = 64 << 10
"""Largest part of a log in one message."""

WORKER_PREFIX = "labext"
"""First part of the name under which a worker registers with the scheduler."""


def versions() -> dict[str, str]:
    """Return the versions that a service and its workers must share."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"labext": version("labext-jupyter"), "Python": python}


def version_error(service: dict[str, str]) -> str:
    """Return a message if this worker has other versions than the service, else an empty text."""
    own = versions()
    if own == service:
        return ""
    mine, theirs = (" and ".join(f"{k} {v}" for k, v in v.items()) for v in (own, service))
    return f"The worker has {mine}, the service has {theirs}; install the versions of the service."


def walk_files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the relative path and size of every regular file; links are left out."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path.stat().st_size


def read_chunk(path: Path, offset: int) -> bytes:
    """Return the next part of a file, of at most `CHUNK_BYTES` bytes."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(CHUNK_BYTES)


def resolve_inside(folder: Path, name: str) -> Path:
    """Return the path of a file below `folder`.

    Raises:
        ValueError: the path is outside of the folder.
    """
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute() or "\0" in name:
        raise ValueError(f"{name!r} is not the name of a file of the task.")
    path = folder.joinpath(*parts)
    if not path.parent.resolve().is_relative_to(folder.resolve()) or path.is_symlink():
        raise ValueError(f"{name!r} is not the name of a file of the task.")
    return path
