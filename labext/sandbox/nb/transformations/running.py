"""What a model makes of a text by a transformation's prompt."""

from __future__ import annotations

from typing import Any

from labext.sandbox.nb import limits
from labext.sandbox.nb.models import chatting, extractive, registry
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.store import Model
from labext.sandbox.nb.transformations import keeping, parts
from labext.sandbox.nb.transformations.bodies import Execution
from labext.sandbox.nb.transformations.instructions import instructions
from labext.sandbox.service import Site

SLOT = "transformation"


def executed(site: Site, wanted: Execution, line: Line) -> dict[str, Any]:
    """Run a transformation on a text: the answer of the operation.

    Raises:
        HTTPException: 404, there is no such transformation or model; 422, there is no model for it,
            or it can't do what is asked; 413, the text is too long; 502, the model's server failed.
        HungUp: nobody waits any more.
    """
    with site.database.read() as session:
        limits.check_text(session, wanted.input_text)
        there = keeping.found(session, wanted.transformation_id)
        model = registry.chosen(session, SLOT, wanted.model_id or there.model_id)
    output = made(site, model, there.prompt, wanted.input_text, line)
    return {"output": output, "transformation_id": there.id, "model_id": model.id}


def made(site: Site, model: Model, prompt: str, text: str, line: Line | None = None) -> str:
    """What a model makes of a text: by the default prompt, then by this one.

    Args:
        site: where the service lives.
        model: of type `llm`.
        prompt: the transformation's.
        text: what it is run on.
        line: may be hung up while it waits.

    Raises:
        HTTPException: 502, 422 and 413 as `executed`.
        HungUp: nobody waits any more.
    """
    with site.database.read() as session:
        before, terms = instructions(session).strip(), parts.terms(session)
    if registry.is_built_in(model):
        return extractive.quotations(text, prompt)

    def ask(prompt: str, text: str) -> str:
        system = [{"role": "system", "content": before}] if before else []
        asked = {"role": "user", "content": f"{prompt}\n\n# The text\n\n{text}"}
        return chatting.reply(site, model, [*system, asked], line)

    return parts.joined(ask, prompt, text, terms)
