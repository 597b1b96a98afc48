"""TLS, proxies, netrc and cookies of a session; limits of responses; multipart forms."""

from __future__ import annotations

import io
import socket
import ssl
import sys
import time
from datetime import datetime
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest
import requests
import trustme
import urllib3
from hypothesis import given
from hypothesis import strategies as st
from local_http import QuietHandler, serve

from labext.config.profiles import origin
from labext.errors import InputError, ResponseLimitError, SetupError, UnreachableError
from labext.http import HttpClient, Operation, RetryMode
from labext.http.connection_pool import (
    MIB,
    Deadline,
    ResponseLimits,
    ResponseTooLarge,
    ResponseTooSlow,
    SessionPool,
    is_loopback,
    new_session,
    proxies_for,
    read_body,
)
from labext.http.pagination import MAX_EMPTY, MAX_REPEATED, PageGuard
from labext.http.responses import Response, parse_json
from labext.http.upload import MultipartForm

READ = Operation("look", "GET", "look", RetryMode.ALWAYS)


@pytest.fixture
def server(faulty: Any) -> Any:
    return faulty(faulty.answer("ok", Set_Cookie="session=1; Path=/"))


def use_tls(server: Any, folder: Path, *names: str) -> str:
    """Let the server use TLS with a certificate for these names; return the CA bundle."""
    ca = trustme.CA()
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names).configure_cert(server.tls)
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    return str(folder / "ca.pem")


@pytest.fixture
def ca_bundle(server: Any, tmp_path: Path) -> str:
    return use_tls(server, tmp_path, "localhost", "127.0.0.1")


def ask(url: str, **options: Any) -> str:
    settings: dict[str, Any] = {"auth": None, "rate": None, "attempts": 1, "timeout": (2, 2)}
    with HttpClient(url, **(settings | options)) as transport:
        return transport.send(READ).text()


def test_ca_bundle_makes_a_service_trusted(server: Any, ca_bundle: str) -> None:
    url = f"https://localhost:{server.port}/"
    assert ask(url, verify=ca_bundle) == "ok"
    with pytest.raises(SetupError, match="is not trusted") as caught:
        ask(url)
    assert "ca_bundle" in caught.value.next_step
    assert server.count == 1


def test_certificate_for_another_host_is_not_trusted(server: Any, tmp_path: Path) -> None:
    bundle = use_tls(server, tmp_path, "elsewhere.example")
    with pytest.raises(SetupError, match="is not trusted"):
        ask(f"https://127.0.0.1:{server.port}/", verify=bundle)


@pytest.mark.parametrize(("first", "last"), [(2020, 2021), (2090, 2091)])
def test_certificate_out_of_date_is_not_blamed_on_the_authority(
    first: int, last: int, server: Any, ca_bundle: str, tmp_path: Path
) -> None:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    days = {"not_before": datetime(first, 1, 1), "not_after": datetime(last, 1, 1)}
    ca.issue_cert("localhost", **days).configure_cert(server.tls)
    with pytest.raises(SetupError, match="is not trusted") as caught:
        ask(f"https://localhost:{server.port}/", verify=ca_bundle)
    assert "date" in caught.value.next_step
    assert "bundle" not in caught.value.next_step


def test_tls_connection_closed_in_the_handshake_is_unreachable(faulty: Any) -> None:
    class Closing:
        def wrap_socket(self, connection: Any, **_: Any) -> Any:
            connection.recv(100)
            raise OSError

    server = faulty(faulty.answer("never"), tls=Closing())
    with pytest.raises(UnreachableError, match="interrupted") as caught:
        ask(server.url, attempts=1)
    assert caught.value.next_step.startswith("Try again")


def test_https_to_a_plain_http_server_is_an_error() -> None:
    with serve(QuietHandler) as url, pytest.raises(SetupError, match="does not use TLS"):
        ask(url.replace("http", "https"))


def test_server_that_requires_a_client_certificate_is_not_said_to_lack_tls(
    server: Any, ca_bundle: str
) -> None:
    server.tls.maximum_version = ssl.TLSVersion.TLSv1_2  # which refuses during the handshake
    server.tls.verify_mode = ssl.CERT_REQUIRED
    server.tls.load_verify_locations(ca_bundle)
    with pytest.raises(SetupError, match="by HTTPS") as caught:
        ask(f"https://localhost:{server.port}/", verify=ca_bundle)
    assert "does not use TLS" not in caught.value.message
    assert "client certificate" in caught.value.next_step


@pytest.mark.parametrize(
    ("argument", "of_environment"), [("ca.pem", "other.pem"), (None, "ca.pem"), ("~/ca.pem", None)]
)
def test_ca_bundle_is_that_of_the_argument_or_else_of_the_environment(
    server: Any,
    ca_bundle: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argument: str | None,
    of_environment: str | None,
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", of_environment or "")
    assert ask(f"https://localhost:{server.port}/", verify=argument or True) == "ok"


def test_changed_ca_bundle_is_checked_again(server: Any, ca_bundle: str) -> None:
    url = f"https://localhost:{server.port}/"
    assert ask(url, verify=ca_bundle) == "ok"
    Path(ca_bundle).write_text("not a certificate")
    with pytest.raises(SetupError, match="has no certificate"):
        ask(url, verify=ca_bundle)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "no CA bundle"), ("not a certificate", "has no certificate")]
)
def test_error_of_a_ca_bundle_names_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, message: str
) -> None:
    bundle = tmp_path / "ca.pem"
    if content is not None:
        bundle.write_text(content)
    with pytest.raises(SetupError, match=message) as caught:
        ask("https://localhost:1/", verify=str(bundle))
    assert '`verify="FILE"`' in caught.value.next_step
    assert "ca_bundle in the profile or the environment" in caught.value.next_step
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    with pytest.raises(SetupError, match=message) as caught:
        ask("https://localhost:1/")
    assert "REQUESTS_CA_BUNDLE" in caught.value.next_step


@pytest.mark.parametrize(
    ("scheme", "status", "expected"),
    [
        ("http", 407, "requires a user and a password"),
        ("https", 407, "requires a user and a password"),
        ("https", 403, "does not allow"),
    ],
)
def test_refusal_of_a_proxy_is_not_blamed_on_the_service(
    faulty: Any, monkeypatch: pytest.MonkeyPatch, scheme: str, status: int, expected: str
) -> None:
    proxy = faulty(faulty.answer("", status))
    monkeypatch.setenv(f"{scheme}_proxy", proxy.url)
    with pytest.raises(SetupError, match=f"proxy for the service {expected}") as caught:
        ask(f"{scheme}://jobs.example/")
    assert "NO_PROXY" in caught.value.next_step
    assert len(proxy.received) == 1


def test_proxy_that_cannot_reach_the_service_is_named(
    faulty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", faulty(faulty.answer("", 502)).url)
    with pytest.raises(UnreachableError, match="the proxy answered 502") as caught:
        ask("https://jobs.example/")
    assert "NO_PROXY" in caught.value.next_step


def test_proxy_that_does_not_use_tls_is_not_blamed_on_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve(QuietHandler) as proxy:
        monkeypatch.setenv("https_proxy", proxy.replace("http:", "https:"))
        with pytest.raises(SetupError, match="The proxy for the service can't be") as caught:
            ask("https://jobs.example/")
    assert "http://" in caught.value.next_step


def test_time_limit_starts_after_the_connection_by_a_proxy(
    faulty: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Any
) -> None:
    bundle = use_tls(server, tmp_path, "jobs.example")

    def tunnel(connection: socket.socket, request: Any) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with server.tls.wrap_socket(connection, server_side=True) as tls:
            tls.recv(65536)
            time.sleep(0.4)
            tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        return False

    monkeypatch.setenv("https_proxy", faulty(tunnel).url)
    limits = ResponseLimits(seconds=0.2)
    assert ask("https://jobs.example/", verify=bundle, limits=limits) == "ok"


@pytest.mark.parametrize(
    "proxy",
    [
        *("http://:8080", "ftp://127.0.0.1:9", "socks5://127.0.0.1:9"),
        *("the proxy", "http://[::1", "http://127.0.0.1:99999"),
    ],
)
def test_invalid_proxy_is_not_blamed_on_the_address_of_the_service(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setitem(sys.modules, "socks", None)  # PySocks is not installed
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(SetupError, match="proxy") as caught:
        ask("https://jobs.example/")
    assert "HTTPS_PROXY" in caught.value.next_step


def test_loopback_requests_bypass_proxies(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask(f"http://127.0.0.1:{server.port}/") == "ok"
    assert proxies_for("http://localhost:1/") == {}
    assert proxies_for("https://jobs.example/")["https"] == "http://127.0.0.1:9"
    monkeypatch.setenv("no_proxy", "jobs.example")
    assert proxies_for("https://jobs.example/") == {}


def test_connection_whose_server_vanishes_ends_by_keepalive(server: Any) -> None:
    session = new_session()
    url = f"http://127.0.0.1:{server.port}/look"
    response = session.get(url, stream=True)
    connection = response.raw.connection
    assert connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    if sys.platform == "linux":
        seconds, interval, count = (
            connection.sock.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert seconds + interval * count == 120
    response.close()
    session.close()


def test_forked_process_has_its_own_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SessionPool(time.monotonic)
    parent = pool.for_this_thread()
    assert pool.for_this_thread() is parent
    monkeypatch.setattr("os.getpid", lambda: -1)
    child = pool.for_this_thread()
    assert child is not parent
    assert pool.for_this_thread() is child


def test_netrc_is_ignored(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ada password lovelace\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    ask(f"http://127.0.0.1:{server.port}/")
    assert "authorization" not in server.received[0].headers


def test_cookies_are_not_stored(server: Any) -> None:
    url = f"http://127.0.0.1:{server.port}/"
    with HttpClient(url, auth=None, rate=None) as transport:
        transport.send(READ)
        transport.send(READ)
    assert all("cookie" not in request.headers for request in server.received)


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


def test_limits_are_those_of_the_profile_or_256_mib_and_300_seconds() -> None:
    assert ResponseLimits() == ResponseLimits.from_options({}) == ResponseLimits(256 * MIB, 300.0)
    options = {"max_response_mib": "0.5", "max_response_seconds": "7"}
    assert ResponseLimits.from_options(options) == ResponseLimits(MIB // 2, 7.0)


@pytest.mark.parametrize("name", ["max_response_mib", "max_response_seconds"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "many", ""])
def test_limit_must_be_a_positive_number(name: str, value: str) -> None:
    with pytest.raises(SetupError, match=f"{name} is .* not a positive number"):
        ResponseLimits.from_options({name: value})


def test_deadline_counts_from_the_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("labext.http.connection_pool.time.monotonic", lambda: now)
    deadline = Deadline(5)
    now += 60
    assert deadline.remaining() is None
    deadline.start()
    now += 4
    deadline.start()
    assert deadline.remaining() == 1
    now += 1
    with pytest.raises(ResponseTooSlow) as caught:
        deadline.remaining()
    assert caught.value.seconds == 5
    deadline.lift()
    deadline.start()
    assert deadline.remaining() is None


def response(content: bytes, **headers: str) -> requests.Response:
    result = requests.Response()
    result.raw = urllib3.HTTPResponse(io.BytesIO(content), preload_content=False)
    result.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return result


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB])
def test_body_up_to_the_limit_is_read(size: int) -> None:
    content = bytes(size)
    assert read_body(response(content), 3 * MIB) == content
    assert read_body(response(content, Content_Length=str(size)), 3 * MIB) == content


@pytest.mark.parametrize("headers", [{}, {"Content_Length": str(3 * MIB + 1)}])
def test_body_beyond_the_limit_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ResponseTooLarge) as caught:
        read_body(response(bytes(3 * MIB + 1), **headers), 3 * MIB)
    assert caught.value.limit == 3 * MIB


def test_declared_length_beyond_the_limit_is_refused_unread() -> None:
    with pytest.raises(ResponseTooLarge):
        read_body(response(b"", Content_Length=str(10**30)), 3 * MIB)


@pytest.mark.parametrize(
    "content", [b"[" + b"[]," * 1000 + b"1]", b'{"a":' * 1000, b"[0" + b",0" * 1000]
)
def test_json_with_too_many_values_is_refused_before_parsing(content: bytes) -> None:
    with pytest.raises(ResponseTooLarge):
        parse_json(content, 50_000)
    operation = Operation("list", "GET", "list", RetryMode.ALWAYS, answer="json")
    reply = Response(operation, 200, {}, content, service="job service", limit=50_000)
    with pytest.raises(
        ResponseLimitError, match="job service answered 'list' with too many values"
    ):
        reply.json()


def test_long_json_with_few_values_is_parsed() -> None:
    text = "a" * 100_000
    assert parse_json(f'["{text}"]'.encode(), 50_000) == [text]


def guard() -> PageGuard:
    return PageGuard("The job service's list of jobs", "0")


def test_list_with_new_items_on_every_page_continues() -> None:
    pages = guard()
    for number in range(1, 500):
        assert pages.add_page([f"item {number}", "moved"]) >= 1
        pages.check_next(str(number))


@pytest.mark.parametrize("cursors", [["0"], ["1", "1"], ["1", "2", "3", "1"]])
def test_repeated_cursor_is_an_error(cursors: list[str]) -> None:
    pages = guard()
    for cursor in cursors[:-1]:
        pages.add_page([cursor])
        pages.check_next(cursor)
    pages.add_page(["new"])
    with pytest.raises(ResponseLimitError, match="list of jobs does not end: it repeats a page"):
        pages.check_next(cursors[-1])


@pytest.mark.parametrize(("items", "most"), [(["known"], MAX_REPEATED), ([], MAX_EMPTY)])
def test_pages_without_new_items_are_an_error(items: list[str], most: int) -> None:
    pages = guard()
    pages.add_page(["known"])
    for number in range(1, most):
        assert pages.add_page(items) == 0
        pages.check_next(str(number))
    pages.add_page(["something new"])
    for number in range(most, 2 * most - 1):
        pages.add_page(items)
        pages.check_next(str(number))
    pages.add_page(items)
    with pytest.raises(ResponseLimitError, match="continues without new items"):
        pages.check_next("last")


def test_list_beyond_the_page_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labext.http.pagination.MAX_PAGES", 20)
    pages = guard()
    for number in range(1, 20):
        pages.add_page([number])
        pages.check_next(str(number))
    pages.add_page([20])
    with pytest.raises(ResponseLimitError, match="has more than 20 pages"):
        pages.check_next()


def test_items_without_an_identifier_count_as_new() -> None:
    pages = guard()
    assert pages.add_page([None, None]) == 2
    assert pages.add_page([None]) == 1


@pytest.mark.parametrize(
    "form",
    [MultipartForm([("title", "caf\udce9")]), MultipartForm(files={"file": Path("caf\udce9.pdf")})],
)
def test_text_of_a_form_that_is_not_unicode_is_an_error(form: MultipartForm) -> None:
    with pytest.raises(InputError, match=r"udce9"):
        form.open()


def parsed(form: MultipartForm, body: bytes) -> list[Message]:
    head = f"Content-Type: {form.headers['Content-Type']}\r\n\r\n".encode()
    parts = BytesParser().parsebytes(head + body).get_payload()
    assert isinstance(parts, list)
    return [part for part in parts if isinstance(part, Message)]


@given(st.integers(1, 5000))
def test_form_read_in_chunks_of_any_size_parses_back(size: int) -> None:
    form = MultipartForm([("type", "text"), ("content", "zwölf\r\nBoxkämpfer")])
    stream = form.open()
    chunks = []
    while chunk := stream.read(size):
        chunks.append(chunk)
    body = b"".join(chunks)
    assert len(body) == len(stream)
    first, second = parsed(form, body)
    assert first.get_param("name", header="content-disposition") == "type"
    assert second.get_payload(decode=True) == "zwölf\r\nBoxkämpfer".encode()


def test_file_part_has_its_content_and_can_be_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a “b”.pdb"
    path.write_bytes(bytes(range(256)) * 5000)
    form = MultipartForm([("type", "upload")], {"file": path})
    for _ in range(2):  # opened again for a retry
        stream = form.open()
        body = stream.read()
        stream.close()
    part = parsed(form, body)[1]
    assert part.get_payload(decode=True) == path.read_bytes()
    assert part.get_content_type() == "application/octet-stream"


def test_missing_file_fails_on_open(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        MultipartForm(files={"file": tmp_path / "none"}).open()


def test_file_that_shrinks_while_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0" * 1000)
    stream = MultipartForm(files={"file": path}).open()
    path.write_bytes(b"0")
    with pytest.raises(OSError, match="became shorter"):
        stream.read()
    stream.close()
