"""Speech in the wire forms of ElevenLabs, Google and Piper."""

from __future__ import annotations

import io
import json
import math
import wave
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import voice_servers
from starlette.exceptions import HTTPException
from voice_servers import RATE, SAID, SAMPLES, VoiceServer

from labext.sandbox.nb.providers import calls, servers
from labext.sandbox.nb.speech import synthesis
from labext.sandbox.nb.speech.voices import assign_voices
from labext.sandbox.nb.tables import Model

KEY = "correct-horse-battery-staple"


@pytest.fixture
def serve(store_model: Any) -> Iterator[Callable[..., tuple[VoiceServer, Model]]]:
    """Run a server and add a model of it: `serve("piper", kind="tts")`."""
    with ExitStack() as running:

        def serve(form: str, kind: str = "tts") -> tuple[VoiceServer, Model]:
            server = running.enter_context(voice_servers.serving(form))
            return server, store_model("speaker-1", kind, KEY, server.base_url, form)

        yield serve


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "talk.wav"
    path.write_bytes(voice_servers.wav())
    return path


def failure(call: Callable[..., object], *arguments: object) -> HTTPException:
    with pytest.raises(HTTPException) as caught:
        call(*arguments)
    assert KEY not in caught.value.detail
    assert "\n" not in caught.value.detail
    return caught.value


@pytest.mark.parametrize(
    ("form", "header", "voice", "expected"),
    [
        ("elevenlabs", "xi-api-key", "21m00", {"text": SAID, "model_id": "speaker-1"}),
        (
            "piper",
            "authorization",
            "en_US-lessac-medium",
            {"text": SAID, "voice": "en_US-lessac-medium"},
        ),
    ],
)
def test_speech_request_has_text_voice_and_key(site, serve, form, header, voice, expected):
    server, model = serve(form)
    sound = calls.synthesize(site, model, SAID, voice)
    assert sound in (b"ID3" + SAMPLES, voice_servers.wav())
    ((_, headers, body),) = server.requests
    assert headers[header].removeprefix("Bearer ") == KEY
    assert json.loads(body) == expected


def test_raw_samples_of_google_become_a_wav_file(site, serve):
    server, model = serve("google")
    sound = calls.synthesize(site, model, SAID, "Kore")
    with wave.open(io.BytesIO(sound)) as file:
        assert (file.getframerate(), file.readframes(10**6)) == (RATE, SAMPLES)
    body = json.loads(server.requests[-1][2])
    speech = body["generationConfig"]["speechConfig"]
    assert speech == {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}}


def test_speakers_get_distinct_voices_of_the_server(site, serve):
    _, model = serve("elevenlabs")
    assert synthesis.list_voices(site, model) == {"21m00": "Rachel", "AZnzl": "Domi"}
    voices = assign_voices(site, {"Ada": (model, None), "Ben": (model, None)})
    assert [voice for _, voice in voices.values()] == ["21m00", "AZnzl"]
    voices = assign_voices(site, {"Ada": (model, "Rachel"), "Ben": (model, None)})  # by its name
    assert [voice for _, voice in voices.values()] == ["21m00", "AZnzl"]
    error = failure(assign_voices, site, {"Ada": (model, "nobody")})
    assert "has no voice nobody" in error.detail
    _, google = serve("google")
    assert assign_voices(site, {"Ada": (google, None)})["Ada"][1] == "Kore"


def test_transcript_of_elevenlabs_has_the_probabilities_of_its_words(site, serve, recording):
    server, model = serve("elevenlabs", "stt")
    text, confidences = calls.transcribe(site, model, recording)
    assert text == SAID
    assert confidences == pytest.approx([math.exp(-0.1), 1, math.exp(-1)])
    assert b'name="model_id"\r\n\r\nspeaker-1' in server.requests[-1][2]
    assert voice_servers.wav() in server.requests[-1][2]


def test_google_prompt_requests_a_transcript_of_a_recording(site, serve, recording):
    server, model = serve("google", "stt")
    assert calls.transcribe(site, model, recording) == (SAID, ())
    parts = json.loads(server.requests[-1][2])["contents"][0]["parts"]
    assert parts[1]["inlineData"]["mimeType"] == "audio/wav"


@pytest.mark.parametrize(
    ("form", "expected"),
    [("elevenlabs", "eleven_flash_v2_5"), ("google", "gemini-tts"), ("piper", "piper")],
)
def test_models_are_listed(site, serve, form, expected):
    _, model = serve(form)
    assert calls.list_models(servers.server_of_model(site, model)) == [expected]


@pytest.mark.parametrize("form", ["elevenlabs", "google", "piper"])
@pytest.mark.parametrize(
    ("rejection", "expected"),
    [
        ((200, b"<html><title>Sign in</title></html>"), "answered a web page, “Sign in”"),
        ((200, b"{}"), "answered"),
        ((200, b""), "sent an empty reply"),
        ((401, b'{"detail": {"message": "invalid key"}}'), "invalid key"),
        ((500, b"oh"), "answered 500"),
    ],
)
def test_failure_of_a_voice_server_is_one_line(site, serve, form, rejection, expected):
    server, model = serve(form)
    server.rejection = rejection
    assert expected in failure(calls.synthesize, site, model, SAID, "21m00").detail


def test_model_that_only_speaks_can_not_chat(site, serve):
    _, model = serve("piper", "llm")
    error = failure(calls.chat, site, model, [{"role": "user", "content": "Hello."}])
    assert (error.status_code, "only process speech" in error.detail) == (422, True)


def test_model_of_a_provider_without_speech_can_not_speak(site, store_model):
    model = store_model("talker", "tts", KEY, "http://localhost", "anthropic")
    assert failure(calls.synthesize, site, model, SAID, "x").status_code == 422
