"""Requests to Open Notebook for transformations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import transformations as contract
from labext.nb.backends.open_notebook import mappers as mappers
from labext.nb.records import TRANSFORMATION, Record


class TransformationRequests(contract.TransformationRequests):
    """The operations on transformations, where Open Notebook differs from the contract."""

    def transformations(self) -> Steps[list[Record]]:
        """List all transformations."""
        return mappers.parse_records(
            TRANSFORMATION, (yield Request(contract.LIST_TRANSFORMATIONS)), "transformations"
        )

    def transformation(self, transformation: str) -> Steps[Record]:
        """Return a transformation."""
        answer = yield Request(contract.GET_TRANSFORMATION, {"transformation": transformation})
        return _transformation_record(answer)

    def new_transformation(self, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a transformation; the server requires a title and a description too."""
        body = {"title": fields["name"], "description": "", **fields}
        return _transformation_record((yield Request(contract.CREATE_TRANSFORMATION, json=body)))

    def change_transformation(
        self, transformation: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update fields of the record; fields can't be cleared."""
        mappers.forbid_clearing(changes, "the transformation", "Name another model.")
        path = {"transformation": transformation}
        return _transformation_record(
            (yield Request(contract.UPDATE_TRANSFORMATION, path, json=dict(changes)))
        )


def _transformation_record(answer: Any) -> Record:
    return mappers.parse_record(TRANSFORMATION, answer, "the transformation")
