"""Of which type a model is, by its name: a server's list of its models doesn't say.

A name falls into words at its signs, `nomic-embed-text:v1.5` into `nomic`, `embed`, `text`, `v1`
and `5`; a word fits a mark that it begins with. The first rule that fits counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from labext.sandbox.nb.models.registry import EMBEDDING, LLM, STT, TTS

RULES: Sequence[tuple[str | None, tuple[str, ...]]] = (
    (STT, ("whisper", "transcri", "stt", "asr", "parakeet")),
    (TTS, ("tts", "speech", "kokoro", "piper", "orpheus")),
    (EMBEDDING, ("embed", "bge", "gte", "e5", "minilm")),
    (
        None,
        (
            *("moderation", "rerank", "ocr", "guard", "dall", "image", "flux", "sora", "video"),
            *("diffusion", "realtime", "babbage", "davinci"),
        ),
    ),
)
"""Types, and the marks of each; None is what the service has no use for. All else is an `llm`."""

_WORD = re.compile(r"[^\W_]+")


def kind_of(name: str) -> str | None:
    """The type that a model probably is of; None: none that the service uses."""
    words = _WORD.findall(name.lower())
    for kind, marks in RULES:
        if any(word.startswith(marks) for word in words):
            return kind
    return LLM
