"""The command `dask scheduler`."""

from __future__ import annotations

from distributed.cli.dask_scheduler import main as scheduler


def main(*arguments: str) -> None:
    """Serve until SIGTERM."""
    scheduler(arguments)
