"""The client of OpenAI-compatible servers: chat, speech, transcription, models and errors."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import time
import wave
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

import openai_server
import pytest
from openai_server import respond_with
from starlette.exceptions import HTTPException

from labext.actions import Action
from labext.redaction import mask
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.cancellation import CallCancelledError, CancelToken, cancel_after
from labext.sandbox.nb.errors import ServiceError
from labext.sandbox.nb.limits import LIMITS
from labext.sandbox.nb.providers import calls, provider_keys, servers
from labext.sandbox.nb.providers.transport import FormPayload
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.tables import Credential, Model

KEY = "correct-horse-battery-staple"
HELLO = [{"role": "user", "content": "Hello?"}]


def refusal(site: Site, model: Model, status: int = 502) -> str:
    with pytest.raises(HTTPException) as caught:
        calls.chat(site, model, HELLO)
    assert caught.value.status_code == status
    return caught.value.detail


def test_chat_request_has_model_messages_and_key(site, provider, add_model):
    provider.key = KEY
    assert calls.chat(site, add_model("talker", key=KEY), HELLO) == "Reply of talker."
    (request,) = provider.requests
    assert request.path == "/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "talker", "messages": HELLO, "stream": False}


def test_request_without_key_has_no_authorization(site, provider, add_model, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("NO_PROXY", "*")
    for base_url in (provider.base_url, provider.base_url.replace("127.0.0.1", "127.1")):
        calls.chat(site, add_model(base_url=base_url), HELLO)
        assert "authorization" not in provider.requests[-1].headers


def test_environment_proxy_is_not_used_for_loopback(site, provider, add_model, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert calls.chat(site, add_model(), HELLO) == "Reply of talker."


def test_reply_parts_are_joined_and_thoughts_removed(site, provider, add_model):
    model = add_model()
    parts = [{"type": "text", "text": "It is "}, {"type": "text", "text": "arabinose."}]
    provider.replies = lambda _body: parts
    assert calls.chat(site, model, HELLO) == "It is arabinose."
    provider.replies = lambda _body: "<think>\nHm, sugar?\n</think>\n\nIt is arabinose."
    assert calls.chat(site, model, HELLO) == "It is arabinose."


def test_invalid_characters_are_removed_from_replies(site, provider, add_model):
    provider.replies = lambda _body: "Half \ud800 a letter\0."
    assert calls.chat(site, add_model(), HELLO) == "Half ? a letter."


def test_vectors_keep_the_order_of_texts(site, provider, add_model):
    provider.vector = lambda text: [float(text), 1.0]
    texts = [str(number) for number in range(calls.BATCH_SIZE + 3)]
    vectors = calls.embed(site, add_model("embedder", "embedding", KEY), texts)
    assert vectors == [[float(text), 1.0] for text in texts]
    sizes = [len(request.body["input"]) for request in provider.embeddings()]
    assert sizes == [calls.BATCH_SIZE, 3]
    assert {request.body["model"] for request in provider.requests} == {"embedder"}


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "Too many tokens overall, split into more batches."}),
        (413, {"error": "batch size 8 > maximum allowed batch size 3"}),
        (400, {"error": {"message": "Too many inputs. The max number of inputs is 3."}}),
        (400, {"message": "invalid request: total number of texts must be at most 3"}),
        (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
    ],
)
def test_batch_that_is_too_large_is_halved(site, provider, add_model, status, error):
    refuse = respond_with(status, error)
    provider.faults = [refuse, refuse]
    texts = [str(number) for number in range(8)]
    model = add_model("embedder", "embedding")
    assert calls.embed(site, model, texts) == [provider.vector(text) for text in texts]
    assert [len(request.body["input"]) for request in provider.embeddings()] == [8, 4, 2, 2, 4]
    provider.faults = [refuse] * 2
    with pytest.raises(HTTPException, match="longer than the model's context"):
        calls.embed(site, model, texts[:2])


OPENROUTER = {
    "error": {
        "message": "Provider returned error",
        "metadata": {"raw": '{"error": {"message": "Model is down."}}', "provider_name": "Other"},
    }
}


@pytest.mark.parametrize(
    ("fault", "output"),
    [
        (
            respond_with(403, {"error": "Not for you."}),
            "403: “Not for you.”. Check its key, or give it another.",
        ),
        (respond_with(500, {"detail": "Out of memory."}), "500: “Out of memory.”"),
        (respond_with(502, OPENROUTER), "502: “Model is down.”"),
        (respond_with(503, "overloaded\n\x1b[31m", "text/plain"), "503: “overloaded"),
        (respond_with(500, ""), "500: “Internal Server Error”"),
        (respond_with(302, ""), "302"),
        (respond_with(200, ""), "sent an empty reply"),
        (respond_with(200, openai_server.completion("")), "sent an empty reply"),
        (respond_with(200, b"\xff\xfe\x00"), "OpenAI-compatible"),
        (respond_with(200, "[" * 100_000), "OpenAI-compatible"),
        (respond_with(200, [1, 2]), "“[1, 2]”"),
        (respond_with(500, {"error": "Half \ud800 a letter."}), "Half ? a letter."),
        (openai_server.cut, "closed the connection"),
        (openai_server.disconnect, "closed the connection"),
    ],
)
def test_other_failures_are_502_with_the_provider_message(site, provider, add_model, fault, output):
    provider.faults = [fault]
    message = refusal(site, add_model(key=KEY))
    assert output in message
    assert provider.base_url in message
    assert "\n" not in message
    assert "\x1b" not in message
    assert len(message) < 700


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("7", "7"),
        ("1.5", "2"),
        ("Sun, 22 Nov 2026 17:00:30 GMT", "30"),  # by the provider's clock
        ("soon", "10"),
        ("999999999999", "10"),
    ],
)
def test_provider_429_keeps_its_retry_after(
    site, provider, add_model, monkeypatch, output, expected
):
    date = "Sun, 22 Nov 2026 17:00:00 GMT"
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: date)
    provider.faults = [openai_server.too_many(output)]
    with pytest.raises(HTTPException) as caught:
        calls.chat(site, add_model(), HELLO)
    assert caught.value.status_code == 429
    assert caught.value.headers == {"Retry-After": expected}
    assert f"429: “Too fast.”. Wait {expected} seconds" in caught.value.detail


@pytest.mark.parametrize(("streams", "status"), [(False, 529), (True, 503)])
def test_background_task_waits_up_to_two_minutes_for_a_rate_limit(
    site, provider, add_model, monkeypatch, streams, status
):
    monitor = Monitor(Usage(), on_words=lambda _: None) if streams else None
    waits: list[float] = []
    monkeypatch.setattr(CancelToken, "wait", lambda _token, seconds: waits.append(seconds))
    task_site = dataclasses.replace(site, in_task=True)
    moment = formatdate(time.time() + 30, usegmt=True)
    provider.faults = [openai_server.too_many(value) for value in ("65", "0", None, moment)]
    provider.faults.append(respond_with(status, {"error": "Overloaded"}))
    assert calls.chat(task_site, add_model(), HELLO, monitor=monitor) == "Reply of talker."
    assert waits == [65, 1, 10, pytest.approx(30, abs=5), 10]

    provider.faults = [openai_server.too_many("70"), openai_server.too_many("51")]
    with pytest.raises(HTTPException) as caught:
        calls.chat(task_site, add_model(), HELLO, monitor=monitor)
    assert "Wait 51 seconds" in caught.value.detail
    assert waits[5:] == [70]


@pytest.mark.parametrize("streams", [False, True])
def test_base_url_without_path_is_retried_with_v1(site, provider, add_model, streams):
    provider.faults = [respond_with(404, "404 page not found", "text/plain")]
    root = provider.base_url.removesuffix("/v1")
    monitor = Monitor(Usage(), on_words=lambda _: None) if streams else None
    assert calls.chat(site, add_model(base_url=root), HELLO, monitor=monitor) == "Reply of talker."
    paths = [request.whole_path for request in provider.requests]
    assert paths == ["/chat/completions", "/v1/chat/completions"]
    provider.requests.clear()
    calls.chat(site, add_model(base_url=root), HELLO)
    assert [request.whole_path for request in provider.requests] == ["/chat/completions"]


def test_base_url_with_path_is_not_retried(site, provider, add_model):
    provider.faults = [respond_with(404, {"error": "No such model."})]
    assert "No such model." in refusal(site, add_model())
    assert len(provider.requests) == 1


@pytest.mark.parametrize("streams", [False, True])
def test_first_of_two_404_is_reported(site, provider, add_model, streams):
    provider.faults = [respond_with(404, "first"), respond_with(404, "second")]
    model = add_model(base_url=provider.base_url.removesuffix("/v1"))
    monitor = Monitor(Usage(), on_words=lambda _: None) if streams else None
    with pytest.raises(HTTPException, match="“first”"):
        calls.chat(site, model, HELLO, monitor=monitor)


@pytest.mark.parametrize("key", [KEY, 'sk-"quoted"-1234567890', "abc"])
@pytest.mark.parametrize("status", [401, 200])
def test_echoed_key_is_masked_in_errors(site, provider, add_model, key, status):
    provider.faults = [openai_server.echoes_key(status)]
    message = refusal(site, add_model(key=key))
    assert key not in message
    assert json.dumps(key)[1:-1] not in message


def test_echoed_key_is_masked_in_the_reason_of_a_status(site, provider, add_model):
    def fault(handler):
        handler.send_response(500, f"No access by {KEY}")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    provider.faults = [fault]
    message = refusal(site, add_model(key=KEY))
    assert "No access by" in message
    assert KEY not in message


def test_key_is_masked_once_decrypted(site, add_model):
    key = "kept-by-an-earlier-start-0815"
    model = add_model()
    with site.database.write() as session:
        credential = session.get_one(Credential, model.credential_id)
        credential.key = provider_keys.cipher(site).encrypt(key.encode())
    assert provider_keys.decrypt_key(site, credential) == key
    assert key not in mask(f"A traceback with {key} in it.")


def test_provider_redirect_is_not_followed(site, provider, add_model):
    """A redirect of a server never sends the key or a question to another address."""
    with openai_server.serving() as other:
        location = {"Location": f"{other.base_url}/chat/completions"}
        provider.faults = [lambda handler: handler.answer(307, "", location)]
        message = refusal(site, add_model(key=KEY))
        assert "307" in message
        assert "Check its address." in message
        assert other.requests == []


def test_echoed_key_is_masked_in_replies(site, provider, add_model):
    provider.replies = lambda _body: f"You sent {KEY}, and it is fine."
    assert calls.chat(site, add_model(key=KEY), HELLO) == "You sent •••, and it is fine."


def test_key_equal_to_a_json_field_is_harmless(site, provider, add_model):
    assert calls.chat(site, add_model(key="content"), HELLO) == "Reply of talker."


def test_unreachable_server_is_502(site, add_model):
    with openai_server.serving() as deleted:
        base_url = deleted.base_url
    model = add_model(base_url=base_url)
    assert "can't be reached" in refusal(site, model)
    with pytest.raises(ServiceError) as caught:
        calls.chat(site, model, HELLO)
    assert caught.value.action == Action.set_address("the provider")


def test_unreachable_server_of_the_environment_names_the_variable_with_its_address(site):
    with openai_server.serving() as deleted:
        provider_keys.store_environment(site, {"OLLAMA_BASE_URL": deleted.base_url})
    model = Model(name="phi", provider="ollama", kind="llm")
    message = refusal(site, model)
    assert "can't be reached. Check that it is running, and check `OLLAMA_BASE_URL` in" in message


def test_https_address_of_a_server_without_tls_is_502(site, provider, add_model):
    address = provider.base_url.replace("http:", "https:")
    message = refusal(site, add_model(base_url=address))
    assert "has no TLS. Give it an address with http://" in message


def test_slow_server_is_502(site, provider, add_model):
    with site.database.write() as session:
        LIMITS.change(session, "model_seconds", 1)
    provider.faults = [provider.held()]
    message = refusal(site, add_model())
    assert "1 seconds" in message
    assert "model_seconds" in message


@pytest.mark.parametrize("length", ["1000", None])
def test_dripping_response_times_out(site, provider, add_model, length):
    def drip(handler: Any) -> None:
        handler.send_response(200)
        if length is not None:
            handler.send_header("Content-Length", length)
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b"[")
            time.sleep(0.02)
        handler.close_connection = True

    provider.faults = [drip]
    server = dataclasses.replace(servers.server_of_model(site, add_model()), seconds=0.2)
    with pytest.raises(HTTPException, match=r"did not answer within 0\.2 seconds"):
        calls.list_models(server)


def test_oversized_response_is_502(site, provider, add_model, monkeypatch):
    monkeypatch.setattr(servers, "MAX_RESPONSE_BYTES", 1 << 17)
    provider.faults = [respond_with(200, b" " * (1 << 18))]
    assert "more than" in refusal(site, add_model())


def test_cancelled_token_sends_no_request(site, provider, add_model):
    token = CancelToken()
    token.cancel()
    with pytest.raises(CallCancelledError):
        calls.chat(site, add_model(), HELLO, token)
    assert provider.requests == []


def test_cancelled_token_ends_the_wait_for_a_rate_limit(site, provider, add_model):
    token, monitor = CancelToken(), Monitor(Usage())
    calls.chat(site, add_model(), HELLO, monitor=monitor)
    provider.faults = [openai_server.too_many("50")]
    started = time.monotonic()
    with cancel_after(token, 0.2), pytest.raises(CallCancelledError):
        calls.chat(site, add_model(), HELLO, token, monitor=monitor)
    assert time.monotonic() - started < 20
    assert len(provider.requests) == 2


def test_model_without_server_is_422(site, add_model):
    model = add_model()
    with site.database.write() as session:
        session.get_one(Credential, model.credential_id).base_url = None
    output = refusal(site, model, 422)
    assert "has no server" in output
    assert "Give it an address." in output


def test_speech_request_has_model_voice_and_key(site, provider, add_model):
    provider.key = KEY
    sound = calls.synthesize(site, add_model("tts-1", "tts", KEY), "It is arabinose.", "alloy")
    with wave.open(io.BytesIO(sound)) as file:
        assert file.getnframes() > 0
    (request,) = provider.speeches()
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "tts-1",
        "input": "It is arabinose.",
        "voice": "alloy",
        "response_format": "wav",
    }


def test_transcription_request_has_file_model_and_key(site, provider, add_model, tmp_path):
    provider.key = KEY
    path = tmp_path / 'a "strange"\r\nname ö.mp3'
    path.write_bytes(bytes(range(256)) * 5000)  # more than one part
    message, _ = calls.transcribe(site, add_model("whisper-1", "stt", KEY), path)
    assert message == "1280000 bytes of sound."
    provider.transcribe = lambda _content: f"You said {KEY}."
    transcript, confidences = calls.transcribe(site, add_model("whisper-2", "stt", KEY), path)
    assert transcript == "You said •••."
    assert confidences == ()
    provider.requests.pop()
    (request,) = provider.transcriptions()
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "whisper-1", "response_format": "verbose_json"}
    assert request.files == {"file.mp3": path.read_bytes()}


def test_recording_that_is_too_long_is_no_text_that_is_too_long(
    site, provider, add_model, tmp_path
):
    path = tmp_path / "talk.mp3"
    path.write_bytes(b"ID3")
    error = {"error": {"message": "Maximum content size limit (26214400) exceeded"}}
    provider.faults = [respond_with(413, error)]
    with pytest.raises(HTTPException, match="The recording is too long: add it in parts"):
        calls.transcribe(site, add_model("whisper-1", "stt"), path)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([{"text": "Two words.", "avg_logprob": -0.1}], [0.905, 0.905, 0.905]),
        (
            [{"text": "Two words", "avg_logprob": 0}, {"text": "here.", "avg_logprob": -2.0}],
            [1, 1, 0.135],
        ),
        ([{"text": "Two words."}], []),
        (None, []),
    ],
)
def test_word_probabilities_are_those_of_the_segments(
    site, provider, add_model, tmp_path, segments, expected
):
    path = tmp_path / "talk.wav"
    path.write_bytes(openai_server.tone("alloy", "Hello."))
    answer = {"text": "Two words here.", "segments": segments}
    provider.faults = [respond_with(200, answer)]
    _, confidences = calls.transcribe(site, add_model("whisper-1", "stt"), path)
    assert confidences == pytest.approx(expected, abs=0.001)


def test_empty_transcript_is_accepted(site, provider, add_model, tmp_path):
    provider.transcribe = lambda _content: "  "
    path = tmp_path / "silence"
    path.write_bytes(b"")
    assert calls.transcribe(site, add_model("whisper-1", "stt"), path) == ("", ())
    assert provider.transcriptions()[0].files == {"file": b""}


def test_model_list_keeps_only_valid_names(site, provider, add_model):
    at = servers.server_of_model(site, add_model(key=KEY))
    provider.models = [None, 7, "b", "a", "b", "", " a", "line\nend", f"echo-{KEY}", "ö" * 501, "ä"]
    assert calls.list_models(at) == ["b", "a", "ä"]
    assert provider.requests[0].path == "/models"
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


def embed(site, model, _path):
    return calls.embed(site, model, ["one"])


def synthesize(site, model, _path):
    return calls.synthesize(site, model, "Hello.", "alloy")


def list_models(site, model, _path):
    return calls.list_models(servers.server_of_model(site, model))


@pytest.mark.parametrize(
    ("call", "answer", "expected"),
    [
        (embed, {"data": []}, "answered"),
        (embed, {"data": [{"index": 0}]}, "answered"),
        (embed, {"data": [{"index": 0, "embedding": []}]}, "answered"),
        (embed, {"data": [{"index": 0, "embedding": ["a"]}]}, "answered"),
        (embed, {"data": [{"index": 0, "embedding": [1.0, math.nan]}]}, "answered"),
        *(
            (embed, {"data": [{"index": 0, "embedding": vector}]}, "answered")
            for vector in ([1.0, 10**400], [1e300, 1.0], [0.0, 0.0], [0, 1e-40])
        ),
        (embed, {"data": [{"index": n, "embedding": [1.0]} for n in range(2)]}, "answered"),
        (synthesize, b"", "sent an empty reply"),
        (synthesize, b'{"error": "no such voice"}', "no such voice"),
        (synthesize, b"<html>\xff</html>", "OpenAI-compatible"),
        *((calls.transcribe, answer, "answered") for answer in ({}, [], {"text": ["a"]}, 7)),
        (calls.transcribe, None, "sent an empty reply"),
        *((list_models, answer, "answered") for answer in ({}, [], {"data": [7]}, "a")),
    ],
)
def test_invalid_reply_is_502(site, provider, add_model, tmp_path, call, answer, expected):
    path = tmp_path / "sound.wav"
    path.write_bytes(openai_server.tone("alloy", "Hello."))
    kind = "audio/wav" if call is synthesize else "application/json"
    provider.faults = [respond_with(200, answer, kind)]
    with pytest.raises(HTTPException, match=expected) as caught:
        call(site, add_model(), path)
    assert caught.value.status_code == 502


def test_multipart_form_follows_the_rfc(tmp_path):
    """Lines end with CRLF (RFC 2046, 5.1.1). The file is read as it is sent, without its growth."""
    path = tmp_path / "sound.wav"
    path.write_bytes(b"1234")
    form = FormPayload({"model": "whisper-1"}, path)
    path.write_bytes(b"RIFF and more")
    boundary = form.media_type.partition("boundary=")[2].encode()
    assert b"".join(form) == (
        b'--%b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n'
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="file.wav"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\nRIFF\r\n--%b--\r\n"
    ) % (boundary, boundary, boundary)
    assert len(form) == len(b"".join(form))
