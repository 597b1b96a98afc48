"""Request and response schemas of sources."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labext.sandbox.nb.schemas import (
    FreeText,
    Identifier,
    Name,
    Record,
    RequestBody,
    SingleLine,
    Timestamp,
)


class NewSource(RequestBody):
    """A page or a text; either `url` or `text`."""

    url: FreeText | None = Field(None, examples=["https://example.org/induction.html"])
    text: FreeText | None = Field(None, examples=["Cells were induced with 0.2 % arabinose."])
    notebook_id: Identifier | None = None
    process_async: bool = True
    title: SingleLine | None = None
    topic: SingleLine | None = None


class SourceForm(NewSource):
    """A file, a page or a text; exactly one of `file`, `url` and `text`."""

    file: str | None = Field(None, json_schema_extra={"format": "binary"})


class SourceUpdate(RequestBody):
    """Fields to change; omitted ones are unchanged."""

    title: Name | None = None
    topic: SingleLine | None = None


class Asset(Record):
    """The origin of a source."""

    file_path: str | None = Field(description="The uploaded file's name.")
    url: str | None


Remark = Annotated[
    str | None,
    Field(description="Text that may be wrong or is missing, and insights that are, and why."),
]


class SourceRecord(Record):
    """A source in a list."""

    id: str
    title: str
    topic: str
    notebooks: list[str]
    asset: Asset
    kind: str = Field(description="`upload`, `link` or `text`.")
    media_type: str | None
    size: int | None = Field(description="Size of the upload or the text in bytes.")
    status: str = Field(description="`new`, `running`, `completed` or `failed`.")
    stage: str = Field(description="The current stage while it runs.")
    error: str | None = Field(description="The reason of a failure.")
    remark: Remark
    transcribed_by: str | None = Field(
        description="The model that recognized the text in speech; the text is rough then."
    )
    confidence: float | None = Field(
        description="The mean probability of the words of recognized speech."
    )
    embedded: bool
    passages: int
    insights_count: int
    file_available: bool
    created_at: Timestamp
    updated_at: Timestamp


class SourceWithText(SourceRecord):
    """A source with its text."""

    full_text: str | None


class SourceStatusRecord(Record):
    """The processing status of a source."""

    status: str
    stage: str
    message: str
    error: str | None
    remark: Remark
    started_at: Timestamp | None
    completed_at: Timestamp | None
    changed_at: Timestamp


class InsightRecord(Record):
    """A model's output about a source."""

    id: str
    source_id: str
    insight_type: str = Field(validation_alias="kind")
    content: str
    created_at: Timestamp
    updated_at: Timestamp


CREATE_REQUEST_BODY = {
    "required": True,
    "content": {
        "multipart/form-data": {"schema": SourceForm.model_json_schema()},
        "application/json": {"schema": NewSource.model_json_schema()},
    },
}
"""The request body of POST /sources in the API description."""
