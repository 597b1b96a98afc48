"""Find out what a model is for by having the service test it as one type after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labext.errors import ConflictError, InputError
from labext.nb.models import Models

_TYPE_NAMES = (
    ("embedding", r"embed|minilm|\bbge\b|\be5\b|\bgte\b"),
    ("stt", r"whisper|transcri|speech-to-text|parakeet|stt\b"),
    ("tts", r"tts\b|speech|voice|kokoro|piper"),
    ("llm", ""),
)
"""Types of models, and patterns of the names that such models usually have."""


@dataclass(frozen=True)
class Trial:
    """The result of trying a model.

    Attributes:
        name: the model.
        type: the type as which it works and was added; None if it works as none.
        reason: why the test of its likeliest type failed, in the service's words.
    """

    name: str
    type: str | None
    reason: str = ""


def likely_types(name: str) -> list[str]:
    """Return all types of models, the likeliest for a name first."""
    words = name.casefold().replace("_", "-")
    first = next(type for type, pattern in _TYPE_NAMES if re.search(pattern, words))
    return [first, *(type for type in ("llm", "embedding", "tts", "stt") if type != first)]


def try_types(models: Models, name: str, provider: str, credential: str) -> Trial:
    """Add a model as the first type as which the service's test succeeds.

    The test endpoint takes only a model that has been added: one that fails is deleted again.

    Args:
        models: the client's methods for models.
        name: what its provider calls it.
        provider: whose it is.
        credential: the identifier of the credential by which it is reached.
    """
    reason = ""
    for type in likely_types(name):
        try:
            added = models.create(name, type, provider, credential)
        except (ConflictError, InputError) as error:
            if error.status not in (400, 409):
                raise
            return Trial(name, type)  # it was there already
        works = False
        try:
            result = models.test(added["id"])
            works = bool(result["success"])
        finally:
            if not works:
                models.delete(added["id"])
        if works:
            return Trial(name, type)
        reason = reason or str(result["message"] or "")
    return Trial(name, None, reason)
