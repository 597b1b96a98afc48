"""Texts that are too long for a model: it is given their parts, and then makes one of what it made.

How much a model can read is not known to its client, and a server may cut off the rest without a
word; so `model_characters` limits what is sent at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from labext.sandbox.nb import faults, limits

Ask = Callable[[str, str], str]
"""Takes a prompt and a text, and returns what a model makes of it."""

_SEAMS = ("\n\n", "\n", ". ", " ")
"""Where a text is rather cut, the best first."""


@dataclass(frozen=True)
class Terms:
    """How much of a text a model is given at once, in characters, and in how many parts at most."""

    characters: int
    parts: int


def terms(session: Session) -> Terms:
    """What the limits of the service say."""
    return Terms(limits.limit(session, "model_characters"), limits.limit(session, "model_parts"))


def joined(ask: Ask, prompt: str, text: str, terms: Terms) -> str:
    """What a model makes of a text of any length.

    Raises:
        HTTPException: 413, the text falls into too many parts.
    """
    if len(text) <= terms.characters:
        return ask(prompt, text)
    if len(text) > terms.characters * terms.parts:
        raise faults.too_large(
            f"The text has {len(text):,} characters; a model's server is given at most "
            f"{terms.characters * terms.parts:,}. Take a shorter text or the built-in model, or "
            "allow more: `labext sandbox nb limits set model_parts`."
        )
    pieces = cut(text, terms.characters)
    made = [
        ask(f"{prompt}\n\nThis is part {number} of {len(pieces)} of a longer text.", piece)
        for number, piece in enumerate(pieces, 1)
    ]
    together = "\n\n".join(made)
    if len(together) > terms.characters:
        return together
    whole = (
        f"{prompt}\n\nThis was done with each part of a long text, and this is what came out. Make "
        "one answer of it, as if the text had been read at once; add nothing."
    )
    return ask(whole, together)


def cut(text: str, most: int) -> list[str]:
    """A text in parts of at most `most` characters, cut between paragraphs, lines or sentences.

    A cut is at the first such seam from the end that leaves a part at least half full.
    """
    found = []
    while len(text) > most:
        ends = (text.rfind(seam, most // 2, most) + len(seam) for seam in _SEAMS)
        end = next((end for seam, end in zip(_SEAMS, ends, strict=True) if end >= len(seam)), most)
        found.append(text[:end].strip())
        text = text[end:]
    return [each for each in [*found, text.strip()] if each]
