"""Notebooks, as Open Notebook is asked for them (real services, section nb)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_notebooks as contract
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.contract_chat import LIST as SESSIONS
from labext.nb.dialects.contract_sources import ONE as SOURCE
from labext.nb.dialects.open_notebook_alive import asked, or_down
from labext.nb.records import DELETED, NOTEBOOK, PREVIEW, Record, made
from labext.transport import Repeat

# A second link doubles the row there: what was perhaps done is looked up, and never repeated.
LINK = replace(
    contract.LINK,
    repeat=Repeat.UNSENT,
    find_out="See `%nb sources` before you link it again: it may be there already.",
)


class NotebookCalls(contract.NotebookCalls):
    """The operations on notebooks, where that server's differ."""

    def notebooks(
        self, archived: bool | None = None, order_by: str | None = None
    ) -> Steps[list[Record]]:
        """List notebooks; the order by its own names of the times."""
        params = {"archived": archived, "order_by": _order(order_by)}
        answer = yield from or_down(asked(Request(contract.LIST, params=params)))
        return told.things(NOTEBOOK, answer, "notebooks")

    def notebook(self, notebook: str) -> Steps[Record]:
        """Look at one."""
        answer = yield from or_down(asked(Request(contract.ONE, {"notebook": notebook})))
        return told.thing(NOTEBOOK, answer, "the notebook")

    def new_notebook(self, name: str, description: str | None) -> Steps[Record]:
        """Make one; a description that is null would be refused."""
        body = {"name": name} | ({} if description is None else {"description": description})
        answer = yield Request(contract.NEW, json=body)
        return told.thing(NOTEBOOK, answer, "the notebook")

    def change_notebook(self, notebook: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `name`, `description` or `archived`."""
        answer = yield Request(contract.CHANGE, {"notebook": notebook}, json=dict(changes))
        return told.thing(NOTEBOOK, answer, "the notebook")

    def delete_notebook(self, notebook: str, *, delete_sources: bool) -> Steps[Record]:
        """Delete one; by the contract's name of the parameter its sources would survive."""
        params = {"delete_exclusive_sources": delete_sources}
        answer = yield Request(contract.DELETE, {"notebook": notebook}, params=params)
        counts = records.mapping(answer, "the deletion") if answer is not None else {}
        return made(DELETED, {**counts, "id": notebook})

    def preview(self, notebook: str) -> Steps[Record]:
        """Count what a deletion concerns; the chats, of which that server says nothing, too."""
        answer = yield Request(contract.PREVIEW_OF, {"notebook": notebook})
        counts = records.mapping(answer, "the deletion")
        chats = yield Request(SESSIONS, params={"notebook_id": notebook})
        more = {"session_count": len(records.several(chats, "chat sessions"))}
        return made(
            PREVIEW, {**counts, **more, "id": notebook, "name": counts.get("notebook_name")}
        )

    def link(self, notebook: str, source: str) -> Steps[None]:
        """Put a source into a notebook, unless it is there: a second link would double the row."""
        answer = yield Request(SOURCE, {"source": source})
        there = records.mapping(answer, "the source").get("notebooks")
        if notebook not in (there if isinstance(there, list) else []):
            yield Request(LINK, {"notebook": notebook, "source": source})


def _order(order_by: str | None) -> str | None:
    """Return an order by that server's names: `updated_at desc` is `updated desc`."""
    if order_by is None:
        return None
    field, _, way = order_by.strip().partition(" ")
    field = {"updated_at": "updated", "created_at": "created"}.get(field, field)
    # Which way is not said: times go down, names up, as on a server of the contract.
    return f"{field} {way.strip() or ('asc' if field == 'name' else 'desc')}"
