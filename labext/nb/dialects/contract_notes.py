"""Notes, as the contract's server is asked for them (contract, Endpoints: Notes)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.records import NOTE, Record
from labext.transport import Operation, Repeat

LIST = Operation("list notes", "GET", "notes", Repeat.ALWAYS, answer="json")
NEW = Operation(
    "write a note",
    "POST",
    "notes",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb notes` before you write it again: it may be there already.",
)
ONE = Operation("look at a note", "GET", "notes/{note}", Repeat.ALWAYS, answer="json")
CHANGE = Operation("change a note", "PUT", "notes/{note}", Repeat.ALWAYS, answer="json")
DELETE = Operation("delete a note", "DELETE", "notes/{note}", Repeat.DELETE)


class NoteCalls:
    """The five operations on notes."""

    def notes(self, notebook: str | None = None, *, contents: bool = True) -> Steps[list[Record]]:
        """List the notes of a notebook, or all; with their contents, or as it may be without."""
        del contents  # they come with the list
        answer = yield Request(LIST, params={"notebook_id": notebook})
        return records.things(NOTE, answer, "notes")

    def note(self, note: str) -> Steps[Record]:
        """Look at one."""
        answer = yield Request(ONE, {"note": note})
        return _note(answer)

    def new_note(
        self, content: str, title: str | None, note_type: str, notebook: str | None
    ) -> Steps[Record]:
        """Write one; a model's without a title gets one (contract, Rules)."""
        named = {"title": title, "notebook_id": notebook}
        body = {"content": content, "note_type": note_type}
        body |= {name: value for name, value in named.items() if value is not None}
        answer = yield Request(NEW, json=body, patient=note_type == "ai" and title is None)
        return _note(answer)

    def change_note(self, note: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `title`, `content` or `note_type`; what is not among them stays."""
        answer = yield Request(CHANGE, {"note": note}, json=dict(changes))
        return _note(answer)

    def delete_note(self, note: str) -> Steps[None]:
        """Delete one."""
        yield Request(DELETE, {"note": note})


def _note(answer: Any) -> Record:
    return records.thing(NOTE, answer, "the note")
