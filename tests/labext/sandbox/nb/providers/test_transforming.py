"""What a model's server is told of a transformation, and how a long text gets to it."""

from __future__ import annotations

import time
from collections.abc import Callable

import openai_server
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.limits import LIMITS
from labext.sandbox.nb.providers import chat
from labext.sandbox.nb.tables import Model, Transformation
from labext.sandbox.nb.transformations import service
from labext.sandbox.nb.transformations.schemas import ExecuteRequest


@pytest.fixture
def talker(add_model: Callable[..., Model]) -> Model:
    return add_model("talker")


def test_the_default_prompt_comes_first_then_prompt_and_text(
    site: Site, talker: Model, provider: openai_server.OpenAI
):
    with site.database.write() as session:
        service.set_instructions(session, "Speak like a sailor.")
    assert service.run_transformation(site, talker, "Shorten it.", "A text.") == "Reply of talker."
    system, user = provider.asked[0].body["messages"]
    assert system == {"role": "system", "content": "Speak like a sailor."}
    assert user["role"] == "user"
    assert user["content"].index("Shorten it.") < user["content"].index("A text.")


def test_no_default_prompt_is_no_message(site: Site, talker: Model, provider: openai_server.OpenAI):
    with site.database.write() as session:
        service.set_instructions(session, " ")
    service.run_transformation(site, talker, "Shorten it.", "A text.")
    assert [each["role"] for each in provider.asked[0].body["messages"]] == ["user"]


def test_a_long_text_goes_in_parts_and_one_answer_comes_back(
    site: Site, talker: Model, provider: openai_server.OpenAI
):
    with site.database.write() as session:
        LIMITS.change(session, "model_characters", 1000)
    provider.replies = lambda _body: f"Reply {len(provider.asked)}."
    text = "\n\n".join(f"Paragraph {number} is about cells. " * 8 for number in range(8))
    output = service.run_transformation(site, talker, "Shorten it.", text)
    *each, last = [asked.text for asked in provider.asked]
    assert "part 1 of" in each[0]
    for number in range(8):
        assert any(f"Paragraph {number}" in said for said in each)
    assert "Reply 1." in last
    assert output == f"Reply {len(provider.asked)}."


def test_a_text_of_too_many_parts_is_refused(
    site: Site, talker: Model, provider: openai_server.OpenAI
):
    with site.database.write() as session:
        LIMITS.change(session, "model_characters", 1000)
        LIMITS.change(session, "model_parts", 2)
    with pytest.raises(HTTPException) as refused:
        service.run_transformation(site, talker, "Shorten it.", "x" * 2001)
    assert refused.value.status_code == 413
    assert "model_parts" in refused.value.detail
    assert not provider.asked


@given(st.text(max_size=400), st.integers(2, 60))
def test_parts_are_the_text(text: str, most: int):
    cut = chat.split_text(text, most)
    assert all(0 < len(each) <= most for each in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())


def test_an_insight_whose_model_takes_too_long_is_told_of(site: Site, talker: Model):
    made = Transformation(
        id="transformation:slow", name="Slow", title="Slow", prompt="Go.", by_default=True
    )
    made.model_id = talker.id
    with site.database.write() as session:
        session.add(made)
    found, remark = service.create_insights(site, "A text.", lambda _stage: None, time.monotonic())
    assert (found, "took too long. Retry the source" in str(remark)) == ([], True)


def test_a_text_over_the_services_limit_is_413(site: Site):
    with site.database.write() as session:
        LIMITS.change(session, "text_bytes", 10)
    request = ExecuteRequest(
        transformation_id="transformation:any", input_text="A text too long.", model_id=None
    )
    with pytest.raises(HTTPException) as caught:
        service.execute_transformation(site, request, CancelToken())
    assert caught.value.status_code == 413
