"""Notebooks, as the contract's server is asked for them (contract, Endpoints: Notebooks)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.records import DELETED, NOTEBOOK, PREVIEW, Record, made
from labext.transport import Operation, Repeat

LIST = Operation("list notebooks", "GET", "notebooks", Repeat.ALWAYS, answer="json")
NEW = Operation(
    "make a notebook",
    "POST",
    "notebooks",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb notebooks` before you make it again: two may have the same name.",
)
ONE = Operation("look at a notebook", "GET", "notebooks/{notebook}", Repeat.ALWAYS, answer="json")
CHANGE = Operation("change a notebook", "PUT", "notebooks/{notebook}", Repeat.ALWAYS, answer="json")
DELETE = Operation("delete a notebook", "DELETE", "notebooks/{notebook}", Repeat.DELETE)
PREVIEW_OF = Operation(
    "preview a deletion",
    "GET",
    "notebooks/{notebook}/delete-preview",
    Repeat.ALWAYS,
    answer="json",
)
LINK = Operation(
    "put a source into a notebook",
    "POST",
    "notebooks/{notebook}/sources/{source}",
    Repeat.ALWAYS,  # idempotent, by the contract
)
UNLINK = Operation(
    "take a source out of a notebook",
    "DELETE",
    "notebooks/{notebook}/sources/{source}",
    Repeat.DELETE,
)


class NotebookCalls:
    """The eight operations on notebooks."""

    def notebooks(
        self, archived: bool | None = None, order_by: str | None = None
    ) -> Steps[list[Record]]:
        """List notebooks: those archived, those not, or both (None)."""
        answer = yield Request(LIST, params={"archived": archived, "order_by": order_by})
        return records.things(NOTEBOOK, answer, "notebooks")

    def notebook(self, notebook: str) -> Steps[Record]:
        """Look at one."""
        answer = yield Request(ONE, {"notebook": notebook})
        return _notebook(answer)

    def new_notebook(self, name: str, description: str | None) -> Steps[Record]:
        """Make one."""
        body = {"name": name}
        if description is not None:
            body["description"] = description
        answer = yield Request(NEW, json=body)
        return _notebook(answer)

    def change_notebook(self, notebook: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `name`, `description` or `archived`; what is not among them stays."""
        answer = yield Request(CHANGE, {"notebook": notebook}, json=dict(changes))
        return _notebook(answer)

    def delete_notebook(self, notebook: str, *, delete_sources: bool) -> Steps[Record]:
        """Delete one, with the sources that no other one has, if so wished."""
        answer = yield Request(
            DELETE, {"notebook": notebook}, params={"delete_sources": delete_sources}
        )
        # A repeat of a deletion whose answer was lost finds nothing: it can't tell the counts.
        told = records.mapping(answer, "the deletion") if answer is not None else {}
        return made(DELETED, {**told, "id": notebook})

    def preview(self, notebook: str) -> Steps[Record]:
        """Count what a deletion concerns."""
        answer = yield Request(PREVIEW_OF, {"notebook": notebook})
        told = records.mapping(answer, "the deletion")
        return made(PREVIEW, {**told, "id": notebook, "name": told.get("notebook_name")})

    def link(self, notebook: str, source: str) -> Steps[None]:
        """Put a source into a notebook; once more changes nothing."""
        yield Request(LINK, {"notebook": notebook, "source": source})

    def unlink(self, notebook: str, source: str) -> Steps[None]:
        """Take a source out of a notebook."""
        yield Request(UNLINK, {"notebook": notebook, "source": source})


def _notebook(answer: Any) -> Record:
    return records.thing(NOTEBOOK, answer, "the notebook")
