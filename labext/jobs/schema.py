"""Tools, their parameters, and the conversion of text to parameter values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from labext import messages
from labext.errors import InputError

ParameterKind = Literal["integer", "number", "boolean", "list", "object", "text", "file"]

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "no default"})()
"""Marks a parameter without a default (`None` may be a default)."""

_KINDS: dict[str, ParameterKind] = {
    "int": "integer",
    "integer": "integer",
    "number": "number",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "checkbox": "boolean",
    "list": "list",
    "array": "list",
    "object": "object",
    "dict": "object",
    "json": "object",
    "str": "text",
    "string": "text",
    "text": "text",
    "sequence": "text",
    "smiles": "text",
    "enum": "text",
    "file": "file",
    "pdb": "file",
    "cif": "file",
    "sdf": "file",
    "fasta": "file",
    "csv": "file",
}
_TYPE_NAMES: dict[ParameterKind | None, str] = {
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "list": "list",
    "object": "object",
    "text": "string",
}
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool.

    Attributes:
        name, required: always given by the service.
        type, description: the service's words, or None.
        default: the default, or `MISSING`.
        options: its allowed values; empty if any value is allowed.
    """

    name: str
    required: bool = False
    type: str | None = None
    default: Any = MISSING
    options: tuple[Any, ...] = ()
    description: str | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Parameter:
        """Make one of the service's record."""
        return cls(
            name=str(record["name"]),
            required=record.get("required") is True,
            type=record["type"] if isinstance(record.get("type"), str) else None,
            default=record.get("default", MISSING),
            options=tuple(_option_value(option) for option in record.get("options") or ()),
            description=record.get("description"),
        )

    @cached_property
    def kind(self) -> ParameterKind | None:
        """The kind of its values, from its type, else its default or options; None if unknown."""
        if self.type is not None:
            return _kind_of_word(self.type)
        if self.default is not MISSING and self.default is not None:
            return _kind_of_value(self.default)
        kinds = {_kind_of_value(option) for option in self.options}
        return kinds.pop() if len(kinds) == 1 else None

    @property
    def type_name(self) -> str | None:
        """The service's word for its type, else the type of its options, default or name."""
        if self.type is not None:
            return self.type
        if self.options:
            return "enum"
        return "file" if self.is_file else _TYPE_NAMES.get(self.kind)

    @property
    def is_file(self) -> bool:
        """True if its value is a file: content, an uploaded file's name or a job's output."""
        if self.type is not None:
            return self.kind == "file"
        return self.name.lower().endswith(("file", "_pdb"))


class Tool:
    """One tool of the catalogue: its record, and its parameters by name."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = dict(record)
        self.name = str(record.get("name"))
        described = record.get("settings")
        self.parameters = {
            parameter.name: parameter
            for parameter in map(Parameter.from_record, filter(_is_named, described or ()))
        }

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, {', '.join(self.parameters)})"


def cast(parameter: Parameter, text: str) -> Any:
    """Convert text, as typed after `--set name=`, to a value of the parameter.

    Numbers, `true` and `false` by the parameter's type (else its default's); a list as JSON or
    separated by commas; an object as JSON. If the kind is unknown, a complete JSON list or object
    is parsed, and everything else stays text.

    Raises:
        InputError: the text is no such value.
    """
    kind = parameter.kind
    if parameter.options and kind not in ("list", "boolean"):
        for option in parameter.options:
            if text == option or text == str(option):
                return option
    if kind == "boolean":
        return _cast_boolean(parameter, text)
    if kind in ("integer", "number"):
        return _cast_number(parameter, text, whole=kind == "integer")
    if kind == "list":
        return _cast_list(parameter, text)
    if kind == "object":
        return _cast_object(parameter, text)
    if kind is None and text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _cast_boolean(parameter: Parameter, text: str) -> bool:
    word = text.strip().casefold()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise _cast_error(parameter, text, "true or false")


def _cast_number(parameter: Parameter, text: str, *, whole: bool) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise _cast_error(parameter, text, "a whole number" if whole else "a number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise _cast_error(parameter, text, "a number")
    if whole:
        if not number.is_integer():
            raise _cast_error(parameter, text, "a whole number")
        return int(number)
    return number


def _cast_list(parameter: Parameter, text: str) -> list[Any]:
    if text.lstrip().startswith("["):
        try:
            value = json.loads(text)
        except ValueError:
            raise _cast_error(parameter, text, "a list") from None
        if isinstance(value, list):
            return value
    items = [item.strip() for item in text.split(",")] if text.strip() else []
    kind = _kind_of_items(parameter)
    if kind in ("integer", "number"):
        return [_cast_number(parameter, item, whole=kind == "integer") for item in items]
    return items


def _cast_object(parameter: Parameter, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise _cast_error(parameter, text, "JSON") from None


def _cast_error(parameter: Parameter, text: str, expected: str) -> InputError:
    return InputError(
        f"{parameter.name} takes {expected}, not {messages.quote_value(text)}.",
        f"Give {expected} for {parameter.name}.",
    )


def _kind_of_word(word: str) -> ParameterKind | None:
    word = word.strip().casefold()
    if word in _KINDS:
        return _KINDS[word]
    if word.endswith("[]") or word.startswith(("list", "array")):
        return "list"
    return "file" if "file" in word else None


def _kind_of_value(value: Any) -> ParameterKind | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, list):
        return "list"
    if isinstance(value, Mapping):
        return "object"
    return "text" if isinstance(value, str) else None


def _kind_of_items(parameter: Parameter) -> ParameterKind | None:
    """Return the kind of a list's elements: from `list[number]`, else its default or options."""
    word = (parameter.type or "").casefold()
    for number_type in ("number", "float", "integer", "int", "double"):
        if number_type in word:
            return _KINDS[number_type]
    default: Sequence[Any] = parameter.default if isinstance(parameter.default, list) else ()
    kinds = {_kind_of_value(item) for item in [*default, *parameter.options]}
    return kinds.pop() if len(kinds) == 1 else None


def _is_named(record: Any) -> bool:
    return isinstance(record, Mapping) and "name" in record


def _option_value(option: Any) -> Any:
    if isinstance(option, Mapping):
        return next((option[key] for key in ("value", "name", "label") if key in option), option)
    return option
