"""Base classes and text types of the request and response schemas."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic_core import PydanticCustomError

MAX_LINE_LENGTH = 500
"""Characters of a name, a title or a topic."""

MAX_IDENTIFIER_LENGTH = 100
MAX_IDENTIFIERS = 10_000


class RequestBody(BaseModel):
    """Base of request bodies: strict types, unknown fields ignored, no NaN."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, values: Any) -> Any:
        """Drop null fields whose default is not null, so that the default applies."""
        if not isinstance(values, dict):
            return values
        fields = cls.model_fields
        return {
            name: value
            for name, value in values.items()
            if value is not None
            or name not in fields
            or fields[name].is_required()
            or fields[name].default is None
        }


_COLUMN_NAMES = {"created_at": "created", "updated_at": "updated"}
"""Columns whose names differ from those of the fields in all records."""


class Record(BaseModel):
    """Base of response records, which are made from rows of a table or from dictionaries."""

    model_config = ConfigDict(
        from_attributes=True,
        populate_by_name=True,
        alias_generator=AliasGenerator(validation_alias=lambda name: _COLUMN_NAMES.get(name, name)),
    )


def format_time(seconds: float) -> str:
    """Format seconds since the epoch as ISO 8601 in UTC: `2026-11-20T13:23:23.768Z`."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


Timestamp = Annotated[str, BeforeValidator(format_time)]
"""A time as stored, in seconds since the epoch; as text in responses."""


class MessageResponse(Record):
    """A message about the result."""

    message: str


class ErrorResponse(Record):
    """The reason of an error, and what the user can do as a `kind` of action with arguments."""

    detail: str
    action: dict[str, str] | None = None


def _validation_error(sentence: str) -> PydanticCustomError:
    # Passed as a parameter: the sentence may contain braces, so it can't be the template.
    return PydanticCustomError("labext", "{sentence}", {"sentence": sentence})


def _check_encodable(text: str) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise _validation_error("must not contain unpaired surrogates")


def _validate_text(text: str) -> str:
    _check_encodable(text)
    if "\0" in text:
        raise _validation_error("must not contain the character NUL")
    return text


def _validate_non_empty(text: str) -> str:
    if not text.strip():
        raise _validation_error("must not be empty")
    return _validate_text(text)


def _validate_line(text: str) -> str:
    if len(text) > MAX_LINE_LENGTH:
        raise _validation_error(f"must have at most {MAX_LINE_LENGTH} characters")
    _check_encodable(text)
    if any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in text):
        raise _validation_error("must be one line without control characters")
    return text.strip()


def _validate_name(text: str) -> str:
    line = _validate_line(text)
    if not line:
        raise _validation_error("must not be empty")
    return line


def _validate_identifier(text: str) -> str:
    if not (text.isprintable() and 0 < len(text) <= MAX_IDENTIFIER_LENGTH):
        raise _validation_error("must be an identifier")
    return text


FreeText = Annotated[str, AfterValidator(_validate_text)]
"""A text of any length, which may be empty."""

NonEmptyText = Annotated[str, AfterValidator(_validate_non_empty)]
"""A text that is not blank."""

SingleLine = Annotated[str, AfterValidator(_validate_line), Field(max_length=MAX_LINE_LENGTH)]
"""A stripped single line that may be empty: an optional title, a topic."""

Name = Annotated[
    str, AfterValidator(_validate_name), Field(min_length=1, max_length=MAX_LINE_LENGTH)
]
"""A stripped single line that is not empty."""

Identifier = Annotated[
    str, AfterValidator(_validate_identifier), Field(min_length=1, max_length=MAX_IDENTIFIER_LENGTH)
]
"""A well-formed identifier in a path, query or body; others give a 400."""

Identifiers = Annotated[list[Identifier], Field(max_length=MAX_IDENTIFIERS)]


class UsageRecord(Record):
    """The tokens and the cost of model calls, as far as the provider states them."""

    input_tokens: int
    output_tokens: int
    cost: float | None = Field(description="In US dollars; null if the provider states none.")


ModelType = Literal["llm", "embedding", "stt", "tts"]
"""A model's type (NB-274)."""
