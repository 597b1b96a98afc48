"""A small OpenAI-compatible server on loopback that records requests and fails on demand.

A conftest makes it a fixture::

    from openai_server import serving

    @pytest.fixture
    def provider() -> Iterator[OpenAI]:
        with serving() as server:
            yield server

Set `server.replies` (chat), `server.vector` (embeddings), `server.sound` (speech), `server.hears`
(transcripts), `server.models` (its model list) and `server.troubles` (faults of the next requests).
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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Trouble = Callable[[BaseHTTPRequestHandler], None]
"""Answers a request in place of the server, in its own way."""

DIMENSIONS = 64
MODELS = ("talker", "text-embedder", "tts-1", "whisper-1")


@dataclass(frozen=True)
class Asked:
    """A request: its path below `/v1`, its headers in small letters, its JSON.

    Of a form, the body has the texts by the fields' names, and `files` the bytes of its files, by
    the names that they were sent under. Of a GET it is None.
    """

    path: str
    headers: Mapping[str, str]
    body: Any
    files: Mapping[str, bytes] = field(default_factory=dict)
    whole_path: str = ""

    @property
    def text(self) -> str:
        """All that a chat model was told."""
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass
class OpenAI:
    """The configuration and the requests of the server.

    Attributes:
        base_url: ends in `/v1`.
        key: the one that it accepts; None accepts any.
        asked: the requests in their order.
        replies: the reply of a chat model to a body.
        vector: the vector of a text.
        sound: the audio file for the body of a speech request.
        hears: the transcript of a file.
        models: the names at `/models`.
        troubles: for the next requests, one each; None is none.
        left: set when a client left while it waited in `held`.
    """

    base_url: str = ""
    key: str | None = None
    asked: list[Asked] = field(default_factory=list)
    replies: Callable[[Any], str] = lambda body: f"Reply of {body['model']}."
    vector: Callable[[str], list[float]] = lambda text: bag_of_words(text)
    sound: Callable[[Any], bytes] = lambda body: tone(body["voice"], body["input"])
    hears: Callable[[bytes], str] = lambda content: f"{len(content)} bytes of sound."
    models: list[str] = field(default_factory=lambda: list(MODELS))
    troubles: list[Trouble | None] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)

    def chats(self) -> list[Asked]:
        """The requests to chat models."""
        return [request for request in self.asked if request.path == "/chat/completions"]

    def embeddings(self) -> list[Asked]:
        """The requests to embedding models."""
        return [request for request in self.asked if request.path == "/embeddings"]

    def speeches(self) -> list[Asked]:
        """The requests to speak."""
        return [request for request in self.asked if request.path == "/audio/speech"]

    def hearings(self) -> list[Asked]:
        """The requests to hear."""
        return [request for request in self.asked if request.path == "/audio/transcriptions"]

    def held(self) -> Held:
        """A trouble that lets a request wait until it is let go, or its client leaves."""
        return Held(self)


class Held:
    """Lets a request wait: `entered` is set when it is there, `release` has it answered."""

    def __init__(self, server: OpenAI) -> None:
        self._server = server
        self.entered = threading.Event()
        self.release = threading.Event()

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        self.entered.set()
        handler.connection.settimeout(0.01)
        for _ in range(3000):
            if self.release.is_set():
                answer(handler, 200, completion("Reply after a wait."))
                return
            try:
                if handler.connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self._server.left.set()
        handler.close_connection = True


def says(status: int, body: Any, content_type: str = "application/json") -> Trouble:
    """A trouble that answers a status; the body is JSON, or text or bytes as they are."""
    return lambda handler: answer(handler, status, body, content_type)


def too_many(retry_after: str | None) -> Trouble:
    """A trouble that answers 429, with this `Retry-After`."""

    def trouble(handler: BaseHTTPRequestHandler) -> None:
        content = b'{"error": {"message": "Too fast."}}'
        handler.send_response(429)
        if retry_after is not None:
            handler.send_header("Retry-After", retry_after)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return trouble


def cut(handler: BaseHTTPRequestHandler) -> None:
    """A trouble: the answer breaks off in its middle."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"message": {"content": "It is')
    handler.close_connection = True


def hung_up(handler: BaseHTTPRequestHandler) -> None:
    """A trouble: the connection ends without an answer."""
    handler.close_connection = True


def echoes_key(status: int) -> Trouble:
    """Return a fault that echoes the `Authorization` header."""

    def trouble(handler: BaseHTTPRequestHandler) -> None:
        sent = handler.headers.get("Authorization", "")
        message = f"Incorrect API key provided: {sent.removeprefix('Bearer ')}; you sent {sent}"
        answer(handler, status, {"error": {"message": message, "code": "invalid_api_key"}})

    return trouble


def answer(
    handler: BaseHTTPRequestHandler, status: int, body: Any, content_type: str = "application/json"
) -> None:
    """Answer a request."""
    if isinstance(body, str):
        body = body.encode()
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def completion(text: Any) -> dict[str, Any]:
    """The body of a chat model's answer."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}


def bag_of_words(text: str) -> list[float]:
    """A vector by which texts of the same words are near each other."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return vector if any(vector) else [1.0, *vector[1:]]


def tone(voice: str, text: str, rate: int = 16_000) -> bytes:
    """A WAV file for a text: 50 ms a letter, at a pitch of the voice's own."""
    pitch = 100 + hashlib.sha256(voice.encode()).digest()[0]
    count = rate * max(len(text), 1) // 20
    samples = array.array(
        "h", (int(8000 * math.sin(2 * math.pi * pitch * place / rate)) for place in range(count))
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
    """The texts and the files of a form."""
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
    """A server of its own, until the block ends."""
    known = OpenAI(key=key)

    class Handler(BaseHTTPRequestHandler):
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
            headers = {name.lower(): value for name, value in self.headers.items()}
            requests = Asked(self.path.removeprefix("/v1"), headers, body, files, self.path)
            known.asked.append(requests)
            trouble = known.troubles.pop(0) if known.troubles else None
            if trouble is not None:
                trouble(self)
            elif known.key is not None and headers.get("authorization") != f"Bearer {known.key}":
                answer(self, 401, {"error": {"message": "Incorrect API key provided."}})
            else:
                self._serve(requests)

        def _serve(self, asked: Asked) -> None:
            if asked.path == "/chat/completions":
                answer(self, 200, completion(known.replies(asked.body)))
            elif asked.path == "/embeddings":
                vectors = [
                    {"object": "embedding", "index": place, "embedding": known.vector(text)}
                    for place, text in enumerate(asked.body["input"])
                ]
                answer(self, 200, {"object": "list", "data": vectors[::-1]})  # in any order
            elif asked.path == "/audio/speech":
                answer(self, 200, known.sound(asked.body), "audio/wav")
            elif asked.path == "/audio/transcriptions":
                (content,) = asked.files.values()
                answer(self, 200, {"text": known.hears(content)})
            elif asked.path == "/models":
                rows = [{"id": name, "object": "model"} for name in known.models]
                answer(self, 200, {"object": "list", "data": rows})
            else:
                answer(self, 404, {"error": {"message": f"Unknown path {asked.path}."}})

        def log_message(self, *_arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_arguments: Any) -> None:
            """A client that left is no error."""

    with Server(("127.0.0.1", 0), Handler) as server:
        known.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield known
        finally:
            server.shutdown()
            thread.join()
