"""Notes: created, listed, changed, deleted; notes of a model get a title."""

from __future__ import annotations

import re

import pytest
from nb_service import detail, new_name

pytestmark = pytest.mark.contract

PARAGRAPH = (
    "The uninduced culture gets glucose. Glucose keeps the araBAD promoter silent by catabolite "
    "repression, so that leaky expression of the toxic protein stays low until arabinose is added."
)


def test_note_is_created_and_returned(api) -> None:
    notebook = api.notebook()
    created = api.note("Check leaky expression.\n\n- once", title=" Plan ", notebook_id=notebook)
    assert re.fullmatch(r"note:[a-z0-9]{20}", created["id"])
    assert created["title"] == "Plan"
    assert created["content"] == "Check leaky expression.\n\n- once"
    assert (created["note_type"], created["notebook_id"]) == ("human", notebook)
    assert created["created_at"] == created["updated_at"]
    assert api.call("GET", f"notes/{created['id']}") == created
    assert api.call("GET", f"notebooks/{notebook}")["note_count"] == 1


def test_note_notebook_is_optional(api) -> None:
    created = api.note()
    assert created["notebook_id"] is None
    assert created in api.call("GET", "notes")


def test_notes_are_listed_by_notebook_last_changed_first(api) -> None:
    notebook, other = api.notebook(), api.notebook()
    first, second = (api.note(str(number), notebook_id=notebook) for number in range(2))
    api.note(notebook_id=other)

    def listed_titles() -> list[str]:
        result = api.call("GET", "notes", params={"notebook_id": notebook})
        return [note["id"] for note in result]

    assert listed_titles() == [second["id"], first["id"]]
    api.call("PUT", f"notes/{first['id']}", json={"content": "changed"})
    assert listed_titles() == [first["id"], second["id"]]


@pytest.mark.parametrize("title", [None, "", "   "])
def test_ai_note_gets_a_title_from_its_content(api, title) -> None:
    created = api.note(PARAGRAPH, note_type="ai", title=title)
    assert created["title"]
    assert len(created["title"]) <= 80
    words = set(re.findall(r"\w+", created["title"].lower()))
    assert len(words & set(re.findall(r"\w+", PARAGRAPH.lower()))) >= len(words) - 1
    assert api.call("GET", f"notes/{created['id']}")["title"] == created["title"]


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("pBAD is induced by arabinose", "pBAD is induced by arabinose"),
        ("**plasmid yields**: 5 ug", "plasmid yields: 5 ug"),
        ("- Die Ausbeute war gering", "Die Ausbeute war gering"),
        ("产量很低，因为葡萄糖", "产量很低，因为葡萄糖"),
        ("| Gene | padj |\n|---|---|\n| TP53 | 0.01 |", "Gene | padj"),
    ],
)
def test_ai_note_without_a_whole_sentence_is_titled_by_its_first_line(api, content, title) -> None:
    assert api.note(content, note_type="ai")["title"] == title


def test_given_title_is_kept(api) -> None:
    assert api.note(PARAGRAPH, note_type="ai", title="Mine")["title"] == "Mine"
    assert api.note(PARAGRAPH)["title"] is None  # of a human


def test_update_changes_only_given_fields(api) -> None:
    created = api.note("before", title="Plan")
    where = f"notes/{created['id']}"
    for body, change in [
        ({"content": "after"}, {"content": "after"}),
        ({"title": "Other", "content": None}, {"title": "Other"}),
        ({"note_type": "ai"}, {"note_type": "ai"}),
        ({"title": ""}, {"title": None}),
    ]:
        created |= change
        result = api.call("PUT", where, json=body)
        assert result == created | {"updated_at": result["updated_at"]}
        assert api.call("GET", where) == result
    assert api.call("PUT", where, json={}) == result


def test_deleted_note_is_404(api) -> None:
    created = api.note()
    where = f"notes/{created['id']}"
    api.call("DELETE", where)
    for method in ("GET", "DELETE"):
        assert created["id"] in detail(api.request(method, where), 404)
    assert detail(api.put(where, {"content": "x"}), 404)


def found_by(api, query: str) -> set[str]:
    answer = api.call("POST", "search", json={"query": query, "search_type": "text"})
    return {hit["parent_id"] for hit in answer["results"]}


def test_note_is_searchable_as_last_saved(api) -> None:
    before, after, title = new_name(), new_name(), new_name()
    created = api.note(f"A {before} here.")["id"]
    assert found_by(api, before) == {created}
    api.call("PUT", f"notes/{created}", json={"content": f"A {after} here."})
    assert (found_by(api, before), found_by(api, after)) == (set(), {created})
    api.call("PUT", f"notes/{created}", json={"title": title})
    assert found_by(api, title) == found_by(api, after) == {created}
    api.call("DELETE", f"notes/{created}")
    assert found_by(api, after) == found_by(api, title) == set()


def test_notes_of_a_deleted_notebook_are_not_found(api) -> None:
    notebook, word = api.notebook(), new_name()
    note = api.note(f"A {word}.", notebook_id=notebook)["id"]
    assert found_by(api, word) == {note}
    api.call("DELETE", f"notebooks/{notebook}")
    assert found_by(api, word) == set()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": " \n"},
        {"content": None},
        {"content": 5},
        {"content": "x", "note_type": "AI"},
        {"content": "x", "title": 5},
        {"content": "x", "title": "two\nlines"},
        {"content": "x", "notebook_id": ""},
        {"content": "x", "notebook_id": 5},
    ],
)
def test_invalid_note_is_refused(api, body) -> None:
    detail(api.post("notes", body))


@pytest.mark.parametrize("body", [{"content": " "}, {"note_type": "robot"}, {"title": 5}, "x"])
def test_invalid_update_changes_nothing(api, body) -> None:
    created = api.note()
    detail(api.put(f"notes/{created['id']}", body))
    assert api.call("GET", f"notes/{created['id']}") == created


def test_unknown_notebook_of_a_note_is_404(api) -> None:
    before = len(api.call("GET", "notes"))
    body = {"content": "x", "notebook_id": "notebook:nope"}
    assert "notebook:nope" in detail(api.post("notes", body), 404)
    assert "notebook:nope" in detail(api.get("notes", notebook_id="notebook:nope"), 404)
    assert len(api.call("GET", "notes")) == before


def test_unknown_note_type_error_lists_the_types(api) -> None:
    message = detail(api.post("notes", {"content": "x", "note_type": "robot"}))
    assert "note_type" in message
    assert "human" in message
    assert "ai" in message


def test_null_means_default(api):
    note = api.note("Cells were induced.", note_type=None, title=None)
    assert note["note_type"] == "human"
    request = {"query": "induced", "limit": None, "search_type": None, "include_notes": None}
    result = api.call("POST", "search", json=request | {"note_ids": [note["id"]]})
    assert [hit["id"] for hit in result["results"]] == [note["id"]]
    assert result["search_type"] == "text"
