"""Listing and deletion of sources, also after a kill."""

from __future__ import annotations

import psutil
import pytest

from labext.sandbox.nb.tables import COMPLETED, NotebookSource, Source

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def three(sources):
    """A notebook with three sources whose names are not in order of creation."""
    notebook = sources.notebook()
    return notebook, [
        sources.text(f"About {title}.", title=title, notebook_id=notebook)["id"]
        for title in ("beta", "Gamma", "alpha")
    ]


@pytest.mark.parametrize(
    ("order", "places"),
    [
        (None, [2, 1, 0]),
        ("updated_at", [2, 1, 0]),
        ("created_at asc", [0, 1, 2]),
        ("created_at", [2, 1, 0]),
        ("title", [2, 0, 1]),
        ("title DESC", [1, 0, 2]),
    ],
)
def test_sources_are_listed_in_the_requested_order(sources, three, order, places):
    notebook, created = three
    query = {"notebook_id": notebook} | ({} if order is None else {"order_by": order})
    assert [row["id"] for row in sources.listed(**query)] == [created[place] for place in places]


def test_source_list_is_paginated(sources, three):
    notebook, created = three
    pages = [
        sources.listed(notebook_id=notebook, limit=2, offset=offset, order_by="created_at asc")
        for offset in (0, 2, 4)
    ]
    assert [[item["id"] for item in page] for page in pages] == [created[:2], created[2:], []]
    assert "full_text" not in pages[0][0]


def test_source_list_has_fifty_rows_by_default(sources):
    notebook = sources.notebook()
    many = [f"source:listed{number}" for number in range(51)]
    with sources.back() as session:
        session.add_all(Source(id=source, kind="text", status=COMPLETED) for source in many)
        session.flush()
        session.add_all(NotebookSource(notebook_id=notebook, source_id=source) for source in many)
    assert len(sources.listed(notebook_id=notebook)) == 50
    assert {row["id"] for row in sources.listed(notebook_id=notebook, limit=1000)} == set(many)
    deleted = sources.call("DELETE", f"notebooks/{notebook}", params={"delete_sources": "true"})
    assert deleted["deleted_sources"] == 51


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 1001},
        {"limit": "x"},
        {"offset": -1},
        {"order_by": "name"},
        {"order_by": "title; drop"},
        {"notebook_id": ""},
    ],
)
def test_invalid_list_query_is_refused(sources, detail, query):
    assert detail(sources.get("sources", **query))


def test_unknown_source_is_404(sources, detail):
    detail(sources.get("sources", notebook_id="notebook:none"), 404)
    for path in ("", "/status", "/download", "/insights"):
        detail(sources.get(f"sources/source:none{path}"), 404)
    detail(sources.put("sources/source:none", {"title": "x"}), 404)
    detail(sources.post("sources/source:none/retry"), 404)
    detail(sources.delete("sources/source:none"), 404)
    assert sources.request("HEAD", "sources/source:none/download").status_code == 404


@pytest.mark.parametrize("body", [{"title": ""}, {"title": 1}, {"title": "a\nb"}, {"topic": []}])
def test_invalid_source_update_is_refused(sources, detail, body):
    created = sources.call("POST", "sources", json={"text": "Text."})
    detail(sources.put(f"sources/{created['id']}", body))


def test_empty_update_changes_nothing(sources):
    created = sources.text("Text.")
    body = {"title": None, "topic": None, "other": 1}
    same = sources.call("PUT", f"sources/{created['id']}", json=body)
    assert same == sources.one(created["id"])
    assert same["updated_at"] == created["updated_at"]
    changed = sources.call("PUT", f"sources/{created['id']}", json={"topic": "t"})
    assert changed["updated_at"] > created["updated_at"]


def test_deleted_source_leaves_nothing(sources, detail):
    before = sources.files()
    notebook = sources.notebook()
    created = sources.file(b"The bilbyzyme is here.", notebook_id=notebook)
    assert len(sources.files()) == len(before) + 1
    sources.call("DELETE", f"sources/{created['id']}")
    assert sources.files() == before
    for path in ("", "/status", "/insights", "/download"):
        detail(sources.get(f"sources/{created['id']}{path}"), 404)
    assert sources.call("POST", "search", json={"query": "bilbyzyme"})["results"] == []
    assert sources.listed(notebook_id=notebook) == []
    detail(sources.delete(f"sources/{created['id']}"), 404)


def test_source_can_be_deleted_while_processed(sources, site):
    site.go.clear()
    with sources.private():
        created = sources.call("POST", "sources", json={"url": site.url})
        assert site.requested.acquire(timeout=30)
        sources.call("DELETE", f"sources/{created['id']}")
    assert not (sources.folder / "work" / created["id"].partition(":")[2]).exists()
    assert created["id"] not in [row["id"] for row in sources.listed()]


def test_processing_resumes_after_a_kill(new_box, sources_of, site):
    box = new_box(workers=1)
    sources = sources_of(box)
    sources.embed_by(None)
    sources.allow("yes")
    site.go.clear()
    link = sources.call("POST", "sources", json={"url": site.url})
    assert site.requested.acquire(timeout=30)
    waiting = sources.send(b"It waits for its turn.").json()
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    for name in ("originals/gone", "incoming/part"):  # as if it had been killed between two steps
        (sources.folder / name).write_bytes(b"x")
    site.go.set()
    box.start()
    sources = sources_of(box)
    assert sources.until(link["id"])["status"] == "completed"
    assert sources.until(waiting["id"])["status"] == "completed"
    assert sources.one(link["id"])["full_text"] == "Cells were induced with arabinose."
    assert sources.files() == {f"originals/{waiting['id'].partition(':')[2]}"}
    assert [*(sources.folder / "work").iterdir()] == []
