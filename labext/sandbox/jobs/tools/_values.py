"""Reads settings, also those whose parameter declares no type; a sentence says what is wrong.

A value typed on a line is text where a script sends a number or a list: both are taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from labext.sandbox.jobs import names
from labext.sandbox.jobs.tool import Settings, ToolError


def fault(read: Callable[[Settings], object]) -> Callable[[Settings], str | None]:
    """Turn a function that reads a tool's settings into its `check`."""

    def check(settings: Settings) -> str | None:
        try:
            read(settings)
        except ToolError as error:
            return str(error)
        return None

    return check


def shown(value: object) -> str:
    """The value as it is quoted in a sentence: at most 40 characters."""
    return names.shown(value, 40)


def text(settings: Settings, name: str) -> str:
    """A string that is not empty."""
    value = _present(settings, name)
    if not isinstance(value, str):
        raise ToolError(f"{name}: a string is expected, not {shown(value)}.")
    if not value.strip():
        raise ToolError(f"{name}: it is empty.")
    return value


def choice(settings: Settings, name: str, options: Sequence[str]) -> str:
    """One of `options`."""
    value = _present(settings, name)
    if value not in options:
        raise ToolError(f"{name}: {shown(value)} is none of {', '.join(options)}.")
    return str(value)


def flag(settings: Settings, name: str) -> bool:
    """True or false."""
    value = _present(settings, name)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise ToolError(f"{name}: true or false is expected, not {shown(value)}.")
    return value


def number(settings: Settings, name: str, low: float, high: float) -> float:
    """A finite number from `low` to `high`."""
    return _bounded(name, _number(name, _present(settings, name)), low, high)


def integer(settings: Settings, name: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    value = _present(settings, name)
    found = _number(name, value)
    if not found.is_integer():
        raise ToolError(f"{name}: a whole number is expected, not {shown(value)}.")
    return int(_bounded(name, found, low, high))


def words(settings: Settings, name: str) -> list[str]:
    """Strings: a list of them, or one text that is parted by commas or blanks."""
    value = _present(settings, name)
    if isinstance(value, str):
        value = [word for word in re.split(r"[,;\s]+", value) if word]
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ToolError(f"{name}: a list of names is expected, not {shown(value)}.")
    if not value:
        raise ToolError(f"{name}: it is empty.")
    return [word.strip() for word in value]


def numbers(settings: Settings, name: str, low: float, high: float) -> list[float]:
    """Numbers from `low` to `high`: a list of them, or one text parted by commas or blanks."""
    value = _present(settings, name)
    if isinstance(value, str):
        value = [word for word in re.split(r"[,;\s]+", value) if word]
    if not isinstance(value, list):
        raise ToolError(f"{name}: a list of numbers is expected, not {shown(value)}.")
    return [
        _bounded(f"{name}, item {place}", _number(f"{name}, item {place}", item), low, high)
        for place, item in enumerate(value, 1)
    ]


def _present(settings: Settings, name: str) -> Any:
    if settings.get(name) is None:
        raise ToolError(f"{name}: it is missing.")
    return settings[name]


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ToolError(f"{name}: a number is expected, not {shown(value)}.")
    try:
        found = float(value)
    except (ValueError, OverflowError):
        raise ToolError(f"{name}: a number is expected, not {shown(value)}.") from None
    if not math.isfinite(found):
        raise ToolError(f"{name}: a finite number is expected, not {shown(value)}.")
    return found


def _bounded(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise ToolError(f"{name}: {value:g} is outside {low:g} to {high:g}.")
    return value
