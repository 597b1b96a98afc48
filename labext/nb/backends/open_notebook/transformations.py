"""Requests to Open Notebook for transformations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.nb.backends import Steps
from labext.nb.backends.contract import transformations as contract
from labext.nb.backends.open_notebook import mappers
from labext.nb.records import Record


class TransformationRequests(contract.TransformationRequests):
    """The operations on transformations, where Open Notebook differs from the contract."""

    def new_transformation(self, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a transformation; the server requires a title and a description too."""
        return super().new_transformation({"title": fields["name"], "description": "", **fields})

    def change_transformation(
        self, transformation: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update fields of the record; fields can't be cleared."""
        mappers.forbid_clearing(changes, "the transformation", "Choose another model.")
        return super().change_transformation(transformation, changes)
