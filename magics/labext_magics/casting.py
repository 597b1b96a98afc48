"""Settings as they were typed, made what the tool takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from labext.errors import InputError
from labext_magics.body import plain
from labext_magics.kinds import Typed

if TYPE_CHECKING:
    from labext.jobs.schema import Tool

T = TypeVar("T")


def merged(pairs: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """Return the pairs of several options as one dict; InputError for a name that comes twice."""
    found: dict[str, T] = {}
    for each in pairs:
        for name, value in each.items():
            if name in found:
                raise InputError(f"`{name}` is set twice.", "Keep one of the two.")
            found[name] = value
    return found


def cast_settings(tool: Tool, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with each bare word cast by the tool's schema.

    A number or a truth value that is none stays as it was typed: the client names all that is wrong
    at once. Objects of the user's are handed on as they are.

    Raises InputError for a list or an object that can't be read as one.
    """
    return {name: _cast(tool, name, value) for name, value in settings.items()}


def _cast(tool: Tool, name: str, value: Any) -> Any:
    from labext.jobs import cast

    if not isinstance(value, Typed):
        return plain(value)
    parameter = tool.parameters.get(name)
    if parameter is None or (parameter.kind is None and value.meaning != value.text):
        return value.meaning
    try:
        return cast(parameter, value.text)
    except InputError:
        if parameter.kind in ("list", "object"):
            raise
        return value.text
