"""Redirects never send a secret to another origin."""

from __future__ import annotations

import io
import itertools
import ssl
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3.util.connection

from labext.errors import LabextError, OutcomeUnknownError, ResponseLimitError, ServiceError
from labext.http import HttpClient, Operation, RetryMode
from labext.http.auth import ApiKeyAuth, BearerAuth
from labext.http.connection_pool import ResponseLimits
from labext.http.upload import MultipartForm
from labext.jobs import JobsClient
from labext.lab import ApiKey, ClientCredentials, LabClient
from labext.lab.auth.id_token import ProviderSignIn
from labext.nb import NotebookClient

pytestmark = pytest.mark.faults

SECRET = "swordfish-0123456789"
WIRE_FORMS = (SECRET.encode(), b64encode(f"{SECRET}:".encode()), b64encode(SECRET.encode()))

GET = Operation("list", "GET", "list", RetryMode.ALWAYS)
POST = Operation("submit", "POST", "submit", RetryMode.UNSENT)
PUT = Operation("upload", "PUT", "upload/a", RetryMode.ALWAYS)
DELETE = Operation("delete", "DELETE", "delete", RetryMode.DELETE)

STATUSES = (301, 302, 303, 307, 308)

LOCATIONS = {
    "backslash": "{scheme}://{foreign}\\@{own}/s",
    "backslash before a dot": "{scheme}://{foreign}\\.{own}/s",
    "backslashes for slashes": "\\\\{foreign}\\s",
    "slash and backslash": "/\\{foreign}/s",
    "userinfo": "{scheme}://{own}@{foreign}/s",
    "userinfo of its own": "{scheme}://user:password@{own}/s",
    "encoded at sign": "{scheme}://{own}%40{foreign}/s",
    "query before the at sign": "{scheme}://{foreign}?@{own}/s",
    "fragment before the at sign": "{scheme}://{foreign}#@{own}/s",
    "tab": "{scheme}:/\t/{foreign}/s",
    "newline": "{scheme}://{foreign}\r\n /s",
    "escape character": "{scheme}://{foreign}/\x1b[31m",
    "no-break space": "{scheme}://{foreign}\xa0@{own}/s",
    "bytes that are no UTF-8": "{scheme}://\xff{foreign}/s",
    "trailing dot": "{scheme}://localhost.:{port}/s",
    "default port": "{scheme}://127.0.0.1/s",
    "port 0": "{scheme}://127.0.0.1:0/s",
    "no port": "{scheme}://127.0.0.1:port/s",
    "IPv6": "{scheme}://[::1]:{port}/s",
    "IPv4 in IPv6": "{scheme}://[::ffff:127.0.0.1]:{port}/s",
    "open bracket": "{scheme}://[",
    "decimal address": "{scheme}://2130706433:{port}/s",
    "short address": "{scheme}://127.1:{port}/s",
    "upper case": "{SCHEME}://LOCALHOST:{port}/s",
    "scheme-relative": "//{foreign}/s",
    "three slashes": "{scheme}:///{foreign}/s",
    "four slashes": "////{foreign}/s",
    "one slash": "{scheme}:/{foreign}/s",
    "no slashes": "{scheme}:{foreign}/s",
    "IDN": "{scheme}://b\u00fccher.localhost:{port}/s",
    "letters in circles": "{scheme}://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3:{port}/s",
    "fullwidth solidus": "{scheme}://{own}\uff0f@{foreign}/s",
    "other scheme": "ftp://{foreign}/s",
    "file": "file:///etc/passwd",
    "script": "javascript:alert(1)",
    "nothing": "",
}


class Case:
    """A request with a secret.

    Args:
        send: sends the request to a service address.
        tls: the service uses HTTPS.
        away: a GET that may follow a redirect to another origin, without the secret.
    """

    def __init__(
        self, send: Callable[[str, str, Path], Any], *, tls: bool = False, away: bool = False
    ) -> None:
        self.send, self.tls, self.away = send, tls, away


def transport(url: str) -> HttpClient:
    auth = ApiKeyAuth(SECRET)
    return HttpClient(url, auth=auth, rate=None, timeout=(1, 5), attempts=1, service="job service")


def stream(url: str, operation: Operation) -> None:
    with (
        HttpClient(url, auth=BearerAuth(SECRET), rate=None, attempts=1) as nb,
        nb.stream(operation) as response,
    ):
        response.raw.read(100)


def app(url: str, ca: str) -> LabClient:
    return LabClient(url, ClientCredentials("app", SECRET), rate=None, verify=ca)


CASES = {
    "jobs list": Case(lambda url, ca, to: JobsClient(url, SECRET, rate=None).jobs()),
    "jobs POST": Case(lambda url, ca, to: transport(url).send(POST, json={"a": SECRET})),
    "jobs PUT": Case(
        lambda url, ca, to: transport(url).send(PUT, content=lambda: io.BytesIO(SECRET.encode()))
    ),
    "jobs DELETE": Case(lambda url, ca, to: transport(url).send(DELETE)),
    "jobs download": Case(
        lambda url, ca, to: transport(url).download(f"{url}f?signature={SECRET}", to / "f"),
        away=True,
    ),
    "jobs presigned upload": Case(
        lambda url, ca, to: (
            transport(url)
            .store()
            .put(f"{url}f?signature={SECRET}", "f", lambda: io.BytesIO(SECRET.encode()))
        )
    ),
    "jobs presigned HEAD": Case(
        lambda url, ca, to: transport(url).store().headers(f"{url}f?signature={SECRET}", "f")
    ),
    "lab list": Case(
        lambda url, ca, to: LabClient(url, ApiKey(SECRET), rate=None, verify=ca).sequences(),
        tls=True,
    ),
    "lab token endpoint": Case(lambda url, ca, to: app(url, ca).whoami(), tls=True),
    "nb list": Case(
        lambda url, ca, to: NotebookClient(url, SECRET, rate=None, backend="contract").status()
    ),
    "nb kind of server": Case(
        lambda url, ca, to: NotebookClient(url, SECRET, rate=None).notebooks.list()
    ),
    "nb stream by POST": Case(lambda url, ca, to: stream(url, POST)),
    "nb stream by GET": Case(lambda url, ca, to: stream(url, GET), away=True),
    "nb download": Case(
        lambda url, ca, to: HttpClient(url, auth=BearerAuth(SECRET), rate=None).fetch(
            GET, to / "f"
        ),
        away=True,
    ),
    "nb form": Case(
        lambda url, ca, to: transport(url).send(
            POST, content=(form := MultipartForm([("key", SECRET)])).open, headers=form.headers
        )
    ),
}


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Record the hosts and ports of all connections."""
    addresses: list[tuple[str, int]] = []
    connect = urllib3.util.connection.create_connection

    def recorded(address: tuple[str, int], *args: Any, **options: Any) -> Any:
        addresses.append(address)
        return connect(address, *args, **options)

    monkeypatch.setattr(urllib3.util.connection, "create_connection", recorded)
    return addresses


def redirect(status: int, location: str) -> Any:
    """Return a redirect whose Location is sent as UTF-8, or as raw bytes if it contains \\xff."""
    raw = location.encode("latin-1") if location.isascii() or "\xff" in location else None
    value = raw if raw is not None else location.encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nLocation: ".encode()

    def act(connection: Any, request: Any) -> bool:
        connection.sendall(head + value + b"\r\n\r\n")
        return True

    return act


def check(case: Case, send: Callable[[], Any], own: Any, foreign: Any, connected: Any) -> None:
    output = ""
    try:
        send()
    except LabextError as error:
        output = str(error)
    assert output or case.away
    assert SECRET not in output
    for request in foreign.received:
        sent = repr((request.path, request.headers, request.body)).encode()
        assert not any(form in sent for form in WIRE_FORMS), sent
    if not case.away:
        assert foreign.accepted == 0
        assert {port for _, port in connected} <= {own.port}
        assert {host for host, _ in connected} <= {"127.0.0.1"}


def redirects(own: Any, foreign: Any) -> list[Any]:
    """Return a redirect to each location, with the statuses in turn, and one of each status."""
    scheme = "https" if own.tls else "http"
    names = {
        "scheme": scheme,
        "SCHEME": scheme.upper(),
        "own": f"127.0.0.1:{own.port}",
        "foreign": f"localhost:{foreign.port}",
        "port": foreign.port,
    }
    pairs = [
        *zip(itertools.cycle(STATUSES), LOCATIONS.values(), strict=False),
        *((status, "{scheme}://{foreign}/s") for status in STATUSES),
    ]
    return [redirect(status, location.format(**names)) for status, location in pairs]


@pytest.mark.parametrize("name", CASES)
def test_redirect_never_sends_a_secret_to_another_origin(
    name: str, faulty: Any, authority: Any, connected: Any, fast_retries: None, tmp_path: Path
) -> None:
    case = CASES[name]
    context, ca = authority
    tls = context if case.tls else None
    own, foreign = faulty(faulty.silence, tls=tls), faulty(faulty.answer({}), tls=tls)
    for redirected in redirects(own, foreign):
        own.acts = (redirected,)
        own.received.clear()
        check(case, lambda: case.send(own.url, ca, tmp_path), own, foreign, connected)
        assert own.received, "the request was never sent"


@pytest.mark.parametrize("step", ["discovery", "token endpoint"])
def test_redirect_never_sends_an_openid_password_to_another_origin(
    step: str, faulty: Any, authority: Any, connected: Any, fast_retries: None
) -> None:
    context, ca = authority
    own, foreign = faulty(faulty.silence, tls=context), faulty(faulty.answer({}), tls=context)
    issuer = f"https://127.0.0.1:{own.port}"
    document = faulty.answer({"issuer": issuer, "token_endpoint": f"{issuer}/token"})
    sign_in = ProviderSignIn(
        f"{issuer}/.well-known/openid-configuration", "labext", "ada@lab.example", SECRET, verify=ca
    )
    for redirected in redirects(own, foreign):
        own.acts = (redirected,) if step == "discovery" else (document, redirected)
        own.received.clear()
        check(Case(lambda *_: None), sign_in, own, foreign, connected)


@pytest.mark.parametrize(
    "location",
    [
        "/api/elsewhere",
        "elsewhere",
        "//127.0.0.1:{port}/api/elsewhere",
        "HTTP://127.0.0.1:{port}/api/elsewhere",
        "http://127.0.0.1:{port}/api/el\u00e4ewhere",
        "/api/@elsewhere",
    ],
)
def test_redirect_within_the_origin_keeps_the_key(location: str, faulty: Any) -> None:
    server = faulty(faulty.silence)
    server.acts = (redirect(307, location.format(port=server.port)), faulty.answer({}))
    transport(server.url).send(GET)
    assert server.received[1].headers["x-api-key"] == SECRET
    assert server.received[1].path.isascii()


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("ftp://127.0.0.1/s", "invalid or unsafe address"),
        ("http://other.example/s", r"to another address \(http://other.example:80\)"),
        ("http://[", "invalid or unsafe address"),
    ],
)
def test_refused_redirect_states_the_reason(location: str, words: str, faulty: Any) -> None:
    server = faulty(redirect(302, location))
    with pytest.raises(ServiceError, match=words) as caught:
        transport(server.url).send(GET)
    assert "HTTPS" not in str(caught.value)


def test_redirect_without_a_location_is_an_error(faulty: Any) -> None:
    server = faulty(faulty.answer(b"", 302))
    with pytest.raises(ServiceError, match="invalid or unsafe address"):
        transport(server.url).send(DELETE)


@pytest.mark.parametrize("status", [101, 102, 103])
def test_interim_response_is_an_error(status: int, faulty: Any, fast_retries: None) -> None:
    server = faulty(faulty.raw(f"HTTP/1.1 {status} X\r\n\r\n".encode()))
    with pytest.raises(ServiceError, match="interim response"):
        transport(server.url).store().put(f"{server.url}f", "f", lambda: io.BytesIO(b"a"))
    with pytest.raises(OutcomeUnknownError, match="interim response"):
        transport(server.url).send(POST)


@pytest.mark.parametrize(
    "address",
    [
        "http://[",
        "http://a\\@b/",
        "ftp://a/b",
        "httpx://a/b",
        "file:///f",
        "http:///f",
        "f",
        "http://a:99999/",
        "\t",
    ],
)
def test_invalid_presigned_address_is_a_service_error(address: str, tmp_path: Path) -> None:
    service = transport("http://127.0.0.1:1/")
    for act in (
        lambda: service.download(address, tmp_path / "f"),
        lambda: service.store().put(address, "f", io.BytesIO),
        lambda: service.store().headers(address, "f"),
    ):
        with pytest.raises(ServiceError, match="gave an invalid address for a file"):
            act()


def test_redirect_from_https_to_https_is_followed(
    faulty: Any, authority: tuple[ssl.SSLContext, str]
) -> None:
    context, bundle = authority
    server = faulty(
        faulty.answer(b"", 307, Location="/api/elsewhere"), faulty.answer("ok"), tls=context
    )
    auth = ApiKeyAuth(SECRET)
    with HttpClient(server.url, auth=auth, rate=None, verify=bundle, attempts=1) as client:
        assert client.send(GET).content
    assert [request.headers["x-api-key"] for request in server.received] == [SECRET, SECRET]


def test_time_limit_applies_over_https(faulty: Any, authority: tuple[ssl.SSLContext, str]) -> None:
    context, bundle = authority
    server = faulty(faulty.stall_within, tls=context)
    limits = ResponseLimits(seconds=0.05)
    options: dict[str, Any] = {"verify": bundle, "timeout": (1, 5), "limits": limits}
    with (
        HttpClient(server.url, auth=None, rate=None, attempts=1, **options) as client,
        pytest.raises(ResponseLimitError, match=r"more than 0\.05 s"),
    ):
        client.send(GET)
