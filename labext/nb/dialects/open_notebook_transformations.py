"""Transformations, as Open Notebook is asked for them (real services, section nb)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_transformations as contract
from labext.nb.dialects import open_notebook_told as told
from labext.nb.records import TRANSFORMATION, Record


class TransformationCalls(contract.TransformationCalls):
    """The operations on transformations, where that server's differ."""

    def transformations(self) -> Steps[list[Record]]:
        """List them all."""
        return told.things(TRANSFORMATION, (yield Request(contract.LIST)), "transformations")

    def transformation(self, transformation: str) -> Steps[Record]:
        """Look at one."""
        answer = yield Request(contract.ONE, {"transformation": transformation})
        return _transformation(answer)

    def new_transformation(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one; that server wants a title and a description too."""
        body = {"title": given["name"], "description": "", **given}
        return _transformation((yield Request(contract.NEW, json=body)))

    def change_transformation(
        self, transformation: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Change fields of the record; none can be taken away."""
        told.check_kept(changes, "the transformation", "Name another model.")
        path = {"transformation": transformation}
        return _transformation((yield Request(contract.CHANGE, path, json=dict(changes))))


def _transformation(answer: Any) -> Record:
    return told.thing(TRANSFORMATION, answer, "the transformation")
