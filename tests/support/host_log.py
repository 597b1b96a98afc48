"""The log of a host, for the report of a failed test."""

from __future__ import annotations

import contextlib
from pathlib import Path


def print_end(data_dir: Path) -> None:
    """Print the end of the log of a sandbox or server; pytest shows it if the test has failed."""
    with contextlib.suppress(OSError):
        print((data_dir / "host.log").read_text(errors="replace")[-8000:])
