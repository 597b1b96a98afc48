"""A progress stream that reads its snapshots from a file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from labext.progress import Outcome, Progress


def follow(path: str) -> Iterator[Progress]:
    """Yield the content of the file, twenty times a second, until it names an outcome."""
    started_at = time.monotonic()
    while True:
        fields = json.loads(Path(path).read_text())
        outcome = fields.pop("outcome", None)
        progress = Progress(**fields, outcome=Outcome(outcome) if outcome else None)
        yield (
            progress
            if progress.elapsed
            else replace(progress, elapsed=time.monotonic() - started_at)
        )
        if progress.outcome is not None:
            return
        time.sleep(0.05)
