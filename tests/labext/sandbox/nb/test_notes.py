"""Notes: made, listed, changed, deleted; those of a model get a title."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.contract

PARAGRAPH = (
    "The uninduced culture gets glucose. Glucose keeps the araBAD promoter silent by catabolite "
    "repression, so that leaky expression of the toxic protein stays low until arabinose is added."
)


def test_a_note_is_made_and_shown(api) -> None:
    notebook = api.notebook()
    made = api.note("Check leaky expression.\n\n- once", title=" Plan ", notebook_id=notebook)
    assert re.fullmatch(r"note:[a-z0-9]{20}", made["id"])
    assert made["title"] == "Plan"
    assert made["content"] == "Check leaky expression.\n\n- once"
    assert (made["note_type"], made["notebook_id"]) == ("human", notebook)
    assert made["created_at"] == made["updated_at"]
    assert api.told("GET", f"notes/{made['id']}") == made
    assert api.told("GET", f"notebooks/{notebook}")["note_count"] == 1


def test_a_note_needs_no_notebook(api) -> None:
    made = api.note()
    assert made["notebook_id"] is None
    assert made in api.told("GET", "notes")


def test_notes_of_a_notebook_are_listed_last_changed_first(api) -> None:
    notebook, other = api.notebook(), api.notebook()
    first, second = (api.note(str(number), notebook_id=notebook) for number in range(2))
    api.note(notebook_id=other)

    def listed() -> list[str]:
        found = api.told("GET", "notes", params={"notebook_id": notebook})
        return [note["id"] for note in found]

    assert listed() == [second["id"], first["id"]]
    api.told("PUT", f"notes/{first['id']}", json={"content": "changed"})
    assert listed() == [first["id"], second["id"]]


@pytest.mark.parametrize("title", [None, "", "   "])
def test_a_note_of_a_model_gets_a_title_of_its_content(api, title) -> None:
    made = api.note(PARAGRAPH, note_type="ai", title=title)
    assert made["title"]
    assert len(made["title"]) <= 80
    words = set(re.findall(r"\w+", made["title"].lower()))
    assert len(words & set(re.findall(r"\w+", PARAGRAPH.lower()))) >= len(words) - 1
    assert api.told("GET", f"notes/{made['id']}")["title"] == made["title"]


def test_a_title_that_is_given_is_kept(api) -> None:
    assert api.note(PARAGRAPH, note_type="ai", title="Mine")["title"] == "Mine"


def test_a_note_of_a_person_gets_no_title(api) -> None:
    assert api.note(PARAGRAPH)["title"] is None


def test_only_what_is_given_changes(api) -> None:
    made = api.note("before", title="Plan")
    where = f"notes/{made['id']}"
    for body, change in [
        ({"content": "after"}, {"content": "after"}),
        ({"title": "Other", "content": None}, {"title": "Other"}),
        ({"note_type": "ai"}, {"note_type": "ai"}),
        ({"title": ""}, {"title": None}),
    ]:
        made |= change
        found = api.told("PUT", where, json=body)
        assert found == made | {"updated_at": found["updated_at"]}
        assert api.told("GET", where) == found
    assert api.told("PUT", where, json={}) == found


def test_a_note_is_deleted(api, kit) -> None:
    made = api.note()
    where = f"notes/{made['id']}"
    api.told("DELETE", where)
    for method in ("GET", "DELETE"):
        assert made["id"] in kit.sentence(api.ask(method, where), 404)
    assert kit.sentence(api.put(where, {"content": "x"}), 404)


def found_by(api, query: str) -> set[str]:
    answer = api.told("POST", "search", json={"query": query, "search_type": "text"})
    return {hit["parent_id"] for hit in answer["results"]}


def test_a_note_is_found_as_it_was_last_answered(api, kit) -> None:
    before, after, title = kit.name(), kit.name(), kit.name()
    made = api.note(f"A {before} here.")["id"]
    assert found_by(api, before) == {made}
    api.told("PUT", f"notes/{made}", json={"content": f"A {after} here."})
    assert (found_by(api, before), found_by(api, after)) == (set(), {made})
    api.told("PUT", f"notes/{made}", json={"title": title})
    assert found_by(api, title) == found_by(api, after) == {made}
    api.told("DELETE", f"notes/{made}")
    assert found_by(api, after) == found_by(api, title) == set()


def test_notes_of_a_deleted_notebook_are_not_found(api, kit) -> None:
    notebook, word = api.notebook(), kit.name()
    note = api.note(f"A {word}.", notebook_id=notebook)["id"]
    assert found_by(api, word) == {note}
    api.told("DELETE", f"notebooks/{notebook}")
    assert found_by(api, word) == set()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": ""},
        {"content": " \n"},
        {"content": None},
        {"content": 5},
        {"content": "x", "note_type": "robot"},
        {"content": "x", "note_type": ""},
        {"content": "x", "note_type": "AI"},
        {"content": "x", "title": 5},
        {"content": "x", "title": "two\nlines"},
        {"content": "x", "notebook_id": ""},
        {"content": "x", "notebook_id": 5},
    ],
)
def test_what_is_no_note_is_refused(api, kit, body) -> None:
    kit.sentence(api.post("notes", body))


@pytest.mark.parametrize("body", [{"content": " "}, {"note_type": "robot"}, {"title": 5}, "x"])
def test_what_is_no_change_is_refused(api, kit, body) -> None:
    made = api.note()
    kit.sentence(api.put(f"notes/{made['id']}", body))
    assert api.told("GET", f"notes/{made['id']}") == made


def test_a_note_of_no_notebook_there_is_refused(api, kit) -> None:
    before = len(api.told("GET", "notes"))
    body = {"content": "x", "notebook_id": "notebook:nope"}
    assert "notebook:nope" in kit.sentence(api.post("notes", body), 404)
    assert "notebook:nope" in kit.sentence(api.get("notes", notebook_id="notebook:nope"), 404)
    assert len(api.told("GET", "notes")) == before


def test_a_type_that_is_neither_is_named(api, kit) -> None:
    said = kit.sentence(api.post("notes", {"content": "x", "note_type": "robot"}))
    assert "note_type" in said
    assert "human" in said
    assert "ai" in said


def test_null_is_as_if_left_out(api):
    note = api.note("Cells were induced.", note_type=None, title=None)
    assert note["note_type"] == "human"
    asked = {"query": "induced", "limit": None, "search_type": None, "include_notes": None}
    found = api.told("POST", "search", json=asked | {"note_ids": [note["id"]]})
    assert [hit["id"] for hit in found["results"]] == [note["id"]]
    assert found["search_type"] == "text"
