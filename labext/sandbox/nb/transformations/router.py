"""Endpoints of transformations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field
from sqlalchemy import func
from sqlalchemy.orm import Session

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import limits, settings, streaming
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.crud import add_crud_routes
from labext.sandbox.nb.dependencies import CancelTokenDep, ThreadsDep
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.usage import Monitor
from labext.sandbox.nb.queries import load
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
from labext.sandbox.nb.tables import Transformation
from labext.sandbox.nb.transformations import service

MAX_PROMPT_LENGTH = 100_000
"""Maximum characters of a prompt."""

Prompt = Annotated[NonEmptyText, Field(max_length=MAX_PROMPT_LENGTH)]

_MODEL = "A model of type `llm`; null is that of the slot `transformation`."
_EXAMPLE = "List every reagent with its concentration."


class NewTransformation(RequestBody):
    """A new transformation; the default title is the name."""

    name: Name = Field(examples=["Methods"])
    prompt: Prompt = Field(examples=[_EXAMPLE])
    title: SingleLine | None = Field(
        default=None, description="The title of the insights that it creates."
    )
    description: FreeText | None = None
    apply_default: bool = Field(default=False, description="Whether it is run on every new source.")
    model_id: Identifier | None = Field(default=None, description=_MODEL)


class TransformationUpdate(RequestBody):
    """Fields to change; omitted ones are unchanged."""

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


def execute_transformation(
    site: Site, request: ExecuteRequest, cancel_token: CancelToken, monitor: Monitor
) -> dict[str, Any]:
    """Run a transformation on a text and return the response.

    The monitor receives the words of the output as they arrive.
    """
    with site.database.read() as session:
        limits.check_text_size(session, request.input_text)
        transformation = load(session, Transformation, request.transformation_id)
        model = registry.select_model(
            session, service.SLOT, request.model_id or transformation.model_id
        )
    output = service.run_transformation(
        site, model, transformation.prompt, request.input_text, cancel_token, monitor
    )
    return {
        "output": output,
        "transformation_id": transformation.id,
        "model_id": model.id,
        "usage": monitor.usage.record(),
    }


router = APIRouter()


@router.post("/transformations", response_model=TransformationRecord)
def post_transformation(site: SiteDep, body: NewTransformation) -> Transformation:
    """Create a transformation."""
    with site.database.write() as session:
        return create_transformation(session, body)


def create_transformation(session: Session, new: NewTransformation) -> Transformation:
    """Create a transformation."""
    transformation = Transformation(
        name=new.name,
        title=new.title or new.name,
        description=new.description or "",
        prompt=new.prompt,
        by_default=new.apply_default,
        model_id=new.model_id,
    )
    _check_transformation(session, transformation)
    session.add(transformation)
    return transformation


@router.post(
    "/transformations/execute", response_model=ExecuteResult, responses=streaming.RESPONSES
)
async def post_execute(
    request: Request,
    site: SiteDep,
    body: ExecuteRequest,
    cancel_token: CancelTokenDep,
    threads: ThreadsDep,
) -> Response:
    """Run a transformation on a text; the output is sent as JSON or as server-sent events.

    The built-in model quotes sentences of the text that match the prompt; it writes none.
    """

    def execute(monitor: Monitor) -> dict[str, Any]:
        return execute_transformation(site, body, cancel_token, monitor)

    return await streaming.respond(request, threads, execute, cancel_token)


@router.get("/transformations/default-prompt", response_model=InstructionsRecord)
def get_default_prompt(site: SiteDep) -> dict[str, str]:
    """Get the default prompt of all transformations."""
    with site.database.read() as session:
        return {"transformation_instructions": service.get_instructions(session)}


@router.put("/transformations/default-prompt", response_model=InstructionsRecord)
def put_default_prompt(site: SiteDep, body: InstructionsUpdate) -> InstructionsUpdate:
    """Set the default prompt of all transformations."""
    with site.database.write() as session:
        limits.check_text_size(session, body.transformation_instructions)
        settings.set_setting(session, service.INSTRUCTIONS, body.transformation_instructions)
    return body


add_crud_routes(
    router,
    "/transformations/{transformation_id}",
    Transformation,
    TransformationRecord,
    (func.lower(Transformation.name), Transformation.id),
)


@router.put("/transformations/{transformation_id}", response_model=TransformationRecord)
def put_transformation(
    site: SiteDep, transformation_id: Identifier, body: TransformationUpdate
) -> Transformation:
    """Update a transformation."""
    values = body.model_dump(exclude_none=True)
    if "model_id" in body.model_fields_set:
        values["model_id"] = body.model_id  # null selects the slot's model
    if "apply_default" in values:
        values["by_default"] = values.pop("apply_default")
    with site.database.write() as session:
        transformation = load(session, Transformation, transformation_id)
        transformation.change(**values)
        with session.no_autoflush:
            _check_transformation(session, transformation)
    return transformation


def _check_transformation(session: Session, transformation: Transformation) -> None:
    limits.check_text_size(session, transformation.description, transformation.prompt)
    if transformation.model_id is not None:
        registry.get_model(session, transformation.model_id, registry.LLM)
