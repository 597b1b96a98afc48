"""Request and response schemas of transformations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labext.sandbox.nb.schemas import (
    FreeText,
    Identifier,
    Name,
    NonEmptyText,
    Record,
    RequestBody,
    SingleLine,
    Timestamp,
    UsageRecord,
)

MAX_PROMPT_LENGTH = 100_000
"""Maximum characters of a prompt."""

Prompt = Annotated[NonEmptyText, Field(max_length=MAX_PROMPT_LENGTH)]

_MODEL = "A model of type `llm`; null is that of the slot `transformation`."
_EXAMPLE = "List every reagent with its concentration."


class NewTransformation(RequestBody):
    """A new transformation; the default title is the name."""

    name: Name = Field(examples=["Methods"])
    prompt: Prompt = Field(examples=[_EXAMPLE])
    title: SingleLine | None = Field(None, description="The title of the insights that it creates.")
    description: FreeText | None = None
    apply_default: bool = Field(False, description="Whether it is run on every new source.")
    model_id: Identifier | None = Field(None, description=_MODEL)


class TransformationUpdate(RequestBody):
    """Fields to change; omitted ones stay."""

    name: Name | None = None
    prompt: Prompt | None = None
    title: Name | None = None
    description: FreeText | None = None
    apply_default: bool | None = None
    model_id: Identifier | None = Field(None, description=_MODEL)


class TransformationRecord(Record):
    """A transformation."""

    id: str = Field(examples=["transformation:2v1h6nnjbp70uur02d4q"])
    name: str
    title: str
    description: str
    prompt: str
    apply_default: bool = Field(validation_alias="by_default")
    model_id: str | None = Field(description=_MODEL)
    created_at: Timestamp
    updated_at: Timestamp


class ExecuteRequest(RequestBody):
    """A transformation to run on a text."""

    transformation_id: Identifier
    input_text: NonEmptyText = Field(examples=["Cells were induced with 0.2 % arabinose at 37 °C."])
    model_id: Identifier | None = Field(
        None, description="By default the transformation's model, or else the slot's."
    )


class ExecuteResult(Record):
    """The output of a transformation, and the model that produced it."""

    output: str
    transformation_id: str
    model_id: str
    usage: UsageRecord | None


class InstructionsUpdate(RequestBody):
    """The default prompt of all transformations; may be empty."""

    transformation_instructions: FreeText = Field(max_length=MAX_PROMPT_LENGTH)


class InstructionsRecord(Record):
    """The default prompt of all transformations."""

    transformation_instructions: str
