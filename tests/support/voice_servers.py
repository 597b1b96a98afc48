"""Speech servers on loopback in the wire formats of ElevenLabs, Google and Piper.

`serving("piper")` yields a `VoiceServer`; its `rejection`, a status and a body, replaces all
responses.
"""

from __future__ import annotations

import base64
import io
import json
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from local_http import QuietHandler, serve

RATE = 24_000
SAMPLES = bytes(range(256)) * 100
SAID = "It is arabinose."


def wav() -> bytes:
    output = io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(SAMPLES)
    return output.getvalue()


@dataclass
class VoiceServer:
    """A server with its recorded requests: method and path, headers in lower case, and body."""

    form: str
    base_url: str = ""
    rejection: tuple[int, bytes] | None = None
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def content(self, route: str) -> tuple[str, bytes] | None:
        """Return the media type and the content for a method and path."""
        path = route.partition("?")[0]
        sound = base64.b64encode(SAMPLES).decode()
        part: Any = {"text": SAID}
        if self.requests and b"AUDIO" in self.requests[-1][2]:
            part = {"inlineData": {"mimeType": f"audio/L16;rate={RATE}", "data": sound}}
        generated = {"candidates": [{"content": {"parts": [part]}}]}
        words = [
            {"text": "It", "type": "word", "logprob": -0.1},
            {"text": " ", "type": "spacing", "logprob": -9.0},
            {"text": "is", "type": "word", "logprob": 0.0},
            {"text": "arabinose.", "type": "word", "logprob": -1.0},
        ]
        voices = [{"voice_id": "21m00", "name": "Rachel"}, {"voice_id": "AZnzl", "name": "Domi"}]
        answers: dict[str, dict[str, Any]] = {
            "elevenlabs": {
                "GET /v1/models": [{"model_id": "eleven_flash_v2_5"}],
                "GET /v1/voices": {"voices": voices},
                "POST /v1/text-to-speech/21m00": b"ID3" + SAMPLES,
                "POST /v1/speech-to-text": {"text": SAID, "words": words},
            },
            "google": {
                "GET /v1beta/models": {"models": [{"name": "models/gemini-tts"}]},
                "POST /v1beta/models/speaker-1:generateContent": generated,
            },
            "piper": {"GET /voices": {"en_US-lessac-medium": {"num_speakers": 1}}, "POST /": wav()},
        }
        content = answers[self.form].get(path)
        if content is None:
            return None
        if isinstance(content, bytes):
            return "audio/mpeg" if content.startswith(b"ID3") else "audio/wav", content
        return "application/json", json.dumps(content).encode()


class _Handler(QuietHandler):
    known: VoiceServer

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        route = f"{self.command} {self.path}"
        self.known.requests.append((route, self.received_headers(), body))
        answer = self.known.content(route)
        if self.known.rejection is not None:
            self.answer(*self.known.rejection)
        elif answer is None:
            self.answer(404, {"detail": "Not found."})
        else:
            kind, content = answer
            self.answer(200, content, kind=kind)


_PATHS = {"elevenlabs": "/v1", "google": "/v1beta", "piper": ""}


@contextmanager
def serving(form: str) -> Iterator[VoiceServer]:
    """Run a server of a wire form until the block ends."""
    known = VoiceServer(form)
    with serve(_Handler, known=known) as url:
        known.base_url = f"{url}{_PATHS[form]}"
        yield known
