"""MP3, block by block: under its name only when it is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from labext.sandbox.nb.speech.engine import need
from labext.sandbox.nb.speech.samples import RATE, Samples
from labext.sandbox.runner import TaskError

_COMPRESSION = 0.5
"""80 kbit/s. The rate is constant, so that a player finds a second of the sound exactly."""


class Broken(TaskError):
    """The file did not come out whole."""

    def __init__(self) -> None:
        super().__init__(
            "The sound can't be written. See that there is room on the disk, then retry it."
        )


@contextmanager
def mp3(target: Path) -> Iterator[Callable[[Samples], None]]:
    """What writes samples into an MP3 of one channel, which is there at the end of the block.

    The file says by how much the encoder delays and how many samples there are, so that players
    begin and end with the sound itself.

    Args:
        target: the file; what is there is replaced. Its part lies beside it meanwhile.

    Raises:
        HTTPException: 422, what it needs is not installed.
        Broken: it can't be written.
    """
    need("soundfile")
    import soundfile  # type: ignore[import-untyped]

    part = target.with_name(f"{target.name}.part")
    written = 0
    try:
        try:
            with soundfile.SoundFile(
                part,
                "w",
                samplerate=RATE,
                channels=1,
                format="MP3",
                subtype="MPEG_LAYER_III",
                bitrate_mode="CONSTANT",
                compression_level=_COMPRESSION,
            ) as file:

                def write(samples: Samples) -> None:
                    nonlocal written
                    file.write(samples)
                    written += len(samples)

                yield write
            there = soundfile.info(str(part)).frames
        except (soundfile.LibsndfileError, AssertionError):  # the latter: fewer were written
            raise Broken from None
        if there != written:
            raise Broken
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
