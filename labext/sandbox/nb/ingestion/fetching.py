"""Fetches a page of the web: a few redirects, so many bytes, so many seconds, and no more.

Each address that is connected to was checked before (`addresses`, `asking`), redirects too. Proxies
are not used: behind one nothing could be checked.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from labext.sandbox.nb.ingestion import asking
from labext.sandbox.nb.ingestion.reasons import Unreadable

MOST_REDIRECTS = 5
CHUNK = 64 * 1024

_REDIRECTS = (301, 302, 303, 307, 308)
T = TypeVar("T")


@dataclass(frozen=True)
class Terms:
    """What fetching may take.

    Attributes:
        seconds: for all of it, redirects included.
        size: bytes of the page, unpacked.
        private: whether it may come from this machine and its network.
    """

    seconds: float
    size: int
    private: bool = False


@dataclass(frozen=True)
class Page:
    """What was fetched.

    Attributes:
        file: its bytes.
        name: the last part of its address, where it has one.
        media_type, charset: as the server says.
    """

    file: Path
    name: str
    media_type: str | None
    charset: str | None


def fetch(url: str, target: Path, terms: Terms) -> Page:
    """Fetch a page into the file `target`.

    Raises:
        Unreadable: there is no page, or not within these terms.
    """
    late = Unreadable(
        f"{_host(url)} did not send the page within {terms.seconds:g} seconds; try again later."
    )
    return _within(terms.seconds, late, lambda: _follow(url, target, terms))


def _within(seconds: float, late: Exception, function: Callable[[], T]) -> T:
    """What a function returns or raises, if it does so in time; nothing else ends a look-up."""
    outcome: list[tuple[T | None, BaseException | None]] = []

    def run() -> None:
        try:
            outcome.append((function(), None))
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits
            outcome.append((None, error))

    thread = threading.Thread(target=run, name="labext-fetch", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise late
    value, error = outcome[0]
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def _follow(url: str, target: Path, terms: Terms) -> Page:
    for _ in range(MOST_REDIRECTS + 1):
        try:
            parts = asking.split(url)
        except ValueError as error:
            raise Unreadable(
                f"The page leads to an address that can't be fetched: {error}"
            ) from None
        response = asking.ask(parts, terms.seconds, private=terms.private)
        try:
            location = response.headers.get("location")
            if response.status in _REDIRECTS and location:
                url = _joined(url, location.strip())
                continue
            return _received(response, parts, target, terms)
        finally:
            response.close()
    raise Unreadable(f"The page redirects more than {MOST_REDIRECTS} times; give its last address.")


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return ""  # no web address


def _host(url: str) -> str:
    return urlsplit(url).hostname or "The server"


def _received(response: Any, parts: SplitResult, target: Path, terms: Terms) -> Page:
    if not 200 <= response.status < 300:
        raise Unreadable(f"The page answers {response.status}{_phrase(response.status)}.")
    size = 0
    with target.open("wb") as file:
        for chunk in _unpacked(response):
            size += len(chunk)
            if size > terms.size:
                raise Unreadable(f"The page is bigger than {terms.size:,} bytes.")
            file.write(chunk)
    kind = Message()
    kind["Content-Type"] = response.headers.get("content-type", "")
    named = response.headers.get("content-type")
    charset = kind.get_content_charset()
    return Page(target, _name(parts), kind.get_content_type() if named else None, charset)


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _name(parts: SplitResult) -> str:
    return unquote(parts.path.rstrip("/").rpartition("/")[2])


def _unpacked(response: Any) -> Iterator[bytes]:
    """The page's bytes in small pieces, however much comes out of how little."""
    import urllib3

    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise Unreadable(f"The page comes packed as {encoding[:20]}, which can't be read.")
    unpack = None if encoding in ("identity", "") else zlib.decompressobj(wbits=47)
    try:
        while chunk := response.read(CHUNK, decode_content=False):
            if unpack is None:
                yield chunk
                continue
            while chunk and not unpack.eof:
                yield unpack.decompress(chunk, CHUNK)
                chunk = unpack.unconsumed_tail
    except (urllib3.exceptions.HTTPError, OSError, zlib.error):
        raise Unreadable("The page broke off while it was fetched; try again.") from None
