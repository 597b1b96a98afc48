"""Fake services, clients and event streams for tests of the nb client."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from labext.errors import NotFoundError
from labext.http import HttpClient
from labext.nb import NotebookClient
from labext.nb.backends import Request, RequestExecutor
from labext.nb.backends.detect import BackendSelector
from labext.nb.resource import TitleResolver


@dataclass
class Exchange:
    """The requests of a backend method, and its result."""

    requests: list[Request]
    result: Any

    @property
    def only(self) -> Request:
        (request,) = self.requests
        return request

    @property
    def line(self) -> tuple[str, str]:
        """Method and path of the only request."""
        return line(self.only)


def line(request: Request) -> tuple[str, str]:
    return request.op.method, request.op.address("", request.path)


@pytest.fixture
def drive() -> Callable[..., Exchange]:
    """Run a backend method on scripted responses; an exception is raised instead of a response."""

    def run(steps: Any, *answers: Any) -> Exchange:
        requests: list[Request] = []
        answers_left = list(answers)
        try:
            request = next(steps)
            while True:
                requests.append(request)
                answer = answers_left.pop(0)
                failed = isinstance(answer, Exception)
                request = steps.throw(answer) if failed else steps.send(answer)
        except StopIteration as ended:
            assert not answers_left
            return Exchange(requests, ended.value)

    return run


@dataclass
class FakeService:
    """A service in memory that records its requests."""

    notebooks: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    other_records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Records of further kinds, by the path of their list."""
    requests: list[Request] = field(default_factory=list)
    max_page: int = 1000
    """The largest page."""
    script: list[Exception | None] = field(default_factory=list)
    """Failures of the next requests; None for a success."""

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
                return self._of(
                    self.sessions, request.params, lambda record: [record["notebook_id"]]
                )
            case "GET", "/sources":
                sources = self._of(self.sources, request.params, lambda record: record["notebooks"])
                start = request.params["offset"]
                return sources[start : start + min(request.params["limit"], self.max_page)]
            case "GET", path if path in self.other_records:
                filters = {key: value for key, value in request.params.items() if value}
                filters = {key.removeprefix("model_"): value for key, value in filters.items()}
                return [
                    record
                    for record in self.other_records[path]
                    if filters.items() <= record.items()
                ]
            case "GET", path if path.startswith("/sources/"):
                return self._one(self.sources, request.path["source"])
        raise AssertionError(line(request))

    def lines(self) -> list[tuple[str, str]]:
        return [line(request) for request in self.requests]

    @staticmethod
    def _one(records: Sequence[dict[str, Any]], identifier: str) -> dict[str, Any]:
        for record in records:
            if record["id"] == identifier:
                return record
        raise NotFoundError("Not found.", "See the list.", status=404)

    @staticmethod
    def _of(records: Any, params: Any, notebooks_of: Callable[[Any], list[str]]) -> Any:
        notebook = params.get("notebook_id")
        return [
            record for record in records if notebook is None or notebook in notebooks_of(record)
        ]

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
        """Add a record to the list at a path."""
        return self._put(
            self.other_records.setdefault(path, []), path.strip("/"), name=name, **fields
        )

    @staticmethod
    def _put(records: list[dict[str, Any]], table: str, **fields: Any) -> str:
        identifier = f"{table}:{len(records):04d}"
        records.append({"id": identifier, "created_at": "2026-01-02T03:04:05.000Z", **fields})
        return identifier


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def wire(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> RequestExecutor:
    executor = RequestExecutor(HttpClient("http://notebooks.test/api", auth=None, rate=None))
    monkeypatch.setattr(executor, "send", service.send)  # the fake service gets the requests
    return executor


@pytest.fixture
def titles(wire: RequestExecutor) -> TitleResolver:
    return TitleResolver(wire, BackendSelector(wire, "contract"))


PASSWORD = "swordfish-0123456789"
EVENT_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


class ClientFactory:
    """Creates clients of servers."""

    password = PASSWORD

    def __init__(self) -> None:
        self._clients: list[NotebookClient] = []

    def __call__(self, server: Any, password: str | None = PASSWORD) -> NotebookClient:
        client = NotebookClient(server.url, password, rate=None, backend="contract")
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture
def client_of(fast_retries: None) -> Iterator[ClientFactory]:
    clients = ClientFactory()
    yield clients
    clients.close()


class Stream:
    @staticmethod
    def event(**data: Any) -> str:
        return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"

    @staticmethod
    def of(
        pieces: Sequence[bytes | str], *, ends: bool = True, stays: bool = False
    ) -> Callable[[socket.socket, Any], bool]:
        """Send the pieces one by one; without `ends` the connection is reset, not closed.

        With `stays` the connection is kept open until the client disconnects.
        """

        def act(connection: socket.socket, request: Any) -> bool:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(EVENT_STREAM_HEAD)
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
