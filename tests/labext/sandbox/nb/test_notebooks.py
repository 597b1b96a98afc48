"""Notebooks: created, listed, updated, linked; a deletion affects the records of its preview."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from nb_service import detail, new_name

pytestmark = pytest.mark.contract


def test_notebook_is_created_and_returned(api) -> None:
    before = datetime.now(UTC)
    created = api.call("POST", "notebooks", json={"name": " Induction ", "description": "pBAD30"})
    assert re.fullmatch(r"notebook:[a-z0-9]{20}", created["id"])
    fields = {"name": "Induction", "description": "pBAD30", "archived": False}
    assert created == created | fields | {"source_count": 0, "note_count": 0}
    moment = datetime.fromisoformat(created["created_at"])
    assert abs((moment - before).total_seconds()) < 60
    assert created["created_at"].endswith("Z")
    assert api.call("GET", f"notebooks/{created['id']}") == created
    encoded = created["id"].replace(":", "%3A")
    assert api.call("GET", f"notebooks/{encoded}") == created


def test_description_is_optional(api) -> None:
    for more in ({}, {"description": None}, {"description": ""}):
        created = api.call("POST", "notebooks", json={"name": new_name(), **more})
        assert created["description"] == ""


def test_notebook_names_need_not_be_unique(api) -> None:
    name = new_name()
    assert api.notebook(name) != api.notebook(name)


def test_update_changes_only_given_fields(api) -> None:
    created = api.call("POST", "notebooks", json={"name": new_name(), "description": "before"})
    where = f"notebooks/{created['id']}"
    archived = api.call("PUT", where, json={"archived": True})
    assert archived == created | {"archived": True, "updated_at": archived["updated_at"]}
    assert archived["updated_at"] >= created["updated_at"]
    renamed = api.call("PUT", where, json={"name": "Another", "description": None})
    assert renamed == archived | {"name": "Another", "updated_at": renamed["updated_at"]}
    cleared = api.call("PUT", where, json={"description": "", "archived": False})
    assert (cleared["description"], cleared["archived"]) == ("", False)
    assert api.call("PUT", where, json={}) == cleared
    assert api.call("GET", where) == cleared


def test_archived_filter_of_the_list(api) -> None:
    stored, removed = api.notebook(), api.notebook()
    api.call("PUT", f"notebooks/{removed}", json={"archived": True})

    def listed_names(**query: Any) -> set[str]:
        result = api.get("notebooks", **query).json()
        return {record["id"] for record in result} & {stored, removed}

    assert listed_names() == {stored, removed}
    assert listed_names(archived="true") == {removed}
    assert listed_names(archived="false") == {stored}


@pytest.fixture(scope="module")
def three(api) -> list[str]:
    """Notebooks with unsorted names in upper and lower case; the first was changed last."""
    created = [api.notebook(name) for name in ("beta", "Gamma", "alpha")]
    api.call("PUT", f"notebooks/{created[0]}", json={"description": "changed"})
    return created


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (None, [0, 2, 1]),
        ("updated_at", [0, 2, 1]),
        ("updated_at asc", [1, 2, 0]),
        ("created_at", [2, 1, 0]),
        ("created_at ASC", [0, 1, 2]),
        ("name", [2, 0, 1]),
        ("name desc", [1, 0, 2]),
    ],
)
def test_notebooks_are_listed_in_the_requested_order(api, three, order, expected) -> None:
    query = {} if order is None else {"order_by": order}
    result = [record["id"] for record in api.get("notebooks", **query).json()]
    assert [three.index(item) for item in result if item in three] == expected


@pytest.mark.parametrize("order", ["", "size", "name up", "name asc desc", "id;drop", "x" * 5000])
def test_unknown_order_is_refused(api, order) -> None:
    assert "order_by" in detail(api.get("notebooks", order_by=order))


@pytest.mark.parametrize(
    "body", [{}, {"name": "  "}, {"name": None}, {"name": 5}, {"name": "x", "description": 5}, []]
)
def test_invalid_notebook_is_refused(api, body) -> None:
    detail(api.post("notebooks", body))


@pytest.mark.parametrize("body", [{"name": " "}, {"archived": "yes"}, {"archived": 1}, []])
def test_invalid_update_changes_nothing(api, body) -> None:
    where = f"notebooks/{api.notebook()}"
    before = api.call("GET", where)
    detail(api.put(where, body))
    assert api.call("GET", where) == before


@pytest.mark.parametrize("archived", ["maybe", "", "2"])
def test_archived_filter_must_be_boolean(api, archived) -> None:
    assert "archived" in detail(api.get("notebooks", archived=archived))


def test_unknown_notebook_is_404(api) -> None:
    for method, path, body in [
        ("GET", "notebooks/notebook:nope", None),
        ("PUT", "notebooks/notebook:nope", {"name": "x"}),
        ("DELETE", "notebooks/notebook:nope", None),
        ("GET", "notebooks/notebook:nope/delete-preview", None),
        ("POST", "notebooks/notebook:nope/sources/source:nope", None),
        ("DELETE", "notebooks/notebook:nope/sources/source:nope", None),
        ("GET", "notebooks/nope", None),
    ]:
        message = detail(api.request(method, path, json=body), 404)
        assert "nope" in message


def test_linking_is_idempotent(api) -> None:
    notebook, source = api.notebook(), api.source()
    path = f"notebooks/{notebook}/sources/{source}"
    for method, expected in [("POST", 1), ("POST", 1), ("DELETE", 0), ("DELETE", 0), ("POST", 1)]:
        api.call(method, path)
        assert api.call("GET", f"notebooks/{notebook}")["source_count"] == expected
    for method in ("POST", "DELETE"):
        message = detail(api.request(method, f"notebooks/{notebook}/sources/source:nope"), 404)
        assert "source:nope" in message


def filled(api) -> tuple[str, str, dict[str, str]]:
    """A notebook with two exclusive sources and one that it shares with another notebook."""
    notebook, other = api.notebook(), api.notebook()
    sources = {
        "own": api.source("Own text.", notebook),
        "also own": api.source("Other text.", notebook),
        "shared": api.source("Shared text.", notebook),
    }
    api.call("POST", f"notebooks/{other}/sources/{sources['shared']}")
    for _ in range(3):
        api.note(notebook_id=notebook)
    api.note(notebook_id=other)
    api.call("POST", "chat/sessions", json={"notebook_id": notebook, "title": "Talk"})
    return notebook, other, sources


def existing(api, sources: dict[str, str]) -> set[str]:
    return {
        name for name, source in sources.items() if api.get(f"sources/{source}").status_code == 200
    }


@pytest.mark.parametrize(
    ("query", "survivors"),
    [({}, {"own", "also own", "shared"}), ({"delete_sources": "true"}, {"shared"})],
)
def test_deletion_matches_its_preview(api, query, survivors) -> None:
    notebook, other, sources = filled(api)
    preview = api.call("GET", f"notebooks/{notebook}/delete-preview")
    assert preview == {
        "notebook_id": notebook,
        "notebook_name": preview["notebook_name"],
        "note_count": 3,
        "exclusive_source_count": 2,
        "shared_source_count": 1,
        "session_count": 1,
    }
    notes = [note["id"] for note in api.call("GET", "notes", params={"notebook_id": notebook})]
    assert existing(api, sources) == set(sources)

    deleted = api.call("DELETE", f"notebooks/{notebook}", params=query)
    assert deleted.pop("message")
    removed = preview["exclusive_source_count"] if query.get("delete_sources") == "true" else 0
    assert deleted == {
        "deleted_notes": preview["note_count"],
        "deleted_sources": removed,
        "unlinked_sources": 3 - removed,
        "deleted_chat_sessions": preview["session_count"],
    }
    assert existing(api, sources) == survivors
    assert [api.get(f"notes/{note}").status_code for note in notes] == [404] * 3
    kept = api.call("GET", f"notebooks/{other}")
    assert (kept["source_count"], kept["note_count"]) == (1, 1)
    detail(api.get(f"notebooks/{notebook}"), 404)
    detail(api.delete(f"notebooks/{notebook}"), 404)
