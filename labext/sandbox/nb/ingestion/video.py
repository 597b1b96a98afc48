"""Reads the sound of video, and of what only ffmpeg knows, where ffmpeg is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from labext.sandbox.nb.ingestion.reading import File, Reading, Tell
from labext.sandbox.nb.ingestion.reasons import Unreadable

_CHUNK = 64 * 1024


def read(file: File, tell: Tell) -> Reading:
    """Read what is said.

    Raises:
        Unreadable: ffmpeg or the extra is missing, or there is no sound.
    """
    from labext.sandbox.nb.ingestion import sound

    sound.modules()
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise Unreadable(
            "Its sound is taken out by ffmpeg, which is not installed here: "
            "`apt install ffmpeg` or `brew install ffmpeg`, then retry it."
        )
    # A file may be a list of others: ffmpeg must not look elsewhere.
    command = [ffmpeg, "-nostdin", "-hide_banner", "-loglevel", "error"]
    command += ["-protocol_whitelist", "file,pipe", "-i", str(file.path)]
    command += ["-vn", "-ac", "1", "-ar", str(sound.RATE), "-f", "s16le", "pipe:1"]
    return sound.heard(_output(command), tell)


def _output(command: list[str]) -> Iterator[bytes]:
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        there = False
        try:
            while chunk := process.stdout.read(_CHUNK):
                there = True
                yield chunk
        finally:
            process.kill()
    if not there:
        raise Unreadable("It is broken, or has no sound.")
