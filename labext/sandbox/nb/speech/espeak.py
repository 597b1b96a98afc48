"""The espeak-ng engine: a library, loaded only in the process of a task (GPL-3.0)."""

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

_ENGLISH = (
    "en-us+f2",
    "en-us+m3",
    "en+Annie",
    "en+m8",
    "en-gb-scotland+f4",
    "en-gb-scotland+rob",
)
"""Women and men in turn, so that the first are told apart best: by pitch, timbre and accent."""

_VARIANTS = ("f2", "m3", "Annie", "m8")
"""Those of the other languages."""

_PITCHES = {"f2": 48, "m3": 58, "Annie": 52, "m8": 42, "f4": 38, "rob": 62}
"""From 0 to 100, where 50 is as the variant has it: they are moved away from each other."""

_RATE, _PITCH = 1, 3
"""Parameters of the library."""

_WORDS_A_MINUTE = 165
_SYNCHRONOUS = 2
_NO_EXIT = 1 << 15
_UTF8 = 1
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)

_engine_lock = threading.Lock()


def voices() -> list[str]:
    """Its voices: a language and a variant each, English first; the library is not loaded."""
    languages = sorted(path.name.lower() for path in _language_files())
    others = [each for each in languages if each.partition("-")[0] != "en"]
    return [*_ENGLISH, *(f"{each}+{variant}" for each in others for variant in _VARIANTS)]


def language_code(language: str) -> str:
    """The code of a language by its English name, `de` of German; else the language as it is."""
    wanted = f"name {language.strip()}".lower()
    for path in _language_files():
        lines = path.read_text(encoding="utf-8", errors="replace").lower().splitlines()
        if any(line.partition("(")[0].strip() == wanted for line in lines):
            return path.name.lower()
    return language


def _language_files() -> list[Path]:
    """A file a language, named after its code."""
    require_packages(PACKAGE)
    import espeakng_loader  # type: ignore[import-untyped]

    data = Path(espeakng_loader.get_data_path())
    files = (path for path in (data / "lang").rglob("*") if path.is_file())
    # A few have no dictionary in the package.
    return [path for path in files if (data / f"{path.name.partition('-')[0]}_dict").is_file()]


def say(voice: str, text: str) -> Sound:
    """A text as a voice says it."""
    import numpy as np

    with _engine_lock:
        library, rate, heard = _library()
        if library.espeak_SetVoiceByName(voice.encode("utf-8", "replace")) != 0:
            raise errors.not_configured(
                f"espeak-ng has no voice {voice[:60]}. Choose another for the speaker, or none."
            )
        variant = voice.partition("+")[2]
        library.espeak_SetParameter(_RATE, _WORDS_A_MINUTE, 0)
        library.espeak_SetParameter(_PITCH, _PITCHES.get(variant, 50), 0)
        heard.clear()
        said = text.encode("utf-8", "replace").replace(b"\0", b" ") + b"\0"
        library.espeak_Synth(said, len(said), 0, 1, 0, _UTF8, None, None)
        library.espeak_Synchronize()
        wave = b"".join(heard)
        heard.clear()
    samples = np.frombuffer(wave, "<i2").astype(np.float32)
    return Sound(samples / np.float32(32768), rate)


@cache
def _library() -> tuple[Any, int, list[bytes]]:
    """The library, its samples a second, and where it puts them as it speaks."""
    require_packages(PACKAGE)
    import espeakng_loader

    library: Any = ctypes.CDLL(espeakng_loader.get_library_path())
    data = str(espeakng_loader.get_data_path()).encode()
    rate = int(library.espeak_Initialize(_SYNCHRONOUS, 0, data, _NO_EXIT))
    if rate <= 0:
        raise errors.not_configured(
            "espeak-ng can't be started here. Set the default slot text_to_speech to another model."
        )
    heard: list[bytes] = []

    def take(wave: Any, count: int, _events: Any) -> int:
        if wave and count > 0:
            heard.append(ctypes.string_at(wave, count * 2))
        return 0

    library.labext_taking = _CALLBACK(take)  # kept: it must not be collected while it is called
    library.espeak_SetSynthCallback(library.labext_taking)
    return library, rate, heard
