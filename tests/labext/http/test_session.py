"""The session is the same wherever it runs: TLS, proxies, netrc, cookies."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from labext.errors import ServiceError, SetupError
from labext.http import HttpClient, Operation, RetryMode
from labext.http.connection_pool import is_loopback, origin, proxies_for

READ = Operation("look", "GET", "look", RetryMode.ALWAYS)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    tls: ssl.SSLContext | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[dict[str, str]] = []

    def get_request(self) -> tuple[Any, Any]:
        connection, address = self.socket.accept()
        if self.tls:
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A refused handshake is what some tests are about."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.send_header("Set-Cookie", "session=1; Path=/")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,))
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(10)


@pytest.fixture
def authority(server: Server, tmp_path: Path) -> str:
    made = trustme.CA()
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.issue_cert("localhost", "127.0.0.1").configure_cert(server.tls)
    made.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return str(tmp_path / "ca.pem")


def ask(url: str, **options: Any) -> str:
    settings: dict[str, Any] = {"auth": None, "rate": None, "attempts": 1, "timeout": (2, 2)}
    with HttpClient(url, **(settings | options)) as transport:
        return transport.send(READ).text()


def test_a_ca_bundle_makes_a_service_trusted(server: Server, authority: str) -> None:
    url = f"https://localhost:{server.server_port}/"
    assert ask(url, verify=authority) == "ok"
    with pytest.raises(SetupError, match="is not trusted") as caught:
        ask(url)
    assert "ca_bundle" in caught.value.next_step
    assert len(server.seen) == 1


def test_a_certificate_for_another_host_is_not_trusted(server: Server, tmp_path: Path) -> None:
    other = trustme.CA()
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    other.issue_cert("elsewhere.example").configure_cert(server.tls)
    other.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with pytest.raises(SetupError, match="is not trusted"):
        ask(f"https://127.0.0.1:{server.server_port}/", verify=str(tmp_path / "ca.pem"))


def test_https_where_none_is_spoken_is_told(server: Server) -> None:
    with pytest.raises((SetupError, ServiceError)) as caught:
        ask(f"https://127.0.0.1:{server.server_port}/")
    assert caught.value.next_step


def test_the_environment_does_not_replace_a_given_ca_bundle(
    server: Server, authority: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "other.pem"))
    assert ask(f"https://localhost:{server.server_port}/", verify=authority) == "ok"


def test_the_environment_s_ca_bundle_is_used_where_none_is_given(
    server: Server, authority: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", authority)
    assert ask(f"https://localhost:{server.server_port}/") == "ok"


def test_a_ca_bundle_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no CA bundle"):
        ask("https://localhost:1/", verify=str(tmp_path / "none.pem"))


def test_a_proxy_never_comes_between_this_machine_and_itself(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask(f"http://127.0.0.1:{server.server_port}/") == "ok"
    assert proxies_for("http://localhost:1/") == {}
    assert proxies_for("https://jobs.example/")["https"] == "http://127.0.0.1:9"
    monkeypatch.setenv("no_proxy", "jobs.example")
    assert proxies_for("https://jobs.example/") == {}


def test_netrc_adds_no_password(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ada password lovelace\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    ask(f"http://127.0.0.1:{server.server_port}/")
    assert "authorization" not in server.seen[0]


def test_no_cookie_is_kept(server: Server) -> None:
    url = f"http://127.0.0.1:{server.server_port}/"
    with HttpClient(url, auth=None, rate=None) as transport:
        transport.send(READ)
        transport.send(READ)
    assert all("cookie" not in headers for headers in server.seen)


@pytest.mark.parametrize(
    ("url", "here"),
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
def test_loopback_is_told_from_the_rest(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_an_origin_is_scheme_host_and_port() -> None:
    assert origin("https://H.example/a") == origin("https://h.example:443/b?c")
    assert origin("https://h.example/") != origin("http://h.example/")
    assert origin("https://h.example/") != origin("https://h.example:8443/")
