"""Fetch a web page within limits of time, size and addresses."""

from __future__ import annotations

import html
import re
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from email.message import Message
from http.client import responses
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import Request

from labext.sandbox.nb.addresses import resolve_host
from labext.sandbox.nb.errors import UnreadableError

_HEADERS = {
    "User-Agent": "labext",
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "identity",
}


def split_url(url: str) -> SplitResult:
    """Parse a web address.

    Raises:
        ValueError: if it is invalid or contains a user name or password.
    """
    if any(letter <= " " or letter == "\x7f" for letter in url):
        raise ValueError("A web address must not contain blanks or control characters.")
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("The web address is invalid.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("A web address begins with http:// or https:// and has a host.")
    if "@" in parts.netloc:
        raise ValueError("A web address must not contain a user name or password.")
    return parts


def request_page(
    parts: SplitResult, seconds: float, *, private: bool, cookie: str | None = None
) -> Any:
    """Return the response of the first reachable address of a host, with the body unread.

    `seconds` is the timeout for connecting and for each read. A host that accepts the connection
    and then sends nothing raises TimeoutError.
    """
    import urllib3

    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        url = urllib3.util.parse_url(parts.geturl())
    except urllib3.exceptions.LocationValueError:
        raise UnreadableError(f"There is no host {host}; check the web address.") from None
    headers = _HEADERS | {"Host": url.netloc or ""} | ({"Cookie": cookie} if cookie else {})
    timeout = urllib3.Timeout(connect=min(10.0, seconds), read=seconds)
    for number in resolve_host(host, port, private=private):
        pool: urllib3.HTTPConnectionPool
        if parts.scheme == "https":
            pool = urllib3.HTTPSConnectionPool(
                number, port, timeout=timeout, server_hostname=host, assert_hostname=host
            )
        else:
            pool = urllib3.HTTPConnectionPool(number, port, timeout=timeout)
        try:
            return pool.urlopen(
                "GET",
                url.request_uri,
                headers=headers,
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
            )
        except urllib3.exceptions.SSLError:
            raise UnreadableError(f"{host} has no valid certificate.") from None
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError):
            continue
        except urllib3.exceptions.ReadTimeoutError:
            raise TimeoutError from None
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            raise UnreadableError(
                f"{host} did not answer with a web page; try again later."
            ) from None
    raise UnreadableError(f"{host} does not answer; check the web address, or try again later.")


MAX_REDIRECTS = 5
CHUNK_SIZE = 64 * 1024

_REDIRECT_STATUSES = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class FetchLimits:
    """The limits of a fetch; `private` allows addresses of this machine and its network."""

    seconds: float
    size: int
    private: bool = False


@dataclass(frozen=True)
class FetchedPage:
    """A fetched page: its file, the last segment of its address, and its type as declared."""

    path: Path
    name: str
    media_type: str | None
    charset: str | None


def fetch_page(url: str, target: Path, limits: FetchLimits) -> FetchedPage:
    """Fetch a page into the file `target`.

    Raises:
        UnreadableError: if the page can't be fetched within the limits.
    """
    outcome: Future[FetchedPage] = Future()

    def run() -> None:
        try:
            outcome.set_result(_follow_redirects(url, target, limits))
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            outcome.set_exception(error)

    # A thread that nothing waits for, since the resolution of names has no time limit.
    threading.Thread(target=run, name="labext-fetch", daemon=True).start()
    try:
        return outcome.result(limits.seconds)
    except TimeoutError:
        raise UnreadableError(
            f"{urlsplit(url).hostname} did not send the page within {limits.seconds:g} seconds; "
            "try again later."
        ) from None


def _follow_redirects(url: str, target: Path, limits: FetchLimits) -> FetchedPage:
    location = ""
    cookies = CookieJar()  # without those of a redirect, many sites redirect for ever
    for _ in range(MAX_REDIRECTS + 1):
        try:
            url = urljoin(url, location)
            parts = split_url(url)
        except ValueError as error:
            raise UnreadableError(
                f"The page leads to an address that can't be fetched: {error}"
            ) from None
        request = Request(url)  # noqa: S310 - its scheme is checked above
        cookies.add_cookie_header(request)
        cookie = request.get_header("Cookie")
        response = request_page(parts, limits.seconds, private=limits.private, cookie=cookie)
        try:
            cookies.extract_cookies(response, request)
            location = response.headers.get("location", "").strip()
            if response.status in _REDIRECT_STATUSES and location:
                continue
            page = _save_body(response, parts, target, limits)
            location = _refresh_target(page)
            if not location:
                return page
        finally:
            response.close()
    raise UnreadableError(
        f"The page redirects more than {MAX_REDIRECTS} times; give its last address."
    )


_MAX_REFRESH_BYTES = 10_000
"""Bytes of a page that only leads to another one; larger ones are pages of their own."""

_NO_SCRIPT = re.compile(r"(?is)<noscript\b.*?</noscript>")
_META = re.compile(r"(?is)<meta\s[^>]{1,2000}>")
_IS_REFRESH = re.compile(r"(?i)http-equiv\s*=\s*[\"']?refresh\b")
_REFRESH = re.compile(
    r"(?i)content\s*=\s*[\"']?\s*[0-5](?:\.\d*)?\s*[;,]\s*url\s*=\s*[\"']?([^\"'>]+)"
)


def _refresh_target(page: FetchedPage) -> str:
    """Return the address to which a short page leads within five seconds, or an empty string."""
    if page.media_type != "text/html" or page.path.stat().st_size > _MAX_REFRESH_BYTES:
        return ""
    text = _NO_SCRIPT.sub("", page.path.read_text(encoding="latin-1"))
    refreshes = (tag for tag in _META.findall(text) if _IS_REFRESH.search(tag))
    targets = (_REFRESH.search(tag) for tag in refreshes)
    return next((html.unescape(target[1]).strip() for target in targets if target), "")


def _save_body(response: Any, parts: SplitResult, target: Path, limits: FetchLimits) -> FetchedPage:
    if not 200 <= response.status < 300:
        phrase = f" ({responses[response.status]})" if response.status in responses else ""
        raise UnreadableError(f"The page answers {response.status}{phrase}.")
    size = 0
    with target.open("wb") as file:
        for chunk in _decompressed_chunks(response):
            size += len(chunk)
            if size > limits.size:
                raise UnreadableError(f"The page is bigger than {limits.size:,} bytes.")
            file.write(chunk)
    declared = response.headers.get("content-type", "")
    content_type = Message()
    content_type["Content-Type"] = declared
    return FetchedPage(
        target,
        unquote(parts.path.rstrip("/").rpartition("/")[2]),
        content_type.get_content_type() if declared else None,
        content_type.get_content_charset(),
    )


def _decompressed_chunks(response: Any) -> Iterator[bytes]:
    """Yield the decompressed body in small chunks, even for extreme compression ratios."""
    import urllib3

    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise UnreadableError(f"The page is compressed as {encoding[:20]}, which is not supported.")
    unpack = None if encoding in ("identity", "") else zlib.decompressobj(wbits=47)
    try:
        while chunk := response.read(CHUNK_SIZE, decode_content=False):
            if unpack is None:
                yield chunk
                continue
            while chunk and not unpack.eof:
                yield unpack.decompress(chunk, CHUNK_SIZE)
                chunk = unpack.unconsumed_tail
        if unpack is not None and not unpack.eof:
            raise zlib.error("The compressed page is incomplete.")
    except urllib3.exceptions.ReadTimeoutError:
        raise TimeoutError from None
    except (urllib3.exceptions.HTTPError, OSError, zlib.error):
        raise UnreadableError(
            "The connection was lost while the page was fetched; try again."
        ) from None
