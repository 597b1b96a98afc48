"""Sources of a running notebook service, and plain requests to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import nb_service
import pytest
import requests
from databases import open_database
from local_http import QuietHandler, Server, running
from sqlalchemy.orm import Session

from labext.sandbox import Sandbox
from labext.sandbox.nb import settings
from labext.sandbox.nb.tables import Source


class Sources(nb_service.Api):
    """Requests for sources; every response must match the service's description."""

    def __init__(self, box: Sandbox) -> None:
        root = box.nb.base_url.removesuffix("/api")
        super().__init__(box.nb.base_url, box.nb.password, nb_service.Description(root))
        self.folder = box.data_dir / "nb"
        self.close = self.session.close
        self._data_dir = box.data_dir
        self.limit = nb_service.Back(box.data_dir).limit

    def text(self, text: str = "Some text.", **more: Any) -> dict[str, Any]:
        """Add a text synchronously."""
        body = {"text": text, "process_async": False, **more}
        return self.call("POST", "sources", json=body)

    def link(self, url: str, **more: Any) -> dict[str, Any]:
        """Add a web page synchronously."""
        body = {"url": url, "process_async": False, **more}
        return self.call("POST", "sources", json=body)

    def file(self, content: bytes, name: str = "notes.txt", **fields: str) -> dict[str, Any]:
        """Add a file synchronously."""
        response = self.send(content, name, **({"process_async": "false"} | fields))
        assert response.status_code == 200, response.text
        return response.json()

    def send(self, content: Any, name: str = "notes.txt", **fields: str) -> requests.Response:
        files = {"file": (name, content)}
        return self.request("POST", "sources", files=files, data=fields)

    def one(self, identifier: str) -> dict[str, Any]:
        return self.call("GET", f"sources/{identifier}")

    def status(self, identifier: str) -> dict[str, Any]:
        return self.call("GET", f"sources/{identifier}/status")

    def listed(self, **query: Any) -> list[dict[str, Any]]:
        return self.call("GET", "sources", params=query)

    def count(self) -> int:
        """Return the number of stored sources."""
        with self.back() as session:
            return session.query(Source).count()

    def until(self, identifier: str, *requested: str) -> dict[str, Any]:
        """Return the status of a source once it is one of these; by default once it has ended."""
        return self.once(f"sources/{identifier}/status", *requested)

    def files(self) -> set[str]:
        """Return the files on disk: originals, and incomplete uploads."""
        return {
            f"{name}/{entry.name}"
            for name in ("originals", "incoming")
            for entry in (self.folder / name).iterdir()
        }

    @contextmanager
    def back(self) -> Iterator[Session]:
        """The tables of the service, opened by its administrator."""
        with closing(open_database(self._data_dir)) as database, database.write() as session:
            yield session

    @contextmanager
    def private(self) -> Iterator[None]:
        """Allow pages of this machine."""
        self.allow("yes")
        try:
            yield
        finally:
            self.allow(None)

    def allow(self, value: str | None) -> None:
        with self.back() as session:
            settings.set_setting(session, settings.PRIVATE_FETCHES, value)

    def embed_by(self, model: str | None) -> None:
        """Set the embedding model, or none, which makes the processing faster."""
        self.call("PUT", "models/defaults", {"embedding": model})


class Site(Server):
    """A web server of one page, which responds once `go` is set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/induction.html"
        self.status = 200
        self.body = b"<title>Induction</title><p>Cells were induced with arabinose.</p>"
        self.requested = threading.Semaphore(0)
        self.go = threading.Event()
        self.go.set()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that were killed."""


class Handler(QuietHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.requested.release()
        self.server.go.wait(60)
        self.answer(self.server.status, self.server.body, kind="text/html")


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    with running(served):
        yield served
        served.go.set()


@pytest.fixture(scope="module")
def sources(box: Sandbox) -> Iterator[Sources]:
    """Without an embedding model."""
    result = Sources(box)
    result.embed_by(None)
    yield result
    result.embed_by("model:all-minilm-l6-v2")
    result.close()


@pytest.fixture
def sources_of() -> Iterator[Callable[[Sandbox], Sources]]:
    """The sources of another sandbox."""
    with ExitStack() as created:

        def sources_of(box: Sandbox) -> Sources:
            result = Sources(box)
            created.callback(result.close)
            return result

        yield sources_of
