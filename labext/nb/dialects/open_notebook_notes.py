"""Notes, as Open Notebook is asked for them (real services, section nb)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import NotFoundError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_notes as contract
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.open_notebook_alive import alive, asked, or_down
from labext.nb.records import NOTE, Record


class NoteCalls(contract.NoteCalls):
    """The operations on notes, where that server's differ."""

    def notes(self, notebook: str | None = None, *, contents: bool = True) -> Steps[list[Record]]:
        """List notes; the list has no contents, so for them each is asked for by itself."""
        request = asked(Request(contract.LIST, params={"notebook_id": notebook}))
        answer = yield from or_down(request)
        listed = told.things(NOTE, answer, "notes")
        if not contents:
            return [{**each, "notebook_id": notebook} for each in listed]
        found = []
        for each in listed:
            try:
                whole = yield Request(contract.ONE, {"note": each["id"]})
            except NotFoundError:
                yield from alive()
                continue  # deleted meanwhile
            found.append(_note(whole, notebook))
        return found

    def note(self, note: str) -> Steps[Record]:
        """Look at one."""
        answer = yield from or_down(asked(Request(contract.ONE, {"note": note})))
        return _note(answer)

    def new_note(
        self, content: str, title: str | None, note_type: str, notebook: str | None
    ) -> Steps[Record]:
        """Write one; a model's without a title gets one of the model for transformations."""
        named = {"title": title, "notebook_id": notebook}
        body = {"content": content, "note_type": note_type}
        body |= {name: value for name, value in named.items() if value is not None}
        patient = note_type == "ai" and title is None
        answer = yield Request(contract.NEW, json=body, patient=patient)
        return _note(answer, notebook)

    def change_note(self, note: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `title`, `content` or `note_type`."""
        request = Request(contract.CHANGE, {"note": note}, json=dict(changes))
        answer = yield from or_down(asked(request))
        return _note(answer)

    def delete_note(self, note: str) -> Steps[None]:
        """Delete one."""
        return or_down(super().delete_note(note))


def _note(answer: Any, notebook: str | None = None) -> Record:
    """Return a note's record; that server never says of which notebook it is."""
    record = told.thing(NOTE, records.mapping(answer, "the note"), "the note")
    return {**record, "notebook_id": notebook}
