"""Remove control characters, bidirectional overrides and lone surrogates from untrusted text."""

from __future__ import annotations

import re
from typing import Any

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Replaces such a character."""

DIRECTION_CONTROLS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""The characters with Unicode's property Bidi_Control, for a regular expression's `[…]`."""

# Lone surrogates, as in names of files that are not UTF-8, can't be encoded, and thus not printed.
_CONTROL = re.compile(f"[\0-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff{DIRECTION_CONTROLS}]")
_ASCII = bytes({*range(32), 127} - {*b"\t\n\v\f\r"})
_ESCAPED = re.compile(
    r"\\(?:b|u(?:000[0-8eEfF]|001[0-9a-fA-F]|007[fF]|00[89][0-9a-fA-F]"
    r"|061[cC]|200[eEfF]|202[a-eA-E]|206[6-9]|[dD][89a-fA-F]))"
)


def strip_control(text: str) -> str:
    """Return `text` with control characters, direction marks and surrogates as U+FFFD."""
    return _CONTROL.sub(REPLACEMENT, text)


def contains_control(text: str) -> bool:
    """Return True if `text` contains a control character, raw or as a JSON escape.

    A backslash is taken for the start of a JSON escape, and an escaped surrogate for a lone one:
    the result may be a false positive.
    """
    if text.isascii():  # the usual case; deleting from bytes is 20 times as fast as a search
        plain = text.encode()
        if len(plain.translate(None, _ASCII)) < len(plain):
            return True
    elif _CONTROL.search(text):
        return True
    # Once escaped backslashes are removed, each remaining backslash starts an escape.
    return "\\" in text and _ESCAPED.search(text.replace("\\\\", "")) is not None


MAX_DEPTH = 100
"""Levels of JSON values that are kept; hundreds would exceed Python's recursion limit."""


def strip_control_json(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a JSON value with all strings sanitized, keys included.

    Lists and objects that are nested too deeply are replaced by U+FFFD.
    """
    if isinstance(value, str):
        return strip_control(value)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return REPLACEMENT
    if isinstance(value, list):
        return [strip_control_json(item, depth - 1) for item in value]
    return {
        strip_control_json(key): strip_control_json(item, depth - 1) for key, item in value.items()
    }
