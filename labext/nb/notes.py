"""Client methods for notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from labext.nb import views
from labext.nb.records import Record
from labext.nb.resource import Names, Resource, build_changes, unique_names

if TYPE_CHECKING:
    import pandas as pd


class Notes(Resource):
    """`nb.notes`: notes written by people and models."""

    def list(self, notebook: str | None = None) -> pd.DataFrame:
        """Return the notes of a notebook, or all; columns as `labext.nb.records.NOTE`."""
        return views.note_frame(self.iter(notebook))

    def iter(self, notebook: str | None = None) -> Iterator[Record]:
        """Yield the records of the notes of a notebook, or of all."""
        yield from self._run(self._backend.notes(self._notebook(notebook)))

    def names(self, notebook: str | None = None) -> Names:
        """Return the distinct titles of the notes of a notebook, or of all."""
        records = self._run(self._backend.notes(self._notebook(notebook), contents=False))
        return unique_names(records, "title")

    def find(self, note: str, notebook: str | None = None) -> str:
        """Return a note's identifier; `notebook` restricts titles to this notebook."""
        return self._titles.find("note", note, self._notebook(notebook))

    def get(self, note: str) -> Record:
        """Return one note's record."""
        return self._run(self._backend.note(self.find(note)))

    def create(
        self,
        content: str,
        title: str | None = None,
        note_type: Literal["human", "ai"] = "human",
        notebook: str | None = None,
    ) -> Record:
        """Create a note; return its record. An `ai` note without a title gets one from the service.

        Raises:
            InputError: the service refuses: an empty note, or a type other than `human` or `ai`.
            OutcomeUnknownError: the response was lost; it may have been created.
        """
        within = self._notebook(notebook)
        return self._run(self._backend.new_note(content, title, note_type, within))

    def update(
        self,
        note: str,
        title: str | None = None,
        content: str | None = None,
        note_type: Literal["human", "ai"] | None = None,
    ) -> Record:
        """Update a note and return its record; None leaves a field unchanged.

        Raises:
            InputError: there are no changes.
        """
        values = {"title": title, "content": content, "note_type": note_type}
        changes = build_changes("note", values)
        return self._run(self._backend.change_note(self.find(note), changes))

    def delete(self, note: str) -> None:
        """Delete a note."""
        self._run(self._backend.delete_note(self.find(note)))
