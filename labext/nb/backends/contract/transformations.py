"""Requests for transformations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.actions import Action
from labext.errors import ServiceError
from labext.nb import records
from labext.nb.backends import OnWords, RecordParser, Request, Steps, delete, get, post, put
from labext.nb.records import OUTPUT, TRANSFORMATION, Record, build_record, drop_none

LIST_TRANSFORMATIONS = get("list transformations", "transformations")
CREATE_TRANSFORMATION = post(
    "create a transformation",
    "transformations",
    "See {action} before you create it again: names need not be unique.",
    Action.list_transformations(),
)
RUN_TRANSFORMATION = post(
    "run a transformation",
    "transformations/execute",  # the output is not stored, but a provider may charge for each run
    "The output is not stored: run it again.",
)
GET_DEFAULT_PROMPT = get("read the default prompt", "transformations/default-prompt")
UPDATE_DEFAULT_PROMPT = put("set the default prompt", "transformations/default-prompt")
GET_TRANSFORMATION = get("get a transformation", "transformations/{transformation}")
UPDATE_TRANSFORMATION = put("update a transformation", "transformations/{transformation}")
DELETE_TRANSFORMATION = delete("delete a transformation", "transformations/{transformation}")


class TransformationRequests(RecordParser):
    """The eight operations on transformations."""

    def transformations(self) -> Steps[list[Record]]:
        """List all transformations."""
        response = yield Request(LIST_TRANSFORMATIONS)
        return self.parse_records(TRANSFORMATION, response, "transformations")

    def transformation(self, transformation: str) -> Steps[Record]:
        """Return a transformation."""
        response = yield Request(GET_TRANSFORMATION, {"transformation": transformation})
        return self.parse_record(TRANSFORMATION, response, "the transformation")

    def new_transformation(self, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a transformation from `name`, `prompt` and other fields of the record."""
        response = yield Request(CREATE_TRANSFORMATION, json=dict(fields))
        return self.parse_record(TRANSFORMATION, response, "the transformation")

    def change_transformation(
        self, transformation: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update fields of the record; other fields stay unchanged."""
        response = yield Request(
            UPDATE_TRANSFORMATION, {"transformation": transformation}, json=dict(changes)
        )
        return self.parse_record(TRANSFORMATION, response, "the transformation")

    def delete_transformation(self, transformation: str) -> Steps[None]:
        """Delete a transformation; its insights are kept."""
        yield Request(DELETE_TRANSFORMATION, {"transformation": transformation})

    def transform(
        self, transformation: str, text: str, model: str | None, on_words: OnWords | None = None
    ) -> Steps[Record]:
        """Run a transformation on a text, without a read timeout."""
        fields = {"transformation_id": transformation, "input_text": text, "model_id": model}
        body = drop_none(fields)
        response = yield Request(RUN_TRANSFORMATION, json=body, patient=True, on_words=on_words)
        data = records.require_mapping(response, "the transformation")
        if not isinstance(data.get("output"), str):
            raise ServiceError("The notebook service returned no output for the transformation.")
        return build_record(OUTPUT, {"transformation_id": transformation, **data})

    def default_prompt(self) -> Steps[str]:
        """Return the prompt that precedes every transformation's own prompt."""
        return _parse_prompt((yield Request(GET_DEFAULT_PROMPT)))

    def set_default_prompt(self, text: str) -> Steps[str]:
        """Set the default prompt; return the stored text."""
        return _parse_prompt(
            (yield Request(UPDATE_DEFAULT_PROMPT, json={"transformation_instructions": text}))
        )


def _parse_prompt(response: Any) -> str:
    data = records.require_mapping(response, "the default prompt").get(
        "transformation_instructions"
    )
    return str(data or "")
