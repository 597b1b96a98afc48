"""The contract's backend for transformations, models and credentials, driven by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labext.errors import LabextError, OutcomeUnknownError, ServiceError
from labext.http import RetryMode
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
talk = ContractBackend()

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = (
    "output transformation_instructions results assigned skipped missing configured source "
    "discovered available unavailable supported_types counts deleted_models success message chat"
)
ANSWERS = JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS.split(), JSON))


class TestTransformations:
    def test_one_is_made_of_what_is_given(self, drive):
        given = {"name": "Methods", "prompt": "List them.", "apply_default": True}
        done = drive(talk.new_transformation(given), {"id": "transformation:1", **given})
        assert done.line == ("POST", "/transformations")
        assert done.only.json == given
        assert done.only.op.repeat is RetryMode.UNSENT
        assert list(done.result) == list(records.TRANSFORMATION)
        assert done.result["apply_default"] is True

    def test_one_is_run_as_long_as_it_takes(self, drive):
        answer = {"output": "Glucose.", "transformation_id": "transformation:1", "model_id": "m"}
        done = drive(talk.transform("transformation:1", "A text.", None), answer)
        assert done.line == ("POST", "/transformations/execute")
        assert done.only.json == {"transformation_id": "transformation:1", "input_text": "A text."}
        assert done.only.patient
        assert done.result == answer
        other = drive(talk.transform("transformation:1", "A text.", "model:2"), answer)
        assert other.only.json["model_id"] == "model:2"

    @pytest.mark.parametrize("answer", [{}, {"output": None}, {"output": 7}, [], None])
    def test_no_output_is_an_error(self, drive, answer):
        with pytest.raises(ServiceError):
            drive(talk.transform("transformation:1", "A text.", None), answer)

    def test_the_default_prompt(self, drive):
        kept = {"transformation_instructions": "Be brief."}
        assert drive(talk.default_prompt(), kept).result == "Be brief."
        done = drive(talk.set_default_prompt("Be brief."), kept)
        assert (done.line, done.only.json) == (("PUT", "/transformations/default-prompt"), kept)
        empty = drive(talk.default_prompt(), {"transformation_instructions": None})
        assert empty.result == ""


class TestModels:
    def test_they_are_asked_for_by_type(self, drive):
        done = drive(talk.models("llm"), [MODEL])
        assert (done.line, done.only.params) == (("GET", "/models"), {"model_type": "llm"})
        assert list(done.result[0]) == list(records.MODEL)

    def test_a_lost_answer_is_settled_by_the_one_like_it(self, drive):
        others = [
            MODEL | {"id": "model:2", "type": "tts"},
            MODEL | {"id": "model:3", "provider": "openrouter"},
            MODEL | {"id": "model:4", "credential": "credential:1"},
        ]
        done = drive(talk.new_model("gpt-4o", "llm", "openai", None), LOST, [*others, MODEL])
        assert done.result["id"] == "model:1"
        with pytest.raises(OutcomeUnknownError):
            drive(talk.new_model("gpt-4o", "llm", "openai", None), LOST, others)

    def test_the_slots_are_always_all_seven(self, drive):
        done = drive(talk.set_defaults({"chat": "model:1", "summary": None}), {"chat": "model:1"})
        assert (done.line, done.only.json) == (
            ("PUT", "/models/defaults"),
            {"chat": "model:1", "summary": None},
        )
        assert done.result == dict.fromkeys(records.SLOTS) | {"chat": "model:1"}
        assert drive(talk.defaults(), {"chat": "", "other": "x"}).result == dict.fromkeys(
            records.SLOTS
        )

    def test_providers_are_told_with_what_they_support(self, drive):
        done = drive(
            talk.providers(),
            {
                "available": ["openai"],
                "unavailable": ["groq"],
                "supported_types": {"openai": ["llm", "tts"]},
            },
        )
        assert done.result == [
            {"provider": "openai", "available": True, "types": ["llm", "tts"]},
            {"provider": "groq", "available": False, "types": None},
        ]

    def test_what_a_sync_of_all_met(self, drive):
        answer = {
            "results": {
                "openai": {"discovered": 9, "new": 2, "existing": 7},
                "groq": {"error": f"It refused the key {KEY}."},
            },
            "total_new": 2,
        }
        openai, groq = drive(talk.sync(None), answer).result
        assert (openai["new"], openai["error"]) == (2, None)
        assert groq["new"] is None
        assert groq["error"] == f"It refused the key {MASK}."
        one = drive(talk.sync("openai"), {"discovered": 9, "new": 2, "existing": 7})
        assert one.line == ("POST", "/models/sync/openai")
        assert one.result == [openai]

    def test_a_test_that_failed_is_an_answer_without_the_key(self, drive):
        done = drive(talk.test_model("model:1"), {"success": False, "message": f"Not {KEY}."})
        assert done.result == {"success": False, "message": f"Not {MASK}.", "details": None}
        assert done.only.patient


class TestCredentials:
    def test_the_key_is_in_the_body_and_in_no_repr(self, drive):
        body = {"provider": "openai", "name": "lab", "api_key": KEY}
        done = drive(talk.new_credential(body), {"id": "credential:1", **body})
        assert done.only.json == body
        assert KEY not in repr(done.only)
        assert list(done.result) == list(records.CREDENTIAL)
        assert KEY not in repr(done.result)  # also of a service that sends it back

    def test_the_rest_of_a_deletion_that_was_repeated_is_not_known(self, drive):
        told = drive(talk.delete_credential("credential:1"), {"deleted_models": 3})
        assert told.result == {"id": "credential:1", "deleted_models": 3}
        assert drive(talk.delete_credential("credential:1"), None).result["deleted_models"] is None

    def test_models_are_registered_by_name_and_type(self, drive):
        done = drive(
            talk.register_models("credential:1", [("tts-1", "tts")]), {"created": 1, "existing": 0}
        )
        assert done.line == ("POST", "/credentials/credential%3A1/register-models")
        assert done.only.json == {"models": [{"name": "tts-1", "model_type": "tts"}]}
        assert done.result == {"created": 1, "existing": 0}

    def test_where_keys_are(self, drive):
        done = drive(
            talk.credential_status(),
            {
                "configured": {"openai": True, "groq": False},
                "source": {"openai": "environment"},
                "encryption_configured": True,
            },
        )
        assert done.result["providers"] == [
            {"provider": "openai", "configured": True, "source": "environment"},
            {"provider": "groq", "configured": False, "source": None},
        ]
        assert done.result["encryption_configured"] is True


CALLS: dict[str, Callable[[], Any]] = {
    "transformations": talk.transformations,
    "transform": lambda: talk.transform("transformation:1", "text", None),
    "default_prompt": talk.default_prompt,
    "models": talk.models,
    "test_model": lambda: talk.test_model("model:1"),
    "defaults": talk.defaults,
    "providers": talk.providers,
    "discover": lambda: talk.discover("openai"),
    "sync": lambda: talk.sync(None),
    "sync_one": lambda: talk.sync("openai"),
    "auto_assign": talk.auto_assign,
    "count": lambda: talk.count_models("openai"),
    "credentials": talk.credentials,
    "credential_status": talk.credential_status,
    "environment_status": talk.environment_status,
    "test_credential": lambda: talk.test_credential("credential:1"),
    "discover_with": lambda: talk.discover_with("credential:1"),
    "register_models": lambda: talk.register_models("credential:1", [("a", "llm")]),
    "delete_credential": lambda: talk.delete_credential("credential:1"),
}


@pytest.mark.parametrize("call", CALLS)
@given(answer=ANSWERS)
@settings(max_examples=12, deadline=None)
def test_an_answer_that_makes_no_sense_is_a_record_or_one_clear_error(call, answer):
    steps = CALLS[call]()
    next(steps)
    with pytest.raises((StopIteration, LabextError)) as caught:
        steps.send(answer)
    if isinstance(caught.value, LabextError):
        assert caught.value.message.startswith("The notebook service")
        assert caught.value.next_step
