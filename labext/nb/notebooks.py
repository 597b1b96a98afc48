"""Client methods for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from labext.nb import views
from labext.nb.records import Record
from labext.nb.resource import Names, Resource, build_changes, unique_names

if TYPE_CHECKING:
    import pandas as pd


class Notebooks(Resource):
    """`nb.notebooks`: groups of sources and notes."""

    def list(self, archived: bool | None = None, order_by: str | None = None) -> pd.DataFrame:
        """Return the notebooks; columns as `labext.nb.records.NOTEBOOK`.

        Args:
            archived: True for archived notebooks only, False for the others only.
            order_by: `updated_at` (the default, newest first), `created_at` or `name`, optionally
                followed by ` asc` or ` desc`.
        """
        return views.notebook_frame(self._run(self._backend.notebooks(archived, order_by)))

    def iter(self) -> Iterator[Record]:
        """Yield the records of all notebooks."""
        yield from self._run(self._backend.notebooks())

    def names(self) -> Names:
        """Return the distinct names of all notebooks."""
        return unique_names(self.iter())

    def find(self, notebook: str) -> str:
        """Return a notebook's identifier."""
        return self._titles.find("notebook", notebook)

    def get(self, notebook: str) -> Record:
        """Return one notebook's record."""
        return self._run(self._backend.notebook(self.find(notebook)))

    def create(self, name: str, description: str | None = None) -> Record:
        """Create a notebook; return its record. Names need not be unique.

        Raises:
            OutcomeUnknownError: the response was lost; it may have been created.
        """
        return self._run(self._backend.new_notebook(name, description))

    def update(
        self,
        notebook: str,
        name: str | None = None,
        description: str | None = None,
        archived: bool | None = None,
    ) -> Record:
        """Update a notebook and return its record; None leaves a field unchanged.

        Raises:
            InputError: there are no changes.
        """
        values = {"name": name, "description": description, "archived": archived}
        changes = build_changes("notebook", values)
        return self._run(self._backend.change_notebook(self.find(notebook), changes))

    def preview(self, notebook: str) -> Record:
        """Return what deleting a notebook would affect: counts of notes, sources and sessions.

        The result is a `labext.nb.records.PREVIEW`.
        """
        return self._run(self._backend.preview(self.find(notebook)))

    def delete(self, notebook: str, delete_sources: bool = False) -> Record:
        """Delete a notebook with its notes and chat sessions; return the counts of deleted records.

        The result is a `labext.nb.records.NOTEBOOK_DELETION`.

        Args:
            notebook: the notebook to delete.
            delete_sources: also delete the sources that are in no other notebook.
        """
        identifier = self.find(notebook)
        return self._run(self._backend.delete_notebook(identifier, delete_sources=delete_sources))

    def link(self, notebook: str, source: str) -> None:
        """Add a source to a notebook; it may be in several.

        Nothing changes if the notebook contains it.
        """
        within = self.find(notebook)
        self._run(self._backend.link(within, self._titles.find("source", source)))

    def unlink(self, notebook: str, source: str) -> None:
        """Remove a source from a notebook without deleting it."""
        within = self.find(notebook)
        self._run(self._backend.unlink(within, self._titles.find("source", source, within)))
