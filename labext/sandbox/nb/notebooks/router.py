"""Endpoints of notebooks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from labext.sandbox.nb import queries
from labext.sandbox.nb.dependencies import SiteDep, json_response
from labext.sandbox.nb.notebooks import service
from labext.sandbox.nb.notebooks.schemas import (
    DeletedNotebook,
    DeletePreview,
    NewNotebook,
    NotebookRecord,
    NotebookUpdate,
)
from labext.sandbox.nb.schemas import Identifier, MessageResponse

router = APIRouter()


@router.get("/notebooks", response_model=list[NotebookRecord])
def get_notebooks(
    site: SiteDep,
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
    return json_response(queries.list_notebooks(site, archived, order_by))


@router.post("/notebooks", response_model=NotebookRecord)
def post_notebook(site: SiteDep, body: NewNotebook) -> Response:
    """Make a notebook. Another one may have the same name."""
    return json_response(service.create_notebook(site, body))


@router.get("/notebooks/{notebook_id}", response_model=NotebookRecord)
def get_notebook(site: SiteDep, notebook_id: Identifier) -> Response:
    """Show a notebook."""
    with site.database.read() as session:
        return json_response(queries.notebook_record(session, notebook_id))


@router.put("/notebooks/{notebook_id}", response_model=NotebookRecord)
def put_notebook(site: SiteDep, notebook_id: Identifier, body: NotebookUpdate) -> Response:
    """Rename, describe or archive a notebook."""
    return json_response(service.update_notebook(site, notebook_id, body))


@router.delete("/notebooks/{notebook_id}", response_model=DeletedNotebook)
def delete_notebook(
    site: SiteDep,
    notebook_id: Identifier,
    delete_sources: Annotated[
        bool, Query(description="Also the sources that no other notebook uses.")
    ] = False,
) -> Response:
    """Delete a notebook with its notes and chat sessions."""
    return json_response(service.delete_notebook(site, notebook_id, delete_sources=delete_sources))


@router.get("/notebooks/{notebook_id}/delete-preview", response_model=DeletePreview)
def get_delete_preview(site: SiteDep, notebook_id: Identifier) -> Response:
    """Preview the effects of deleting a notebook."""
    return json_response(service.preview_delete(site, notebook_id))


@router.post("/notebooks/{notebook_id}/sources/{source_id}", response_model=MessageResponse)
def post_link(site: SiteDep, notebook_id: Identifier, source_id: Identifier) -> Response:
    """Put a source into a notebook. Once more changes nothing."""
    service.link_source(site, notebook_id, source_id)
    return json_response({"message": f"{source_id} is in {notebook_id}."})


@router.delete("/notebooks/{notebook_id}/sources/{source_id}", response_model=MessageResponse)
def delete_link(site: SiteDep, notebook_id: Identifier, source_id: Identifier) -> Response:
    """Take a source out of a notebook. The source stays; once more changes nothing."""
    service.unlink_source(site, notebook_id, source_id)
    return json_response({"message": f"{source_id} is not in {notebook_id}."})
