"""The routes of the group Transformations (contract, Endpoints)."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from labext.sandbox.nb import limits
from labext.sandbox.nb.bodies import Done, Identifier
from labext.sandbox.nb.calls import LineOf, SiteOf, ThreadsOf, json_answer
from labext.sandbox.nb.models.leaving import while_there
from labext.sandbox.nb.transformations import instructions, keeping, running
from labext.sandbox.nb.transformations.bodies import (
    ChangedTransformation,
    Executed,
    Execution,
    Instructions,
    InstructionsRecord,
    NewTransformation,
    TransformationRecord,
)

api = APIRouter()


@api.get("/transformations", response_model=list[TransformationRecord])
def get_transformations(site: SiteOf) -> Response:
    """List transformations, by their names."""
    return json_answer(keeping.listed(site))


@api.post("/transformations", response_model=TransformationRecord)
def post_transformation(site: SiteOf, body: NewTransformation) -> Response:
    """Make a transformation."""
    return json_answer(keeping.make(site, body))


@api.post("/transformations/execute", response_model=Executed)
async def post_execute(
    request: Request, site: SiteOf, body: Execution, line: LineOf, threads: ThreadsOf
) -> Response:
    """Run a transformation on a text.

    The built-in model picks sentences of the text that the prompt asks for; it writes none.
    """
    work = threads.run(lambda: running.executed(site, body, line))
    return json_answer(await while_there(request, line, work))


@api.get("/transformations/default-prompt", response_model=InstructionsRecord)
def get_default_prompt(site: SiteOf) -> Response:
    """Show what every model is told before a transformation's own prompt."""
    with site.database.read() as session:
        return json_answer({"transformation_instructions": instructions.instructions(session)})


@api.put("/transformations/default-prompt", response_model=InstructionsRecord)
def put_default_prompt(site: SiteOf, body: Instructions) -> Response:
    """Set what every model is told before a transformation's own prompt."""
    with site.database.write() as session:
        limits.check_text(session, body.transformation_instructions)
        instructions.change(session, body.transformation_instructions)
    return json_answer(body.model_dump())


@api.get("/transformations/{transformation_id}", response_model=TransformationRecord)
def get_transformation(site: SiteOf, transformation_id: Identifier) -> Response:
    """Show a transformation."""
    return json_answer(keeping.shown(site, transformation_id))


@api.put("/transformations/{transformation_id}", response_model=TransformationRecord)
def put_transformation(
    site: SiteOf, transformation_id: Identifier, body: ChangedTransformation
) -> Response:
    """Change a transformation."""
    return json_answer(keeping.change(site, transformation_id, body))


@api.delete("/transformations/{transformation_id}", response_model=Done)
def delete_transformation(site: SiteOf, transformation_id: Identifier) -> Response:
    """Delete a transformation. The insights that it has made stay."""
    name = keeping.delete(site, transformation_id)
    return json_answer({"message": f"The transformation {name} is deleted."})
