"""Notebooks: made, listed, changed, linked; a deletion takes what its preview said."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

pytestmark = pytest.mark.contract


def numbers(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("source_count", "note_count")}


def test_a_notebook_is_made_and_shown(api, kit) -> None:
    before = datetime.now(UTC)
    made = api.told("POST", "notebooks", json={"name": " Induction ", "description": "pBAD30"})
    assert re.fullmatch(r"notebook:[a-z0-9]{20}", made["id"])
    assert (made["name"], made["description"], made["archived"]) == ("Induction", "pBAD30", False)
    assert numbers(made) == {"source_count": 0, "note_count": 0}
    moment = datetime.fromisoformat(made["created_at"])
    assert abs((moment - before).total_seconds()) < 60
    assert made["created_at"].endswith("Z")
    assert api.told("GET", f"notebooks/{made['id']}") == made
    encoded = made["id"].replace(":", "%3A")
    assert api.told("GET", f"notebooks/{encoded}") == made


def test_a_description_may_be_left_out(api, kit) -> None:
    for more in ({}, {"description": None}, {"description": ""}):
        made = api.told("POST", "notebooks", json={"name": kit.name(), **more})
        assert made["description"] == ""


def test_two_notebooks_may_have_one_name(api, kit) -> None:
    name = kit.name()
    assert api.notebook(name) != api.notebook(name)


def test_only_what_is_given_changes(api, kit) -> None:
    made = api.told("POST", "notebooks", json={"name": kit.name(), "description": "before"})
    where = f"notebooks/{made['id']}"
    archived = api.told("PUT", where, json={"archived": True})
    assert archived == made | {"archived": True, "updated_at": archived["updated_at"]}
    assert archived["updated_at"] >= made["updated_at"]
    named = api.told("PUT", where, json={"name": "Another", "description": None})
    assert (named["name"], named["description"], named["archived"]) == ("Another", "before", True)
    cleared = api.told("PUT", where, json={"description": "", "archived": False})
    assert (cleared["description"], cleared["archived"]) == ("", False)
    assert api.told("PUT", where, json={}) == cleared
    assert api.told("GET", where) == cleared


def test_archived_ones_are_listed_apart(api) -> None:
    kept, gone = api.notebook(), api.notebook()
    api.told("PUT", f"notebooks/{gone}", json={"archived": True})

    def listed(**query: Any) -> set[str]:
        found = api.get("notebooks", **query).json()
        return {record["id"] for record in found} & {kept, gone}

    assert listed() == {kept, gone}
    assert listed(archived="true") == {gone}
    assert listed(archived="false") == {kept}


@pytest.fixture(scope="module")
def three(api) -> list[str]:
    """Notebooks with names of no order and in both cases; the first was changed last."""
    made = [api.notebook(name) for name in ("beta", "Gamma", "alpha")]
    api.told("PUT", f"notebooks/{made[0]}", json={"description": "changed"})
    return made


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
def test_the_list_is_in_the_order_asked_for(api, three, order, expected) -> None:
    query = {} if order is None else {"order_by": order}
    found = [record["id"] for record in api.get("notebooks", **query).json()]
    assert [three.index(each) for each in found if each in three] == expected


@pytest.mark.parametrize("order", ["", "size", "name up", "name asc desc", "id;drop", "x" * 5000])
def test_an_unknown_order_is_refused(api, kit, order) -> None:
    assert "order_by" in kit.sentence(api.get("notebooks", order_by=order))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "  "},
        {"name": None},
        {"name": 5},
        {"name": ["x"]},
        {"name": "x", "description": 5},
        [],
        "x",
        None,
    ],
)
def test_what_is_no_notebook_is_refused(api, kit, body) -> None:
    kit.sentence(api.post("notebooks", body))


@pytest.mark.parametrize("body", [{"name": " "}, {"archived": "yes"}, {"archived": 1}, []])
def test_what_is_no_change_is_refused(api, kit, body) -> None:
    where = f"notebooks/{api.notebook()}"
    before = api.told("GET", where)
    kit.sentence(api.put(where, body))
    assert api.told("GET", where) == before


@pytest.mark.parametrize("archived", ["maybe", "", "2"])
def test_archived_is_true_or_false(api, kit, archived) -> None:
    assert "archived" in kit.sentence(api.get("notebooks", archived=archived))


def test_what_is_not_there_is_not_found(api, kit) -> None:
    for method, path, body in [
        ("GET", "notebooks/notebook:nope", None),
        ("PUT", "notebooks/notebook:nope", {"name": "x"}),
        ("DELETE", "notebooks/notebook:nope", None),
        ("GET", "notebooks/notebook:nope/delete-preview", None),
        ("POST", "notebooks/notebook:nope/sources/source:nope", None),
        ("DELETE", "notebooks/notebook:nope/sources/source:nope", None),
        ("GET", "notebooks/nope", None),
    ]:
        said = kit.sentence(api.ask(method, path, json=body), 404)
        assert "nope" in said


def test_linking_twice_is_linking_once(api, kit) -> None:
    notebook, source = api.notebook(), api.source()
    path = f"notebooks/{notebook}/sources/{source}"
    for method, expected in [("POST", 1), ("POST", 1), ("DELETE", 0), ("DELETE", 0), ("POST", 1)]:
        api.told(method, path)
        assert api.told("GET", f"notebooks/{notebook}")["source_count"] == expected
    for method in ("POST", "DELETE"):
        said = kit.sentence(api.ask(method, f"notebooks/{notebook}/sources/source:nope"), 404)
        assert "source:nope" in said


def filled(api) -> tuple[str, str, dict[str, str]]:
    """A notebook with two sources of its own and one that another notebook has too."""
    notebook, other = api.notebook(), api.notebook()
    sources = {
        "own": api.source("Own text.", notebook),
        "also own": api.source("Other text.", notebook),
        "shared": api.source("Shared text.", notebook),
    }
    api.told("POST", f"notebooks/{other}/sources/{sources['shared']}")
    for _ in range(3):
        api.note(notebook_id=notebook)
    api.note(notebook_id=other)
    api.told("POST", "chat/sessions", json={"notebook_id": notebook, "title": "Talk"})
    return notebook, other, sources


def there(api, sources: dict[str, str]) -> set[str]:
    return {
        name for name, source in sources.items() if api.get(f"sources/{source}").status_code == 200
    }


@pytest.mark.parametrize(
    ("query", "survivors"),
    [
        ({}, {"own", "also own", "shared"}),
        ({"delete_sources": "false"}, {"own", "also own", "shared"}),
        ({"delete_sources": "true"}, {"shared"}),
    ],
)
def test_a_deletion_does_what_its_preview_said(api, kit, query, survivors) -> None:
    notebook, other, sources = filled(api)
    preview = api.told("GET", f"notebooks/{notebook}/delete-preview")
    assert preview == {
        "notebook_id": notebook,
        "notebook_name": preview["notebook_name"],
        "note_count": 3,
        "exclusive_source_count": 2,
        "shared_source_count": 1,
        "session_count": 1,
    }
    notes = [note["id"] for note in api.told("GET", "notes", params={"notebook_id": notebook})]
    assert there(api, sources) == set(sources)

    deleted = api.told("DELETE", f"notebooks/{notebook}", params=query)
    assert deleted.pop("message")
    gone = preview["exclusive_source_count"] if query.get("delete_sources") == "true" else 0
    assert deleted == {
        "deleted_notes": preview["note_count"],
        "deleted_sources": gone,
        "unlinked_sources": 3 - gone,
        "deleted_chat_sessions": preview["session_count"],
    }
    assert there(api, sources) == survivors
    assert [api.get(f"notes/{note}").status_code for note in notes] == [404] * 3
    assert numbers(api.told("GET", f"notebooks/{other}")) == {"source_count": 1, "note_count": 1}
    kit.sentence(api.get(f"notebooks/{notebook}"), 404)
    kit.sentence(api.delete(f"notebooks/{notebook}"), 404)
