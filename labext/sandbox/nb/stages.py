"""How far a task is, told by its process and read by the service.

The process writes it into a file: the database has one writer at a time, whose turn nobody who only
tells how far he is should take.
"""

from __future__ import annotations

import time
from pathlib import Path

_FILE = "stage"
_SECONDS = 0.1
"""How often a stage of one kind, such as `page 12 of 300`, is written at most."""

_LONGEST = 100


class Stages:
    """Tells the stage, from the process that works in the folder `work`."""

    def __init__(self, work: Path) -> None:
        self._path = work / _FILE
        self._told = 0.0
        self._kind = ""

    def tell(self, stage: str) -> None:
        """Say what is done now; of the same kind of stage, its first word, now and then one."""
        now, kind = time.monotonic(), stage.partition(" ")[0]
        if kind == self._kind and now < self._told + _SECONDS:
            return
        self._told, self._kind = now, kind
        part = self._path.with_suffix(".part")
        part.write_text(stage[:_LONGEST], encoding="utf-8")
        part.replace(self._path)

    def count(self, kind: str, done: int, total: int) -> None:
        """Say how much of a kind of stage is done: `told` has `speech 12 40` of it."""
        self.tell(f"{kind} {done} {total}")


def told(work: Path) -> str | None:
    """What was told last by the process that works there; None where nothing was."""
    try:
        return (work / _FILE).read_text(encoding="utf-8")
    except OSError:
        return None


def counted(work: Path) -> tuple[str, int, int] | None:
    """What was counted last by the process that works there: the kind, `done` and `total`."""
    match (told(work) or "").split():
        case [kind, done, total] if done.isdecimal() and total.isdecimal():
            return kind, int(done), int(total)
    return None
