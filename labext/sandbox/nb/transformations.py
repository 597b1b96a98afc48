"""Transformations: prompts that models apply to texts, and the insights that they create."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import limits, settings, streaming
from labext.sandbox.nb.cancellation import (
    CallCancelledError,
    CancelToken,
    cancel_after,
    cancel_on_disconnect,
)
from labext.sandbox.nb.crud import add_crud_routes, load
from labext.sandbox.nb.dependencies import CancelTokenDep, SiteDep, ThreadsDep
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.providers.usage import Monitor, Usage
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
from labext.sandbox.nb.tables import Model, Transformation
from labext.sandbox.nb.text import extractive

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


DEFAULT_INSTRUCTIONS = (
    "Answer from the text alone and invent nothing. Give only what is asked for, without an "
    "introduction and without comments of your own."
)

INSTRUCTIONS = "transformation_instructions"
"""The setting with the default prompt; an empty one removes it."""


def get_instructions(session: Session) -> str:
    """Return the default prompt; empty if it was removed."""
    instructions = settings.get_setting(session, INSTRUCTIONS)
    return DEFAULT_INSTRUCTIONS if instructions is None else instructions


SLOT = "transformation"


def execute_transformation(
    site: Site, request: ExecuteRequest, cancel_token: CancelToken, monitor: Monitor
) -> dict[str, Any]:
    """Run a transformation on a text and return the response.

    The monitor receives the words of the output as they arrive.

    Raises:
        HTTPException: 404 if the transformation or model does not exist; 422 if no suitable model
            is set; 413 if the text is too long; 502 if the model's server failed.
        CallCancelledError: if the call was cancelled.
    """
    with site.database.read() as session:
        limits.check_text_size(session, request.input_text)
        transformation = load(session, Transformation, request.transformation_id)
        model = registry.select_model(session, SLOT, request.model_id or transformation.model_id)
    output = run_transformation(
        site, model, transformation.prompt, request.input_text, cancel_token, monitor
    )
    return {
        "output": output,
        "transformation_id": transformation.id,
        "model_id": model.id,
        "usage": monitor.usage.record(),
    }


def run_transformation(
    site: Site,
    model: Model,
    prompt: str,
    text: str,
    cancel_token: CancelToken | None = None,
    monitor: Monitor | None = None,
) -> str:
    """Return a model's output for a text, given the default prompt and this one.

    Raises:
        HTTPException: 502, 422 and 413 as `execute_transformation`.
        CallCancelledError: if the call was cancelled.
    """
    with site.database.read() as session:
        instructions, limits = get_instructions(session).strip(), chat.part_limits(session)
    if registry.is_built_in(model):
        return extractive.quote_key_sentences(text, prompt)

    monitor = monitor or Monitor(Usage())

    def ask(prompt: str, text: str, *, observed: Monitor) -> str:
        system = [{"role": "system", "content": instructions}] if instructions else []
        message = {"role": "user", "content": f"{prompt}\n\n# The text\n\n{text}"}
        return chat.generate_reply(site, model, [*system, message], cancel_token, None, observed)

    ask_part = partial(ask, observed=Monitor(monitor.usage))
    return chat.ask_in_parts(ask_part, prompt, text, limits, partial(ask, observed=monitor))


_RETRY_HINT = "Retry the source to create it."


def create_insights(
    site: Site, text: str, on_stage: Callable[[str], None], deadline: float
) -> tuple[list[tuple[str, str]], str | None]:
    """Return the outputs of the default transformations for a text, by title.

    Returns:
        The insights, and a remark on those that failed, or None.
    """
    insights: list[tuple[str, str]] = []
    remarks: list[str] = []
    with site.database.read() as session:
        defaults = select(Transformation).where(Transformation.by_default)
        ordered = defaults.order_by(Transformation.created, Transformation.id)
        transformations = list(session.scalars(ordered))
    cancel_token = CancelToken()
    with cancel_after(cancel_token, deadline - time.monotonic()):
        for transformation in transformations:
            title = transformation.title
            on_stage(f"insight: {title}")
            try:
                with site.database.read() as session:
                    model = registry.select_model(session, SLOT, transformation.model_id)
                prompt = transformation.prompt
                insights.append(
                    (title, run_transformation(site, model, prompt, text, cancel_token))
                )
            except HTTPException as error:
                remarks.append(f"The insight {title} could not be created: {error.detail}")
            except CallCancelledError:
                remarks.append(
                    f"The insight {title} could not be created: its model took too long."
                )
    return insights, " ".join([*remarks, _RETRY_HINT]) if remarks else None


router = APIRouter()


@router.post("/transformations", response_model=TransformationRecord)
def post_transformation(site: SiteDep, body: NewTransformation) -> Transformation:
    """Create a transformation."""
    with site.database.write() as session:
        return create_transformation(session, body)


def create_transformation(session: Session, new: NewTransformation) -> Transformation:
    """Create a transformation.

    Raises:
        HTTPException: 404 if the model does not exist; 413 if a text is too long; 422 if the model
            is not of type `llm`.
    """
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
) -> Any:
    """Run a transformation on a text; the output is sent as JSON or as server-sent events.

    The built-in model quotes sentences of the text that match the prompt; it writes none.
    """

    def execute(monitor: Monitor) -> dict[str, Any]:
        return execute_transformation(site, body, cancel_token, monitor)

    if streaming.wants_stream(request):
        events = threads.stream(streaming.result_events(execute), cancel_token)
        return await streaming.stream_response(request, events, cancel_token)
    work = threads.run(lambda: execute(Monitor(Usage())))
    return await cancel_on_disconnect(request, cancel_token, work)


@router.get("/transformations/default-prompt", response_model=InstructionsRecord)
def get_default_prompt(site: SiteDep) -> dict[str, str]:
    """Get the default prompt of all transformations."""
    with site.database.read() as session:
        return {"transformation_instructions": get_instructions(session)}


@router.put("/transformations/default-prompt", response_model=InstructionsRecord)
def put_default_prompt(site: SiteDep, body: InstructionsUpdate) -> InstructionsUpdate:
    """Set the default prompt of all transformations."""
    with site.database.write() as session:
        limits.check_text_size(session, body.transformation_instructions)
        settings.set_setting(session, INSTRUCTIONS, body.transformation_instructions)
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
        for name, value in values.items():
            setattr(transformation, name, value)
        if values:
            transformation.updated = time.time()
        with session.no_autoflush:
            _check_transformation(session, transformation)
    return transformation


def _check_transformation(session: Session, transformation: Transformation) -> None:
    limits.check_text_size(session, transformation.description, transformation.prompt)
    if transformation.model_id is not None:
        registry.get_model(session, transformation.model_id, registry.LLM)
