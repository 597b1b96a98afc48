"""Requests and records of notebooks, sources, notes and sessions in the contract backend."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import InputError, OutcomeUnknownError, ServiceError
from labext.http import RetryMode
from labext.nb import records
from labext.nb.backends.contract import ContractBackend

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
FIELDS: dict[str, Any] = {
    "notebook": "notebook:1",
    "title": None,
    "topic": "plasmids",
    "process_async": True,
}
backend = ContractBackend()


def test_missing_fields_are_none(drive):
    record = drive(backend.notebook("notebook:1"), {"id": "notebook:1"}).result
    assert record == dict.fromkeys(records.NOTEBOOK) | {"id": "notebook:1"}


def test_repeated_deletion_has_no_counts(drive):
    response = {"message": "gone", "deleted_notes": 1, "deleted_sources": 2, "unlinked_sources": 3}
    call = drive(backend.delete_notebook("notebook:1", delete_sources=True), response)
    assert call.line == ("DELETE", "/notebooks/notebook%3A1")
    assert call.only.params == {"delete_sources": True}
    assert call.result == {
        "id": "notebook:1",
        "deleted_notes": 1,
        "deleted_sources": 2,
        "unlinked_sources": 3,
        "deleted_chat_sessions": None,
    }
    again = drive(backend.delete_notebook("notebook:1", delete_sources=False), None)
    assert again.only.params == {"delete_sources": False}
    assert again.result["deleted_notes"] is None


def test_file_is_sent_as_a_form(drive, tmp_path):
    path = tmp_path / "paper.pdf"
    call = drive(backend.add_file(path, **FIELDS), SOURCE)
    assert call.line == ("POST", "/sources")
    assert call.only.files == {"file": path}
    assert call.only.form == {
        "notebook_id": "notebook:1",
        "title": None,
        "topic": "plasmids",
        "process_async": True,
    }
    assert call.only.patient
    assert call.only.op.repeat is RetryMode.UNSENT


@pytest.mark.parametrize("field", ["url", "text"])
@pytest.mark.parametrize("process_async", [True, False])
def test_urls_and_texts_are_sent_as_json(drive, field, process_async):
    method = backend.add_url if field == "url" else backend.add_text
    call = drive(method("value", **FIELDS | {"process_async": process_async}), SOURCE)
    assert call.line == ("POST", "/sources")
    assert call.only.json == {
        field: "value",
        "process_async": process_async,
        "notebook_id": "notebook:1",
        "topic": "plasmids",
    }
    assert call.only.patient is not process_async


@pytest.mark.parametrize("status", [404, 422])
def test_rejected_json_falls_back_to_the_legacy_endpoint(drive, status):
    rejection = InputError("No JSON here.", status=status)
    call = drive(backend.add_text("value", **FIELDS), rejection, SOURCE)
    first, second = call.requests
    assert [request.op.path for request in call.requests] == ["sources", "sources/json"]
    assert first.json == second.json
    assert call.result["id"] == "source:1"


def test_other_rejections_have_no_fallback(drive):
    with pytest.raises(InputError, match="too long"):
        drive(backend.add_text("value", **FIELDS), InputError("It is too long.", status=400))


def test_keys_in_source_errors_are_masked(drive):
    response = {"status": "failed", "error": "401: api_key='sk-abcdefghijklmnop1234'"}
    call = drive(backend.source_status("source:1"), response)
    assert call.line == ("GET", "/sources/source%3A1/status")
    assert list(call.result) == list(records.STATUS)
    assert "sk-abc" not in call.result["error"]
    listed_source = drive(backend.sources(None, 1, 0, None), [SOURCE | response]).result[0]
    assert "sk-abc" not in listed_source["error"]


def test_unresolved_lost_response_to_a_retry_has_an_unknown_outcome(drive):
    lost = OutcomeUnknownError("It was sent and its answer lost.", "See.")
    with pytest.raises(OutcomeUnknownError):
        drive(backend.retry_source("source:1"), lost, SOURCE | {"status": "failed"})


NOTE = {"id": "note:1", "title": "Plan", "content": "c", "note_type": "human", "x": 1}


class TestNotes:
    def test_create(self, drive):
        call = drive(backend.new_note("c", None, "ai", "notebook:1"), NOTE)
        assert call.line == ("POST", "/notes")
        assert call.only.json == {"content": "c", "note_type": "ai", "notebook_id": "notebook:1"}
        assert call.only.patient  # a model generates its title
        titled = drive(backend.new_note("c", "Plan", "human", None), NOTE)
        assert titled.only.json == {"content": "c", "note_type": "human", "title": "Plan"}
        assert not titled.only.patient


@pytest.mark.parametrize("answer", [None, [], {"name": "without an identifier"}, {"id": 7}])
def test_invalid_record_is_an_error(drive, answer):
    for steps in (backend.notebook, backend.source, backend.note, backend.session):
        with pytest.raises(ServiceError, match="notebook service's response about"):
            drive(steps("notebook:1"), answer)


@pytest.mark.parametrize("answer", [None, {}, ["text"], [{}]])
def test_invalid_list_is_an_error(drive, answer):
    for steps in (backend.notebooks, backend.notes, backend.sessions):
        with pytest.raises(ServiceError, match="The notebook service's"):
            drive(steps(), answer)
