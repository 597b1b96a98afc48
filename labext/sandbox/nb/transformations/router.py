"""Endpoints of transformations."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import func
from sqlalchemy.orm import Session

from labext.sandbox.nb import limits, streaming
from labext.sandbox.nb.cancellation import cancel_on_disconnect
from labext.sandbox.nb.crud import add_crud_routes, load
from labext.sandbox.nb.dependencies import CancelTokenDep, SiteDep, ThreadsDep
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.schemas import Identifier
from labext.sandbox.nb.tables import Transformation
from labext.sandbox.nb.transformations import service
from labext.sandbox.nb.transformations.schemas import (
    ExecuteRequest,
    ExecuteResult,
    InstructionsRecord,
    InstructionsUpdate,
    NewTransformation,
    TransformationRecord,
    TransformationUpdate,
)

router = APIRouter()


@router.post("/transformations", response_model=TransformationRecord)
def post_transformation(site: SiteDep, body: NewTransformation) -> Transformation:
    """Create a transformation."""
    transformation = Transformation(
        name=body.name,
        title=body.title or body.name,
        description=body.description or "",
        prompt=body.prompt,
        by_default=body.apply_default,
        model_id=body.model_id,
    )
    with site.database.write() as session:
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
    """Run a transformation on a text; the output comes at once or as server-sent events.

    The built-in model quotes sentences of the text that match the prompt; it writes none.
    """

    def execute(monitor: Monitor) -> dict[str, Any]:
        return service.execute_transformation(site, body, cancel_token, monitor)

    if streaming.wants_stream(request):
        events = threads.stream(streaming.result_events(execute), cancel_token)
        return await streaming.stream_response(request, events, cancel_token)
    work = threads.run(lambda: execute(Monitor(Usage())))
    return await cancel_on_disconnect(request, cancel_token, work)


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
        service.set_instructions(session, body.transformation_instructions)
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
