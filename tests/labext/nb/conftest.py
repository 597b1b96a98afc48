"""A backend is driven by hand, and a service that is a dictionary: no network in either."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from labext.errors import NotFoundError
from labext.nb import NotebookClient
from labext.nb.backends import Request, RequestExecutor
from labext.nb.backends.detect import BackendSelector
from labext.nb.resource import TitleResolver


@dataclass
class Driven:
    """What a backend's method asked for, and what it made of the answers."""

    requests: list[Request]
    result: Any

    @property
    def only(self) -> Request:
        (request,) = self.requests
        return request

    @property
    def line(self) -> tuple[str, str]:
        """The one request's method and path."""
        return line(self.only)


def line(request: Request) -> tuple[str, str]:
    return request.op.method, request.op.address("", request.path)


@pytest.fixture
def drive() -> Callable[..., Driven]:
    """Run a method on answers, of which an exception is raised into it."""

    def run(steps: Any, *answers: Any) -> Driven:
        requests: list[Request] = []
        left = list(answers)
        try:
            request = next(steps)
            while True:
                requests.append(request)
                answer = left.pop(0)
                failed = isinstance(answer, Exception)
                request = steps.throw(answer) if failed else steps.send(answer)
        except StopIteration as ended:
            assert not left
            return Driven(requests, ended.value)

    return run


@dataclass
class Shelf:
    """A service in a dictionary: things by table, and every request that came."""

    notebooks: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    others: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Things of further kinds, by the path of their list."""
    requests: list[Request] = field(default_factory=list)
    most: int = 1000
    """Rows of a page, whatever was asked for."""
    script: list[Exception | None] = field(default_factory=list)
    """What the next requests meet."""

    def send(self, request: Request, on_bytes: Any = None) -> Any:
        self.requests.append(request)
        failure = self.script.pop(0) if self.script else None
        if failure is not None:
            raise failure
        match line(request):
            case "GET", "/notebooks":
                return self.notebooks
            case "GET", "/notes":
                return self._of(self.notes, request.params, lambda note: [note["notebook_id"]])
            case "GET", "/chat/sessions":
                return self._of(self.sessions, request.params, lambda one: [one["notebook_id"]])
            case "GET", "/sources":
                found = self._of(self.sources, request.params, lambda one: one["notebooks"])
                start = request.params["offset"]
                return found[start : start + min(request.params["limit"], self.most)]
            case "GET", path if path in self.others:
                wanted = {key: value for key, value in request.params.items() if value}
                wanted = {key.removeprefix("model_"): value for key, value in wanted.items()}
                return [each for each in self.others[path] if wanted.items() <= each.items()]
            case "GET", path if path.startswith("/sources/"):
                return self._one(self.sources, request.path["source"])
        raise AssertionError(line(request))

    def lines(self) -> list[tuple[str, str]]:
        return [line(request) for request in self.requests]

    @staticmethod
    def _one(things: Sequence[dict[str, Any]], identifier: str) -> dict[str, Any]:
        for each in things:
            if each["id"] == identifier:
                return each
        raise NotFoundError("There is no such thing.", "Look again.", status=404)

    @staticmethod
    def _of(things: Any, params: Any, where: Callable[[Any], list[str]]) -> Any:
        notebook = params.get("notebook_id")
        return [each for each in things if notebook is None or notebook in where(each)]

    # What a test fills it with

    def notebook(self, name: str) -> str:
        return self._put(self.notebooks, "notebook", name=name)

    def source(self, title: str, *notebooks: str, **fields: Any) -> str:
        return self._put(
            self.sources, "source", **{"title": title, "notebooks": list(notebooks)} | fields
        )

    def note(self, title: str, notebook: str | None = None) -> str:
        return self._put(self.notes, "note", title=title, notebook_id=notebook)

    def session(self, title: str, notebook: str) -> str:
        return self._put(self.sessions, "chat_session", title=title, notebook_id=notebook)

    def other(self, path: str, name: str, **fields: Any) -> str:
        """Put a thing into the list at a path."""
        return self._put(self.others.setdefault(path, []), path.strip("/"), name=name, **fields)

    @staticmethod
    def _put(things: list[dict[str, Any]], table: str, **fields: Any) -> str:
        identifier = f"{table}:{len(things):04d}"
        things.append({"id": identifier, "created_at": "2026-01-02T03:04:05.000Z", **fields})
        return identifier


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def wire(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> RequestExecutor:
    made = RequestExecutor(None)  # nothing is sent
    monkeypatch.setattr(made, "send", shelf.send)
    return made


@pytest.fixture
def titles(wire: RequestExecutor) -> TitleResolver:
    return TitleResolver(wire, BackendSelector(wire, "contract"))


PASSWORD = "swordfish-0123456789"
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


class Clients:
    """Clients of servers, without waits between tries."""

    password = PASSWORD

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._made: list[NotebookClient] = []
        self._patch = monkeypatch

    def __call__(self, server: Any, password: str | None = PASSWORD) -> NotebookClient:
        client = NotebookClient(server.url, password, rate=None, backend="contract")
        self._made.append(client)
        return client

    def close(self) -> None:
        for client in self._made:
            client.close()


@pytest.fixture
def client_of(at_once: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    clients = Clients(monkeypatch)
    yield clients
    clients.close()


class Stream:
    """Acts that answer with a stream of events."""

    @staticmethod
    def event(**data: Any) -> str:
        return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"

    @staticmethod
    def of(
        pieces: Sequence[bytes | str], *, ends: bool = True, stays: bool = False
    ) -> Callable[[socket.socket, Any], bool]:
        """Send these pieces, each by itself; without `ends` the stream is cut, not closed.

        With `stays` the connection is held open until the other side leaves.
        """

        def act(connection: socket.socket, request: Any) -> bool:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(HEAD)
            for piece in pieces:
                data = piece.encode() if isinstance(piece, str) else piece
                if data:
                    connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if stays:
                connection.recv(1)
            elif ends:
                connection.sendall(b"0\r\n\r\n")
            return False

        return act


@pytest.fixture
def stream() -> Stream:
    return Stream()
