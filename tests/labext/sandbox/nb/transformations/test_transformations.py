"""The group Transformations (contract, Endpoints): kept, run, and run on every new source."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.contract

TEXT = (
    "Cells were induced with 0.2 % arabinose. Glucose lowers cyclic AMP, and the promoter stays "
    "shut. The weather was fine on that day."
)


def test_it_is_made_shown_changed_and_deleted(api: Any):
    made = api.make(title=" ", apply_default=False, description=None)
    path = f"transformations/{made['id']}"
    assert made["id"].startswith("transformation:")
    assert made | {"id": "", "created_at": "", "updated_at": ""} == {
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
    assert api.told("GET", path) == made
    assert made in api.told("GET", "transformations")
    assert api.told("PUT", path, {}) == made
    changed = api.told("PUT", path, {"title": "In short", "model_id": "model:extractive"})
    assert (changed["title"], changed["model_id"]) == ("In short", "model:extractive")
    assert changed["updated_at"] > made["updated_at"]
    assert api.told("PUT", path, {"model_id": None, "name": None})["model_id"] is None
    assert "Shorten" in api.told("DELETE", path)["message"]
    assert made["id"] in api.refused(404, "GET", path)
    api.refused(404, "PUT", path, {"title": "x"})
    api.refused(404, "DELETE", path)


def test_two_may_have_one_name(api: Any):
    one, other = api.make(), api.make()
    assert one["id"] != other["id"]
    for each in (one, other):
        api.told("DELETE", f"transformations/{each['id']}")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"name": "x"}),
        (400, {"prompt": "x"}),
        (400, {"name": " ", "prompt": "x"}),
        (400, {"name": "x", "prompt": " "}),
        (400, {"name": "x", "prompt": "x", "apply_default": "yes"}),
        (404, {"name": "x", "prompt": "x", "model_id": "model:nope"}),
        (422, {"name": "x", "prompt": "x", "model_id": "model:wordllama"}),
    ],
)
def test_what_is_wrong_is_refused(api: Any, status: int, body: Any):
    api.refused(status, "POST", "transformations", body)


def test_some_are_there_from_the_start(api: Any):
    seeded = {each["name"]: each["apply_default"] for each in api.told("GET", "transformations")}
    assert seeded == {
        "Key findings": True,
        "Methods and materials": False,
        "Open questions": False,
        "Summary": False,
    }


def test_a_prompt_is_run_by_the_model_that_is_named_or_its_own_or_the_slots(
    api: Any, provider: Any
):
    server = api.model("talker", provider.base_url)
    other = api.model("writer", provider.base_url)
    made = api.make(prompt="List the concentrations.")
    output = api.run(made["id"], "Cells were induced with 0.2 % arabinose.")
    assert output == {
        "output": "- “Cells were induced with 0.2 % arabinose.”",
        "transformation_id": made["id"],
        "model_id": "model:extractive",
    }
    api.told("PUT", f"transformations/{made['id']}", {"model_id": server})
    assert api.run(made["id"], TEXT)["output"] == "Reply of talker."
    assert api.run(made["id"], TEXT, model_id=other)["model_id"] == other
    said = provider.asked[0].text
    assert "List the concentrations." in said
    assert TEXT in said
    api.told("DELETE", f"transformations/{made['id']}")


def test_the_default_prompt_is_the_system_message_of_a_language_model(api: Any, provider: Any):
    path, field = "transformations/default-prompt", "transformation_instructions"
    before = api.told("GET", path)
    made = api.make(prompt="Give the findings.")
    told = {field: "Answer as a numbered list of one sentence."}
    assert api.told("PUT", path, told) == told == api.told("GET", path)
    api.run(made["id"], TEXT, model_id=api.model("sailor", provider.base_url))
    assert provider.asked[0].body["messages"][0] == {"role": "system", "content": told[field]}
    api.refused(400, "PUT", path, {})
    assert api.told("PUT", path, {field: ""}) == {field: ""} == api.told("GET", path)
    api.told("PUT", path, before)
    api.told("DELETE", f"transformations/{made['id']}")


def test_what_cannot_be_run_is_refused(api: Any, provider: Any):
    made = api.make()
    path, run = "transformations/execute", {"transformation_id": made["id"], "input_text": "x"}
    api.refused(400, "POST", path, run | {"input_text": " "})
    api.refused(404, "POST", path, run | {"transformation_id": "transformation:nope"})
    api.refused(404, "POST", path, run | {"model_id": "model:nope"})
    api.refused(422, "POST", path, run | {"model_id": "model:wordllama"})
    provider.troubles = [lambda handler: setattr(handler, "close_connection", True)]
    gone = api.model("gone", provider.base_url)
    assert "can't be reached" in api.refused(502, "POST", path, run | {"model_id": gone})
    api.default("transformation", None)
    try:
        assert "transformation" in api.refused(422, "POST", path, run)
    finally:
        api.default("transformation", "model:extractive")
        api.told("DELETE", f"transformations/{made['id']}")


def test_a_new_source_has_the_insights_of_those_that_are_run_on_every_one(api: Any, provider: Any):
    mine = api.make(
        name="Amounts", title="How much", prompt="List the concentrations.", apply_default=True
    )
    asked = api.make(
        name="Asked", apply_default=True, model_id=api.model("reader", provider.base_url)
    )
    status, insights = api.processed(TEXT)
    assert status["status"] == "completed"
    assert set(insights) == {"Key findings", "How much", "Asked"}
    assert "- “Cells were induced with 0.2 % arabinose.”" in insights["How much"]
    assert insights["Asked"] == "Reply of reader."
    assert TEXT in provider.asked[0].text
    for each in (mine, asked):
        api.told("DELETE", f"transformations/{each['id']}")
    assert set(api.processed(TEXT)[1]) == {"Key findings"}


def test_an_insight_that_fails_fails_no_source_and_is_told_of(api: Any):
    gone = api.model("nobody", "http://127.0.0.1:9/v1")
    made = api.make(name="Broken", apply_default=True, model_id=gone)
    status, insights = api.processed(TEXT)
    assert (status["status"], status["error"]) == ("completed", None)
    assert "The insight Broken could not be created" in status["message"]
    assert "can't be reached" in status["message"]
    assert "Retry" in status["message"]
    assert set(insights) == {"Key findings"}
    api.told("PUT", f"transformations/{made['id']}", {"model_id": "model:extractive"})
    api.told("POST", f"sources/{status['id']}/retry")
    assert set(api.until_processed(status["id"])[1]) == {"Key findings", "Broken"}
    api.told("DELETE", f"transformations/{made['id']}")
    api.refused(400, "POST", f"sources/{status['id']}/retry")
