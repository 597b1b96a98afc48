"""HTTP errors, and validation of the fields of request bodies and queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.exceptions import HTTPException

from labext.sandbox.jobs.names import name_error, project_error, quote_value


def bad_request(sentence: str) -> HTTPException:
    """400: the parameters or settings won't do."""
    return HTTPException(400, sentence)


def unauthorized(sentence: str) -> HTTPException:
    """401: the `x-api-key` is missing or wrong."""
    return HTTPException(401, sentence)


def forbidden(sentence: str) -> HTTPException:
    """403: the account is known and may not."""
    return HTTPException(403, sentence)


def not_found(sentence: str) -> HTTPException:
    """404: there is no such thing."""
    return HTTPException(404, sentence)


Body = Mapping[str, Any]


def parse_body(content: bytes) -> dict[str, Any]:
    """The JSON object in `content`; 400 for anything else, or one too deep to keep."""
    try:
        body = orjson.loads(content)
        orjson.dumps(body)  # it reads deeper nesting than it writes
    except orjson.JSONDecodeError as error:
        raise bad_request(f"The body is not JSON: {error}.") from None
    except TypeError:
        raise bad_request("The body is nested too deeply.") from None
    if not isinstance(body, dict):
        raise bad_request("The body is not a JSON object.")
    return body


def require_text(body: Body, field: str) -> str:
    """A string that must be there."""
    value = optional_text_field(body, field)
    if value is None:
        raise bad_request(f"{field} is missing.")
    return value


def optional_text_field(body: Body, field: str) -> str | None:
    """A string, or None where the field is absent or null."""
    value = body.get(field)
    if value is not None and not isinstance(value, str):
        raise bad_request(f"{field} is not a string: {quote_value(value)}.")
    return value


def require_name(body: Body, field: str) -> str:
    """A job's or a batch's name."""
    value = require_text(body, field)
    if fault := name_error(field, value):
        raise bad_request(fault)
    return value


def optional_project(body: Body) -> str | None:
    """The optional `projectTag`."""
    value = optional_text_field(body, "projectTag")
    if value is not None and (fault := project_error(value)):
        raise bad_request(fault)
    return value


def require_object(body: Body, field: str) -> dict[str, Any]:
    """A JSON object that must be there."""
    value = body.get(field)
    if value is None:
        raise bad_request(f"{field} is missing.")
    if not isinstance(value, dict):
        raise bad_request(f"{field} is not an object: {quote_value(value)}.")
    return value


def require_array(body: Body, field: str) -> list[Any]:
    """A JSON array that must be there."""
    value = body.get(field)
    if value is None:
        raise bad_request(f"{field} is missing.")
    if not isinstance(value, list):
        raise bad_request(f"{field} is not an array: {quote_value(value)}.")
    return value


def flag_field(body: Body, field: str) -> bool:
    """Return a boolean of the body; False if it is absent or null."""
    value = body.get(field)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise bad_request(f"{field} is neither true nor false: {quote_value(value)}.")
    return value


def positive_field(body: Body, field: str, most: float, *, whole: bool) -> float | None:
    """Return a number above 0 and at most `most`, or None if it is absent or null."""
    value = body.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise bad_request(
            f"{field} is not {'an integer' if whole else 'a number'}: {quote_value(value)}."
        )
    if not 0 < value <= most:
        raise bad_request(f"{field} is not above 0 and at most {most:,}: {quote_value(value)}.")
    return float(value)


def query_flag(query: Mapping[str, str], field: str) -> bool:
    """Return a boolean of the query, case-insensitive; False if it is absent."""
    value = query.get(field)
    if value is None:
        return False
    if value.lower() not in ("true", "false"):
        raise bad_request(f"{field} is neither true nor false: {quote_value(value)}.")
    return value.lower() == "true"


def query_count(query: Mapping[str, str], field: str, default: int) -> int:
    """A whole number of the query, 1 or more; a bigger one than `default` counts as `default`."""
    value = query.get(field)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) >= 1):
        raise bad_request(f"{field} is not a whole number from 1: {quote_value(value)}.")
    return min(int(value), default)
