"""Requests and records of transformations, models and credentials in the contract backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labext.errors import LabextError, OutcomeUnknownError, ServiceError
from labext.nb import records
from labext.nb.backends.contract import ContractBackend
from labext.redaction import MASK

LOST = OutcomeUnknownError("The answer was lost.", "See `nb.models.list()`.")
MODEL = {
    "id": "model:1",
    "name": "gpt-4o",
    "provider": "openai",
    "type": "llm",
    "credential": None,
    "created_at": "2026-11-20T13:23:23.768Z",
}
KEY = "sk-abcdefghijklmnop1234"
backend = ContractBackend()

PLAIN = [None, True, 7, float("nan"), "word"]
JSON = st.sampled_from([*PLAIN, [], [None], ["word"], {}, {"word": 7}, [{}], [{"id": []}]])
KEYS = (
    "output transformation_instructions results assigned skipped missing configured source "
    "discovered available unavailable supported_types counts deleted_models success message chat"
)
ANSWERS = JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS.split(), JSON))


class TestTransformations:
    def test_transform_is_patient(self, drive):
        answer = {"output": "Glucose.", "transformation_id": "transformation:1", "model_id": "m"}
        call = drive(backend.transform("transformation:1", "A text.", None), answer)
        assert call.line == ("POST", "/transformations/execute")
        assert call.only.json == {"transformation_id": "transformation:1", "input_text": "A text."}
        assert call.only.patient
        assert call.result == {**answer, "usage": None}
        other = drive(backend.transform("transformation:1", "A text.", "model:2"), answer)
        assert other.only.json["model_id"] == "model:2"

    @pytest.mark.parametrize("answer", [{}, {"output": 7}, None])
    def test_missing_output_is_an_error(self, drive, answer):
        with pytest.raises(ServiceError):
            drive(backend.transform("transformation:1", "A text.", None), answer)


class TestModels:
    def test_lost_response_is_resolved_by_an_equal_model(self, drive):
        others = [
            MODEL | {"id": "model:2", "type": "tts"},
            MODEL | {"id": "model:3", "provider": "openrouter"},
            MODEL | {"id": "model:4", "credential": "credential:1"},
        ]
        call = drive(backend.new_model("gpt-4o", "llm", "openai", None), LOST, [*others, MODEL])
        assert call.result["id"] == "model:1"
        with pytest.raises(OutcomeUnknownError):
            drive(backend.new_model("gpt-4o", "llm", "openai", None), LOST, others)

    def test_defaults_have_all_slots(self, drive):
        call = drive(
            backend.set_defaults({"chat": "model:1", "summary": None}), {"chat": "model:1"}
        )
        assert call.line == ("PUT", "/models/defaults")
        assert call.only.json == {"chat": "model:1", "summary": None}
        assert call.result == dict.fromkeys(records.SLOTS) | {"chat": "model:1"}
        assert drive(backend.defaults(), {"chat": "", "other": "x"}).result == dict.fromkeys(
            records.SLOTS
        )

    def test_providers_have_their_types(self, drive):
        call = drive(
            backend.providers(),
            {
                "available": ["openai"],
                "unavailable": ["groq"],
                "supported_types": {"openai": ["llm", "tts"]},
            },
        )
        assert call.result == [
            {"provider": "openai", "available": True, "types": ["llm", "tts"]},
            {"provider": "groq", "available": False, "types": None},
        ]

    def test_sync_reports_errors_per_provider(self, drive):
        answer = {
            "results": {
                "openai": {"discovered": 9, "new": 2, "existing": 7},
                "groq": {"error": f"It refused the key {KEY}."},
            },
            "total_new": 2,
        }
        openai, groq = drive(backend.sync(None), answer).result
        assert (openai["new"], openai["error"]) == (2, None)
        assert groq["new"] is None
        assert groq["error"] == f"It refused the key {MASK}."
        sync_result = drive(backend.sync("openai"), {"discovered": 9, "new": 2, "existing": 7})
        assert sync_result.line == ("POST", "/models/sync/openai")
        assert sync_result.result == [openai]

    def test_failed_test_masks_the_key(self, drive):
        call = drive(backend.test_model("model:1"), {"success": False, "message": f"Not {KEY}."})
        assert call.result == {"success": False, "message": f"Not {MASK}.", "details": None}
        assert call.only.patient

    @pytest.mark.parametrize("method", ["test_model", "test_credential"])
    def test_failed_test_names_the_call_of_the_next_step(self, drive, method):
        message = "The server answered 404: “no such model”. See the models that it has."
        action = {"kind": "discover_models", "credential": "lab"}
        data = {"success": False, "message": message, "action": action}
        result = drive(getattr(backend, method)("model:1"), data).result
        call = 'nb.credentials.discover("lab")'
        assert result["message"] == f"{message.rstrip('.')}: `{call}`."


class TestCredentials:
    def test_key_is_sent_and_in_no_repr(self, drive):
        body = {"provider": "openai", "name": "lab", "api_key": KEY}
        call = drive(backend.new_credential(body), {"id": "credential:1", **body})
        assert call.only.json == body
        assert KEY not in repr(call.only)
        assert list(call.result) == list(records.CREDENTIAL)
        assert KEY not in repr(call.result)  # also for a service that echoes it

    def test_repeated_deletion_has_no_counts(self, drive):
        deletion = drive(backend.delete_credential("credential:1"), {"deleted_models": 3})
        assert deletion.result == {"id": "credential:1", "deleted_models": 3}
        assert (
            drive(backend.delete_credential("credential:1"), None).result["deleted_models"] is None
        )


CALLS: dict[str, Callable[[], Any]] = {
    "transformations": backend.transformations,
    "transform": lambda: backend.transform("transformation:1", "text", None),
    "default_prompt": backend.default_prompt,
    "models": backend.models,
    "test_model": lambda: backend.test_model("model:1"),
    "defaults": backend.defaults,
    "providers": backend.providers,
    "discover": lambda: backend.discover("openai"),
    "sync": lambda: backend.sync(None),
    "sync_one": lambda: backend.sync("openai"),
    "auto_assign": backend.auto_assign,
    "count": lambda: backend.count_models("openai"),
    "credentials": backend.credentials,
    "credential_status": backend.credential_status,
    "environment_status": backend.environment_status,
    "test_credential": lambda: backend.test_credential("credential:1"),
    "discover_with": lambda: backend.discover_with("credential:1"),
    "register_models": lambda: backend.register_models("credential:1", [("a", "llm")]),
    "delete_credential": lambda: backend.delete_credential("credential:1"),
}


@pytest.mark.parametrize("call", CALLS)
@given(answer=ANSWERS)
@settings(max_examples=12)
def test_any_response_is_a_record_or_a_clear_error(call, answer):
    steps = CALLS[call]()
    next(steps)
    with pytest.raises((StopIteration, LabextError)) as caught:
        steps.send(answer)
    if isinstance(caught.value, LabextError):
        assert caught.value.message.startswith("The notebook service")
        assert caught.value.next_step
