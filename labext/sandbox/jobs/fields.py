"""Reads a request's JSON body and query, field by field; a fault is one sentence naming the field.

Fields that nobody asks for are ignored, as the real service does (`gpuType` among them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.names import name_fault, project_fault, shown

Body = Mapping[str, Any]


def parse_body(content: bytes) -> dict[str, Any]:
    """The JSON object in `content`; 400 for anything else, or one too deep to keep."""
    try:
        body = orjson.loads(content)
        orjson.dumps(body)  # it reads deeper nesting than it writes
    except orjson.JSONDecodeError as error:
        raise invalid(f"The body is not JSON: {error}.") from None
    except TypeError:
        raise invalid("The body is nested too deeply.") from None
    if not isinstance(body, dict):
        raise invalid("The body is not a JSON object.")
    return body


def text(body: Body, field: str) -> str:
    """A string that must be there."""
    value = optional_text(body, field)
    if value is None:
        raise invalid(f"{field} is missing.")
    return value


def optional_text(body: Body, field: str) -> str | None:
    """A string, or None where the field is absent or null."""
    value = body.get(field)
    if value is not None and not isinstance(value, str):
        raise invalid(f"{field} is not a string: {shown(value)}.")
    return value


def name(body: Body, field: str) -> str:
    """A job's or a batch's name."""
    value = text(body, field)
    if fault := name_fault(field, value):
        raise invalid(fault)
    return value


def project(body: Body) -> str | None:
    """The optional `projectTag`."""
    value = optional_text(body, "projectTag")
    if value is not None and (fault := project_fault(value)):
        raise invalid(fault)
    return value


def record(body: Body, field: str) -> dict[str, Any]:
    """A JSON object that must be there."""
    value = body.get(field)
    if value is None:
        raise invalid(f"{field} is missing.")
    if not isinstance(value, dict):
        raise invalid(f"{field} is not an object: {shown(value)}.")
    return value


def array(body: Body, field: str) -> list[Any]:
    """A JSON array that must be there."""
    value = body.get(field)
    if value is None:
        raise invalid(f"{field} is missing.")
    if not isinstance(value, list):
        raise invalid(f"{field} is not an array: {shown(value)}.")
    return value


def switch(body: Body, field: str) -> bool:
    """A boolean of the body; False where it is absent or null."""
    value = body.get(field)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise invalid(f"{field} is neither true nor false: {shown(value)}.")
    return value


def positive(body: Body, field: str, most: float, *, whole: bool) -> float | None:
    """A number above 0 and at most `most`, or None where it is absent or null."""
    value = body.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise invalid(f"{field} is not {'an integer' if whole else 'a number'}: {shown(value)}.")
    if not 0 < value <= most:
        raise invalid(f"{field} is not above 0 and at most {most:,}: {shown(value)}.")
    return float(value)


def flag(query: Mapping[str, str], field: str) -> bool:
    """A boolean of the query: `true` or `false`, in any case; False where it is absent."""
    value = query.get(field)
    if value is None:
        return False
    if value.lower() not in ("true", "false"):
        raise invalid(f"{field} is neither true nor false: {shown(value)}.")
    return value.lower() == "true"


def count(query: Mapping[str, str], field: str, default: int) -> int:
    """A whole number of the query, 1 or more; a bigger one than `default` counts as `default`."""
    value = query.get(field)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) >= 1):
        raise invalid(f"{field} is not a whole number from 1: {shown(value)}.")
    return min(int(value), default)
