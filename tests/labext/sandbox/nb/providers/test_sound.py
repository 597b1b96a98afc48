"""Speech, hearing and the list of models of an OpenAI-compatible server."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import openai_server
import pytest
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.providers import calls, servers
from labext.sandbox.nb.providers.transport import FormPayload

KEY = "correct-horse-battery-staple"


def error_detail(call: Any, *arguments: Any) -> str:
    with pytest.raises(HTTPException) as caught:
        call(*arguments)
    assert caught.value.status_code == 502
    return caught.value.detail


def test_speech_request_has_model_voice_and_key(site: Site, provider: Any, add_model: Any) -> None:
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


def test_transcription_request_has_file_model_and_key(
    site: Site, provider: Any, add_model: Any, tmp_path: Path
) -> None:
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
    site: Site, provider: Any, add_model: Any, tmp_path: Path, segments: Any, expected: list[float]
) -> None:
    path = tmp_path / "talk.wav"
    path.write_bytes(openai_server.tone("alloy", "Hello."))
    answer = {"text": "Two words here.", "segments": segments}
    provider.faults = [openai_server.respond_with(200, answer)]
    _, confidences = calls.transcribe(site, add_model("whisper-1", "stt"), path)
    assert confidences == pytest.approx(expected, abs=0.001)


def test_empty_transcript_is_accepted(
    site: Site, provider: Any, add_model: Any, tmp_path: Path
) -> None:
    provider.transcribe = lambda _content: "  "
    path = tmp_path / "silence"
    path.write_bytes(b"")
    assert calls.transcribe(site, add_model("whisper-1", "stt"), path) == ("", ())
    assert provider.transcriptions()[0].files == {"file": b""}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", "answered nothing"),
        (b'{"error": "no such voice"}', "no such voice"),
        (b"<html>\xff</html>", "OpenAI-compatible"),
    ],
)
def test_invalid_audio_is_502(
    site: Site, provider: Any, add_model: Any, answer: bytes, expected: str
) -> None:
    provider.faults = [openai_server.respond_with(200, answer, "audio/wav")]
    assert expected in error_detail(
        calls.synthesize, site, add_model("tts-1", "tts"), "Hello.", "alloy"
    )


@pytest.mark.parametrize("answer", [{}, [], {"text": None}, {"text": ["a"]}, 7, None])
def test_invalid_transcript_is_502(
    site: Site, provider: Any, add_model: Any, tmp_path: Path, answer: Any
) -> None:
    path = tmp_path / "sound.wav"
    path.write_bytes(openai_server.tone("alloy", "Hello."))
    provider.faults = [openai_server.respond_with(200, answer)]
    assert "answered" in error_detail(calls.transcribe, site, add_model("w", "stt"), path)


def test_model_list_keeps_only_valid_names(site: Site, provider: Any, add_model: Any) -> None:
    at = servers.server_of_model(site, add_model(key=KEY))
    provider.models = [None, 7, "b", "a", "b", "", " a", "line\nend", f"echo-{KEY}", "ö" * 501, "ä"]
    assert calls.list_models(at) == ["b", "a", "ä"]
    assert provider.requests[0].path == "/models"
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("answer", [{}, [], {"data": None}, {"data": [7]}, {"data": [{}]}, "a"])
def test_invalid_model_list_is_502(site: Site, provider: Any, add_model: Any, answer: Any) -> None:
    provider.faults = [openai_server.respond_with(200, answer)]
    assert "answered" in error_detail(calls.list_models, servers.server_of_model(site, add_model()))


def test_multipart_form_follows_the_rfc(tmp_path: Path) -> None:
    """Lines end by CRLF (RFC 2046, 5.1.1), and no more of a file is sent than was announced."""
    path = tmp_path / "sound.wav"
    path.write_bytes(b"RIFF")
    form = FormPayload({"model": "whisper-1"}, "file", path)
    path.write_bytes(b"RIFF and more")
    boundary = form.media_type.partition("boundary=")[2].encode()
    assert b"".join(form) == (
        b'--%b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n'
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="file.wav"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\nRIFF\r\n--%b--\r\n"
    ) % (boundary, boundary, boundary)
    assert len(form) == len(b"".join(form))
