"""What requests and answers are made of: the kinds of text, and what every body has in common.

A group declares its bodies as subclasses of `Body` and describes its answers by subclasses of
`Record`, which `/docs` shows.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

LONGEST_LINE = 500
"""Characters of a name, a title or a topic."""

LONGEST_IDENTIFIER = 100
MOST_IDENTIFIERS = 10_000


class Body(BaseModel):
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


class Done(Record):
    """What was done, in one sentence."""

    message: str


class Refusal(Record):
    """Why a request was refused, in one sentence."""

    detail: str


def _fault(sentence: str) -> PydanticCustomError:
    # A sentence of the caller's text could not be a template.
    return PydanticCustomError("labext", "{sentence}", {"sentence": sentence})


def _check_encodable(text: str) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise _fault("must be text, which half of a surrogate pair is not")


def _prose(text: str) -> str:
    _check_encodable(text)
    if "\0" in text:
        raise _fault("must not hold the character NUL")
    return text


def _content(text: str) -> str:
    if not text.strip():
        raise _fault("must not be empty")
    return _prose(text)


def _line(text: str) -> str:
    if len(text) > LONGEST_LINE:
        raise _fault(f"must have at most {LONGEST_LINE} characters")
    _check_encodable(text)
    if any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in text):
        raise _fault("must be one line without control characters")
    return text.strip()


def _name(text: str) -> str:
    line = _line(text)
    if not line:
        raise _fault("must not be empty")
    return line


def _identifier(text: str) -> str:
    if not (text.isprintable() and 0 < len(text) <= LONGEST_IDENTIFIER):
        raise _fault("must be an identifier")
    return text


Prose = Annotated[str, AfterValidator(_prose)]
"""A text of any length, perhaps empty."""

Content = Annotated[str, AfterValidator(_content)]
"""A text that says something."""

Line = Annotated[str, AfterValidator(_line), Field(max_length=LONGEST_LINE)]
"""One line, perhaps empty, without blanks around it: an optional title, a topic."""

Name = Annotated[str, AfterValidator(_name), Field(min_length=1, max_length=LONGEST_LINE)]
"""One line that says something."""

Identifier = Annotated[
    str, AfterValidator(_identifier), Field(min_length=1, max_length=LONGEST_IDENTIFIER)
]
"""What may be an identifier, in a path, a query or a body: 400 for what can be none."""

Identifiers = Annotated[list[Identifier], Field(max_length=MOST_IDENTIFIERS)]
