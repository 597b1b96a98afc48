"""Serve the application in a thread and record the requests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
import uvicorn
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from open_notebook.state import State

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True)
class ReceivedRequest:
    """A request: its decoded path, and the fields of its JSON or form, a file as its name."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


@dataclass
class Replay:
    """A running server.

    Attributes:
        base_url: ends in `/api`.
        password: the required password; None if no password is required.
        state: the stored objects.
        requests: all requests in order of arrival.
        faults: requests that a real server would handle differently than the client expects.
    """

    base_url: str = ""
    password: str | None = None
    state: State = field(default_factory=State)
    requests: list[ReceivedRequest] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def sent(self, method: str, path: str) -> list[ReceivedRequest]:
        """Return the requests with this method and path below `/api`."""
        return [
            request
            for request in self.requests
            if (request.method, request.path) == (method, f"/api{path}")
        ]


@contextmanager
def serving(password: str | None = None, *, fresh: bool = False) -> Iterator[Replay]:
    """Run a server; a `fresh` one is newly installed, without models.

    The client's time limit for the vectors of a source is lowered to two seconds.
    """
    from labext.nb.backends.open_notebook import notebooks
    from open_notebook.app import application

    replay = Replay(password=password, state=State(fresh=fresh))
    with pytest.MonkeyPatch.context() as patch, listening(application(replay)) as root:
        patch.setattr(notebooks, "VECTOR_TIMEOUT", timedelta(seconds=2))
        replay.base_url = f"{root}/api"
        yield replay


@contextmanager
def web_page(replay: Replay) -> Iterator[str]:
    """Serve the web interface of a server, which forwards `/api`."""
    from open_notebook.app import application

    api, url = application(replay), replay.base_url.removesuffix("/api")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = HTMLResponse("<!doctype html><title>Open Notebook</title>")
        if scope["path"].startswith("/api/"):
            answer = api
        elif scope["path"] == "/config":  # the web interface's own
            answer = JSONResponse({"apiUrl": url})
        elif scope["path"].endswith("/config"):
            answer = HTMLResponse("<!doctype html><title>404</title>", 404)
        await answer(scope, receive, send)

    with listening(app) as root:
        yield root


@contextmanager
def listening(app: Any, port: int = 0) -> Iterator[str]:
    """Serve an application on loopback, by default on a free port."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    # With the protocol named, the event loop disables Nagle's algorithm (40 ms per response).
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", port))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()
