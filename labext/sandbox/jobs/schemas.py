"""HTTP errors, and validation of the fields of request bodies and queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from starlette.exceptions import HTTPException

from labext.sandbox.jobs.names import name_error, project_error, quote_value


def bad_request(message: str) -> HTTPException:
    """400: invalid parameters or settings."""
    return HTTPException(400, message)


def unauthorized(message: str) -> HTTPException:
    """401: the `x-api-key` is missing or invalid."""
    return HTTPException(401, message)


def forbidden(message: str) -> HTTPException:
    """403: the account lacks the permission."""
    return HTTPException(403, message)


def not_found(message: str) -> HTTPException:
    """404: the object does not exist."""
    return HTTPException(404, message)


Body = Mapping[str, Any]
T = TypeVar("T")


def parse_body(content: bytes) -> dict[str, Any]:
    """Parse a JSON object; 400 if the body is not one or is nested too deeply."""
    try:
        body = orjson.loads(content)
        orjson.dumps(body)  # orjson parses deeper nesting than it serializes
    except orjson.JSONDecodeError as error:
        raise bad_request(f"The body is not JSON: {error}.") from None
    except TypeError:
        raise bad_request("The body is nested too deeply.") from None
    if not isinstance(body, dict):
        raise bad_request("The body is not a JSON object.")
    return body


def require_text(body: Body, field: str) -> str:
    """Return a required string field."""
    return _require(body, field, str, "a string")


def optional_text_field(body: Body, field: str) -> str | None:
    """Return an optional string field; None if it is absent or null."""
    value = body.get(field)
    return None if value is None else check_type(value, field, str, "a string")


def require_name(body: Body, field: str) -> str:
    """Return a required field with the name of a job or batch."""
    return check_name(require_text(body, field), field)


def check_name(value: object, field: str) -> str:
    """Return the value if it is a valid name of a job or batch, else raise 400."""
    name = check_type(value, field, str, "a string")
    if error := name_error(field, name):
        raise bad_request(error)
    return name


def check_type(value: object, field: str, kind: type[T], noun: str) -> T:
    """Return the value if it has the type that `noun` describes, else raise 400."""
    if not isinstance(value, kind):
        raise bad_request(f"{field} is not {noun}: {quote_value(value)}.")
    return value


def optional_project(body: Body) -> str | None:
    """Return the `projectTag`, or None."""
    value = optional_text_field(body, "projectTag")
    if value is not None and (error := project_error(value)):
        raise bad_request(error)
    return value


def require_object(body: Body, field: str) -> dict[str, Any]:
    """Return a required field with a JSON object."""
    return _require(body, field, dict, "an object")


def require_array(body: Body, field: str) -> list[Any]:
    """Return a required field with a JSON array."""
    return _require(body, field, list, "an array")


def _require(body: Body, field: str, kind: type[T], noun: str) -> T:
    value = body.get(field)
    if value is None:
        raise bad_request(f"{field} is missing.")
    return check_type(value, field, kind, noun)


def flag_field(body: Body, field: str) -> bool:
    """Return a boolean field of the body; False if it is absent or null."""
    value = body.get(field)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise bad_request(f"{field} is neither true nor false: {quote_value(value)}.")
    return value


def positive_field(body: Body, field: str, maximum: float, *, whole: bool) -> float | None:
    """Return a number field above 0 and up to `maximum`; None if it is absent or null."""
    value = body.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise bad_request(
            f"{field} is not {'an integer' if whole else 'a number'}: {quote_value(value)}."
        )
    if not 0 < value <= maximum:
        raise bad_request(f"{field} is not above 0 and at most {maximum:,}: {quote_value(value)}.")
    return float(value)


def query_flag(query: Mapping[str, str], field: str) -> bool:
    """Return a boolean query parameter, ignoring case; False if it is absent."""
    value = query.get(field)
    if value is None:
        return False
    if value.lower() not in ("true", "false"):
        raise bad_request(f"{field} is neither true nor false: {quote_value(value)}.")
    return value.lower() == "true"


def query_count(query: Mapping[str, str], field: str, default: int) -> int:
    """Return a positive integer query parameter; `default` is also its maximum."""
    value = query.get(field)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) >= 1):
        raise bad_request(f"{field} is not a whole number from 1: {quote_value(value)}.")
    return min(int(value), default)
