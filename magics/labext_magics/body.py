"""The body of a cell: YAML or JSON, where a word stays the word that was typed.

YAML 1.1 reads `NO` as false, `12:30` as 750 and `1_000` as a thousand: as a sequence, a name or an
identifier each of them is a word. Here the parameter's type decides (`Typed`), and where it has
none only what JSON would take for a number, `true`, `false` or `null` is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from labext.errors import InputError
from labext_magics.kinds import Typed

_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)\.\d+")
_PLAIN = "tag:yaml.org,2002:"
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def read(text: str) -> Any:
    """Return the body's mappings and lists; a bare word in them is a `Typed`.

    Raises InputError for what is neither YAML nor JSON, for a name that is there twice, and for an
    empty body.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text, object_pairs_hook=_mapping)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
    value = _yaml(text)
    if isinstance(value, Typed) and not value.text:
        raise InputError("The cell's body is empty.", "Write the settings below the first line.")
    return value


def plain(value: Any) -> Any:
    """Return a value with each bare word in it replaced by what it means without a schema."""
    if isinstance(value, Typed):
        return value.meaning
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def words(value: Any) -> Any:
    """Return a value with each bare word in it as the text that was typed: for names."""
    if isinstance(value, Typed):
        return value.text
    return [words(item) for item in value] if isinstance(value, list) else value


def meaning(text: str) -> Any:
    """Return what a bare word means where nobody says: JSON's numbers and words, else the text."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InputError(f"`{name}` is there twice in the cell's body.", "Keep one of the two.")
        found[name] = value
    return found


def _yaml(text: str) -> Any:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 2}, column {mark.column + 1} of the cell" if mark else ""
        raise InputError(
            f"The cell's body is no YAML: {error.problem or error.context}{where}.",
            "Write `setting: value`, a setting on each line; quote a value that has `: ` in it.",
        ) from error
    except yaml.YAMLError as error:
        raise InputError(
            f"The cell's body is no YAML: {error}.", "Take out the strange character."
        ) from error
    return Typed("", None) if node is None else _value(node, ())


def _value(node: Any, above: tuple[int, ...]) -> Any:
    """Make the value of a YAML node: no merge keys, no tags but the plain ones, names as text."""
    if id(node) in above or not node.tag.startswith(_PLAIN) or "/" in node.tag[len(_PLAIN) :]:
        raise InputError(
            f"The cell's body has {'a loop' if id(node) in above else 'the tag ' + node.tag}.",
            "Write plain mappings, lists and words.",
        )
    inside = (*above, id(node))
    if node.id == "mapping":
        return _mapping([(_name(name), _value(item, inside)) for name, item in node.value])
    if node.id == "sequence":
        return [_value(item, inside) for item in node.value]
    text = str(node.value)
    bare = node.style is None  # neither quoted nor a block
    return Typed(text, meaning(text)) if bare else text


def _name(node: Any) -> str:
    if node.id != "scalar":
        raise InputError("A name in the cell's body is a list or a mapping.", "Quote the name.")
    return str(node.value)
