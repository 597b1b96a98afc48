"""Prompts of transformations, and long texts in parts."""

from __future__ import annotations

import time

import openai_server
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.sandbox.nb import settings
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.limits import LIMITS
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.tables import Transformation
from labext.sandbox.nb.text import segmentation
from labext.sandbox.nb.transformations import router, service


def test_empty_default_prompt_sends_no_system_message(site, talker, provider):
    with site.database.write() as session:
        settings.set_setting(session, service.INSTRUCTIONS, " ")
    service.run_transformation(site, talker, "Shorten it.", "A text.")
    assert [item["role"] for item in provider.requests[0].body["messages"]] == ["user"]


def test_long_text_is_sent_in_parts_and_merged(site, talker, provider):
    with site.database.write() as session:
        LIMITS.change(session, "model_characters", 1000)
    provider.replies = lambda _body: f"Reply {len(provider.requests)}."
    text = "\n\n".join(f"Paragraph {number} is about cells. " * 8 for number in range(8))
    output = service.run_transformation(site, talker, "Shorten it.", text)
    *item, last = [call.text for call in provider.requests]
    assert "part 1 of" in item[0]
    for number in range(8):
        assert any(f"Paragraph {number}" in message for message in item)
    assert "Reply 1." in last
    assert output == f"Reply {len(provider.requests)}."


def test_rate_limit_after_the_first_part_is_waited_for(site, talker, provider, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(CancelToken, "wait", lambda _token, seconds: waits.append(seconds))
    with site.database.write() as session:
        LIMITS.change(session, "model_characters", 1000)
    provider.faults = [None, openai_server.too_many("50")]
    service.run_transformation(site, talker, "Shorten it.", "Of cells. " * 250)
    parts = [call.text for call in provider.requests]
    assert waits == [50]
    assert [text.count("This is part 1 of") for text in parts] == [1, 0, 0, 0, 0]

    provider.faults = [openai_server.too_many("50")]
    with pytest.raises(HTTPException, match="429"):  # the client waits, and nothing is repeated
        service.run_transformation(site, talker, "Shorten it.", "Of cells. " * 250)
    provider.faults = [None, openai_server.too_many("70")]
    with pytest.raises(HTTPException, match="429"):
        service.run_transformation(site, talker, "Shorten it.", "Of cells. " * 250)
    assert waits == [50]


def test_text_with_too_many_parts_is_413(site, talker, provider):
    with site.database.write() as session:
        LIMITS.change(session, "model_characters", 1000)
        LIMITS.change(session, "model_parts", 2)
    with pytest.raises(HTTPException) as caught:
        service.run_transformation(site, talker, "Shorten it.", "x" * 2001)
    assert caught.value.status_code == 413
    assert "model_parts" in caught.value.detail
    assert not provider.requests


@given(st.text(max_size=400), st.integers(2, 60))
def test_parts_cover_the_text(text, maximum):
    cut = segmentation.split_text(text, maximum)
    assert all(0 < len(item) <= maximum for item in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())


def test_slow_insight_is_reported(site, talker):
    created = Transformation(
        id="transformation:slow", name="Slow", title="Slow", prompt="Go.", by_default=True
    )
    created.model_id = talker.id
    with site.database.write() as session:
        session.add(created)
    result, remark = service.create_insights(site, "A text.", lambda _stage: None, time.monotonic())
    assert (result, "took too long. Retry the source" in str(remark)) == ([], True)


def test_text_over_the_limit_is_413(site):
    with site.database.write() as session:
        LIMITS.change(session, "text_bytes", 10)
    request = router.ExecuteRequest(
        transformation_id="transformation:any", input_text="A text too long.", model_id=None
    )
    with pytest.raises(HTTPException) as caught:
        router.execute_transformation(site, request, CancelToken(), Monitor(Usage()))
    assert caught.value.status_code == 413
