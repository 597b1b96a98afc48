"""Chat in four wire forms: streaming, usage, and how every failure is reported."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import model_servers
import pytest
from model_servers import FORMS, KEY_HEADERS, Handler, ModelServer
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.cancellation import CallCancelledError, CancelToken
from labext.sandbox.nb.providers import calls, provider_keys, servers, transport
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.tables import Credential, Model

KEY = "correct-horse-battery-staple"
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which sugar?"},
    {"role": "assistant", "content": "Where?"},
    {"role": "user", "content": "In the medium."},
]
Connect = Callable[..., Model]


@pytest.fixture(params=FORMS)
def server(request: Any) -> Iterator[ModelServer]:
    with model_servers.serving(request.param) as running:
        yield running


@pytest.fixture
def connect(store_model: Connect) -> Connect:
    """Add a model of a server: `connect(server, key=…, num_ctx=…)`."""

    def add(
        server: ModelServer, key: str | None = KEY, provider: str = "", **options: Any
    ) -> Model:
        provider = provider or server.form
        return store_model("talker-1", "llm", key, server.base_url, provider, options=options)

    return add


def stream(site: Site, model: Model, **options: Any) -> tuple[str, list[str], Usage]:
    """Return the reply, its words in the order of arrival, and the usage."""
    words: list[str] = []
    monitor = Monitor(Usage(), words.append)
    return calls.chat(site, model, TALK, monitor=monitor, **options), words, monitor.usage


def failure(site: Site, model: Model, status: int = 502) -> str:
    with pytest.raises(HTTPException) as caught:
        stream(site, model)
    assert caught.value.status_code == status
    message = caught.value.detail
    assert "\n" not in message
    assert KEY not in message
    return message


def test_reply_is_streamed_word_by_word_with_its_usage(site, server, connect):
    text, words, usage = stream(site, connect(server), max_tokens=50)
    assert text == "It is arabinose."
    assert words == server.words
    assert (usage.input_tokens, usage.output_tokens) == (11, 3)
    assert usage.cost == (0.002 if server.form == "openai" else None)
    ((_, headers, body),) = server.requests
    assert headers[KEY_HEADERS[server.form]].removeprefix("Bearer ") == KEY
    assert "tools" not in body
    assert "50" in str(body)
    assert str(body).count("Be brief.") == str(body).count("In the medium.") == 1


def test_reply_in_one_piece_equals_the_streamed_one(site, server, connect):
    replies: dict[str, Any] = {
        "openai": {"choices": [{"message": {"content": "It is so."}, "finish_reason": "stop"}]},
        "anthropic": {
            "type": "message",
            "content": [{"type": "text", "text": "It is so."}],
            "stop_reason": "end_turn",
        },
        "google": {
            "candidates": [{"content": {"parts": [{"text": "It is so."}]}, "finishReason": "STOP"}]
        },
        "ollama": {"message": {"content": "It is so."}, "done": True},
    }
    server.words = ["It is so."]
    server.fault = lambda handler: handler.answer(200, replies[server.form])
    model = connect(server)
    assert calls.chat(site, model, TALK) == "It is so."
    replies["openai"]["choices"][0]["finish_reason"] = None
    assert stream(site, model)[:2] == ("It is so.", ["It is so."])  # a server without streaming


def test_models_and_vectors_are_parsed(site, server, connect):
    model = connect(server)
    models = calls.list_models(servers.server_of_model(site, model))
    assert models == ["talker-1", "text-embedding-1"]
    if server.form == "google":
        methods = {"aqa": ["generateAnswer"], "gemini-1": ["generateContent", "countTokens"]}
        rows = [{"name": f"models/{n}", "supportedGenerationMethods": methods[n]} for n in methods]
        server.rejection = (200, {"models": rows})
        assert calls.list_models(servers.server_of_model(site, model)) == ["gemini-1"]
    if server.form != "anthropic":  # which has no embedding models
        assert calls.embed(site, model, ["a", "b"]) == [[1.0, 2.0]] * 2


@pytest.mark.parametrize("form", ["openai", "anthropic", "google"])
def test_all_pages_of_a_list_of_models_are_read(site, connect, form):
    def page(names: list[str], next_page: str) -> Any:
        if form == "google":
            rows = [{"name": f"models/{name}"} for name in names]
            return {"models": rows, **({"nextPageToken": next_page} if next_page else {})}
        rows = [{"id": name} for name in names]
        return {"data": rows, "has_more": bool(next_page), "last_id": names[-1]}

    def answer(handler: Handler) -> None:
        query = parse_qs(urlsplit(handler.path).query)
        cursor = {"openai": "after", "anthropic": "after_id", "google": "pageToken"}[form]
        match query.get(cursor):
            case None:
                handler.answer(200, page(["a", "b"], "p & 2"))
            case ["b" | "p & 2"]:
                handler.answer(200, page(["b", "c"], last_page))
            case _:
                handler.answer(200, page(["d"], ""))

    with model_servers.serving(form) as server:
        at = servers.server_of_model(site, connect(server))
        server.get_fault = answer
        last_page = ""
        assert calls.list_models(at) == ["a", "b", "c"]
        last_page = "p3"
        assert calls.list_models(at) == ["a", "b", "c", "d"]
        assert len(server.requests) == 5
        server.get_fault = lambda handler: handler.answer(200, page(["a"], "p & 2"))
        assert calls.list_models(at) == ["a"]  # a page that repeats
        assert len(server.requests) == 7


@pytest.mark.parametrize(
    ("form", "models", "expected"),
    [
        ("openai", [{"id": "a"}, {"id": "b"}], ["a", "b"]),
        ("openai", {"data": None}, []),
        ("ollama", {"models": None}, []),
    ],
)
def test_list_of_models_without_data_is_read(site, connect, form, models, expected):
    with model_servers.serving(form) as server:
        server.rejection = (200, models)
        assert calls.list_models(servers.server_of_model(site, connect(server))) == expected


def test_vectors_without_index_keep_their_order(site, connect):
    vectors = [[3.0, 1.0], [1.0, 2.0], [2.0, 2.0]]
    with model_servers.serving("openai") as server:
        rows = [{"embedding": vector} for vector in vectors]
        server.fault = lambda handler: handler.answer(200, {"data": rows})
        assert calls.embed(site, connect(server), ["a", "b", "c"]) == vectors


def message_body(form: str, text: str, code: int = 0) -> Any:
    """Return an error response in the wire form."""
    match form:
        case "ollama":
            return {"error": text}
        case "anthropic":
            return {"type": "error", "error": {"type": "error", "message": text}}
    return {"error": {"message": text, "code": code}}


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (401, "invalid x-api-key", "Check its key, or give it another."),
        (500, "Internal server error", "Try again, or choose another model."),
        (404, "model talker-1 not found", "See the models that it has."),
        (
            403,
            "Project `p` does not have access to model `talker-1`",
            "See the models that it has.",
        ),
        (403, "The model `talker-1` is blocked at the project level.", "See the models"),
        (403, "You do not have permission to do this", "Check its key"),
        (400, "prompt is too long: 9 tokens > 8 maximum", "longer than the model's context"),
        (400, "input length and `max_tokens` exceed context limit: 9 + 4 > 8", "model's context"),
        (400, "This model's maximum prompt length is 8, and it has 9 tokens", "model's context"),
        (429, "Request too large for the tokens per min", "longer than the model's context"),
        (400, "Please reduce the length of the messages or completion.", "the model's context"),
        (413, "Request Entity Too Large", "longer than the model's context"),
    ],
)
def test_failure_has_one_line_with_the_next_step(site, server, connect, status, text, expected):
    server.fault = lambda handler: handler.answer(status, message_body(server.form, text))
    message = failure(site, connect(server))
    assert f"answered {status}: “{text}”." in message
    assert expected in message


def test_web_page_is_reported_by_its_title(site, server, connect):
    page = "<!DOCTYPE html><html><head><title>Sign &amp; in</title></head><body>x</body></html>"
    server.fault = lambda handler: handler.answer(200, page, kind="text/html")
    message = failure(site, connect(server))
    expected = {"openai": "an OpenAI-compatible", "ollama": "an Ollama"}
    name = expected.get(server.form, f"{server.form.capitalize()}'s")
    assert f"answered a web page, “Sign & in”, which is not a response of {name} server" in message
    assert "Check its address." in message


def test_cut_stream_is_an_error(site, server, connect):
    model = connect(server)
    for end in ("", '{"message": {"con' if server.form == "ollama" else 'data: {"choices": [{"del'):
        server.fault = lambda handler, end=end: handler.stream(["It is "], cut=end)
        assert "before the end of its response. Try again." in failure(site, model)


def test_stream_with_another_content_type_is_read(site, connect):
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.stream(server.words, kind="text/plain")
        assert stream(site, connect(server))[1] == server.words


@pytest.mark.parametrize("streamed", [True, False])
def test_failure_with_status_200_is_reported(site, server, connect, streamed):
    server.fault = lambda handler: handler.answer(200, message_body(server.form, "Overloaded"))
    monitor = Monitor(Usage(), print if streamed else None)
    with pytest.raises(HTTPException, match="stopped its reply: “Overloaded”"):
        calls.chat(site, connect(server), TALK, monitor=monitor)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, {"error": {"message": "Spent.", "code": "insufficient_quota"}}),
        (400, {"type": "error", "error": {"message": "Your credit balance is too low."}}),
        (401, {"detail": {"status": "quota_exceeded", "message": "Spent."}}),
        (402, {"error": {"message": "Spent."}}),
    ],
)
def test_exhausted_budget_is_no_rate_limit(site, connect, status, body):
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.answer(status, body)
        message = failure(site, connect(server))
    assert re.search(rf"answered {status}: “(Spent|Your credit balance is too low)\.”\.", message)
    assert "Waiting doesn't help: add credit" in message


def test_wait_that_google_states_in_the_body_is_kept(site, connect):
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38.2s"}
    body = [{"error": {"code": 429, "message": "Slow down.", "details": [delay]}}]
    with model_servers.serving("google") as server:
        server.fault = lambda handler: handler.answer(429, body)
        message = failure(site, connect(server), 429)
    assert "answered 429: “Slow down.”. Wait 39 seconds" in message


def test_text_of_a_deleted_credential_goes_to_no_other_server(site, connect, monkeypatch):
    with model_servers.serving("openai") as server, model_servers.serving("openai") as other:
        environment = {"OPENAI_API_KEY": "k-of-the-environment", "OPENAI_BASE_URL": other.base_url}
        provider_keys.store_environment(site, environment)
        model = connect(server)
        with site.database.write() as session:
            session.delete(session.get_one(Credential, model.credential_id))
        assert "The credential of the model talker-1 was deleted" in failure(site, model, 422)
    assert other.requests == []


def test_large_request_is_sent_within_the_time_limit_of_the_model(site, connect, monkeypatch):
    monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.1)
    reply = {"choices": [{"message": {"content": "Long."}}]}
    with model_servers.serving("openai") as server:
        server.reading_pause, server.fault = 0.5, lambda handler: handler.answer(200, reply)
        text = "x" * (16 << 20)
        assert calls.chat(site, connect(server), [{"role": "user", "content": text}]) == "Long."


def test_long_line_is_read_in_linear_time():
    server = servers.ProviderServer("lab", "http://localhost", None, 1)
    line = b'{"text": "%b"}\n' % (b"x" * 8_000_000)
    chunks = (line[start : start + 1000] for start in range(0, len(line), 1000))
    started_at = time.process_time()
    assert [len(value["text"]) for value in transport._parse_lines(server, chunks)] == [8_000_000]
    assert time.process_time() - started_at < 1


@pytest.mark.parametrize("server", ["openai", "anthropic", "google"], indirect=True)
def test_refusal_is_an_error(site, server, connect):
    server.fault = lambda handler: handler.stream([], outcome="refused")
    message = failure(site, connect(server))
    assert "The model talker-1 of lab refused to answer" in message
    if server.form == "openai":  # which sends its reason in pieces
        assert "refused to answer: I can't help with that. Ask" in message
    assert "Ask in other words, or choose another model." in message


def test_reply_that_reached_the_limit_of_length_says_so(site, server, connect):
    server.fault = lambda handler: handler.stream(["First, ", "cells"], outcome="truncated")
    model = connect(server)
    reply, words, _ = stream(site, model)
    assert reply == "".join(words) == f"First, cells{calls.TRUNCATED}"
    assert stream(site, model, max_tokens=9)[0] == "First, cells"
    server.fault = lambda handler: handler.stream(["<think>Now"], outcome="truncated")
    assert "talker-1 of lab reached the limit of its length before it" in failure(site, model)


def test_reply_that_fills_the_context_of_anthropic_says_so(site, connect):
    with model_servers.serving("anthropic") as server:
        model = connect(server)
        reply = {
            "type": "message",
            "content": [{"type": "text", "text": "It is"}],
            "stop_reason": "model_context_window_exceeded",
        }
        server.fault = lambda handler: handler.answer(200, reply)
        assert stream(site, model)[0] == f"It is{calls.TRUNCATED}"


def refuse_once(server: model_servers.ModelServer, status: int, body: Any) -> None:
    """Let the next request fail."""

    def refuse(handler: Handler) -> None:
        server.fault = None
        handler.answer(status, body)

    server.fault = refuse


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "Your organization must be verified to stream this model."),
        (422, "Streaming is not supported."),
        (400, "Unrecognized request argument supplied: stream_options"),
    ],
)
def test_server_that_refuses_to_stream_is_asked_again(site, connect, status, text):
    with model_servers.serving("openai") as server:
        refuse_once(server, status, {"error": {"message": text}})
        reply, words, usage = stream(site, connect(server))
    assert (reply, words) == ("It is arabinose.", ["It is arabinose."])
    assert (usage.input_tokens, usage.output_tokens) == (11, 3)
    assert [body["stream"] for _, _, body in server.requests] == [True, False]
    assert "stream_options" not in server.requests[1][2]


UNSUPPORTED = {"error": {"message": "'max_tokens' is not supported with this model."}}
UNKNOWN = {"detail": [{"loc": ["max_completion_tokens"], "msg": "Extra inputs are not permitted"}]}


@pytest.mark.parametrize(
    ("provider", "body", "names"),
    [
        ("openai_compatible", UNSUPPORTED, ["max_tokens", "max_completion_tokens"]),
        ("azure", UNKNOWN, ["max_completion_tokens", "max_tokens"]),
    ],
)
def test_server_that_refuses_the_limit_of_length_gets_it_by_its_other_name(
    site, connect, provider, body, names
):
    with model_servers.serving("openai") as server:
        model = connect(server, provider=provider)
        server.fault = lambda handler: handler.answer(400, body)
        with pytest.raises(HTTPException, match="max_"):  # refused by both names
            calls.chat(site, model, TALK, max_tokens=9)
        tried = [[name for name in names if name in body] for _, _, body in server.requests]
        assert tried == [[name] for name in names]
        server.requests.clear()
        refuse_once(server, 400, body)
        assert stream(site, model, max_tokens=9)[0] == "It is arabinose."
    sent = [body.get(name) for name, (_, _, body) in zip(names, server.requests, strict=True)]
    assert sent == [9, 9]


@pytest.mark.parametrize(
    ("form", "status", "text"),
    [
        ("openai", 400, "System role not supported"),
        ("openai", 400, "Failed to render the template of the model: System role not supported."),
        ("openai", 400, "'messages[0].role' does not support 'system' with this model."),
        ("openai", 500, "Conversation roles must alternate user/assistant/user/assistant/..."),
        ("openai", 200, 'Error rendering prompt with jinja template: "System role not supported".'),
        ("google", 400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
    ],
)
def test_model_without_a_system_role_gets_its_text_with_the_first_question(
    site, connect, form, status, text
):
    with model_servers.serving(form) as server:
        refuse_once(server, status, message_body(form, text))
        assert stream(site, connect(server))[0] == "It is arabinose."
    body = server.requests[1][2]
    assert "systemInstruction" not in body
    turns = body["contents"] if form == "google" else body["messages"]
    texts = [turn.get("content") or turn["parts"][0]["text"] for turn in turns]
    assert texts == ["Be brief.\n\nWhich sugar?", "Where?", "In the medium."]
    assert turns[0]["role"] == turns[2]["role"] == "user"


def test_refusal_of_a_system_role_that_was_not_sent_is_an_error(site, connect):
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.answer(400, message_body("openai", "System role"))
        with pytest.raises(HTTPException, match="answered 400: “System role”"):
            calls.chat(site, connect(server), TALK[1:])
        assert len(server.requests) == 1


def test_reply_of_mistral_that_fills_the_context_says_so(site, connect):
    choice = {"message": {"content": "It is"}, "finish_reason": "model_length"}
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.answer(200, {"choices": [choice]})
        assert stream(site, connect(server))[0] == f"It is{calls.TRUNCATED}"


def test_title_has_no_note_about_the_limit_of_length(site, connect):
    choice = {"message": {"content": "Sugars"}, "finish_reason": "length"}
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.answer(200, {"choices": [choice]})
        assert calls.chat(site, connect(server), TALK) == "Sugars"
        with_monitor = calls.chat(site, connect(server), TALK, monitor=Monitor(Usage()))
        assert with_monitor == f"Sugars{calls.TRUNCATED}"


def test_key_of_another_provider_is_named(site, connect):
    key = "sk-ant-abcdefghijk"
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.answer(401, {"error": {"message": "No."}})
        message = failure(site, connect(server, key=key))
    assert "The key looks like one of anthropic, not of openai." in message
    assert key not in message


def test_google_refuses_a_key_with_status_400(site, connect):
    with model_servers.serving("google") as server:
        text = "API key not valid. Please pass a valid API key."
        server.fault = lambda handler: handler.answer(400, message_body("google", text, 400))
        assert "Check its key" in failure(site, connect(server))


def test_failure_reported_in_the_stream(site, connect):
    def overloaded(handler: Handler) -> None:
        handler.state.words = []
        begin, piece, end = model_servers.STREAMS["anthropic"]
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        for value in (*begin, piece("It is"), error, *end("complete")):
            handler._send(value)

    with model_servers.serving("anthropic") as server:
        server.fault = overloaded
        assert "stopped its reply: “Overloaded”" in failure(site, connect(server))


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ('error: {"code": 500, "message": "Out of memory"}', "Out of memory"),
        (
            'data: {"choices": [{"delta": {}, "finish_reason": "error", '
            '"error": {"code": 502, "message": "Upstream closed"}}]}',
            "Upstream closed",
        ),
        ('data: {"choices": [{"delta": {}, "finish_reason": "error"}]}', "error"),
        (
            'data: {"choices": [{"delta": {}, "finish_reason": "insufficient_system_resource"}]}',
            "insufficient_system_resource",
        ),
    ],
)
def test_failure_before_the_end_mark_is_an_error(site, connect, end, expected):
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.stream(["It is "], cut=f"{end}\n\ndata: [DONE]\n\n")
        assert f"stopped its reply: “{expected}”" in failure(site, connect(server))


def test_failure_of_a_reply_in_one_piece_is_an_error(site, connect):
    choice = {"message": {"content": "It is"}, "finish_reason": "error"}
    choice["error"] = {"code": 502, "message": "Upstream closed"}
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.answer(200, {"choices": [choice]})
        with pytest.raises(HTTPException, match="stopped its reply: “Upstream closed”"):
            calls.chat(site, connect(server), TALK)


def test_reply_that_google_ends_for_another_reason_is_an_error(site, connect):
    end = 'data: {"candidates": [{"finishReason": "LANGUAGE"}]}\n\n'
    with model_servers.serving("google") as server:
        server.fault = lambda handler: handler.stream(["It is "], cut=end)
        assert "stopped its reply: “LANGUAGE”" in failure(site, connect(server))


def test_stream_of_comments_alone_times_out(site, server, connect):
    def keep_alive(handler: Handler) -> None:
        handler.stream(["It is "], cut="")
        with contextlib.suppress(OSError):
            for _ in range(100):
                handler.wfile.write(b": processing\n\n")
                time.sleep(0.05)

    server.fault = keep_alive
    at = dataclasses.replace(servers.server_of_model(site, connect(server)), seconds=0.5)
    values = transport.stream_json(at, transport.ModelRequest("/chat", transport.JsonPayload({})))
    with pytest.raises(HTTPException, match=r"did not answer within 0\.5 seconds"):
        list(values)


def test_cancelled_stream_ends_the_providers_call(site, server, connect):
    server.words = ["word "] * 1000
    server.pause = 0.01
    token, arrived = CancelToken(), threading.Event()
    monitor = Monitor(Usage(), lambda _words: arrived.set())
    ended: list[BaseException] = []
    model = connect(server)

    def call() -> None:
        try:
            calls.chat(site, model, TALK, token, monitor=monitor)
        except CallCancelledError as error:
            ended.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert arrived.wait(30)
    token.cancel()
    thread.join(30)
    assert len(ended) == 1
    assert server.client_left.wait(30)


def test_azure_addresses_deployments_with_its_version(site, connect):
    with model_servers.serving("openai") as server:
        server.base_url = server.base_url.removesuffix("/v1")
        stream(site, connect(server, provider="azure", api_version="2024-10-21"))
        stream(site, connect(server, provider="azure"))
    (versioned, headers, _), (latest, _, _) = server.requests
    assert versioned == "/openai/deployments/talker-1/chat/completions?api-version=2024-10-21"
    assert latest == "/openai/v1/chat/completions"
    assert headers["api-key"] == KEY


def test_ollama_gets_the_context_length(site, connect):
    with model_servers.serving("ollama") as server:
        stream(site, connect(server, num_ctx=16_384))
        model = connect(server)
        for length in (6000, 10_000, 24_000):
            text = [{"role": "user", "content": "x" * length}]
            calls.chat(site, model, text, monitor=Monitor(Usage(), print))
    options = [body.get("options") for _, _, body in server.requests]
    assert options == [{"num_ctx": 16_384}, None, {"num_ctx": 8192}, {"num_ctx": 16_384}]


def test_address_of_a_model_type_precedes_the_base_url(site, connect):
    with model_servers.serving("openai") as server, model_servers.serving("openai") as other:
        stream(site, connect(server, endpoint_llm=other.base_url))
    assert (len(server.requests), len(other.requests)) == (0, 1)


@pytest.mark.parametrize("message", [{"content": None}, {"thinking": "Sugar?"}])
def test_reasoning_without_content_is_no_part_of_a_reply_of_ollama(site, connect, message):
    with model_servers.serving("ollama") as server:
        lines = [{"message": message}, {"message": {"content": "Arabinose."}, "done": True}]
        body = "\n".join(map(json.dumps, lines))
        server.fault = lambda handler: handler.answer(200, body, kind="application/x-ndjson")
        assert stream(site, connect(server))[0] == "Arabinose."


@pytest.mark.parametrize("number", ["1e400", f"{10**30}", "-1", "true", "null"])
def test_implausible_numbers_of_tokens_are_ignored(site, connect, number):
    body = (
        '{"choices": [{"message": {"content": "Arabinose."}, "finish_reason": "stop"}],'
        f'"usage": {{"prompt_tokens": {number}, "completion_tokens": 3, "cost": {number}}}}}'
    )
    with model_servers.serving("openai") as server:
        server.fault = lambda handler: handler.answer(200, body)
        text, _, usage = stream(site, connect(server))
    assert (text, usage) == ("Arabinose.", Usage(0, 3))


def test_character_whose_halves_are_in_two_pieces_is_whole(site, server, connect):
    server.words = ["Hi \ud83d", "\ude00 there, \ude00", "\ud83d!"]
    text, words, _ = stream(site, connect(server))
    assert text == "".join(words) == "Hi 😀 there, ??!"
