"""The routes of the group Notebooks (contract, Endpoints); each calls a function of the package."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Done, Identifier
from labext.sandbox.nb.calls import SiteOf, json_answer
from labext.sandbox.nb.notebooks import changing, finding, removing
from labext.sandbox.nb.notebooks.bodies import (
    ChangedNotebook,
    Deleted,
    NewNotebook,
    NotebookRecord,
    Preview,
)

api = APIRouter()


@api.get("/notebooks", response_model=list[NotebookRecord])
def get_notebooks(
    site: SiteOf,
    archived: Annotated[bool | None, Query(description="These alone; all if left out.")] = None,
    order_by: Annotated[
        str,
        Query(
            description="`updated_at`, `created_at` (both newest first) or `name`; a blank and "
            "`asc` or `desc` may follow.",
            max_length=100,
        ),
    ] = "updated_at",
) -> Response:
    """List the notebooks."""
    return json_answer(finding.listed(site, archived, order_by))


@api.post("/notebooks", response_model=NotebookRecord)
def post_notebook(site: SiteOf, body: NewNotebook) -> Response:
    """Make a notebook. Another one may have the same name."""
    return json_answer(changing.make(site, body))


@api.get("/notebooks/{notebook_id}", response_model=NotebookRecord)
def get_notebook(site: SiteOf, notebook_id: Identifier) -> Response:
    """Show a notebook."""
    with site.database.read() as session:
        return json_answer(finding.shown(session, notebook_id))


@api.put("/notebooks/{notebook_id}", response_model=NotebookRecord)
def put_notebook(site: SiteOf, notebook_id: Identifier, body: ChangedNotebook) -> Response:
    """Rename, describe or archive a notebook."""
    return json_answer(changing.change(site, notebook_id, body))


@api.delete("/notebooks/{notebook_id}", response_model=Deleted)
def delete_notebook(
    site: SiteOf,
    notebook_id: Identifier,
    delete_sources: Annotated[
        bool, Query(description="Also the sources that no other notebook uses.")
    ] = False,
) -> Response:
    """Delete a notebook with its notes and chat sessions."""
    return json_answer(removing.delete(site, notebook_id, delete_sources=delete_sources))


@api.get("/notebooks/{notebook_id}/delete-preview", response_model=Preview)
def get_delete_preview(site: SiteOf, notebook_id: Identifier) -> Response:
    """Show what would go with a notebook."""
    return json_answer(removing.preview(site, notebook_id))


@api.post("/notebooks/{notebook_id}/sources/{source_id}", response_model=Done)
def post_link(site: SiteOf, notebook_id: Identifier, source_id: Identifier) -> Response:
    """Put a source into a notebook. Once more changes nothing."""
    changing.link(site, notebook_id, source_id)
    return json_answer({"message": f"{source_id} is in {notebook_id}."})


@api.delete("/notebooks/{notebook_id}/sources/{source_id}", response_model=Done)
def delete_link(site: SiteOf, notebook_id: Identifier, source_id: Identifier) -> Response:
    """Take a source out of a notebook. The source stays; once more changes nothing."""
    changing.unlink(site, notebook_id, source_id)
    return json_answer({"message": f"{source_id} is not in {notebook_id}."})
