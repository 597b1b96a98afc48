"""The flite engine: a program that speaks English."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.nb import errors
from labext.sandbox.nb.speech.audio import Sound

AT_ONCE = 2

_VOICES = ("slt", "rms", "awb", "kal16")
"""One female and three distinct male voices; the other voices sound like a telephone."""

_PITCHES = {"awb": 145, "kal16": 80}
"""Pitch in hertz, for voices whose own pitch is too close to another's."""

_SECONDS = 120


def voices() -> list[str]:
    """Return the voices.

    Raises:
        HTTPException: 422 if flite is not installed.
    """
    _find_program()
    return list(_VOICES)


def say(voice: str, text: str) -> Sound:
    """Return the speech of a text by a voice."""
    import soundfile

    if voice not in _VOICES:
        raise errors.not_configured(
            f"flite has no voice {voice[:60]}. It has {', '.join(_VOICES)}: choose one of them for "
            "the speaker, or none."
        )
    command = [_find_program(), "-voice", voice]
    if voice in _PITCHES:
        command += ["--setf", f"int_f0_target_mean={_PITCHES[voice]}"]
    with tempfile.TemporaryDirectory(prefix="labext-") as folder:
        text_file, audio_file = Path(folder, "said"), Path(folder, "heard")
        text_file.write_text(text, encoding="ascii", errors="ignore")  # flite supports ASCII only
        try:
            subprocess.run(
                [*command, "-f", text_file, "-o", audio_file],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
            samples, rate = soundfile.read(audio_file, dtype="float32", format=None)
        except (OSError, subprocess.SubprocessError, soundfile.SoundFileError):
            raise errors.not_configured(
                "flite fails to speak here. Set the default slot text_to_speech to another model: "
                f"{admin_command('nb models default text_to_speech espeak-ng')}."
            ) from None
    return Sound(samples, int(rate))


def _find_program() -> str:
    program = shutil.which("flite")
    if program is None:
        raise errors.not_configured(
            "flite is no longer installed: `apt install flite`, or set the default slot "
            "text_to_speech to another model."
        )
    return program
