"""The providers of models that the service can ask: where each is, and by which key.

All but the built-in one answer as OpenAI does. Their addresses are those of their own pages; an
address of one's own, of a proxy or another machine, is a credential's `base_url`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from labext import wording
from labext.sandbox.nb import faults
from labext.sandbox.nb.models.registry import BUILT_IN, EMBEDDING, KINDS, LLM, STT, TTS


@dataclass(frozen=True)
class Known:
    """A provider of models.

    Attributes:
        name: what the service calls it.
        base_url: where it is; None: only a credential, or the environment, says it.
        needs_key: whether it answers nobody without a key.
        kinds: the types of models that it has.
    """

    name: str
    base_url: str | None
    needs_key: bool
    kinds: tuple[str, ...]


OPENAI_COMPATIBLE = "openai_compatible"

PROVIDERS: Mapping[str, Known] = {
    known.name: known
    for known in (
        Known("openai", "https://api.openai.com/v1", True, KINDS),
        Known("mistral", "https://api.mistral.ai/v1", True, (LLM, EMBEDDING, STT)),
        Known("xai", "https://api.x.ai/v1", True, (LLM,)),
        Known("deepseek", "https://api.deepseek.com/v1", True, (LLM,)),
        Known("groq", "https://api.groq.com/openai/v1", True, (LLM, STT, TTS)),
        Known("openrouter", "https://openrouter.ai/api/v1", True, (LLM, EMBEDDING)),
        Known(OPENAI_COMPATIBLE, None, False, KINDS),
        Known("ollama", "http://localhost:11434/v1", False, (LLM, EMBEDDING)),
    )
}
"""Those that a credential can be for, the first choice of `ranking` first."""

NAMES = (*PROVIDERS, BUILT_IN)
"""All, the built-in one last."""


def known(name: str) -> Known:
    """A provider that a credential can be for.

    Raises:
        HTTPException: 400, there is none of the name, or it needs no credential.
    """
    if name == BUILT_IN:
        raise faults.invalid("The built-in models need no credential.", "See `%nb models`.")
    checked(name)
    return PROVIDERS[name]


def checked(name: str) -> str:
    """The name of any provider.

    Raises:
        HTTPException: 400, there is none of the name.
    """
    if name not in NAMES:
        raise faults.invalid(
            f"There is no provider {wording.shown(name)}.",
            f"Choose one of {wording.listed(NAMES, len(NAMES))}.",
        )
    return name
