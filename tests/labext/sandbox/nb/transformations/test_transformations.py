"""Transformations over HTTP: stored, run, and run on every new source (NB-25)."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.contract

TEXT = (
    "Cells were induced with 0.2 % arabinose. Glucose lowers cyclic AMP, and the promoter stays "
    "shut. The weather was fine on that day."
)


def test_transformation_create_get_update_delete(api: Any):
    created = api.make(title=" ", apply_default=False, description=None)
    path = f"transformations/{created['id']}"
    assert created["id"].startswith("transformation:")
    assert created | {"id": "", "created_at": "", "updated_at": ""} == {
        "id": "",
        "name": "Shorten",
        "title": "Shorten",
        "description": "",
        "prompt": "Shorten the text.",
        "apply_default": False,
        "model_id": None,
        "created_at": "",
        "updated_at": "",
    }
    assert api.call("GET", path) == created
    assert created in api.call("GET", "transformations")
    assert api.call("PUT", path, {}) == created
    changed = api.call("PUT", path, {"title": "In short", "model_id": "model:extractive"})
    assert (changed["title"], changed["model_id"]) == ("In short", "model:extractive")
    assert changed["updated_at"] > created["updated_at"]
    assert api.call("PUT", path, {"model_id": None, "name": None})["model_id"] is None
    assert "Shorten" in api.call("DELETE", path)["message"]
    assert created["id"] in api.error(404, "GET", path)
    api.error(404, "PUT", path, {"title": "x"})
    api.error(404, "DELETE", path)


def test_transformation_names_need_not_be_unique(api: Any):
    first_id, other = api.make(), api.make()
    assert first_id["id"] != other["id"]
    for identifier in (first_id, other):
        api.call("DELETE", f"transformations/{identifier['id']}")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"name": "x"}),
        (400, {"prompt": "x"}),
        (400, {"name": " ", "prompt": "x"}),
        (400, {"name": "x", "prompt": " "}),
        (400, {"name": "x", "prompt": "x", "apply_default": "yes"}),
        (404, {"name": "x", "prompt": "x", "model_id": "model:nope"}),
        (422, {"name": "x", "prompt": "x", "model_id": "model:all-minilm-l6-v2"}),
    ],
)
def test_invalid_transformation_is_refused(api: Any, status: int, body: Any):
    api.error(status, "POST", "transformations", body)


def test_seeded_transformations_exist(api: Any):
    seeded = {item["name"]: item["apply_default"] for item in api.call("GET", "transformations")}
    assert seeded == {
        "Key findings": True,
        "Methods and materials": False,
        "Open questions": False,
        "Summary": False,
    }


def test_run_uses_the_requested_model_then_its_own_then_the_slot(api: Any, provider: Any):
    server = api.model("talker", provider.base_url)
    other = api.model("writer", provider.base_url)
    created = api.make(prompt="List the concentrations.")
    output = api.run(created["id"], "Cells were induced with 0.2 % arabinose.")
    assert output == {
        "output": "- “Cells were induced with 0.2 % arabinose.”",
        "transformation_id": created["id"],
        "model_id": "model:extractive",
        "usage": None,
    }
    api.call("PUT", f"transformations/{created['id']}", {"model_id": server})
    assert api.run(created["id"], TEXT)["output"] == "Reply of talker."
    assert api.run(created["id"], TEXT, model_id=other)["model_id"] == other
    message = provider.requests[0].text
    assert "List the concentrations." in message
    assert TEXT in message
    api.call("DELETE", f"transformations/{created['id']}")


def test_default_prompt_is_stored_and_sent_as_system_message(api: Any, provider: Any):
    path, field = "transformations/default-prompt", "transformation_instructions"
    before = api.call("GET", path)
    created = api.make(prompt="Give the findings.")
    body = {field: "Answer as a numbered list of one sentence."}
    assert api.call("PUT", path, body) == body == api.call("GET", path)
    api.run(created["id"], TEXT, model_id=api.model("sailor", provider.base_url))
    assert provider.requests[0].body["messages"][0] == {"role": "system", "content": body[field]}
    api.error(400, "PUT", path, {})
    assert api.call("PUT", path, {field: ""}) == {field: ""} == api.call("GET", path)
    api.call("PUT", path, before)
    api.call("DELETE", f"transformations/{created['id']}")


def test_invalid_run_is_refused(api: Any, provider: Any):
    created = api.make()
    path, run = "transformations/execute", {"transformation_id": created["id"], "input_text": "x"}
    api.error(400, "POST", path, run | {"input_text": " "})
    api.error(404, "POST", path, run | {"transformation_id": "transformation:nope"})
    api.error(404, "POST", path, run | {"model_id": "model:nope"})
    api.error(422, "POST", path, run | {"model_id": "model:all-minilm-l6-v2"})
    provider.faults = [lambda handler: setattr(handler, "close_connection", True)]
    unreachable = api.model("gone", provider.base_url)
    assert "closed the connection" in api.error(502, "POST", path, run | {"model_id": unreachable})
    api.default("transformation", None)
    try:
        assert "transformation" in api.error(422, "POST", path, run)
    finally:
        api.default("transformation", "model:extractive")
        api.call("DELETE", f"transformations/{created['id']}")


def test_default_transformations_create_insights_of_new_sources(api: Any, provider: Any):
    mine = api.make(
        name="Amounts", title="How much", prompt="List the concentrations.", apply_default=True
    )
    request = api.make(
        name="Asked", apply_default=True, model_id=api.model("reader", provider.base_url)
    )
    status, insights = api.processed(TEXT)
    assert status["status"] == "completed"
    assert set(insights) == {"Key findings", "How much", "Asked"}
    assert "- “Cells were induced with 0.2 % arabinose.”" in insights["How much"]
    assert insights["Asked"] == "Reply of reader."
    assert TEXT in provider.requests[0].text
    for entry in (mine, request):
        api.call("DELETE", f"transformations/{entry['id']}")
    assert set(api.processed(TEXT)[1]) == {"Key findings"}


def test_failed_insight_does_not_fail_the_source(api: Any):
    unreachable = api.model("nobody", "http://127.0.0.1:9/v1")
    created = api.make(name="Broken", apply_default=True, model_id=unreachable)
    status, insights = api.processed(TEXT)
    assert (status["status"], status["error"]) == ("completed", None)
    assert "The insight Broken could not be created" in status["message"]
    assert "can't be reached" in status["message"]
    assert "Retry" in status["message"]
    assert status["message"].endswith(status["remark"])
    assert set(insights) == {"Key findings"}
    api.call("PUT", f"transformations/{created['id']}", {"model_id": "model:extractive"})
    api.call("POST", f"sources/{status['id']}/retry")
    assert set(api.until_processed(status["id"])[1]) == {"Key findings", "Broken"}
    api.call("DELETE", f"transformations/{created['id']}")
    api.error(400, "POST", f"sources/{status['id']}/retry")
