"""Hostile servers cause typed errors within bounds of time and size, without secrets.

Every mode is tried on every client. Event streams have no time limit, since a model may be slow:
they end after a read timeout or at a size.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faulty_server import Faults

from labext.errors import InputError, LabextError, UnreachableError
from labext.http import HttpClient, Operation, RetryMode
from labext.http.auth import ApiKeyAuth, BearerAuth
from labext.http.connection_pool import MIB, ResponseLimits
from labext.jobs import JobsClient
from labext.lab import ApiKey, ClientCredentials, LabClient
from labext.lab.auth.id_token import ProviderSignIn
from labext.nb import NotebookClient
from labext.nb.backends import Request, RequestExecutor

pytestmark = pytest.mark.faults

SECRET = "swordfish-0123456789"
LIMITS = ResponseLimits(size=2 * MIB, seconds=0.1)
MOST_SECONDS = 20.0
"""An upper bound for each request; most take about a second."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

Act = Callable[[socket.socket, Any], bool]


def endless(start: bytes, piece: bytes, pause: float = 0.0) -> Act:
    """Send `start`, then repeat `piece` until the client disconnects."""

    def act(connection: socket.socket, request: Any) -> bool:
        connection.sendall(start)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return act


def body(content: bytes, *headers: str, status: int = 200) -> Act:
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", *headers]
    lines.append(f"Content-Length: {len(content)}")
    return Faults.raw("\r\n".join([*lines, "", ""]).encode("latin-1") + content)


def pages(cursor: Callable[[int], str], names: Callable[[int], list[str]]) -> Act:
    """Return a page of a list in the format of each service; that of nb has no cursor."""
    counter = itertools.count(1)

    def act(connection: socket.socket, request: Any) -> bool:
        number = next(counter)
        if "dna-sequences" in request.path:
            rows: Any = [{"id": name, "name": name} for name in names(number)]
            answer: Any = {"dnaSequences": rows, "nextToken": cursor(number)}
        elif "sources" in request.path:
            answer = [{"id": name, "title": name} for name in names(number)]
        else:
            rows = [
                {"JobName": name, "Type": "t", "JobStatus": "Complete"} for name in names(number)
            ]
            answer = {"jobs": rows, "startKey": cursor(number), "statuses": {}}
        content = json.dumps(answer).encode()
        head = HEAD + f"Content-Length: {len(content)}\r\n\r\n".encode()
        connection.sendall(head + content)
        return True

    return act


def bomb(size: int) -> bytes:
    """Return spaces as gzip, of which each MiB is compressed alike; without a valid checksum."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, block = (packer.compress(b" " * MIB) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + block * (size // MIB - 1) + packer.flush()


BOMB = bomb(256 * MIB)
FREE_HEADERS = (
    *("Retry-After", "Content-Type", "Set-Cookie", "ETag", "X-Rate-Limit-Reset"),
    *("X-Rate-Limit-Remaining", "WWW-Authenticate", "Date", "Content-Range", "Last-Modified"),
)
"""Headers that do not affect how the body is read."""

JUNK = "\x00\xff\x7f\"';,= 99999999999999999999999999 \u00e4"

WRONG = [
    *(None, 1, 1.5e300, True, "text", [], {}, [None], [[]], [1], ["a"], [{}]),
    *({"jobs": None}, {"jobs": 1}, {"jobs": "a"}, {"jobs": {}}, {"jobs": [1]}, {"jobs": [{}]}),
    {"jobs": [{"JobName": [], "Type": {}, "JobStatus": 7, "Created": {}, "Settings": 1}]},
    {"jobs": [{"JobName": "a", "Created": "yesterday", "WeightedHours": "many", "Score": "{"}]},
    {"jobs": [], "startKey": {"a": 1}, "statuses": 3},
    {"jobs": [], "startKey": 7, "statuses": {"Complete": "many"}},
    *({"dnaSequences": None}, {"dnaSequences": [1]}, {"dnaSequences": [{}]}),
    {"dnaSequences": [{"id": 1, "name": [], "bases": {}, "length": "long", "createdAt": 5}]},
    {"dnaSequences": [{"id": "a", "annotations": 3, "fields": 7, "creator": []}]},
    {"dnaSequences": [], "nextToken": ["a"]},
    [{"id": 1, "title": [], "created": {}, "status": 5, "topics": 7, "asset": "x"}],
    [{"id": "source:1", "title": None, "created": "yesterday", "embedded_chunks": "many"}],
    [{"id": {"a": 1}}, {"id": "source:1"}],
    *({"access_token": 1}, {"access_token": "t", "expires_in": "soon"}, {"id_token": []}),
    *({"token_endpoint": 5}, {"token_endpoint": "https://other.example/token"}),
]

MODES: dict[str, list[Act]] = {
    "endless redirects": [
        body(b"", "Location: /api/next", status=status) for status in (302, 307)
    ],
    "redirect with an endless body": [
        endless(CHUNKED.replace(b"200 OK", b"302 X\r\nLocation: /a"), b"1\r\na\r\n")
    ],
    "gzip bomb": [body(BOMB, "Content-Encoding: gzip")],
    "gzip bomb in gzip": [body(gzip.compress(BOMB), "Content-Encoding: gzip, gzip")],
    "gzip bomb as an error": [
        body(BOMB, "Content-Encoding: gzip", status=status) for status in (400, 401, 404, 500)
    ],
    "endless body": [
        endless(HEAD + b"\r\n", b"[" * 65536),
        endless(CHUNKED, b"10000\r\n" + b"[" * 65536 + b"\r\n"),
    ],
    "endless error": [
        endless(b"HTTP/1.1 500 X\r\n\r\n", b"a" * 65536),
        endless(b"HTTP/1.1 400 X\r\n\r\n", b"a", 0.01),
    ],
    "huge Content-Length": [
        Faults.raw(HEAD + f"Content-Length: {10**15}\r\n\r\n".encode() + b"{}"),
        endless(HEAD + f"Content-Length: {10**15}\r\n\r\n".encode(), b" " * 65536),
    ],
    "body byte by byte": [
        endless(HEAD + b"Content-Length: 1000000\r\n\r\n", b" ", 0.01),
        endless(CHUNKED, b"1\r\n \r\n", 0.01),
        endless(CHUNKED + b"0", b"0", 0.01),
    ],
    "head byte by byte": [
        endless(b"HTTP/1.1 200 ", b"O", 0.01),
        endless(HEAD + b"X: ", b"a", 0.01),
    ],
    "endless head": [
        endless(HEAD, b"X: a\r\n"),
        endless(HEAD + b"X: ", b"a" * 65536),
    ],
    "endless trailers": [endless(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: a\r\n")],
    "1xx flood": [
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"),
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
    ],
    "endless cursors": [pages(lambda n: f"c{n}", lambda n: [f"a{n}", f"b{n}"])],
    "endless cursors, same rows": [pages(lambda n: f"c{n}", lambda n: ["a", "b"])],
    "endless cursors, no rows": [pages(lambda n: f"c{n}", lambda n: [])],
    "repeated cursor": [
        pages(lambda n: "again", lambda n: [f"a{n}"]),
        pages(lambda n: f"c{n % 3}", lambda n: [f"a{n}"]),
    ],
    "truncated body": [
        Faults.raw(HEAD + b'Content-Length: 100\r\n\r\n{"jobs": ['),
        Faults.raw(CHUNKED + b'20\r\n{"jobs": ['),
        Faults.raw(HEAD + b'\r\n{"jobs": ['),
    ],
    "invalid JSON": [
        body(content)
        for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'"\\ud800"', b"1e999", b"<html>")
    ],
    "wrong types": [body(json.dumps(value).encode()) for value in WRONG],
    "invalid headers": [
        *(Faults.raw(HEAD + f"Content-Length: {value}\r\n\r\n{{}}".encode("latin-1"))
          for value in ("abc", "-1", "1, 2", "9" * 5000, "")),
        *(body(b"{}", *(f"{name}: {value}" for name in FREE_HEADERS), status=status)
          for value, status in ((JUNK, 200), (JUNK, 206), (JUNK, 401), (JUNK, 429),
                                ("9" * 5000, 429), ("Fri, 31 Dec 9999 23:59:59 -9999", 429))),
        *(body(b"{}", f"{name}: {JUNK}", status=status)
          for name, status in (("Content-Encoding", 200), ("Content-Encoding", 401),
                               ("Transfer-Encoding", 200), ("Connection", 200))),
        Faults.raw(b"HTTP/1.1 200 OK\r\nnonsense\r\n: a\r\n\r\n{}"),
    ],
    "no HTTP": [
        Faults.raw(text)
        for text in (b"", b"\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n",
                     b"HTTP/1.1 -1 X\r\n\r\n", b"HTTP/1.1 99999 X\r\n\r\n", b"SSH-2.0\r\n" * 9)
    ],
}  # fmt: skip

READ = Operation("read", "GET", "read", RetryMode.ALWAYS, answer="json")
WRITE = Operation("write", "POST", "write", RetryMode.UNSENT, answer="json")


def transport(url: str, **options: Any) -> HttpClient:
    settings: dict[str, Any] = {"auth": ApiKeyAuth(SECRET), "service": "job service"}
    return HttpClient(url, rate=None, limits=LIMITS, timeout=(2, 2), **(settings | options))


def events(url: str) -> list[Any]:
    wire = RequestExecutor(transport(url, auth=BearerAuth(SECRET), service="notebook service"))
    return list(wire.events(Request(WRITE, json={}), 2.0))


class Caller:
    """A request of one client; `tls` if it needs HTTPS."""

    def __init__(self, ask: Callable[[str, str, Path], Any], *, tls: bool = False) -> None:
        self.ask, self.tls = ask, tls


def lab(url: str, ca: str, auth: Any = None) -> LabClient:
    return LabClient(url, auth or ApiKey(SECRET), rate=None, verify=ca, limits=LIMITS)


CALLERS = {
    "jobs": Caller(lambda url, ca, to: JobsClient(url, SECRET, rate=None, limits=LIMITS).jobs()),
    "jobs, change": Caller(lambda url, ca, to: transport(url).send(WRITE, json={})),
    "jobs, download": Caller(lambda url, ca, to: transport(url).download(f"{url}f", to / "f")),
    "jobs, upload": Caller(
        lambda url, ca, to: transport(url).store().put(f"{url}f", "f", lambda: io.BytesIO(b"a"))
    ),
    "lab": Caller(lambda url, ca, to: lab(url, ca).sequences(), tls=True),
    "lab, token": Caller(
        lambda url, ca, to: lab(url, ca, ClientCredentials("app", SECRET)).whoami(), tls=True
    ),
    "lab, OpenID": Caller(
        lambda url, ca, to: ProviderSignIn(
            f"{url.removesuffix('/api/')}/.well-known/openid-configuration",
            *("labext", "ada@lab.example", SECRET),
            verify=ca,
        )(),
        tls=True,
    ),
    "nb": Caller(
        lambda url, ca, to: NotebookClient(
            url, SECRET, rate=None, backend="contract", limits=LIMITS
        ).sources.list()
    ),
    "nb, kind of server": Caller(
        lambda url, ca, to: NotebookClient(url, SECRET, rate=None, limits=LIMITS).notebooks.list()
    ),
    "nb, stream": Caller(lambda url, ca, to: events(url)),
}

CASES = [
    (mode, client)
    for mode in MODES
    for client in CALLERS
    # An event stream, having no time limit, would follow these forever.
    if client != "nb, stream" or mode not in ("body byte by byte", "endless trailers")
]


@pytest.fixture(autouse=True)
def small_bounds(fast_retries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make few attempts, and refuse what is less than megabytes large."""
    monkeypatch.setitem(HttpClient.__init__.__kwdefaults__, "attempts", 2)
    monkeypatch.setattr("labext.http.pagination.MAX_PAGES", 30)
    monkeypatch.setattr("labext.http.download._CHUNK_SECONDS", 0.1)
    monkeypatch.setattr("labext.http.download.MAX_UNDECLARED_SIZE", 8 * MIB)
    monkeypatch.setattr("labext.lab.auth.client_credentials.DOCUMENT", LIMITS)
    monkeypatch.setattr("labext.lab.auth.id_token.DOCUMENT", LIMITS)


def outcome_of(ask: Callable[[], Any]) -> LabextError | None:
    """Return the error of a call; anything but a LabextError is raised."""
    try:
        ask()
    except LabextError as error:
        return error
    return None


@pytest.mark.parametrize(("mode", "client"), CASES)
def test_hostile_server_causes_a_typed_error_without_secret(
    mode: str, client: str, faulty: Any, authority: Any, tmp_path: Path
) -> None:
    caller = CALLERS[client]
    context, ca = authority
    tls = context if caller.tls else None
    server = faulty(tls=tls)
    for number, act in enumerate(MODES[mode]):
        server.acts = (act,)
        server.received.clear()
        started_at = time.monotonic()
        failure = outcome_of(partial(caller.ask, server.url, ca, tmp_path / str(number)))
        assert time.monotonic() - started_at < MOST_SECONDS, number
        assert server.count <= 200, number
        if failure is not None:
            message = f"{failure.message} {failure.next_step}"
            assert failure.message, number
            assert failure.next_step, number
            assert "\n" not in message, number
            assert SECRET not in message, number


NEW_CLIENTS: dict[str, Callable[..., Any]] = {
    "jobs": lambda url, ca, timeout: JobsClient(url, SECRET, timeout=timeout).jobs(),
    "lab": lambda url, ca, timeout: LabClient(
        url, ApiKey(SECRET), verify=ca, timeout=timeout
    ).sequences(),
    "nb": lambda url, ca, timeout: NotebookClient(
        url, SECRET, backend="contract", timeout=timeout
    ).sources.list(),
}


@pytest.mark.parametrize("client", NEW_CLIENTS)
@pytest.mark.parametrize("timeout", [0.2, (5, 0.2)])
def test_silent_service_is_unreachable_after_the_timeout(
    client: str, timeout: Any, faulty: Any, authority: Any
) -> None:
    context, ca = authority
    server = faulty(faulty.stall, tls=context if client == "lab" else None)
    with pytest.raises(UnreachableError, match="the response timed out"):
        NEW_CLIENTS[client](server.url, ca, timeout)
    assert server.count == 2


@pytest.mark.parametrize("client", NEW_CLIENTS)
@pytest.mark.parametrize("timeout", [0, math.inf, (0, 5), (5, 0), (None, 5), (1, 2, 3), "5", None])
def test_timeout_is_a_positive_number_or_two_of_them(client: str, timeout: Any) -> None:
    with pytest.raises(InputError, match="is not a positive number of seconds"):
        NEW_CLIENTS[client]("https://127.0.0.1:1/api/", True, timeout)


MEASURED = """
import resource, sys
from labext.errors import ResponseLimitError
from labext.jobs import JobsClient
from labext.http.connection_pool import MIB, ResponseLimits

bound = int(sys.argv[2]) * MIB
client = JobsClient(sys.argv[1], "key", rate=None, limits=ResponseLimits(size=bound))
try:
    client.jobs()  # import everything before measuring
except ResponseLimitError as error:
    sys.exit(f"the small response was refused: {error}")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(3):
    try:
        client.jobs()
    except ResponseLimitError as error:
        continue
    sys.exit("the bomb was read")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_response_beyond_the_limit_uses_at_most_64_mib_more(faulty: Any) -> None:
    bound = 96
    server = faulty(
        faulty.answer({"jobs": [], "startKey": "", "statuses": {}}),
        body(BOMB, "Content-Encoding: gzip"),
        endless(CHUNKED, b"100000\r\n" + b" " * MIB + b"\r\n"),
        endless(HEAD + b"Content-Length: 999999999999\r\n\r\n", b" " * MIB),
    )
    command = [sys.executable, "-c", MEASURED, server.url, str(bound)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= bound + 64
