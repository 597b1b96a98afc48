"""Encode names, texts and unsupported fields for sequence file formats."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

Fields = dict[str, Any]

PRESERVED_MARK = "labext:"
"""Prefix of a line of text that holds preserved values."""

_ESCAPE_PATTERN = re.compile(r"\\.")


def preserve(visible: Mapping[str, Any], exact: Mapping[str, Any]) -> dict[str, list[list[Any]]]:
    """Return the shown and the exact value of each field that differs; `[]` for a missing one."""
    return {
        name: [_field_values(visible, name), _field_values(exact, name)]
        for name in dict.fromkeys([*visible, *exact])
        if encode_value(_field_values(visible, name)) != encode_value(_field_values(exact, name))
    }


def restore(visible: Mapping[str, Any], preserved: Any) -> Fields:
    """Return the fields, with the exact value of each that is shown unchanged."""
    fields = dict(visible)
    for name, pair in preserved.items() if isinstance(preserved, dict) else ():
        if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_field_value, pair))):
            continue
        was, exact = pair
        if encode_value(_field_values(visible, name)) == encode_value(was):
            fields.pop(name, None)
            if exact:
                fields[name] = exact[0]
    return fields


def encode_value(value: Any) -> str:
    """Return a value as JSON of printable ASCII without blanks and double quotes.

    It then is one word to any reader, and needs no quoting: single quotes stand for double ones,
    and those that were there are escaped.
    """
    text = json.dumps(value, separators=(",", ":"), default=str)
    text = _ESCAPE_PATTERN.sub(lambda match: "\\u0022" if match[0] == '\\"' else match[0], text)
    text = text.replace("'", "\\u0027").replace('"', "'")
    return text.replace(" ", "\\u0020").replace("\x7f", "\\u007f")


def decode_value(text: str) -> Any:
    """Return the value that `encode_value` encoded; None for any other text."""
    try:
        return json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return None


def _field_values(fields: Mapping[str, Any], name: str) -> list[Any]:
    return [fields[name]] if name in fields else []


def _is_field_value(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 1


def split_text(text: str, width: int) -> list[str]:
    """Return a text in pieces of a width."""
    return [text[start : start + width] for start in range(0, len(text), width)]


def to_line(text: str, longest_word: int = 40) -> str:
    """Return a text as a line of plain words that can be broken at any blank, and put together."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    ascii_text = re.sub(r"[^!-~]+", " ", ascii_text).replace('"', "'")
    words = (piece for word in ascii_text.split() for piece in split_text(word, longest_word))
    return " ".join(words)


def to_token(text: str, longest: int) -> str:
    """Return a text as one word, as the name of a sequence in a file."""
    word = re.sub(r"[^A-Za-z0-9_.+()-]+", "_", to_line(text, longest)).strip("_")
    return word[:longest].strip("_") or "sequence"


def unique_name(word: str, others: Iterable[str], longest: int) -> str:
    """Return the word, numbered if it is among the others."""
    used, name, number = set(others), word, 1
    while name in used:
        number += 1
        end = f"_{number}"
        name = word[: longest - len(end)] + end
    return name
