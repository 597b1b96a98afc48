"""Proofs: notebooks."""

from __future__ import annotations

from labext.nb.records import NOTEBOOK, NOTEBOOK_DELETION, PREVIEW
from open_notebook.facts import request_body
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import (
    ASYNC,
    DOOMED_NOTEBOOK,
    DOOMED_NOTEBOOK_2,
    NOTEBOOK_ID,
    SECOND,
    TEXT,
)

MADE_AT = "2026-11-20T13:23:23.768Z"

NOTEBOOKS = (
    proof(
        "notebooks",
        lambda d: d.notebooks(),
        "notebooks.list",
        fields=NOTEBOOK,
        values={"name": "Second", "created_at": "2026-11-20T13:23:23.774Z"},
    ),
    *(
        proof("notebooks", lambda d, w=w: d.notebooks(w), f"notebooks.list_archived_{w}".lower())
        for w in (True, False)
    ),
    proof(
        "notebooks",
        lambda d: d.notebooks(order_by="name"),
        "notebooks.list_order_name_asc",
        fields=NOTEBOOK,
    ),
    proof("notebook", lambda d: d.notebook(NOTEBOOK_ID), "notebooks.get", fields=NOTEBOOK),
    proof("notebook", lambda d: d.notebook(NOTEBOOK_ID), "notebooks.get_encoded_colon"),
    proof(
        "new_notebook",
        lambda d: d.new_notebook("Miniprep", "Plasmid work"),
        "notebooks.create",
        fields=NOTEBOOK,
        values={"id": NOTEBOOK_ID, "created_at": MADE_AT},
    ),
    proof("new_notebook", lambda d: d.new_notebook("Second", None), "notebooks.create_2"),
    proof(
        "change_notebook",
        lambda d: d.change_notebook(NOTEBOOK_ID, request_body("notebooks.put")),
        "notebooks.put",
        fields=NOTEBOOK,
        values={"name": "Miniprep A", "description": "d"},
    ),
    proof(
        "change_notebook",
        lambda d: d.change_notebook(SECOND, {"archived": True}),
        "notebooks.put_archive_only",
        fields=NOTEBOOK,
        values={"archived": True},
    ),
    proof(
        "delete_notebook",
        lambda d: d.delete_notebook(DOOMED_NOTEBOOK_2, delete_sources=True),
        "notebooks.delete_exclusive",
        fields=NOTEBOOK_DELETION,
        values={"deleted_sources": 1, "id": DOOMED_NOTEBOOK_2},
    ),
    proof(
        "preview",
        lambda d: d.preview(DOOMED_NOTEBOOK),
        "notebooks.delete_preview",
        derived("chat.sessions_list", query={"notebook_id": DOOMED_NOTEBOOK}),
        fields=PREVIEW,
        values={"exclusive_source_count": 1, "session_count": 1, "name": "Doomed"},
    ),
    proof(
        "link",
        lambda d: d.link(DOOMED_NOTEBOOK_2, "source:pjqe81blzws0lgeyvbgd"),
        "sources.exclusive_survives",
        "notebooks.link_excl",
        result=None,
    ),
    # The link already exists: that server would add a second one.
    proof("link", lambda d: d.link(NOTEBOOK_ID, ASYNC), "sources.get", result=None),
    proof("unlink", lambda d: d.unlink(SECOND, TEXT), "notebooks.unlink", result=None),
)
