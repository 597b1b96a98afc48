"""Sources of a running notebook service, asked by plain requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import nb_service
import pytest
import requests
from sqlalchemy.orm import Session

from labext.sandbox import Sandbox
from labext.sandbox.core.database import Database
from labext.sandbox.nb import settings
from labext.sandbox.nb.limits import LIMITS
from labext.sandbox.nb.tables import DefaultModel

ENDED = ("completed", "failed")


class Sources:
    """The sources of a service; every answer is held to the service's own description."""

    def __init__(self, box: Sandbox) -> None:
        self.api = nb_service.Kit.api(box)
        self.folder = box.data_dir / "nb"
        self.close = self.api.session.close
        self._database = box.data_dir / "sandbox.sqlite"

    def text(self, text: str = "Some text.", **more: Any) -> dict[str, Any]:
        """A text that is processed at once."""
        body = {"text": text, "process_async": False, **more}
        return self.api.told("POST", "sources", json=body)

    def link(self, url: str, **more: Any) -> dict[str, Any]:
        """A page that is processed at once."""
        body = {"url": url, "process_async": False, **more}
        return self.api.told("POST", "sources", json=body)

    def file(self, content: bytes, name: str = "notes.txt", **fields: str) -> dict[str, Any]:
        """A file that is processed at once."""
        response = self.send(content, name, **({"process_async": "false"} | fields))
        assert response.status_code == 200, response.text
        return response.json()

    def send(self, content: Any, name: str = "notes.txt", **fields: str) -> requests.Response:
        files = {"file": (name, content)}
        return self.api.ask("POST", "sources", files=files, data=fields)

    def one(self, identifier: str) -> dict[str, Any]:
        return self.api.told("GET", f"sources/{identifier}")

    def status(self, identifier: str) -> dict[str, Any]:
        return self.api.told("GET", f"sources/{identifier}/status")

    def listed(self, **query: Any) -> list[dict[str, Any]]:
        return self.api.told("GET", "sources", params=query)

    def until(self, identifier: str, *wanted: str, seconds: float = 60) -> dict[str, Any]:
        """Its status, once it is one of these; by default once it has ended."""
        deadline = time.monotonic() + seconds
        while (found := self.status(identifier))["status"] not in (wanted or ENDED):
            assert time.monotonic() < deadline, f"not in time: {found}"
            time.sleep(0.02)
        return found

    def files(self) -> set[str]:
        """What is on the disk: originals, and uploads that are coming in."""
        return {
            f"{name}/{entry.name}"
            for name in ("originals", "incoming")
            for entry in (self.folder / name).iterdir()
        }

    @contextmanager
    def back(self) -> Iterator[Session]:
        """The service's tables, as whoever runs it has them."""
        database = Database.at(self._database)
        try:
            with database.write() as session:
                yield session
        finally:
            database.close()

    @contextmanager
    def private(self) -> Iterator[None]:
        """Let pages of this machine be fetched."""
        self.allow("yes")
        try:
            yield
        finally:
            self.allow(None)

    @contextmanager
    def limit(self, name: str, value: int) -> Iterator[None]:
        """Another value for one of the service's limits."""
        with self.back() as session:
            LIMITS.change(session, name, value)
        try:
            yield
        finally:
            with self.back() as session:
                LIMITS.change(session, name, None)

    def allow(self, value: str | None) -> None:
        with self.back() as session:
            settings.set_setting(session, settings.PRIVATE_FETCHES, value)

    def embed_by(self, model: str | None) -> None:
        """Set the embedding model, or none: sources are processed faster so."""
        with self.back() as session:
            found = session.get(DefaultModel, "embedding")
            if model is not None:
                session.merge(DefaultModel(slot="embedding", model_id=model))
            elif found is not None:
                session.delete(found)


class Site(ThreadingHTTPServer):
    """A web server of one page, which waits until it is let go."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/induction.html"
        self.status = 200
        self.body = b"<title>Induction</title><p>Cells were induced with arabinose.</p>"
        self.asked = threading.Semaphore(0)
        self.go = threading.Event()
        self.go.set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asked was killed."""


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.release()
        self.server.go.wait(60)
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    yield served
    served.go.set()
    served.shutdown()
    served.server_close()


@pytest.fixture(scope="session")
def services() -> list[str]:
    return [nb_service.SERVICE]


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox with the notebook service alone."""
    folder = tmp_path_factory.mktemp("nb") / "data"
    sandbox = Sandbox(folder, rate="off", workers=2, services=[nb_service.SERVICE])
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="session")
def sources(box: Sandbox) -> Iterator[Sources]:
    """Without an embedding model."""
    found = Sources(box)
    found.embed_by(None)
    yield found
    found.close()


@pytest.fixture
def sources_of() -> Iterator[Callable[[Sandbox], Sources]]:
    """The sources of another sandbox."""
    with ExitStack() as made:

        def sources_of(box: Sandbox) -> Sources:
            found = Sources(box)
            made.callback(found.close)
            return found

        yield sources_of


@pytest.fixture(scope="session")
def sentence() -> Callable[..., str]:
    """The one sentence of a refusal."""
    return nb_service.sentence
