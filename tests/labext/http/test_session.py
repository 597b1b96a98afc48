"""TLS, proxies, netrc and cookies of a session."""

from __future__ import annotations

import http.server
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from local_http import running

from labext.errors import ServiceError, SetupError
from labext.http import HttpClient, Operation, RetryMode
from labext.http.connection_pool import is_loopback, origin, proxies_for

READ = Operation("look", "GET", "look", RetryMode.ALWAYS)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    tls: ssl.SSLContext | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received_headers: list[dict[str, str]] = []

    def get_request(self) -> tuple[Any, Any]:
        connection, address = self.socket.accept()
        if self.tls:
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore refused handshakes, which some tests cause."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.server.received_headers.append(
            {name.lower(): value for name, value in self.headers.items()}
        )
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.send_header("Set-Cookie", "session=1; Path=/")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        """Keep the test output clean."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with running(server):
        yield server


def use_tls(server: Server, folder: Path, *names: str) -> str:
    """Let the server use TLS with a certificate for these names; return the CA bundle."""
    ca = trustme.CA()
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names).configure_cert(server.tls)
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    return str(folder / "ca.pem")


@pytest.fixture
def ca_bundle(server: Server, tmp_path: Path) -> str:
    return use_tls(server, tmp_path, "localhost", "127.0.0.1")


def ask(url: str, **options: Any) -> str:
    settings: dict[str, Any] = {"auth": None, "rate": None, "attempts": 1, "timeout": (2, 2)}
    with HttpClient(url, **(settings | options)) as transport:
        return transport.send(READ).text()


def test_ca_bundle_makes_a_service_trusted(server: Server, ca_bundle: str) -> None:
    url = f"https://localhost:{server.server_port}/"
    assert ask(url, verify=ca_bundle) == "ok"
    with pytest.raises(SetupError, match="is not trusted") as caught:
        ask(url)
    assert "ca_bundle" in caught.value.next_step
    assert len(server.received_headers) == 1


def test_certificate_for_another_host_is_not_trusted(server: Server, tmp_path: Path) -> None:
    bundle = use_tls(server, tmp_path, "elsewhere.example")
    with pytest.raises(SetupError, match="is not trusted"):
        ask(f"https://127.0.0.1:{server.server_port}/", verify=bundle)


def test_https_to_a_plain_http_server_is_an_error(server: Server) -> None:
    with pytest.raises((SetupError, ServiceError)) as caught:
        ask(f"https://127.0.0.1:{server.server_port}/")
    assert caught.value.next_step


def test_ca_bundle_argument_overrides_the_environment(
    server: Server, ca_bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "other.pem"))
    assert ask(f"https://localhost:{server.server_port}/", verify=ca_bundle) == "ok"


def test_ca_bundle_of_the_environment_is_the_default(
    server: Server, ca_bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", ca_bundle)
    assert ask(f"https://localhost:{server.server_port}/") == "ok"


def test_missing_ca_bundle_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no CA bundle"):
        ask("https://localhost:1/", verify=str(tmp_path / "none.pem"))


def test_loopback_requests_bypass_proxies(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask(f"http://127.0.0.1:{server.server_port}/") == "ok"
    assert proxies_for("http://localhost:1/") == {}
    assert proxies_for("https://jobs.example/")["https"] == "http://127.0.0.1:9"
    monkeypatch.setenv("no_proxy", "jobs.example")
    assert proxies_for("https://jobs.example/") == {}


def test_netrc_is_ignored(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ada password lovelace\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    ask(f"http://127.0.0.1:{server.server_port}/")
    assert "authorization" not in server.received_headers[0]


def test_cookies_are_not_stored(server: Server) -> None:
    url = f"http://127.0.0.1:{server.server_port}/"
    with HttpClient(url, auth=None, rate=None) as transport:
        transport.send(READ)
        transport.send(READ)
    assert all("cookie" not in headers for headers in server.received_headers)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1/", True),
        ("http://127.1.2.3/", True),
        ("http://[::1]:1/", True),
        ("http://localhost/", True),
        ("http://jobs.localhost/", True),
        ("http://localhost.example/", False),
        ("http://10.0.0.1/", False),
        ("http:///", False),
    ],
)
def test_is_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("https://H.example/a", "https://h.example:443/b?c", True),
        ("http://h.example/", "HTTP://H.example:80/", True),
        ("https://h.example/", "http://h.example/", False),
        ("https://h.example/", "https://h.example:8443/", False),
        ("https://h.example/", "https://h.example.:443/", False),
    ],
)
def test_origin_is_scheme_host_and_port(url: str, other: str, same: bool) -> None:
    assert (origin(url) == origin(other)) is same
