"""Rewriting and reranking by a language model are switched on by each request."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.contract

QUERY = "glucose and arabinose"


def assistant(body: Any) -> str:
    """A model that adds a query, reverses passages, plans nothing and answers without marks."""
    prompt = body["messages"][-1]["content"]
    if "in other words" in prompt:
        return '["freezer samples"]'
    if "Order them" in prompt:
        return json.dumps([*range(prompt.count("\nPassage "), 0, -1)])
    return "Nothing."


def search(api: Any, **options: Any) -> list[str]:
    body = {"query": QUERY, "search_type": "hybrid", "limit": 3, **options}
    return [item["id"] for item in api.call("POST", "search", body)["results"]]


def test_search_asks_no_model_by_default(api: Any, served: Any, provider: Any) -> None:
    served.default("chat", served.add())
    search(api)
    assert provider.chats() == []


def test_rewritten_search_finds_what_the_models_query_finds(
    api: Any, served: Any, provider: Any
) -> None:
    provider.replies = assistant
    served.default("chat", served.add())
    assert "note:plan" not in search(api, search_type="text", limit=1)
    assert "note:plan" in search(api, search_type="text", rewrite=True)
    assert len(provider.chats()) == 1


def test_reranked_search_has_the_order_of_the_model(api: Any, served: Any, provider: Any) -> None:
    provider.replies = assistant
    model = served.add()
    plain = search(api, limit=30)
    reversed_ = search(api, limit=30, rerank=True, model_override=model)
    assert len(plain) > 1
    assert reversed_ == plain[::-1]


@pytest.mark.parametrize("option", ["rewrite", "rerank"])
def test_built_in_model_can_not_assist(api: Any, option: str) -> None:
    response = api.request("POST", "search", {"query": QUERY, option: True})
    assert response.status_code == 422
    assert "needs a language model" in response.json()["detail"]
    assert response.json()["action"] == {"kind": "set_model", "slot": "chat"}


def test_question_is_searched_for_as_it_is_without_rewriting(
    api: Any, served: Any, provider: Any
) -> None:
    provider.replies = assistant
    served.default("chat", served.add())
    api.simple(QUERY, rewrite=False)
    assert len(provider.chats()) == 1  # the answer
    assert "Which searches" not in provider.chats()[0].text


def test_passages_of_a_question_are_reranked(api: Any, served: Any, provider: Any) -> None:
    provider.replies = assistant
    served.default("chat", served.add())
    api.simple(QUERY, rewrite=False, rerank=True, limit=1)
    order, answer = (r.body["messages"][-1]["content"] for r in provider.chats())
    last = order.count("\nPassage ")
    assert last > 1
    text = order.partition(f"Passage {last}: ")[2].split("\n")[1]
    assert text[:40] in answer
    assert answer.count("\nPassage ") == 1


def test_disconnect_cancels_the_models_call(api: Any, served: Any, provider: Any) -> None:
    import requests

    hold = provider.held()
    provider.faults = [hold]
    body = {"query": QUERY, "rerank": True, "model_override": served.add()}
    with pytest.raises(requests.ReadTimeout):
        requests.post(
            f"{api.base}/search", json=body, headers=api.session.headers, timeout=(30, 0.5)
        )
    assert hold.entered.wait(30)
    assert provider.client_left.wait(30)
