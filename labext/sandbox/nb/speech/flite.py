"""The flite engine: a program that speaks English."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from labext.sandbox.nb import errors
from labext.sandbox.nb.speech.audio import Sound

AT_ONCE = 2

_VOICES = ("slt", "rms", "awb", "kal16")
"""A woman, and three men who are told apart; the others of them sound like a telephone."""

_PITCHES = {"awb": 145, "kal16": 80}
"""Hertz, where a voice's own would be another's."""

_SECONDS = 120


def voices() -> list[str]:
    """Its voices.

    Raises:
        HTTPException: 422, it is not installed.
    """
    _find_program()
    return list(_VOICES)


def say(voice: str, text: str) -> Sound:
    """A text as a voice says it."""
    import soundfile  # type: ignore[import-untyped]

    if voice not in _VOICES:
        raise errors.not_configured(
            f"flite has no voice {voice[:60]}. It has {', '.join(_VOICES)}: choose one of them for "
            "the speaker, or none."
        )
    command = [_find_program(), "-voice", voice]
    if voice in _PITCHES:
        command += ["--setf", f"int_f0_target_mean={_PITCHES[voice]}"]
    with tempfile.TemporaryDirectory(prefix="labext-") as folder:
        said, heard = Path(folder, "said"), Path(folder, "heard")
        said.write_text(text, encoding="ascii", errors="ignore")  # it knows no other letters
        try:
            subprocess.run(
                [*command, "-f", said, "-o", heard],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
            samples, rate = soundfile.read(heard, dtype="float32", format=None)
        except (OSError, subprocess.SubprocessError, soundfile.SoundFileError):
            raise errors.not_configured(
                "flite fails to speak here. Set the default slot text_to_speech to another model: "
                "`labext sandbox nb models default text_to_speech espeak-ng`."
            ) from None
    return Sound(samples, int(rate))


def _find_program() -> str:
    found = shutil.which("flite")
    if found is None:
        raise errors.not_configured(
            "flite is not installed any more: `apt install flite`, or set the default slot "
            "text_to_speech to another model."
        )
    return found
