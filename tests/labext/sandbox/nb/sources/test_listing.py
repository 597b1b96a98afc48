"""Sources are listed, and go; after a kill nothing is lost and nothing half is left."""

from __future__ import annotations

import psutil
import pytest

from labext.sandbox.nb.tables import COMPLETED, NotebookSource, Source

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def three(sources):
    """A notebook with three sources, the names of which are not in the order they were made in."""
    notebook = sources.api.notebook()
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
def test_sources_are_listed_in_an_order(sources, three, order, places):
    notebook, made = three
    query = {"notebook_id": notebook} | ({} if order is None else {"order_by": order})
    assert [each["id"] for each in sources.listed(**query)] == [made[place] for place in places]


def test_a_list_is_cut_into_pages(sources, three):
    notebook, made = three
    pages = [
        sources.listed(notebook_id=notebook, limit=2, offset=offset, order_by="created_at asc")
        for offset in (0, 2, 4)
    ]
    assert [[each["id"] for each in page] for page in pages] == [made[:2], made[2:], []]
    assert "full_text" not in pages[0][0]


def test_a_list_has_fifty_unless_more_are_asked_for(sources):
    notebook = sources.api.notebook()
    many = [f"source:listed{number}" for number in range(51)]
    with sources.back() as session:
        session.add_all(Source(id=each, kind="text", status=COMPLETED) for each in many)
        session.flush()
        session.add_all(NotebookSource(notebook_id=notebook, source_id=each) for each in many)
    assert len(sources.listed(notebook_id=notebook)) == 50
    assert {each["id"] for each in sources.listed(notebook_id=notebook, limit=1000)} == set(many)
    gone = sources.api.told("DELETE", f"notebooks/{notebook}", params={"delete_sources": "true"})
    assert gone["deleted_sources"] == 51


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
def test_a_list_that_can_not_be_is_refused(sources, sentence, query):
    assert sentence(sources.api.get("sources", **query))


def test_what_is_not_there_is_404(sources, sentence):
    sentence(sources.api.get("sources", notebook_id="notebook:none"), 404)
    for path in ("", "/status", "/download", "/insights"):
        sentence(sources.api.get(f"sources/source:none{path}"), 404)
    sentence(sources.api.put("sources/source:none", {"title": "x"}), 404)
    sentence(sources.api.post("sources/source:none/retry"), 404)
    sentence(sources.api.delete("sources/source:none"), 404)
    assert sources.api.ask("HEAD", "sources/source:none/download").status_code == 404


@pytest.mark.parametrize("body", [{"title": ""}, {"title": 1}, {"title": "a\nb"}, {"topic": []}])
def test_a_change_that_can_not_be_is_refused(sources, sentence, body):
    made = sources.api.told("POST", "sources", json={"text": "Text."})
    sentence(sources.api.put(f"sources/{made['id']}", body))


def test_an_empty_change_is_none(sources):
    made = sources.text("Text.")
    body = {"title": None, "topic": None, "other": 1}
    same = sources.api.told("PUT", f"sources/{made['id']}", json=body)
    assert same == sources.one(made["id"])
    assert same["updated_at"] == made["updated_at"]
    changed = sources.api.told("PUT", f"sources/{made['id']}", json={"topic": "t"})
    assert changed["updated_at"] > made["updated_at"]


def test_a_deleted_source_leaves_nothing(sources, sentence):
    before = sources.files()
    notebook = sources.api.notebook()
    made = sources.file(b"The bilbyzyme is here.", notebook_id=notebook)
    assert len(sources.files()) == len(before) + 1
    sources.api.told("DELETE", f"sources/{made['id']}")
    assert sources.files() == before
    for path in ("", "/status", "/insights", "/download"):
        sentence(sources.api.get(f"sources/{made['id']}{path}"), 404)
    assert sources.api.told("POST", "search", json={"query": "bilbyzyme"})["results"] == []
    assert sources.listed(notebook_id=notebook) == []
    sentence(sources.api.delete(f"sources/{made['id']}"), 404)


def test_a_source_is_deleted_while_it_is_processed(sources, site):
    site.go.clear()
    with sources.private():
        made = sources.api.told("POST", "sources", json={"url": site.url})
        assert site.asked.acquire(timeout=30)
        sources.api.told("DELETE", f"sources/{made['id']}")
    assert not (sources.folder / "work" / made["id"].partition(":")[2]).exists()
    assert made["id"] not in [each["id"] for each in sources.listed()]


def test_what_was_being_processed_is_taken_up_after_a_kill(new_box, sources_of, site):
    box = new_box(workers=1)
    sources = sources_of(box)
    sources.embed_by(None)
    sources.allow("yes")
    site.go.clear()
    link = sources.api.told("POST", "sources", json={"url": site.url})
    assert site.asked.acquire(timeout=30)
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
