"""Base classes and text types of the request and response schemas."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

MAX_LINE_LENGTH = 500
"""Characters of a name, a title or a topic."""

MAX_IDENTIFIER_LENGTH = 100
MAX_IDENTIFIERS = 10_000


class RequestBody(BaseModel):
    """What a request says: the types as they stand, unknown fields ignored, no NaN."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, given: Any) -> Any:
        """Leave out what is null where something else is the default: null means nothing there."""
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields
        return {
            name: value
            for name, value in given.items()
            if value is not None
            or name not in fields
            or fields[name].is_required()
            or fields[name].default is None
        }


class Record(BaseModel):
    """What an answer says; it only describes, nothing is held to it while it is served."""


class MessageResponse(Record):
    """What was done, in one sentence."""

    message: str


class ErrorResponse(Record):
    """Why a request was refused, in one sentence."""

    detail: str


def _validation_error(sentence: str) -> PydanticCustomError:
    # A sentence of the caller's text could not be a template.
    return PydanticCustomError("labext", "{sentence}", {"sentence": sentence})


def _check_encodable(text: str) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise _validation_error("must be text, which half of a surrogate pair is not")


def _validate_text(text: str) -> str:
    _check_encodable(text)
    if "\0" in text:
        raise _validation_error("must not hold the character NUL")
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
"""A text of any length, perhaps empty."""

NonEmptyText = Annotated[str, AfterValidator(_validate_non_empty)]
"""A text that says something."""

SingleLine = Annotated[str, AfterValidator(_validate_line), Field(max_length=MAX_LINE_LENGTH)]
"""One line, perhaps empty, without blanks around it: an optional title, a topic."""

Name = Annotated[
    str, AfterValidator(_validate_name), Field(min_length=1, max_length=MAX_LINE_LENGTH)
]
"""One line that says something."""

Identifier = Annotated[
    str, AfterValidator(_validate_identifier), Field(min_length=1, max_length=MAX_IDENTIFIER_LENGTH)
]
"""What may be an identifier, in a path, a query or a body: 400 for what can be none."""

Identifiers = Annotated[list[Identifier], Field(max_length=MAX_IDENTIFIERS)]
