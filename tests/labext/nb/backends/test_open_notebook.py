"""The backend of Open Notebook, driven by hand, beyond what the recordings prove."""

from __future__ import annotations

from typing import Any

import pytest

from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.records import Query, Scope

talk = OpenNotebookBackend()
FILE = {"file_path": "/data/uploads/plan.txt", "url": None}
LINK = {"file_path": None, "url": "https://example.org/page"}


def source(**fields: Any) -> dict[str, Any]:
    return {"id": "source:1", "title": "Plan", "asset": None, "embedded_chunks": 0, **fields}


@pytest.mark.parametrize("type", ["text", "vector"])
def test_a_search_waits_as_long_as_the_server_works(drive, type):
    assert drive(talk.search(Query("lac", Scope()), type), {"results": []}).only.patient


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
def test_the_placeholder_title_is_replaced_by_the_file_or_address(title, asset, expected):
    assert talk.parse_source(source(title=title, asset=asset))["title"] == expected


def test_a_list_has_no_count_of_passages_and_a_single_source_has(drive):
    (listed,) = drive(talk.sources(None, 10, 0, None), [source()]).result
    assert listed["passages"] is None
    assert drive(talk.source("source:1"), source(embedded_chunks=3)).result["passages"] == 3
