"""Texts as files of sequences can hold them: lines of plain words, and names of one word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def pieces(text: str, width: int) -> list[str]:
    """Return a text in pieces of a width."""
    return [text[start : start + width] for start in range(0, len(text), width)]


def line(text: str, longest_word: int = 40) -> str:
    """Return a text as a line of plain words that can be broken at any blank, and put together."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    ascii_text = re.sub(r"[^!-~]+", " ", ascii_text).replace('"', "'")
    words = (piece for word in ascii_text.split() for piece in pieces(word, longest_word))
    return " ".join(words)


def token(text: str, longest: int) -> str:
    """Return a text as one word, as the name of a sequence in a file."""
    word = re.sub(r"[^A-Za-z0-9_.+()-]+", "_", line(text, longest)).strip("_")
    return word[:longest].strip("_") or "sequence"


def unlike(word: str, others: Iterable[str], longest: int) -> str:
    """Return the word, numbered if it is among the others."""
    taken, found, number = set(others), word, 1
    while found in taken:
        number += 1
        end = f"_{number}"
        found = word[: longest - len(end)] + end
    return found
