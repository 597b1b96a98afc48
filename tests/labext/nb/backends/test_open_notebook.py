"""The backend of Open Notebook with scripted responses, beyond the recordings."""

from __future__ import annotations

from typing import Any

import pytest

from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.records import Query, Scope

backend = OpenNotebookBackend()
FILE = {"file_path": "/data/uploads/plan.txt", "url": None}
LINK = {"file_path": None, "url": "https://example.org/page"}


def source(**fields: Any) -> dict[str, Any]:
    return {"id": "source:1", "title": "Plan", "asset": None, "embedded_chunks": 0, **fields}


@pytest.mark.parametrize("type", ["text", "vector"])
def test_vector_search_is_patient(drive, type):
    assert drive(backend.search(Query("lac", Scope()), type), {"results": []}).only.patient


@pytest.mark.parametrize(
    ("title", "asset", "expected"),
    [
        ("Processing...", FILE, "plan.txt"),
        ("Processing...", LINK, "https://example.org/page"),
        ("Processing...", None, None),
        ("My plan", FILE, "My plan"),
        ("Processing plant", None, "Processing plant"),
    ],
)
def test_placeholder_title_is_replaced_by_file_or_url(title, asset, expected):
    assert backend.parse_source(source(title=title, asset=asset))["title"] == expected


def test_only_a_single_source_has_a_passage_count(drive):
    (listed_source,) = drive(backend.sources(None, 10, 0, None), [source()]).result
    assert listed_source["passages"] is None
    assert drive(backend.source("source:1"), source(embedded_chunks=3)).result["passages"] == 3
