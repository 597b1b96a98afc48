"""Endpoints of transformations."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from labext.sandbox.nb import limits
from labext.sandbox.nb.cancellation import cancel_on_disconnect
from labext.sandbox.nb.dependencies import CancelTokenDep, SiteDep, ThreadsDep, json_response
from labext.sandbox.nb.schemas import Identifier, MessageResponse
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


@router.get("/transformations", response_model=list[TransformationRecord])
def get_transformations(site: SiteDep) -> Response:
    """List transformations, by their names."""
    return json_response(service.list_transformations(site))


@router.post("/transformations", response_model=TransformationRecord)
def post_transformation(site: SiteDep, body: NewTransformation) -> Response:
    """Make a transformation."""
    return json_response(service.create_transformation(site, body))


@router.post("/transformations/execute", response_model=ExecuteResult)
async def post_execute(
    request: Request,
    site: SiteDep,
    body: ExecuteRequest,
    cancel_token: CancelTokenDep,
    threads: ThreadsDep,
) -> Response:
    """Run a transformation on a text.

    The built-in model picks sentences of the text that the prompt asks for; it writes none.
    """
    work = threads.run(lambda: service.execute_transformation(site, body, cancel_token))
    return json_response(await cancel_on_disconnect(request, cancel_token, work))


@router.get("/transformations/default-prompt", response_model=InstructionsRecord)
def get_default_prompt(site: SiteDep) -> Response:
    """Show the default prompt of all transformations."""
    with site.database.read() as session:
        return json_response({"transformation_instructions": service.get_instructions(session)})


@router.put("/transformations/default-prompt", response_model=InstructionsRecord)
def put_default_prompt(site: SiteDep, body: InstructionsUpdate) -> Response:
    """Set the default prompt of all transformations."""
    with site.database.write() as session:
        limits.check_text_size(session, body.transformation_instructions)
        service.set_instructions(session, body.transformation_instructions)
    return json_response(body.model_dump())


@router.get("/transformations/{transformation_id}", response_model=TransformationRecord)
def get_transformation(site: SiteDep, transformation_id: Identifier) -> Response:
    """Show a transformation."""
    return json_response(service.get_transformation(site, transformation_id))


@router.put("/transformations/{transformation_id}", response_model=TransformationRecord)
def put_transformation(
    site: SiteDep, transformation_id: Identifier, body: TransformationUpdate
) -> Response:
    """Change a transformation."""
    return json_response(service.update_transformation(site, transformation_id, body))


@router.delete("/transformations/{transformation_id}", response_model=MessageResponse)
def delete_transformation(site: SiteDep, transformation_id: Identifier) -> Response:
    """Delete a transformation. The insights that it has made stay."""
    name = service.delete_transformation(site, transformation_id)
    return json_response({"message": f"The transformation {name} is deleted."})
