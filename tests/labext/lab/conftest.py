"""A lab platform on loopback (HTTPS) that records every request and fails by script.

It shares no code with the sandbox: it has the endpoints and response formats of the contract and of
real services that the client uses.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from local_http import QuietHandler, running

from labext.lab import ApiKey, ClientCredentials, LabClient

KEY = "key-of-the-test-0123456789"
APP, SECRET = "notebook-app", "secret-of-the-test-0123456789"


@dataclass
class Answer:
    """A scripted response."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"


@dataclass
class Received:
    """A received request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    form: dict[str, str]

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


class Tenant:
    """The platform: records, tokens, and every request in order."""

    reply = Answer

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.received: list[Received] = []
        self.lock = threading.RLock()
        # of the list
        self.filters: set[str] | None = None
        """The supported filters; None for all."""
        self.form: Callable[[list[Any], str], Any] = lambda rows, token: {
            "dnaSequences": rows,
            "nextToken": token,
        }
        self.largest = 100
        self.states_count = False
        self.scripts: dict[str, list[Answer | None]] = {}
        self.user: Any = {"name": "Ada", "email": "ada@lab.example", "handle": "ada"}
        # of the token endpoint
        self.wants = "form"
        self.answer: Callable[[str], Any] = lambda token: {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": 900,
        }
        self.good: set[str] = set()
        self.while_token: Callable[[], None] = lambda: None
        self.url = ""
        self.ca = ""

    # For the tests

    def add(self, count: int, **fields: Any) -> None:
        start = len(self.records)
        for n in range(start, start + count):
            self.records.append(
                {
                    "id": f"seq_{n:04d}",
                    "name": f"plasmid {n}",
                    "bases": "ACGT" * (n % 7),
                    "length": 4 * (n % 7),
                    "isCircular": n % 2 == 0,
                    "folderId": f"lib_{n % 3}",
                    "aliases": [],
                    "fields": {},
                    **fields,
                }
            )

    def fail(self, resource: str, *answers: Answer | None) -> None:
        """Script the next responses of a resource; None processes a request normally."""
        self.scripts.setdefault(resource, []).extend(answers)

    def count(self, resource: str) -> int:
        return sum(request.path == resource for request in self.received)

    def queries(self) -> list[dict[str, str]]:
        return [request.query for request in self.received if request.path == "dna-sequences"]

    def client(self, auth: Any = None, **options: Any) -> LabClient:
        settings: dict[str, Any] = {"rate": None, "verify": self.ca}
        return LabClient(self.url, auth or ApiKey(KEY), **(settings | options))

    def app(self, **options: Any) -> ClientCredentials:
        return ClientCredentials(APP, SECRET, **options)

    # Operations

    def act(self, request: Received) -> Answer:
        with self.lock:
            self.received.append(request)
            script = self.scripts.get(request.path)
            scripted = script.pop(0) if script else None
        if scripted is not None:
            return scripted
        if request.path == "token":
            return self._token(request)
        if not self._is_signed(request):
            return error(401, "The credentials are not valid.")
        if request.path == "users/me":
            return error(404, "Not found.") if self.user is None else Answer(body=self.user)
        if request.path == "dna-sequences":
            count = sum(self._passes(row, request.query) for row in self.records)
            headers = {"Result-Count": str(count)} if self.states_count else {}
            return Answer(body=self._list(request.query), headers=headers)
        return error(404, "Not found.")

    def _is_signed(self, request: Received) -> bool:
        basic = base64.b64encode(f"{KEY}:".encode()).decode()
        return request.headers.get("authorization") == f"Basic {basic}" or (
            request.token in self.good or request.token.startswith("eyJ")
        )

    def _token(self, request: Received) -> Answer:
        pair = base64.b64encode(f"{APP}:{SECRET}".encode()).decode()
        in_form = request.form.get("client_id") == APP and request.form["client_secret"] == SECRET
        as_basic = request.headers.get("authorization") == f"Basic {pair}"
        if request.form.get("grant_type") != "client_credentials":
            return Answer(400, {"error": "unsupported_grant_type"})
        if not (in_form if self.wants == "form" else as_basic):
            return Answer(401, {"error": "invalid_client"})
        self.while_token()
        with self.lock:
            token = f"token-{self.count('token')}-abcdefgh"
            self.good.add(token)
        return Answer(body=self.answer(token))

    def _list(self, query: dict[str, str]) -> Any:
        rows = [row for row in self.records if self._passes(row, query)]
        start, size = int(query.get("nextToken") or 0), int(query.get("pageSize", 50))
        end = start + min(size, self.largest)
        return self.form(
            self._returning(rows[start:end], query), str(end) if end < len(rows) else ""
        )

    def _passes(self, row: dict[str, Any], query: dict[str, str]) -> bool:
        def known(name: str) -> str | None:
            return query.get(name) if self.filters is None or name in self.filters else None

        ids, name, part, folder = map(known, ("ids", "name", "nameIncludes", "folderId"))
        return (
            (ids is None or row["id"] in ids.split(","))
            and (name is None or name.lower() in (row["name"].lower(), *row["aliases"]))
            and (part is None or part in row["name"])
            and (folder is None or folder == row["folderId"])
        )

    def _returning(self, rows: list[Any], query: dict[str, str]) -> list[Any]:
        if "returning" not in query:
            return rows
        names = [name.removeprefix("dnaSequences.") for name in query["returning"].split(",")]
        return [{name: row[name] for name in names if name in row} for row in rows]


def error(status: int, message: str) -> Answer:
    """Return an error in the format of the real service."""
    body = {"type": "invalid_request_error", "message": message, "userMessage": message}
    return Answer(status, {"error": body})


class Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body in one packet
    tenant: Tenant

    def _do(self) -> None:
        parts = urlsplit(self.path)
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        answer = self.tenant.act(
            Received(
                self.command,
                parts.path.removeprefix("/api/v2/"),
                {name: values[-1] for name, values in parse_qs(parts.query).items()},
                {name.lower(): value for name, value in self.headers.items()},
                dict(parse_qsl(sent)),
            )
        )
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _do


class Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore refused handshakes, which some tests cause."""


NewTenant = Callable[[], Tenant]


@pytest.fixture
def new_tenant(authority: tuple[ssl.SSLContext, str]) -> Iterator[NewTenant]:
    """Return a function that starts another tenant on its own port."""
    context, bundle = authority
    with contextlib.ExitStack() as servers:

        def make() -> Tenant:
            tenant = Tenant()
            server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"tenant": tenant}))
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
            servers.enter_context(running(server))
            tenant.url, tenant.ca = f"https://localhost:{server.server_port}", bundle
            return tenant

        yield make


@pytest.fixture
def tenant(new_tenant: NewTenant) -> Tenant:
    return new_tenant()


@pytest.fixture
def lab(tenant: Tenant) -> Iterator[LabClient]:
    """A client that signs in by key, without rate limit."""
    with tenant.client() as client:
        yield client
