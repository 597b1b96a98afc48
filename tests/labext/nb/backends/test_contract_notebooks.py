"""The contract's backend for notebooks, sources, notes and sessions: what it asks for and reads.

Nothing is sent: the generators are driven by hand.
"""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import InputError, NotFoundError, OutcomeUnknownError, ServiceError
from labext.http import RetryMode
from labext.nb import records
from labext.nb.backends.contract import ContractBackend

NB = {
    "id": "notebook:1",
    "name": "Miniprep",
    "description": "",
    "archived": False,
    "created_at": "2026-11-20T13:23:23.768Z",
    "updated_at": "2026-11-20T13:23:23.768Z",
    "source_count": 2,
    "note_count": 0,
    "something": "else",
}
SOURCE = {
    "id": "source:1",
    "title": "paper.pdf",
    "topic": "",
    "notebooks": ["notebook:1"],
    "asset": {"file_path": "/data/uploads/paper.pdf", "url": None},
    "kind": "upload",
    "status": "new",
    "stage": "",
    "error": None,
    "passages": 0,
    "insights_count": 0,
    "full_text": "words",
}
GIVEN: dict[str, Any] = {
    "notebook": "notebook:1",
    "title": None,
    "topic": "plasmids",
    "process_async": True,
}
talk = ContractBackend()


def test_notebooks_are_listed(drive):
    done = drive(talk.notebooks(archived=False, order_by="name"), [NB])
    assert done.line == ("GET", "/notebooks")
    assert done.only.params == {"archived": False, "order_by": "name"}
    (record,) = done.result
    assert list(record) == list(records.NOTEBOOK)
    assert (record["name"], record["source_count"]) == ("Miniprep", 2)


def test_what_a_server_does_not_tell_is_none(drive):
    record = drive(talk.notebook("notebook:1"), {"id": "notebook:1"}).result
    assert record == dict.fromkeys(records.NOTEBOOK) | {"id": "notebook:1"}


@pytest.mark.parametrize(
    ("steps", "line", "body"),
    [
        (talk.new_notebook, ("POST", "/notebooks"), {"name": "A"}),
        (talk.change_notebook, ("PUT", "/notebooks/notebook%3A1"), {"archived": True}),
    ],
)
def test_notebooks_are_made_and_changed(drive, steps, line, body):
    given = ("A", None) if line[0] == "POST" else ("notebook:1", body)
    done = drive(steps(*given), NB)
    assert (done.line, done.only.json) == (line, body)
    assert done.result["id"] == "notebook:1"


def test_a_notebook_is_made_with_a_description(drive):
    done = drive(talk.new_notebook("A", "of a"), NB)
    assert done.only.json == {"name": "A", "description": "of a"}
    assert done.only.op.repeat is RetryMode.UNSENT


def test_a_deletion_counts_and_a_repeated_one_cannot(drive):
    told = {"message": "gone", "deleted_notes": 1, "deleted_sources": 2, "unlinked_sources": 3}
    done = drive(talk.delete_notebook("notebook:1", delete_sources=True), told)
    assert done.line == ("DELETE", "/notebooks/notebook%3A1")
    assert done.only.params == {"delete_sources": True}
    assert done.result == {
        "id": "notebook:1",
        "deleted_notes": 1,
        "deleted_sources": 2,
        "unlinked_sources": 3,
        "deleted_chat_sessions": None,
    }
    again = drive(talk.delete_notebook("notebook:1", delete_sources=False), None)
    assert again.only.params == {"delete_sources": False}
    assert again.result["deleted_notes"] is None


def test_a_preview_is_read(drive):
    told = {
        "notebook_id": "notebook:1",
        "notebook_name": "Doomed",
        "note_count": 1,
        "exclusive_source_count": 2,
        "shared_source_count": 3,
        "session_count": 4,
    }
    done = drive(talk.preview("notebook:1"), told)
    assert done.line == ("GET", "/notebooks/notebook%3A1/delete-preview")
    assert list(done.result.values()) == ["notebook:1", "Doomed", 1, 2, 3, 4]


def test_links_name_both(drive):
    path = "/notebooks/notebook%3A1/sources/source%3A2"
    linked = drive(talk.link("notebook:1", "source:2"), {"message": "ok"})
    assert linked.line == ("POST", path)
    assert linked.only.op.repeat is RetryMode.ALWAYS  # idempotent
    assert drive(talk.unlink("notebook:1", "source:2"), None).line == ("DELETE", path)


def test_a_page_of_sources(drive):
    done = drive(talk.sources("notebook:1", 10, 20, "title asc"), [SOURCE])
    assert done.line == ("GET", "/sources")
    assert done.only.params == {
        "notebook_id": "notebook:1",
        "limit": 10,
        "offset": 20,
        "order_by": "title asc",
    }
    (record,) = done.result
    assert list(record) == list(records.SOURCE)
    assert (record["file_name"], record["url"], record["status"]) == ("paper.pdf", None, "new")


def test_one_source_has_its_text(drive):
    done = drive(talk.source("source:1"), SOURCE)
    assert done.line == ("GET", "/sources/source%3A1")
    assert done.result["full_text"] == "words"


def test_a_file_goes_as_a_form(drive, tmp_path):
    path = tmp_path / "paper.pdf"
    done = drive(talk.add_file(path, **GIVEN), SOURCE)
    assert done.line == ("POST", "/sources")
    assert done.only.files == {"file": path}
    assert done.only.form == {
        "notebook_id": "notebook:1",
        "title": None,
        "topic": "plasmids",
        "process_async": True,
    }
    assert done.only.patient
    assert done.only.op.repeat is RetryMode.UNSENT


@pytest.mark.parametrize("what", ["url", "text"])
@pytest.mark.parametrize("process_async", [True, False])
def test_pages_and_texts_go_as_json(drive, what, process_async):
    method = talk.add_url if what == "url" else talk.add_text
    done = drive(method("value", **GIVEN | {"process_async": process_async}), SOURCE)
    assert done.line == ("POST", "/sources")
    assert done.only.json == {
        what: "value",
        "process_async": process_async,
        "notebook_id": "notebook:1",
        "topic": "plasmids",
    }
    assert done.only.patient is not process_async


@pytest.mark.parametrize("status", [404, 405, 415, 422])
def test_where_sources_takes_no_json_the_legacy_address_does(drive, status):
    refused = InputError("No JSON here.", status=status)
    done = drive(talk.add_text("value", **GIVEN), refused, SOURCE)
    first, second = done.requests
    assert [each.op.path for each in done.requests] == ["sources", "sources/json"]
    assert first.json == second.json
    assert done.result["id"] == "source:1"


def test_another_refusal_of_a_source_is_one(drive):
    with pytest.raises(InputError, match="too long"):
        drive(talk.add_text("value", **GIVEN), InputError("It is too long.", status=400))


def test_a_lost_answer_to_a_new_source_is_not_asked_elsewhere(drive):
    with pytest.raises(OutcomeUnknownError):
        drive(talk.add_text("value", **GIVEN), OutcomeUnknownError("Lost.", "Look."))


def test_a_status_masks_a_key_that_the_server_puts_into_it(drive):
    told = {"status": "failed", "error": "401: api_key='sk-abcdefghijklmnop1234'"}
    done = drive(talk.source_status("source:1"), told)
    assert done.line == ("GET", "/sources/source%3A1/status")
    assert list(done.result) == list(records.STATUS)
    assert "sk-abc" not in done.result["error"]
    listed = drive(talk.sources(None, 1, 0, None), [SOURCE | told]).result[0]
    assert "sk-abc" not in listed["error"]


def test_a_source_is_changed_deleted_and_looked_for(drive):
    changed = drive(talk.change_source("source:1", {"topic": "t"}), SOURCE)
    assert (changed.line, changed.only.json) == (("PUT", "/sources/source%3A1"), {"topic": "t"})
    deleted = drive(talk.delete_source("source:1"), None)
    assert deleted.line == ("DELETE", "/sources/source%3A1")
    there = drive(talk.has_original("source:1"), None)
    assert (there.line, there.result) == (("HEAD", "/sources/source%3A1/download"), True)
    assert drive(talk.has_original("source:1"), NotFoundError("no", status=404)).result is False
    assert talk.original("source:1").op.address("", {"source": "source:1"}) == (
        "/sources/source%3A1/download"
    )


def test_insights_are_listed(drive):
    told = [{"id": "source_insight:1", "insight_type": "Methods", "content": "c"}]
    done = drive(talk.insights("source:1"), told)
    assert done.line == ("GET", "/sources/source%3A1/insights")
    assert done.result[0]["source_id"] == "source:1"
    assert list(done.result[0]) == list(records.INSIGHT)


class TestRetry:
    LOST = OutcomeUnknownError("It was sent and its answer lost.", "See.")

    def test_it_is_taken_up_again(self, drive):
        done = drive(talk.retry_source("source:1"), SOURCE)
        assert done.line == ("POST", "/sources/source%3A1/retry")
        assert done.result["status"] == "new"

    def test_a_lost_answer_is_settled_by_what_became_of_it(self, drive):
        done = drive(talk.retry_source("source:1"), self.LOST, SOURCE | {"status": "running"})
        assert len(done.requests) == 2
        assert done.result["status"] == "running"

    def test_or_stays_unknown(self, drive):
        with pytest.raises(OutcomeUnknownError):
            drive(talk.retry_source("source:1"), self.LOST, SOURCE | {"status": "failed"})


NOTE = {"id": "note:1", "title": "Plan", "content": "c", "note_type": "human", "x": 1}


class TestNotes:
    def test_they_are_listed(self, drive):
        done = drive(talk.notes("notebook:1"), [NOTE])
        assert (done.line, done.only.params) == (("GET", "/notes"), {"notebook_id": "notebook:1"})
        assert list(done.result[0]) == list(records.NOTE)

    def test_one_is_written(self, drive):
        done = drive(talk.new_note("c", None, "ai", "notebook:1"), NOTE)
        assert done.line == ("POST", "/notes")
        assert done.only.json == {"content": "c", "note_type": "ai", "notebook_id": "notebook:1"}
        assert done.only.patient  # a model makes its title
        titled = drive(talk.new_note("c", "Plan", "human", None), NOTE)
        assert titled.only.json == {"content": "c", "note_type": "human", "title": "Plan"}
        assert not titled.only.patient

    def test_one_is_looked_at_changed_and_deleted(self, drive):
        assert drive(talk.note("note:1"), NOTE).line == ("GET", "/notes/note%3A1")
        changed = drive(talk.change_note("note:1", {"title": "t"}), NOTE)
        assert (changed.line, changed.only.json) == (("PUT", "/notes/note%3A1"), {"title": "t"})
        assert drive(talk.delete_note("note:1"), None).line == ("DELETE", "/notes/note%3A1")


@pytest.mark.parametrize("answer", [None, [], "text", {"name": "without an identifier"}, {"id": 7}])
@pytest.mark.parametrize("steps", [talk.notebook, talk.source, talk.note, talk.session])
def test_an_answer_that_makes_no_sense_is_told(drive, steps, answer):
    with pytest.raises(ServiceError, match="notebook service's response about"):
        drive(steps("notebook:1"), answer)


@pytest.mark.parametrize("answer", [None, {}, "text", ["text"], [{}], [None]])
@pytest.mark.parametrize("steps", [talk.notebooks, talk.notes, talk.sessions])
def test_a_list_that_makes_no_sense_is_told(drive, steps, answer):
    with pytest.raises(ServiceError, match="The notebook service's"):
        drive(steps(), answer)
