"""A small OpenAI-compatible server on loopback that records requests and fails on demand.

A conftest makes it a fixture::

    from openai_server import serving

    @pytest.fixture
    def provider() -> Iterator[OpenAI]:
        with serving() as server:
            yield server

Set `server.replies` (chat), `server.vector` (embeddings), `server.sound` (speech),
`server.transcribe` (transcripts), `server.models` (its model list) and `server.faults` (of the next
requests).
"""

from __future__ import annotations

import array
import hashlib
import io
import json
import math
import re
import sys
import threading
import wave
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from local_http import QuietHandler, serve

Fault = Callable[[QuietHandler], None]
"""Handles a request instead of the server."""

DIMENSIONS = 64
MODELS = ("talker", "text-embedder", "tts-1", "whisper-1")


@dataclass(frozen=True)
class ReceivedRequest:
    """A request: its path below `/v1`, its headers in lower case, and its body.

    The body is the JSON, the text fields of a form by name, or None for a GET; `files` has the
    bytes of a form's files by file name.
    """

    path: str
    headers: Mapping[str, str]
    body: Any
    files: Mapping[str, bytes] = field(default_factory=dict)
    whole_path: str = ""

    @property
    def text(self) -> str:
        """Return the messages to a chat model, joined."""
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass
class OpenAI:
    """The configuration and the requests of the server.

    Attributes:
        base_url: ends in `/v1`.
        key: the accepted key; None accepts any.
        requests: the received requests in order.
        replies: the reply of a chat model to a body.
        vector: the vector of a text.
        sound: the audio file for the body of a speech request.
        transcribe: the transcript of a file.
        models: the names at `/models`.
        faults: one for each of the next requests; None for none.
        client_left: set when a client disconnects while it waits in `held`.
    """

    base_url: str = ""
    key: str | None = None
    requests: list[ReceivedRequest] = field(default_factory=list)
    replies: Callable[[Any], str] = lambda body: f"Reply of {body['model']}."
    vector: Callable[[str], list[float]] = lambda text: bag_of_words(text)
    sound: Callable[[Any], bytes] = lambda body: tone(body["voice"], body["input"])
    transcribe: Callable[[bytes], str] = lambda content: f"{len(content)} bytes of sound."
    models: list[str] = field(default_factory=lambda: list(MODELS))
    faults: list[Fault | None] = field(default_factory=list)
    client_left: threading.Event = field(default_factory=threading.Event)

    def chats(self) -> list[ReceivedRequest]:
        """Return the requests to chat models."""
        return [request for request in self.requests if request.path == "/chat/completions"]

    def embeddings(self) -> list[ReceivedRequest]:
        """Return the requests to embedding models."""
        return [request for request in self.requests if request.path == "/embeddings"]

    def speeches(self) -> list[ReceivedRequest]:
        """Return the requests for speech."""
        return [request for request in self.requests if request.path == "/audio/speech"]

    def transcriptions(self) -> list[ReceivedRequest]:
        """Return the requests for transcripts."""
        return [request for request in self.requests if request.path == "/audio/transcriptions"]

    def held(self) -> Held:
        """Return a fault that blocks a request until its release or its client disconnects."""
        return Held(self)


class Held:
    """Blocks a request: `entered` is set on its arrival, and setting `release` continues it."""

    def __init__(self, server: OpenAI) -> None:
        self._server = server
        self.entered = threading.Event()
        self.release = threading.Event()

    def __call__(self, handler: QuietHandler) -> None:
        self.entered.set()
        handler.connection.settimeout(0.01)
        for _ in range(3000):
            if self.release.is_set():
                handler.answer(200, completion("Reply after a wait."))
                return
            try:
                if handler.connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self._server.client_left.set()
        handler.close_connection = True


def respond_with(status: int, body: Any, content_type: str = "application/json") -> Fault:
    """Return a fault that responds with a status and a body: JSON, or text or bytes unchanged."""
    return lambda handler: handler.answer(status, body, kind=content_type)


def too_many(retry_after: str | None) -> Fault:
    """Return a fault that responds with 429 and this `Retry-After`."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return lambda handler: handler.answer(429, {"error": {"message": "Too fast."}}, headers)


def cut(handler: QuietHandler) -> None:
    """A fault: the connection is cut within the response."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"message": {"content": "It is')
    handler.close_connection = True


def disconnect(handler: QuietHandler) -> None:
    """A fault: the connection is closed without a response."""
    handler.close_connection = True


def echoes_key(status: int) -> Fault:
    """Return a fault that echoes the `Authorization` header."""

    def fault(handler: QuietHandler) -> None:
        sent = handler.headers.get("Authorization", "")
        message = f"Incorrect API key provided: {sent.removeprefix('Bearer ')}; you sent {sent}"
        handler.answer(status, {"error": {"message": message, "code": "invalid_api_key"}})

    return fault


def completion(text: Any, finish_reason: str = "stop") -> dict[str, Any]:
    """Return the response body of a chat model."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}


def bag_of_words(text: str) -> list[float]:
    """Return a vector that is similar for texts that share words."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return vector if any(vector) else [1.0, *vector[1:]]


def tone(voice: str, text: str, rate: int = 16_000) -> bytes:
    """Return a WAV file for a text: 50 ms per letter, at a pitch that depends on the voice."""
    pitch = 100 + hashlib.sha256(voice.encode()).digest()[0]
    count = rate * max(len(text), 1) // 20
    samples = array.array(
        "h", (int(8000 * math.sin(2 * math.pi * pitch * n / rate)) for n in range(count))
    )
    if sys.byteorder == "big":
        samples.byteswap()
    file = io.BytesIO()
    with wave.open(file, "wb") as created:
        created.setnchannels(1)
        created.setsampwidth(2)
        created.setframerate(rate)
        created.writeframes(samples.tobytes())
    return file.getvalue()


def form_of(content_type: str, content: bytes) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the text fields and the files of a form."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    texts: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for part in BytesParser(policy=HTTP).parsebytes(head + content).iter_parts():
        value = part.get_payload(decode=True)
        assert isinstance(value, bytes)
        name = part.get_filename()
        if name is None:
            texts[str(part.get_param("name", header="content-disposition"))] = value.decode()
        else:
            files[name] = value
    return texts, files


@contextmanager
def serving(key: str | None = None) -> Iterator[OpenAI]:
    """Run a server."""
    state = OpenAI(key=key)

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._take(None, {})

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kind = self.headers.get("Content-Type", "")
            if kind.startswith("multipart/form-data"):
                self._take(*form_of(kind, content))
            else:
                self._take(json.loads(content), {})

        def _take(self, body: Any, files: Mapping[str, bytes]) -> None:
            headers = self.received_headers()
            request = ReceivedRequest(
                self.path.removeprefix("/v1"), headers, body, files, self.path
            )
            state.requests.append(request)
            fault = state.faults.pop(0) if state.faults else None
            if fault is not None:
                fault(self)
            elif state.key is not None and headers.get("authorization") != f"Bearer {state.key}":
                self.answer(401, {"error": {"message": "Incorrect API key provided."}})
            else:
                self._serve(request)

        def _serve(self, request: ReceivedRequest) -> None:
            if request.path == "/chat/completions":
                self.answer(200, completion(state.replies(request.body)))
            elif request.path == "/embeddings":
                vectors = [
                    {"object": "embedding", "index": index, "embedding": state.vector(text)}
                    for index, text in enumerate(request.body["input"])
                ]
                self.answer(200, {"object": "list", "data": vectors[::-1]})  # in any order
            elif request.path == "/audio/speech":
                self.answer(200, state.sound(request.body), kind="audio/wav")
            elif request.path == "/audio/transcriptions":
                (content,) = request.files.values()
                self.answer(200, {"text": state.transcribe(content)})
            elif request.path == "/models":
                rows = [{"id": name, "object": "model"} for name in state.models]
                self.answer(200, {"object": "list", "data": rows})
            else:
                self.answer(404, {"error": {"message": f"Unknown path {request.path}."}})

    with serve(Handler) as url:
        state.base_url = f"{url}/v1"
        yield state
