"""Questions to the knowledge base: answers, passages, models, rewriting and streaming."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import model_servers
import openai_server
import pandas as pd
import pytest
import requests

from labext import NotebookClient
from labext.errors import BusyError, ServiceError
from labext.nb import Final, Words
from labext.sandbox.nb.tables import NEW, NotebookSource, Source

pytestmark = pytest.mark.contract

NOTHING = "No passage matches well enough."
WHY = "Why is glucose added to the uninduced culture?"


def replies(body: Any) -> str:
    """A model that plans, answers, and cites a source and an invented identifier."""
    output = body["messages"][-1]["content"]
    if "JSON object" in output:
        search = {"term": "glucose in the culture", "instructions": "Say why."}
        return json.dumps({"reasoning": "About sugar.", "searches": [search]})
    return f"{body['model']}: glucose keeps expression low [source:paper]. It rains [source:no]."


def test_answer_cites_quotes_of_the_sources(api, kit):
    answer = api.simple(WHY)
    assert answer["question"] == WHY
    assert answer["model"] == "extractive"
    assert answer["citations"]
    for citation in answer["citations"]:
        title, text = kit.TEXTS[citation["id"]]
        assert citation["title"] == title
        assert citation["quote"] in citation["passage"]
        assert citation["passage"] in text
        assert f"[{citation['id']}]" in answer["answer"]
        answer_text = " ".join(answer["answer"].replace("**", "").replace("> ", "").split())
        assert " ".join(citation["quote"].split()) in answer_text
        assert "glucose is added to the uninduced culture" in answer_text


def test_rows_of_a_table_are_found_and_cited_with_its_first_row(client, kit):
    header = "Run | Zymosterol (g/L)"
    rows = (f"Z{n} | {n}.7" for n in range(10, 200))
    text = "\n".join([header, *rows])
    source = client.sources.add_text(text, kit.OTHER, "Runs", process_async=False)["id"]
    try:
        first, *_ = client.search("zymosterol Z150", limit=1).to_dict("records")
        assert "Z150 | 150.7" in first["match"]
        assert first["table_header"] == header
        (citation,) = client.ask("Zymosterol of run Z150?").citations
        assert (citation.id, citation.table_header) == (source, header)
        (start, *_) = client.search("Z10", limit=1, type="text").to_dict("records")
        assert header in start["match"]
        assert pd.isna(start["table_header"])
    finally:
        client.sources.delete(source)


def test_question_without_shared_words_is_answered(api):
    answer = api.simple("Whom do I contact about frozen samples?")
    (citation,) = answer["citations"]
    expected = "Vary the arabinose concentration first. Ask Dana about the freezer."
    assert citation["quote"] == expected


def test_built_in_model_streams_the_same_events(api):
    strategy, partial, final, complete = api.stream(WHY)
    assert strategy["type"] == "strategy"
    assert "Without a language model" in strategy["reasoning"]
    assert [search["term"] for search in strategy["searches"]] == [WHY]
    types = [item["type"] for item in (partial, final, complete)]
    assert types == ["answer", "final_answer", "complete"]
    assert partial["content"] == final["content"] == complete["final_answer"]
    assert partial["citations"] == final["citations"] == complete["citations"] != []
    assert {item["model"] for item in (partial, final, complete)} == {"extractive"}
    whole = api.simple(WHY)
    assert (whole["answer"], whole["citations"]) == (final["content"], final["citations"])


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ({}, {"source:paper", "note:plan", "note:other"}),
        ({"include_sources": False, "note_ids": ["note:plan"]}, {"note:plan"}),
        ({"include_notes": False, "source_ids": ["source:paper"]}, {"source:paper"}),
        ({"limit": 1}, None),
        ({"min_similarity": 1.0}, set()),
    ],
)
def test_question_is_limited_to_its_scope(api, kit, served, provider, scope, expected):
    provider.replies = lambda body: "No plan."  # so that the question itself is the query
    answer = api.simple("What about arabinose?", **scope, model_override=served.add())
    used = kit.passages(provider.chats()[1]) if len(provider.chats()) > 1 else set()
    if expected is None:
        assert len(used) == 1
    else:
        assert used == expected
        assert (answer["answer"] == NOTHING) == (not expected)


ELSEWHERE = "Who won the football world cup in 1998?"


@pytest.fixture
def unprocessed(admin: Any, kit: Any) -> Iterator[str]:
    """A source of the notebook that is never processed."""
    identifier = "source:unread"
    with admin.database.write() as session:
        session.add(Source(id=identifier, kind="text", title="Unread", status=NEW))
        session.flush()
        session.add(NotebookSource(notebook_id=kit.NOTEBOOK, source_id=identifier))
    yield identifier
    with admin.database.write() as session:
        session.delete(session.get(Source, identifier))


@pytest.mark.parametrize(
    ("scope", "is_counted"),
    [
        ({}, True),
        ({"source_ids": ["source:paper", "source:unread"]}, True),
        ({"source_ids": ["source:paper"]}, False),
        ({"note_ids": ["note:plan"]}, False),
    ],
)
def test_empty_answer_mentions_unprocessed_sources(api, unprocessed, scope, is_counted):
    message = (
        "No passage that has been processed matches well enough; 1 source is still being processed."
    )
    expected = message if is_counted else NOTHING
    answer = api.simple(ELSEWHERE, **scope)
    assert (answer["answer"], answer["citations"]) == (expected, [])
    _, partial, final, complete = api.stream(ELSEWHERE, **scope)
    assert [partial["content"], final["content"], complete["final_answer"]] == [expected] * 3
    assert api.simple(WHY)["citations"], "a supported answer is unchanged"


def test_empty_chat_reply_mentions_unprocessed_sources(api, kit, unprocessed):
    assert "1 source is still being processed" in api.say(api.chat(), ELSEWHERE)[-1]["content"]
    other = api.call("POST", "chat/sessions", {"notebook_id": kit.OTHER})["id"]
    assert api.say(other, ELSEWHERE)[-1]["content"] == NOTHING


@pytest.mark.parametrize("path", ["search", "search/ask", "search/ask/simple", "chat/execute"])
@pytest.mark.parametrize(
    ("scope", "unknown"),
    [
        ({"source_ids": ["source:paper", "note:plan"]}, "source note:plan"),
        ({"note_ids": ["nobody"], "source_ids": ["source:paper"]}, "note nobody"),
    ],
)
def test_unknown_source_or_note_in_scope_is_404(api, path, scope, unknown):
    body = {"search": {"query": WHY}, "chat/execute": {"message": WHY}}.get(path, {"question": WHY})
    if path == "chat/execute":
        body |= {"session_id": api.chat(), "context": scope}
    else:
        body |= scope
    assert api.error(404, "POST", path, body) == f"There is no {unknown}."


def test_remote_model_gets_key_prompt_and_passages(api, served, provider, kit):
    provider.replies = replies
    served.default("chat", served.add("talker"))
    strategy, words, partial, final, complete = api.stream(WHY)
    assert words == {"type": "words", "content": "talker: glucose keeps expression low. It rains."}
    assert strategy["reasoning"] == "About sugar."
    assert strategy["searches"] == [{"term": "glucose in the culture", "instructions": "Say why."}]
    assert partial["content"] == (
        "talker: glucose keeps expression low [source:paper]. It rains (not found in the sources)."
    )
    for event in (partial, final, complete):
        assert event["model"] == "talker"
        (citation,) = event["citations"]
        assert citation["id"] == "source:paper"
        assert citation["quote"] in citation["passage"]
        assert citation["quote"].startswith("Glucose lowers")
    plan, first = provider.chats()  # a single answer is not merged
    sent = {request.headers["authorization"] for request in provider.requests}
    assert sent == {f"Bearer {kit.KEY}"}
    assert {request.body["model"] for request in provider.requests} == {"talker"}
    assert all(WHY in item.text for item in (plan, first))
    assert kit.TEXTS["source:paper"][1] in first.text
    assert "Say why." in first.text


@pytest.mark.parametrize(
    ("by_name", "models"),
    [
        ({}, ["talker"] * 2),
        ({"model_override": "other"}, ["other"] * 2),
        ({"strategy_model": "other"}, ["other", "talker"]),
        ({"answer_model": "other"}, ["talker", "other", "talker"]),
        ({"final_answer_model": "other"}, ["talker", "talker", "other"]),
        ({"model_override": "other", "answer_model": "third"}, ["other", "third", "other"]),
    ],
)
def test_each_step_uses_its_own_model(api, served, provider, by_name, models):
    provider.replies = replies
    ids = {name: served.add(name) for name in ("talker", "other", "third")}
    served.default("chat", ids["talker"])
    api.simple(WHY, **{field: ids[name] for field, name in by_name.items()})
    assert [chat.body["model"] for chat in provider.chats()] == models


def test_built_in_model_can_do_single_steps(api, served, provider):
    provider.replies = replies
    answer = api.simple(WHY, model_override="model:extractive", strategy_model=served.add())
    assert len(provider.chats()) == 1
    assert answer["model"] == "extractive"
    assert {citation["id"] for citation in answer["citations"]} == {"source:paper"}


@pytest.mark.parametrize("path", ["search/ask", "search/ask/simple"])
def test_unknown_or_unsuitable_model_is_refused(api, path):
    missing = {"question": WHY, "answer_model": "model:nobody"}
    assert "model:nobody" in api.error(404, "POST", path, missing)
    embedding = {"question": WHY, "strategy_model": "model:all-minilm-l6-v2"}
    assert "type embedding" in api.error(422, "POST", path, embedding)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"question": "  "},
        {"question": "x" * 20_001},
        {"question": WHY, "limit": 0},
        {"question": WHY, "min_similarity": 1.1},
        {"question": WHY, "source_ids": "source:paper"},
        {"question": WHY, "include_notes": "no"},
        {"question": WHY, "answer_model": ""},
    ],
)
def test_invalid_question_is_400(api, body):
    for path in ("search/ask", "search/ask/simple"):
        api.error(400, "POST", path, body)


@pytest.mark.parametrize(
    ("good", "fault", "output"),
    [
        (0, openai_server.respond_with(429, {"error": {"message": "Slow down."}}), "Slow down."),
        (0, openai_server.cut, "closed the connection"),
        (1, openai_server.echoes_key(401), "Incorrect API key provided: •••"),
    ],
)
def test_provider_failure_at_any_step_is_reported(api, served, provider, kit, good, fault, output):
    provider.replies = replies
    model = served.add()
    provider.faults = [None] * good + [fault]
    status = 429 if output == "Slow down." else 502
    body = {"question": WHY, "model_override": model}
    message = api.error(status, "POST", "search/ask/simple", body)
    provider.faults = [None] * good + [fault]
    events = api.stream(WHY, model_override=model)
    assert [event["type"] for event in events] == [*["strategy", "answer"][:good], "error"]
    assert set(events[-1]) - {"action"} == {"type", "message"}
    for words in (message, events[-1]["message"]):
        assert output in words
        assert kit.KEY not in words


NOTE = "Searched by words alone, as the embedding model failed: "


def test_answers_are_by_words_with_a_note_if_the_embedding_model_fails(api, served, provider):
    served.default("embedding", served.add("embedder", "embedding"))
    fault = openai_server.respond_with(500, {"error": {"message": "Broken."}})
    provider.faults = [fault] * 5
    search = {"query": WHY, "search_type": "hybrid"}
    answers = [
        api.simple(WHY),
        api.stream(WHY)[-1],
        api.call("POST", "chat/execute", {"session_id": api.chat(), "message": WHY}),
        api.call("POST", "search", search),
    ]
    assert all(NOTE in answer["note"] and "Broken." in answer["note"] for answer in answers)
    assert answers[0]["citations"] == answers[1]["citations"] != []
    assert answers[2]["messages"][-1]["citations"] == answers[0]["citations"]
    assert answers[3]["results"]
    assert "Broken" in api.error(502, "POST", "search", search | {"search_type": "vector"})


def test_question_with_several_searches_waits_once_for_a_failing_embedding_model(
    api, served, provider
):
    served.default("embedding", served.add("embedder", "embedding"))
    plan = {"searches": [{"term": term, "instructions": ""} for term in ("glucose", "arabinose")]}
    texts = iter([json.dumps(plan), "One.", "Two.", "Both."])
    provider.replies = lambda _body: next(texts)
    provider.faults = [None, openai_server.respond_with(500, {"error": {"message": "Broken."}})]
    answer = api.simple(WHY, model_override=served.add())
    assert answer["answer"] == "Both."
    assert NOTE in answer["note"]
    assert len(provider.embeddings()) == 1


def test_disconnect_cancels_a_streamed_answer(api, served, provider, kit):
    hold = provider.held()
    provider.replies = replies
    provider.faults = [None, hold]
    with api.opened(WHY, model_override=served.add()) as response:
        read = kit.events(response)
        assert next(read)["type"] == "strategy"
        assert hold.entered.wait(30)  # the answer is still being generated
    assert provider.client_left.wait(30)
    assert len(provider.requests) == 2
    assert api.simple(WHY)["citations"]


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


def test_search_calls_no_model_by_default(api, served, provider):
    served.default("chat", served.add())
    search(api)
    assert provider.chats() == []


def test_rewritten_search_finds_what_the_models_query_finds(api, served, provider):
    provider.replies = assistant
    served.default("chat", served.add())
    assert "note:plan" not in search(api, search_type="text", limit=1)
    assert "note:plan" in search(api, search_type="text", rewrite=True)
    assert len(provider.chats()) == 1


def test_reranked_search_has_the_order_of_the_model(api, served, provider):
    provider.replies = assistant
    model = served.add()
    plain = search(api, limit=30)
    reversed_ = search(api, limit=30, rerank=True, model_override=model)
    assert len(plain) > 1
    assert reversed_ == plain[::-1]


@pytest.mark.parametrize("option", ["rewrite", "rerank"])
def test_built_in_model_can_not_assist(api, option):
    response = api.request("POST", "search", {"query": QUERY, option: True})
    assert response.status_code == 422
    assert "needs a language model" in response.json()["detail"]
    assert response.json()["action"] == {"kind": "set_model", "slot": "chat"}


def test_question_is_searched_for_unchanged_without_rewriting(api, served, provider):
    provider.replies = assistant
    served.default("chat", served.add())
    api.simple(QUERY, rewrite=False)
    assert len(provider.chats()) == 1  # the answer
    assert "Which searches" not in provider.chats()[0].text


def test_passages_of_a_question_are_reranked(api, served, provider):
    provider.replies = assistant
    served.default("chat", served.add())
    api.simple(QUERY, rewrite=False, rerank=True, limit=1)
    order, answer = (r.body["messages"][-1]["content"] for r in provider.chats())
    last = order.count("\nPassage ")
    assert last > 1
    text = order.partition(f"Passage {last}: ")[2].split("\n")[1]
    assert text[:40] in answer
    assert answer.count("\nPassage ") == 1


@pytest.mark.parametrize("path", ["search", "search/ask/simple", "chat/execute"])
def test_disconnect_cancels_the_models_call(api, served, provider, path):
    hold, session = provider.held(), api.chat()
    provider.faults = [hold]
    bodies: dict[str, Any] = {
        "search": {"query": QUERY, "rerank": True},
        "search/ask/simple": {"question": WHY},
        "chat/execute": {"session_id": session, "message": WHY},
    }
    body = bodies[path] | {"model_override": served.add()}
    with pytest.raises(requests.ReadTimeout):
        requests.post(
            f"{api.base}/{path}", json=body, headers=api.session.headers, timeout=(30, 0.5)
        )
    assert hold.entered.wait(30)
    assert provider.client_left.wait(30)
    assert len(provider.requests) == 1
    assert len(api.say(session, WHY)) == 2


MAX_DELAY = 1.0
"""Seconds; about 10 ms are measured, but the machine of a test may be busy."""

Run = Callable[[NotebookClient, Any, Callable[[str], None]], Any]


@pytest.fixture
def talker(served: Any) -> Iterator[model_servers.ModelServer]:
    """A streaming server whose model is in all slots for language models."""
    with model_servers.serving("openai") as server:
        server.words = ["Glucose ", "keeps expression low ", "[source:paper#1]."]
        server.pause = 0.3
        served.provider.base_url = server.base_url
        model = served.add("talker-1")
        for slot in ("chat", "transformation"):
            served.default(slot, model)
        yield server


@pytest.fixture
def client(box: Any) -> Iterator[NotebookClient]:
    with NotebookClient(box.nb.base_url, box.nb.password) as nb:
        yield nb


def chat(nb: NotebookClient, kit: Any, on_words: Callable[[str], None]) -> Any:
    session = nb.chat.create(kit.NOTEBOOK)["id"]
    return nb.chat.execute(session, WHY, on_words=on_words)


def transform(nb: NotebookClient, kit: Any, on_words: Callable[[str], None]) -> Any:
    prompt = nb.transformations.create("Short", "Shorten it.")["id"]
    return nb.transformations.execute(prompt, kit.TEXTS["source:paper"][1], on_words=on_words)


def ask(nb: NotebookClient, kit: Any, on_words: Callable[[str], None]) -> Any:
    for event in nb.ask_stream(WHY):
        if isinstance(event, Words):
            on_words(event.words)
        elif isinstance(event, Final):
            return event.answer
    return None


@pytest.mark.parametrize("run", [chat, transform, ask], ids=lambda run: run.__name__)
def test_first_words_arrive_when_the_provider_sends_them(client, talker, kit, run):
    arrived: list[tuple[float, str]] = []
    result = run(client, kit, lambda words: arrived.append((time.time(), words)))
    delay = arrived[0][0] - talker.sent_at[0]
    print(f"{run.__name__}: {delay * 1000:.0f} ms")
    assert -0.05 < delay < MAX_DELAY
    assert arrived[-1][0] > talker.sent_at[-1] - 0.05
    words = "".join(words for _, words in arrived)
    assert words.startswith("Glucose keeps expression low")
    if run is not transform:
        assert "source:" not in words
        (citation,) = result.citations
        assert citation.id == "source:paper"
        assert result.usage.output_tokens == 3 * (2 if run is ask else 1)  # with the strategy


def test_usage_is_kept_with_the_message(client, api, talker, kit):
    talker.pause = 0
    session = client.chat.create(kit.NOTEBOOK)["id"]
    client.chat.execute(session, WHY, on_words=lambda _words: None)
    human, reply = api.call("GET", f"chat/sessions/{session}")["messages"]
    assert human["usage"] is None
    assert reply["usage"] == {"input_tokens": 11, "output_tokens": 3, "cost": 0.002}


@pytest.mark.parametrize("run", [chat, ask], ids=lambda run: run.__name__)
def test_interrupt_ends_the_providers_call_and_stores_nothing(client, talker, kit, run):
    talker.words = ["word "] * 1000
    talker.pause = 0.01

    def interrupt(_words: str) -> None:
        raise KeyboardInterrupt

    before = len(client.chat.sessions())
    with pytest.raises(KeyboardInterrupt):
        run(client, kit, interrupt)
    assert talker.client_left.wait(30)
    sessions = client.chat.sessions()
    if run is chat:
        assert len(sessions) == before + 1
        assert min(sessions["message_count"]) == 0


def test_cut_reply_is_an_error_and_stores_nothing(client, talker, kit):
    talker.fault = lambda handler: handler.stream(["Glucose "], cut="")
    words: list[str] = []
    session = client.chat.create(kit.NOTEBOOK)["id"]
    with pytest.raises(ServiceError, match="closed the connection before the end") as caught:
        client.chat.execute(session, WHY, on_words=words.append)
    assert words == ["Glucose"]
    assert "Try again" in str(caught.value)
    assert client.chat.get(session)["messages"] == []


def ask_simple(nb: NotebookClient, kit: Any, on_words: Callable[[str], None]) -> Any:
    return nb.ask(WHY)


@pytest.mark.parametrize("run", [chat, transform, ask_simple], ids=lambda run: run.__name__)
def test_rate_limit_of_a_model_delays_no_other_request(client, talker, kit, run):
    body = {"error": {"message": "Too fast."}}
    talker.fault = lambda handler: handler.answer(429, body, {"Retry-After": "300"})
    with pytest.raises(BusyError, match="Too fast"):
        run(client, kit, lambda _words: None)
    assert len(client.models.list())


def test_failure_before_the_first_words_keeps_its_status(client, talker, kit):
    body = {"error": {"message": "Invalid key."}}
    talker.fault = lambda handler: handler.answer(401, body)
    with pytest.raises(ServiceError, match="Invalid key") as caught:
        chat(client, kit, lambda _words: None)
    assert caught.value.status == 502
