"""The espeak-ng engine: a library, loaded only in a task process (GPL-3.0)."""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from pathlib import Path
from typing import Any

from labext.sandbox.nb import errors
from labext.sandbox.nb.speech.audio import Sound
from labext.sandbox.nb.speech.engine import require_packages

AT_ONCE = 1

PACKAGE = "espeakng_loader"

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


def voices() -> list[str]:
    """Return the voices as language and variant, English first, without loading the library."""
    languages = sorted(path.name.lower() for path in _language_files())
    others = [language for language in languages if language.partition("-")[0] != "en"]
    return [*_ENGLISH, *(f"{language}+{variant}" for language in others for variant in _VARIANTS)]


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


def say(voice: str, text: str) -> Sound:
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
