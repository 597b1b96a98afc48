"""Servers on loopback that stream in the wire formats of OpenAI, Anthropic, Google and Ollama.

`serving("anthropic")` yields a `ModelServer`. Its `words` are sent one by one, `pause` seconds
apart, and `fault` replaces the reply. OpenAI's format without `stream` gives a single response.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from local_http import QuietHandler, serve

Fault = Callable[["Handler"], None]

KEY_HEADERS = {
    "openai": "authorization",
    "anthropic": "x-api-key",
    "google": "x-goog-api-key",
    "ollama": "authorization",
}
FORMS = tuple(KEY_HEADERS)


@dataclass
class ModelServer:
    """A model server with its recorded requests.

    Attributes:
        form: its wire format.
        base_url: its address.
        words: the pieces of a reply.
        pause: the seconds between two pieces.
        reading_pause: the seconds before a request's body is read.
        sent_at: the time at which each piece was sent.
        requests: the path, the headers in lower case and the body of each request.
        fault: handles the next requests instead of a reply.
        get_fault: handles the next GET requests.
        rejection: status and body of the responses to all GET requests.
        client_left: set when a client disconnects before the end.
    """

    form: str
    base_url: str = ""
    words: list[str] = field(default_factory=lambda: ["It is ", "arabinose", "."])
    pause: float = 0.0
    reading_pause: float = 0.0
    sent_at: list[float] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    fault: Fault | None = None
    get_fault: Fault | None = None
    rejection: tuple[int, Any] | None = None
    client_left: threading.Event = field(default_factory=threading.Event)


class Handler(QuietHandler):
    """Handles the requests to one server."""

    protocol_version = "HTTP/1.1"
    state: ModelServer

    def do_GET(self) -> None:
        self.state.requests.append((self.path, self.received_headers(), None))
        if self.state.get_fault is not None:
            self.state.get_fault(self)
            return
        if self.state.rejection is not None:
            self.answer(*self.state.rejection)
            return
        names = ["talker-1", "text-embedding-1"]
        match self.state.form:
            case "google":
                self.answer(200, {"models": [{"name": f"models/{name}"} for name in names]})
            case "ollama":
                self.answer(200, {"models": [{"name": name} for name in names]})
            case _:
                self.answer(200, {"data": [{"id": name} for name in names]})

    def do_POST(self) -> None:
        time.sleep(self.state.reading_pause)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.state.requests.append((self.path, self.received_headers(), body))
        if self.state.fault is not None:
            self.state.fault(self)
        elif body.get("stream") is False and self.state.form == "openai":
            self.answer(200, _completion("".join(self.state.words[:3])))
        elif "embed" in self.path.lower():
            self.answer(200, self._vectors(body))
        else:
            self.stream([*self.state.words])

    def stream(
        self, words: list[str], *, cut: str | None = None, outcome: str = "complete", kind: str = ""
    ) -> None:
        """Stream a reply; `cut` ends it by this text instead of its end mark.

        `outcome` is complete, refused or truncated, by the model's limit of length.
        """
        form = self.state.form
        self.send_response(200)
        stream = "application/x-ndjson" if form == "ollama" else "text/event-stream"
        self.send_header("Content-Type", kind or stream)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        begin, piece, end = STREAMS[form]
        try:
            for value in begin:
                self._send(value)
            for number, word in enumerate(words):
                if number:
                    time.sleep(self.state.pause)
                self.state.sent_at.append(time.time())
                self._send(piece(word))
            if cut is not None:
                self.wfile.write(cut.encode())
                return
            *others, last = end(outcome)
            for value in others:
                self._send(value)
            self._send(last, "")  # which needs no line end
        except OSError:
            self.state.client_left.set()

    def _send(self, value: Any, line_end: str = "\n\n") -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        prefix = "" if self.state.form == "ollama" else "data: "
        self.wfile.write(f"{prefix}{text}{line_end}".encode())
        self.wfile.flush()

    def _vectors(self, body: Any) -> Any:
        match self.state.form:
            case "google":
                return {"embeddings": [{"values": [1.0, 2.0]} for _ in body["requests"]]}
            case "ollama":
                return {"embeddings": [[1.0, 2.0] for _ in body["input"]]}
        rows = [{"index": n, "embedding": [1.0, 2.0]} for n in range(len(body["input"]))]
        return {"data": rows}


def _completion(text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 11, "completion_tokens": 3}
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}


def _openai_end(outcome: str) -> list[Any]:
    pieces = ["I can't ", "help with that."] if outcome == "refused" else []
    reason = "length" if outcome == "truncated" else "stop"
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "cost": 0.002}
    return [
        *({"choices": [{"delta": {"refusal": piece}}]} for piece in pieces),
        {"choices": [{"delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": usage},
        "[DONE]",
    ]


def _anthropic_end(outcome: str) -> list[Any]:
    reasons = {"complete": "end_turn", "refused": "refusal", "truncated": "max_tokens"}
    delta = {"stop_reason": reasons[outcome]}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]


def _google_end(outcome: str) -> list[Any]:
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 3}
    reasons = {"complete": "STOP", "refused": "SAFETY", "truncated": "MAX_TOKENS"}
    return [{"candidates": [{"finishReason": reasons[outcome]}], "usageMetadata": usage}]


def _ollama_end(outcome: str) -> list[Any]:  # Ollama does not report refusals
    counts = {"prompt_eval_count": 11, "eval_count": 3}
    reason = "length" if outcome == "truncated" else "stop"
    message = {"role": "assistant", "content": ""}
    return [{"message": message, "done": True, "done_reason": reason, **counts}]


STREAMS: dict[str, tuple[list[Any], Callable[[str], Any], Callable[[str], list[Any]]]] = {
    "openai": (
        [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}],
        lambda word: {"choices": [{"delta": {"content": word}, "finish_reason": None}]},
        _openai_end,
    ),
    "anthropic": (
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 11}}},
            {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
        ],
        lambda word: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}},
        _anthropic_end,
    ),
    "google": (
        [],
        lambda word: {"candidates": [{"content": {"role": "model", "parts": [{"text": word}]}}]},
        _google_end,
    ),
    "ollama": (
        [],
        lambda word: {"message": {"role": "assistant", "content": word}, "done": False},
        _ollama_end,
    ),
}


@contextmanager
def serving(form: str) -> Iterator[ModelServer]:
    """Run a server of a wire format."""
    state = ModelServer(form)
    with serve(Handler, state=state) as url:
        path = {"openai": "/v1", "anthropic": "/v1", "google": "/v1beta", "ollama": ""}[form]
        state.base_url = f"{url}{path}"
        yield state
