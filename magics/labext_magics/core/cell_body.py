"""Parse the YAML or JSON body of a cell, and cast its values by a tool's schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from labext.errors import InputError
from labext_magics.core.value_types import BareText

if TYPE_CHECKING:
    from labext.jobs.tools import Tool

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)\.\d+")
_EXPRESSION = re.compile(r"\{(?:(?!: )[^{}])+\}")
"""Text in braces that is no mapping of YAML."""

_PLAIN_TAGS = "tag:yaml.org,2002:"
_LITERALS = {"true": True, "false": False, "null": None, "~": None, "": None}


def parse_body(text: str) -> Any:
    """Parse a cell body; unquoted YAML scalars become `BareText`.

    Raises:
        InputError: the body is empty, is neither YAML nor JSON, or has a duplicate key.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text, object_pairs_hook=_mapping)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
    value = _yaml(text)
    if isinstance(value, BareText) and not value.text:
        raise InputError("The cell body is empty.", "Write the settings below the first line.")
    return value


def untyped(value: Any) -> Any:
    """Replace each `BareText` in a value by its default value, without a schema."""
    return _replace_bare_text(value, lambda bare: bare.default)


def as_text(value: Any) -> Any:
    """Replace each `BareText` in a value by its text, for names."""
    return _replace_bare_text(value, lambda bare: bare.text)


def _replace_bare_text(value: Any, convert: Callable[[BareText], Any]) -> Any:
    if isinstance(value, BareText):
        return convert(value)
    if isinstance(value, Mapping):
        return {name: _replace_bare_text(item, convert) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace_bare_text(item, convert) for item in value]
    return value


def parse_scalar(text: str) -> Any:
    """Parse an unquoted scalar as a JSON number, boolean or null; otherwise return the text."""
    if text in _LITERALS:
        return _LITERALS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for name, value in pairs:
        if name in mapping:
            raise InputError(f"`{name}` occurs twice in the cell body.", "Keep one of them.")
        mapping[name] = value
    return mapping


def _yaml(text: str) -> Any:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = text.splitlines()[mark.line : mark.line + 1] if mark else []
        if expression := _EXPRESSION.search("".join(line)):
            raise _expression_error(expression[0]) from error
        position = f" at line {mark.line + 2}, column {mark.column + 1} of the cell" if mark else ""
        raise InputError(
            f"The cell body is not valid YAML: {error.problem or error.context}{position}.",
            "Write one `setting: value` per line; quote values that contain `: `.",
        ) from error
    except yaml.YAMLError as error:
        raise InputError(
            f"The cell body is not valid YAML: {error}.", "Remove the invalid character."
        ) from error
    return BareText("", None) if node is None else _node_value(node, ())


def _node_value(node: Any, ancestors: tuple[int, ...]) -> Any:
    """Convert a YAML node; merge keys, custom tags and cycles are errors."""
    if (
        id(node) in ancestors
        or not node.tag.startswith(_PLAIN_TAGS)
        or "/" in node.tag[len(_PLAIN_TAGS) :]
    ):
        raise InputError(
            f"The cell body has {'a cycle' if id(node) in ancestors else 'the tag ' + node.tag}.",
            "Use plain mappings, lists and scalars.",
        )
    path = (*ancestors, id(node))
    if node.id == "mapping":
        _refuse_expression(node)
        return _mapping([(_key_text(name), _node_value(item, path)) for name, item in node.value])
    if node.id == "sequence":
        return [_node_value(item, path) for item in node.value]
    text = str(node.value)
    bare = node.style is None  # neither quoted nor a block
    return BareText(text, parse_scalar(text)) if bare else text


def _refuse_expression(node: Any) -> None:
    """Refuse `{name}`: it is an expression on a line, but a mapping to nothing in YAML."""
    is_empty = [item.id == "scalar" and item.value == "" for _, item in node.value]
    if node.flow_style and is_empty and all(is_empty):
        names = [_key_text(name) for name, _ in node.value]
        raise _expression_error(f"{{{', '.join(names)}}}")


def _expression_error(expression: str) -> InputError:
    return InputError(
        f"The cell body contains {expression}, but takes no Python expressions.",
        "Pass the value on the line, with `--set SETTING={EXPRESSION}` or `--inputs`.",
    )


def _key_text(node: Any) -> str:
    if node.id != "scalar":
        raise InputError("A name in the cell body is a list or a mapping.", "Quote the name.")
    return str(node.value)


T = TypeVar("T")


def merge_pairs(pairs: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """Merge the values of a repeated option into one dict.

    Raises:
        InputError: a name occurs twice.
    """
    merged: dict[str, T] = {}
    for mapping in pairs:
        for name, value in mapping.items():
            if name in merged:
                raise InputError(f"`{name}` is set twice.", "Keep one of them.")
            merged[name] = value
    return merged


def cast_settings(tool: Tool, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Cast each `BareText` in the settings by the tool's schema.

    An invalid number or boolean remains text, so that the client can report all errors at once.
    Values from Python expressions are unchanged.

    Raises:
        InputError: a list or an object can't be parsed.
    """
    return {name: _cast(tool, name, value) for name, value in settings.items()}


def _cast(tool: Tool, name: str, value: Any) -> Any:
    from labext.jobs.tools import cast

    if not isinstance(value, BareText):
        return untyped(value)
    parameter = tool.parameters.get(name)
    if parameter is None or (parameter.kind is None and value.default != value.text):
        return value.default
    try:
        return cast(parameter, value.text)
    except InputError:
        if parameter.kind in ("list", "object"):
            raise
        return value.text
