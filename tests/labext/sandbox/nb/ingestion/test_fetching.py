"""Web pages are fetched within limits, and only from public addresses."""

from __future__ import annotations

import gzip
import socket
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from ipaddress import IPv4Address, ip_address
from typing import Any

import pytest
from local_http import QuietHandler, Server, running

from labext.sandbox.nb import addresses
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import fetch
from labext.sandbox.nb.ingestion.fetch import FetchLimits, fetch_page

_NOT_PUBLIC_LIST = """
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.8.9.10 169.254.169.254 172.16.0.1
    172.31.255.255 192.0.2.1 192.168.1.1 198.18.0.1 203.0.113.7 224.0.0.1 239.255.255.250
    240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
    ::ffff:a9fe:a9fe 64:ff9b::7f00:1 64:ff9b::192.168.1.1 64:ff9b:1::808:808 100::1 2001:db8::1
    2002:7f00:1:: 2002:a00:1::1 2001:0:0:0:0:0:80ff:fffe fc00::1 fd12:3456::1 fe80::1 fe80::1%1
    fec0::1 ff02::1
"""
NOT_PUBLIC = _NOT_PUBLIC_LIST.split()
PUBLIC = ["8.8.8.8", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::"]

METADATA = ["169.254.169.254", "169.254.170.2", "192.0.0.192", "168.63.129.16", "100.100.100.200"]
_LINK_LOCAL = "169.254.0.1 169.254.255.255 fe80::1 fe80::1%1 febf::1"
REFUSED = [*METADATA, *_LINK_LOCAL.split(), "fd00:ec2::254", "fd00:ec2::254%1", "fd20:ce::254"]
"""Addresses that are never fetched."""


def embedded(number: str) -> list[str]:
    """IPv6 addresses from which a translator or a tunnel extracts an IPv4 address."""
    packed = IPv4Address(number).packed
    inner, inverted = packed.hex(), bytes(255 - byte for byte in packed).hex()
    forms = [
        "0" * 20 + "ffff" + inner,  # IPv4-mapped
        "0" * 24 + inner,  # IPv4-compatible
        "0" * 16 + "ffff0000" + inner,  # IPv4-translated
        "2002" + inner + "0" * 19 + "1",  # 6to4
        "20010000" + "08080808" + "0000ffff" + inverted,  # Teredo client
        "20010000" + inner + "0" * 16,  # Teredo server
        "0064ff9b" + "0" * 16 + inner,  # NAT64
        "0064ff9b0001" + inner[:4] + "00" + inner[4:] + "0" * 10,  # RFC 8215, /48
        "0064ff9b000100" + inner[:2] + "00" + inner[2:] + "0" * 8,  # /56
        "0064ff9b00010000" + "00" + inner + "0" * 6,  # /64
        "0064ff9b0001" + "0" * 12 + inner,  # /96
        "20010db8000000000000" + "5efe" + inner,  # ISATAP
        "20010db8000000000200" + "5efe" + inner,
    ]
    return [str(ip_address(bytes.fromhex(form))) for form in forms]


@pytest.mark.parametrize("number", REFUSED)
def test_link_local_and_metadata_addresses_are_refused_even_if_private_ones_are_allowed(number):
    assert not addresses.is_public(ip_address(number))
    with pytest.raises(UnreadableError, match="link-local") as caught:
        addresses.resolve_host(number, 80, private=True)
    assert "allow-private" not in str(caught.value)


@pytest.mark.parametrize("number", METADATA)
def test_metadata_addresses_are_refused_in_every_ipv6_form(number):
    for form in embedded(number):
        with pytest.raises(UnreadableError, match="link-local"):
            addresses.resolve_host(form, 80, private=True)
        assert not addresses.is_public(ip_address(form))


@pytest.mark.parametrize(
    "number",
    ["10.0.0.1", "127.0.0.1", "100.100.100.201", "168.63.129.17", "169.253.0.1", "8.8.8.8"],
)
def test_other_addresses_are_allowed_if_private_ones_are(number):
    for form in (number, *embedded(number)):
        (result,) = addresses.resolve_host(form, 80, private=True)
        assert ip_address(result) == ip_address(form)


def test_only_addresses_of_the_internet_are_public():
    addresses_of_both = [*NOT_PUBLIC, *PUBLIC]
    assert [n for n in addresses_of_both if addresses.is_public(ip_address(n))] == PUBLIC


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "localhost", "::1"])
def test_private_host_is_refused_in_every_notation(host):
    with pytest.raises(UnreadableError, match="allow-private"):
        addresses.resolve_host(host, 80, private=False)


def answering(*answers: Sequence[str]) -> Callable[..., Any]:
    """Script DNS lookups: a name resolves to the next answer each time, a number to itself."""
    left, look_up = [*answers], socket.getaddrinfo

    def answer(host: str, port: int, *more: Any, **by_name: Any) -> Any:
        if host.replace(".", "").isdigit():
            return look_up(host, port, *more, **by_name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (item, port)) for item in left.pop(0)]

    return answer


@pytest.mark.parametrize(
    ("numbers", "private", "expected"),
    [
        (["8.8.8.8", "10.0.0.1"], False, "allow-private"),
        (["10.0.0.1", METADATA[0]], True, r"mixed\.example is a link-local address"),
        (["10.0.0.1", "fd00:ec2::254%1"], True, r"mixed\.example is a link-local address"),
    ],
)
def test_host_with_one_refused_address_is_refused(monkeypatch, numbers, private, expected):
    monkeypatch.setattr(socket, "getaddrinfo", answering(numbers))
    with pytest.raises(UnreadableError, match=expected):
        addresses.resolve_host("mixed.example", 80, private=private)


class Site(Server):
    """A server with a function per page; records the requests."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__((address, 0), Handler)
        self.pages: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.requested_paths: list[tuple[str, str | None]] = []
        self.url = f"http://{address}:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnected."""


class Handler(QuietHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.requested_paths.append((self.path, self.headers["Host"]))
        self.server.pages[self.path](self)


def page(body: bytes = b"<p>Hello", status: int = 200, **headers: str) -> Callable[..., None]:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return send


def slow(*parts: bytes) -> Callable[..., None]:
    """A page that is sent in small pieces without end."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        for part in parts:
            handler.wfile.write(part)
        for _ in range(1000):
            time.sleep(0.01)
            handler.wfile.write(b"x")

    return send


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    served = Site()
    with running(served):
        yield served


@pytest.fixture
def target(tmp_path):
    return tmp_path / "page"


OPEN = FetchLimits(20, 10_000, private=True)


def test_page_has_name_media_type_and_charset(site, target):
    site.pages["/a%20b/p%C3%A4ge.html?q=%C3%BC&r=1"] = page(
        b"<p>Hello", Content_Type="text/html; charset=ISO-8859-1"
    )
    result = fetch_page(f"{site.url}/a b/päge.html?q=ü&r=1".replace(" ", "%20"), target, OPEN)
    assert (result.name, result.media_type) == ("päge.html", "text/html")
    assert result.charset == "iso-8859-1"
    assert target.read_bytes() == b"<p>Hello"


def test_request_goes_to_the_checked_address(site, target, monkeypatch):
    """A second look-up, which would answer with another address, is never made."""
    site.pages["/"] = page()
    monkeypatch.setattr(addresses, "is_public", lambda number: str(number) == "127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", answering(["127.0.0.1"], ["127.0.0.9"]))
    number = site.server_port
    fetch_page(f"http://site.example:{number}/", target, FetchLimits(20, 10_000))
    assert site.requested_paths[-1] == ("/", f"site.example:{number}")


def test_https_request_goes_to_the_checked_address(site, target, monkeypatch):
    """One address has a server without TLS, the other one no server."""
    monkeypatch.setattr(addresses, "is_public", lambda number: str(number) == "127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", answering(["127.0.0.1"], ["127.0.0.9"]))
    with pytest.raises(UnreadableError, match="no valid certificate"):
        fetch_page(f"https://site.example:{site.server_port}/", target, FetchLimits(20, 10_000))


def test_redirects_are_followed(site, target):
    site.pages["/old"] = page(b"", 302, Location="/new?x=1")
    site.pages["/new?x=1"] = page(b"New.")
    assert fetch_page(f"{site.url}/old", target, OPEN).name == "new"
    assert target.read_bytes() == b"New."


@pytest.mark.parametrize(
    ("head", "is_followed"),
    [
        ('<meta http-equiv="refresh" content="0; url=/paper?a=1&amp;b=2">', True),
        ("<META CONTENT='2;URL=/paper?a=1&amp;b=2' HTTP-EQUIV=REFRESH>", True),
        ('<meta http-equiv="refresh" content="300; url=/paper?a=1&amp;b=2">', False),
        ('<meta http-equiv="refresh" content="300">', False),
        ('<noscript><meta http-equiv="refresh" content="0; url=/plain"></noscript>', False),
        (f'<meta http-equiv="refresh" content="0; url=/plain">{"x" * 10_000}', False),
    ],
)
def test_short_page_that_leads_to_another_one_is_followed(site, target, head, is_followed):
    site.pages["/resolve"] = page(f"<html>{head}</html>".encode(), Content_Type="text/html")
    site.pages["/paper?a=1&b=2"] = page(b"Paper.")
    fetched = fetch_page(f"{site.url}/resolve", target, FetchLimits(20, 100_000, private=True))
    assert (fetched.name, target.read_bytes() == b"Paper.") == (
        ("paper", True) if is_followed else ("resolve", False)
    )


def test_cookies_are_kept_during_redirects_for_their_host_only(site, target):
    other = Site("127.0.0.2")
    received: list[str | None] = []

    def welcome(handler: BaseHTTPRequestHandler) -> None:
        received.append(handler.headers["Cookie"])
        if handler.headers["Cookie"] is None:
            page(b"", 302, Location="/welcome", Set_Cookie="seen=1; Path=/")(handler)
        else:
            page(b"", 302, Location=f"{other.url}/paper")(handler)

    def paper(handler: BaseHTTPRequestHandler) -> None:
        received.append(handler.headers["Cookie"])
        page(b"Paper.")(handler)

    site.pages["/welcome"] = welcome
    other.pages["/paper"] = paper
    with running(other):
        fetch_page(f"{site.url}/welcome", target, OPEN)
    assert received == [None, "seen=1", None]
    assert target.read_bytes() == b"Paper."


def test_redirect_to_private_address_is_not_followed(site, target, monkeypatch):
    inner = Site("127.0.0.2")
    inner.pages["/secret"] = page(b"Secret.")
    site.pages["/out"] = page(b"", 302, Location=f"{inner.url}/secret")
    monkeypatch.setattr(addresses, "is_public", lambda number: str(number) == "127.0.0.1")
    refusal = pytest.raises(UnreadableError, match=r"127\.0\.0\.2 is an address of this machine")
    with running(inner), refusal:
        fetch_page(f"{site.url}/out", target, FetchLimits(20, 10_000))
    assert inner.requested_paths == []


@pytest.mark.parametrize(
    "number", [METADATA[0], METADATA[-1], "[fd00:ec2::254]", "[::ffff:a9fe:a9fe]", "2852039166"]
)
def test_redirect_to_metadata_address_is_not_followed(site, target, monkeypatch, number):
    opened, connect = [], socket.socket.connect

    def noted(sock, address):
        opened.append(address[0])
        return connect(sock, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    site.pages["/cloud"] = page(b"", 307, Location=f"http://{number}/latest/meta-data/")
    with pytest.raises(UnreadableError, match="metadata service"):
        fetch_page(f"{site.url}/cloud", target, OPEN)
    assert set(opened) == {"127.0.0.1"}


HEADS = [b"", b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\n\r\n"]


@pytest.mark.parametrize("head", HEADS)
def test_silent_server_times_out(site, target, head):
    def send(handler):
        handler.wfile.write(head)
        time.sleep(1)

    site.pages["/silent"] = send
    # The time limits of a read and of the whole page end together.
    for _ in range(3):
        with pytest.raises(UnreadableError, match=r"within 0\.1 seconds"):
            fetch_page(f"{site.url}/silent", target, FetchLimits(0.1, 10_000, private=True))


@pytest.mark.parametrize("parts", [(), *((head,) for head in HEADS[1:])])
def test_endless_page_times_out(site, target, parts):
    """A slow server is limited by the total time."""
    site.pages["/never"] = slow(*parts)
    with pytest.raises(UnreadableError, match=r"within 0\.2 seconds"):
        fetch_page(f"{site.url}/never", target, FetchLimits(0.2, 10_000, private=True))


def test_closed_port_is_reported(target):
    with socket.socket() as busy_socket:
        busy_socket.bind(("127.0.0.1", 0))  # and does not listen
        url = f"http://127.0.0.1:{busy_socket.getsockname()[1]}/"
        with pytest.raises(UnreadableError, match="does not answer"):
            fetch_page(url, target, OPEN)


def test_unknown_host_is_reported(target, monkeypatch):
    def fail(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror(8, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(UnreadableError, match="no host nowhere"):
        fetch_page("http://nowhere.example/", target, OPEN)


def test_page_size_is_limited(site, target):
    site.pages["/big"] = page(b"x" * 10_001)
    site.pages["/fits"] = page(b"x" * 10_000)
    fetch_page(f"{site.url}/fits", target, OPEN)
    with pytest.raises(UnreadableError, match="bigger than 10,000 bytes"):
        fetch_page(f"{site.url}/big", target, OPEN)


@pytest.mark.parametrize(("packed", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_compressed_page_is_limited_after_decompression(site, target, packed, pack):
    site.pages["/packed"] = page(pack(b"Text. " * 1000), Content_Encoding=packed)
    site.pages["/bomb"] = page(pack(bytes(50_000_000)), Content_Encoding=packed)
    fetch_page(f"{site.url}/packed", target, OPEN)
    assert target.read_bytes() == b"Text. " * 1000
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableError, match="bigger than"):
            fetch_page(f"{site.url}/bomb", target, OPEN)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert target.stat().st_size <= OPEN.size + fetch.CHUNK_SIZE


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (page(b"", 301, Location="file:///etc/passwd"), "can't be fetched"),
        (page(b"", 301, Location="ftp://x/y"), "can't be fetched"),
        (page(b"", 301, Location="http://u:p@127.0.0.1/"), "can't be fetched"),
        (page(b"", 301, Location="//["), "can't be fetched"),
        (page(b"", 307, Location="/odd"), "more than 5 times"),
        (page(b"no", 404), "404 .Not Found."),
        (page(b"no", 403), "403"),
        (page(b"no", 599), "599"),
        (page(b"?", Content_Encoding="br"), "compressed as br"),
        (page(b"not gzip", Content_Encoding="gzip"), "connection was lost"),
        (page(b"short", Content_Length="500"), "connection was lost"),
        (page(gzip.compress(b"Text. " * 99)[:-9], Content_Encoding="gzip"), "connection was lost"),
        (lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n\r\n"), "with a web page|was lost"),
    ],
)
def test_forbidden_redirect_error_status_and_invalid_page_are_refused(
    site, target, answer, expected
):
    site.pages["/odd"] = answer
    with pytest.raises(UnreadableError, match=expected):
        fetch_page(f"{site.url}/odd", target, OPEN)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org/page", "ftp://example.org/", "file:///etc/passwd"),
        *("http://", "http:///path", "http://a b/", "http://host:99999/", "http://[::1"),
        *("http://user:secret@example.org/", "http://example.org/\nHost: x"),
        "javascript:alert(1)",
    ],
)
def test_invalid_url_is_refused(url):
    with pytest.raises(ValueError, match=r"web address") as caught:
        fetch.split_url(url)
    assert "secret" not in str(caught.value)
