"""Characters that do something where they are shown, taken out of a service's words.

An escape sequence colours, clears or renames a terminal, and an override of the direction of
reading shows a name as another one. No text of science holds either. Line ends and tabs stay.
"""

from __future__ import annotations

import re
from typing import Any

SHOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands where such a character was."""

_STEERING = re.compile("[\0-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ASCII = bytes({*range(32), 127} - {*b"\t\n\v\f\r"})
_ESCAPED = re.compile(
    r"\\(?:b|u(?:000[0-8ef]|001[0-9a-f]|007f|00[89][0-9a-f]|202[a-e]|206[6-9]))", re.IGNORECASE
)


def tame(text: str) -> str:
    """Return `text` without what steers a terminal or the direction of reading."""
    return _STEERING.sub(SHOWN, text)


def steers(text: str) -> bool:
    """Say whether `text` holds such a character, as it is or as JSON writes it.

    Of a text that holds a backslash it may say so falsely.
    """
    if text.isascii():  # as settings with structures in them are; twenty times as fast
        plain = text.encode()
        if len(plain.translate(None, _ASCII)) < len(plain):
            return True
    elif _STEERING.search(text):
        return True
    return "\\" in text and _ESCAPED.search(text) is not None  # the first is far cheaper


def tamed(value: Any) -> Any:
    """Return a value of JSON with every text in it tamed, its keys too."""
    if isinstance(value, str):
        return tame(value)
    if isinstance(value, dict):
        return {tamed(key): tamed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tamed(item) for item in value]
    return value
