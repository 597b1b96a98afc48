"""What the process of an episode leaves, and the service takes over in one transaction.

It is too much for a task's report: files in the folder where the process works.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from labext.sandbox.nb.podcasts.script import Segment, Spoken

_FILE = "result.json"
_SOUND = "sound.mp3"


@dataclass(frozen=True)
class Result:
    """What was made: the records of the segments and the turns, seconds, and bytes of the sound."""

    outline: list[dict[str, Any]]
    transcript: list[dict[str, Any]]
    duration: float
    size: int


def sound(work: Path) -> Path:
    """Where the process writes the sound."""
    return work / _SOUND


def write(work: Path, segments: Sequence[Segment], spoken: Sequence[Spoken]) -> None:
    """Leave what was made beside its sound, which is whole and on the disk from then on."""
    from labext.sandbox.nb.speech.recording import AFTER  # the service itself records nothing

    with sound(work).open("rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    made = Result(
        [asdict(each) for each in segments],
        [asdict(each) for each in spoken],
        round(spoken[-1].end + AFTER, 3),
        size,
    )
    (work / _FILE).write_bytes(orjson.dumps(asdict(made)))


def take(work: Path, target: Path) -> Result:
    """Move the sound to its place, if it is not there yet, and return what else was made.

    Raises:
        OSError, ValueError, KeyError, TypeError: it is not there, or not all of it.
    """
    made = Result(**orjson.loads((work / _FILE).read_bytes()))
    # The transaction that this is part of may have failed after the move, and come again.
    if sound(work).exists():
        sound(work).replace(target)
    if not made.size or target.stat().st_size != made.size:
        raise ValueError("The sound is not whole.")
    return made
