"""Serve HTTP on loopback for the duration of a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QuietHandler(BaseHTTPRequestHandler):
    """A request handler without an access log."""

    def answer(
        self,
        status: int,
        body: Any,
        headers: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> None:
        """Send a response; a body that is not text or bytes is sent as JSON."""
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        content = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def send_json(self, content: Any) -> None:
        self.answer(200, content)

    def received_headers(self) -> dict[str, str]:
        """Return the headers of the request, with names in lower case."""
        return {name.lower(): value for name, value in self.headers.items()}

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server that many clients may connect to at once: with five, others wait for seconds."""

    request_queue_size = 128


@contextmanager
def serve(handler: type[BaseHTTPRequestHandler], **attributes: Any) -> Iterator[str]:
    """Serve with a handler class that has the attributes; yield the server's URL."""
    bound = type("Handler", (handler,), attributes)
    with running(Server(("127.0.0.1", 0), bound)) as url:
        yield url


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[str]:
    """Run a server in a thread; yield its URL."""
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
