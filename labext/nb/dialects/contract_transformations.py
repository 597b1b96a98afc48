"""Transformations, as the contract's server is asked for them (Endpoints: Transformations)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import ServiceError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.records import OUTPUT, TRANSFORMATION, Record, made
from labext.transport import Operation, Repeat

LIST = Operation("list transformations", "GET", "transformations", Repeat.ALWAYS, answer="json")
NEW = Operation(
    "make a transformation",
    "POST",
    "transformations",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb transformations` before you make it again: two may have the same name.",
)
EXECUTE = Operation(
    "run a transformation",
    "POST",
    "transformations/execute",
    Repeat.UNSENT,  # nothing is kept of it, but a model's provider may charge for each run
    answer="json",
    find_out="Nothing is kept of it: run it again.",
)
PROMPT = Operation(
    "read the default prompt",
    "GET",
    "transformations/default-prompt",
    Repeat.ALWAYS,
    answer="json",
)
SET_PROMPT = Operation(
    "set the default prompt",
    "PUT",
    "transformations/default-prompt",
    Repeat.ALWAYS,
    answer="json",
)
ONE = Operation(
    "look at a transformation",
    "GET",
    "transformations/{transformation}",
    Repeat.ALWAYS,
    answer="json",
)
CHANGE = Operation(
    "change a transformation",
    "PUT",
    "transformations/{transformation}",
    Repeat.ALWAYS,
    answer="json",
)
DELETE = Operation(
    "delete a transformation", "DELETE", "transformations/{transformation}", Repeat.DELETE
)


class TransformationCalls:
    """The eight operations on transformations."""

    def transformations(self) -> Steps[list[Record]]:
        """List them all."""
        answer = yield Request(LIST)
        return records.things(TRANSFORMATION, answer, "transformations")

    def transformation(self, transformation: str) -> Steps[Record]:
        """Look at one."""
        answer = yield Request(ONE, {"transformation": transformation})
        return _transformation(answer)

    def new_transformation(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one of `name`, `prompt` and what else of the record is given."""
        answer = yield Request(NEW, json=dict(given))
        return _transformation(answer)

    def change_transformation(
        self, transformation: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Change fields of the record; what is not among them stays."""
        answer = yield Request(CHANGE, {"transformation": transformation}, json=dict(changes))
        return _transformation(answer)

    def delete_transformation(self, transformation: str) -> Steps[None]:
        """Delete one; the insights that it made stay."""
        yield Request(DELETE, {"transformation": transformation})

    def transform(self, transformation: str, text: str, model: str | None) -> Steps[Record]:
        """Run one on a text, by its own model or another, however long that takes."""
        body = {"transformation_id": transformation, "input_text": text}
        if model is not None:
            body["model_id"] = model
        answer = yield Request(EXECUTE, json=body, patient=True)
        told = records.mapping(answer, "the transformation")
        if not isinstance(told.get("output"), str):
            raise ServiceError("The notebook service has transformed the text into nothing.")
        return made(OUTPUT, {"transformation_id": transformation, **told})

    def default_prompt(self) -> Steps[str]:
        """Read what goes before every transformation's own prompt."""
        return _prompt((yield Request(PROMPT)))

    def set_default_prompt(self, text: str) -> Steps[str]:
        """Set that; return it as it is kept."""
        return _prompt((yield Request(SET_PROMPT, json={"transformation_instructions": text})))


def _transformation(answer: Any) -> Record:
    return records.thing(TRANSFORMATION, answer, "the transformation")


def _prompt(answer: Any) -> str:
    told = records.mapping(answer, "the default prompt").get("transformation_instructions")
    return str(told or "")
