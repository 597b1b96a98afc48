"""The built-in speech engines, to be used in a task process only."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labext.extras import install_line
from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.nb import errors
from labext.sandbox.nb.speech.audio import Sound

PACKAGE = "espeakng_loader"


def require_packages(*packages: str) -> None:
    """Check that packages of the speech extra are installed."""
    if any(find_spec(package) is None for package in packages):
        raise errors.not_configured(
            "Speech needs packages that are not installed here: "
            f"run `{install_line('speech')}`, then try again."
        )


_ENGLISH = ("en-us+f2", "en-us+m3", "en+Annie", "en+m8", "en-gb-scotland+f4", "en-gb-scotland+rob")
"""Female and male voices in turn; the first ones differ most in pitch, timbre and accent."""

_VARIANTS = ("f2", "m3", "Annie", "m8")
"""Variants used for the other languages."""

_PITCHES = {"f2": 48, "m3": 58, "Annie": 52, "m8": 42, "f4": 38, "rob": 62}
"""Pitch from 0 to 100, where 50 is the variant's own: moved further apart."""

_RATE, _PITCH = 1, 3
"""Parameter numbers of the library."""

_WORDS_A_MINUTE = 165
_SYNCHRONOUS = 2
_NO_EXIT = 1 << 15
_UTF8 = 1
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)

_engine_lock = threading.Lock()


class Espeak:
    """espeak-ng, a library (GPL-3.0)."""

    parallel = 1
    """The best number of texts to synthesize in parallel."""

    def voices(self) -> list[str]:
        """Return the voices as language and variant, English first, without loading the library."""
        languages = sorted(path.name.lower() for path in _language_files())
        others = [language for language in languages if language.partition("-")[0] != "en"]
        return [
            *_ENGLISH,
            *(f"{language}+{variant}" for language in others for variant in _VARIANTS),
        ]

    def say(self, voice: str, text: str) -> Sound:
        """Return the speech of a text by a voice."""
        import numpy as np

        with _engine_lock:
            library, rate, chunks = _library()
            if library.espeak_SetVoiceByName(voice.encode("utf-8", "replace")) != 0:
                raise errors.not_configured(
                    f"espeak-ng has no voice {voice[:60]}. Choose another for the speaker, or none."
                )
            variant = voice.partition("+")[2]
            library.espeak_SetParameter(_RATE, _WORDS_A_MINUTE, 0)
            library.espeak_SetParameter(_PITCH, _PITCHES.get(variant, 50), 0)
            chunks.clear()
            encoded = text.encode("utf-8", "replace").replace(b"\0", b" ") + b"\0"
            library.espeak_Synth(encoded, len(encoded), 0, 1, 0, _UTF8, None, None)
            library.espeak_Synchronize()
            wave = b"".join(chunks)
            chunks.clear()
        samples = np.frombuffer(wave, "<i2").astype(np.float32)
        return Sound(samples / np.float32(32768), rate)


def language_code(language: str) -> str:
    """Return the code of a language given by its English name, else the name unchanged."""
    name_line = f"name {language.strip()}".lower()
    for path in _language_files():
        lines = path.read_text(encoding="utf-8", errors="replace").lower().splitlines()
        if any(line.partition("(")[0].strip() == name_line for line in lines):
            return path.name.lower()
    return language


def _language_files() -> list[Path]:
    """Return the language definition files, each named after its code."""
    require_packages(PACKAGE)
    import espeakng_loader  # type: ignore[import-untyped]

    data = Path(espeakng_loader.get_data_path())
    files = (path for path in (data / "lang").rglob("*") if path.is_file())
    # Some languages have no dictionary in the package.
    return [path for path in files if (data / f"{path.name.partition('-')[0]}_dict").is_file()]


@cache
def _library() -> tuple[Any, int, list[bytes]]:
    """Return the library, its sample rate, and the list that receives its audio chunks."""
    require_packages(PACKAGE)
    import espeakng_loader

    library: Any = ctypes.CDLL(espeakng_loader.get_library_path())
    data = str(espeakng_loader.get_data_path()).encode()
    rate = int(library.espeak_Initialize(_SYNCHRONOUS, 0, data, _NO_EXIT))
    if rate <= 0:
        raise errors.not_configured(
            "espeak-ng can't be started here. Set the default slot text_to_speech to another model."
        )
    chunks: list[bytes] = []

    def take(wave: Any, count: int, _events: Any) -> int:
        if wave and count > 0:
            chunks.append(ctypes.string_at(wave, count * 2))
        return 0

    library.labext_taking = _CALLBACK(take)  # keeps a reference against garbage collection
    library.espeak_SetSynthCallback(library.labext_taking)
    return library, rate, chunks


_FLITE_VOICES = ("slt", "rms", "awb", "kal16")
"""One female and three distinct male voices; the other voices sound like a telephone."""

_FLITE_PITCHES = {"awb": 145, "kal16": 80}
"""Pitch in hertz, for voices whose own pitch is too close to another's."""

_FLITE_SECONDS = 120


class Flite:
    """flite, a program that speaks English."""

    parallel = 2

    def voices(self) -> list[str]:
        """Return the voices."""
        _find_flite()
        return list(_FLITE_VOICES)

    def say(self, voice: str, text: str) -> Sound:
        """Return the speech of a text by a voice."""
        import soundfile

        if voice not in _FLITE_VOICES:
            raise errors.not_configured(
                f"flite has no voice {voice[:60]}. It has {', '.join(_FLITE_VOICES)}: choose one "
                "of them for the speaker, or none."
            )
        command = [_find_flite(), "-voice", voice]
        if voice in _FLITE_PITCHES:
            command += ["--setf", f"int_f0_target_mean={_FLITE_PITCHES[voice]}"]
        with tempfile.TemporaryDirectory(prefix="labext-") as folder:
            text_file, audio_file = Path(folder, "text"), Path(folder, "audio")
            # flite supports ASCII only.
            text_file.write_text(text, encoding="ascii", errors="ignore")
            try:
                subprocess.run(
                    [*command, "-f", text_file, "-o", audio_file],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_FLITE_SECONDS,
                    check=True,
                )
                samples, rate = soundfile.read(audio_file, dtype="float32", format=None)
            except (OSError, subprocess.SubprocessError, soundfile.SoundFileError):
                raise errors.not_configured(
                    "flite can't synthesize speech. Set the default slot text_to_speech to another "
                    f"model: {admin_command('nb models default text_to_speech espeak-ng')}."
                ) from None
        return Sound(samples, int(rate))


def _find_flite() -> str:
    program = shutil.which("flite")
    if program is None:
        raise errors.not_configured(
            "flite is no longer installed: `apt install flite`, or set the default slot "
            "text_to_speech to another model."
        )
    return program


ENGINES: dict[str, Espeak | Flite] = {"espeak-ng": Espeak(), "flite": Flite()}
"""The engines by the names of the built-in models."""
