"""Downloads: streamed, taken up where they were cut, and under their name only when whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import requests
from requests.auth import AuthBase

from labext.errors import (
    AccessError,
    LabextError,
    NotFoundError,
    ResponseLimitError,
    ServiceError,
    UnreachableError,
)
from labext.transport.call import Call
from labext.transport.exchange import beginning, exchange
from labext.transport.failure import first_words, server_words
from labext.transport.limits import Deadline
from labext.transport.lost import NETWORK_ERRORS, Lost, Stage, lost
from labext.transport.partial import Partial
from labext.transport.rate_headers import asked_to_wait
from labext.transport.retries import REJECTED, TRANSIENT, Again
from labext.transport.session import new_session
from labext.transport.store import check_presigned
from labext.transport.terms import Terms

CHUNK = 512 * 1024
"""Bytes read and written at once: fewer cost time in calls, more in the kernel's large pages."""

LARGEST_UNDECLARED = 64 * 1024**3
"""Bytes of a file whose length the server does not name: an endless one would fill the disk."""

_CHUNK_SECONDS = 256.0
"""Time for one such chunk: 2 KiB a second."""

OnBytes = Callable[[int, int | None], None]
"""Is told the bytes that are there, and the whole's if known."""


@dataclass(frozen=True)
class Own:
    """A download from the service itself, which is signed in, in place of a presigned address.

    Attributes:
        call: what is asked.
        auth: how to sign in; another origin that the service sends it on to never gets that.
        refused: what follows from an answer of 400 and above.
        page: what is downloaded may be a web page.
    """

    call: Call
    auth: AuthBase | None
    refused: Callable[[requests.Response], Exception]
    page: bool = False


_MOST_CUTS = 500

_EXPIRED = frozenset({400, 401, 403, 404, 410})
"""What stores answer to a presigned address that is no longer good."""


def is_page(name: str) -> bool:
    """Say by its name whether a file is a web page."""
    return name.lower().endswith((".html", ".htm", ".xhtml"))


def fetch(
    url: str,
    target: Path,
    *,
    fresh: Callable[[], str] | None = None,
    on_bytes: OnBytes | None = None,
    terms: Terms | None = None,
    own: Own | None = None,
) -> Path:
    """Download a presigned address to `target`, and return that.

    No key is sent, unless it is the service's `own`. After a cut it goes on with Range and If-Range
    where the server can, else from the start; what an earlier call left as `.<name>.part` is taken
    up likewise.

    Args:
        url: the presigned address.
        target: the file to write; its folder is made.
        fresh: gives a new address when this one has expired.
        on_bytes: is told the bytes that are there, and the whole's if known, at every chunk.
        terms: on what terms; their attempts and patience are those in a row that bring nothing new.
        own: asks the service itself, by its call, and signed in.

    Raises:
        AccessError: the address has expired, and there is no `fresh`.
        NotFoundError: there is nothing at the address.
        StorageError: the disk is full, or the folder can't be written.
        ServiceError: the download failed.
    """
    terms = terms or Terms()
    if own is None:
        check_presigned(url, terms.service)
    download = _Download(url, fresh, on_bytes, terms, own)
    with new_session() as session, Partial(target) as part:
        for _ in range(_MOST_CUTS):
            if terms.tried(lambda: download.go_on(session, part)):
                part.finish()
                return target
        raise ServiceError(f"The download of {target.name} was cut {_MOST_CUTS} times.")


class _Download:
    """What stays the same from one try to the next, but for the address."""

    def __init__(
        self,
        url: str,
        fresh: Callable[[], str] | None,
        on_bytes: OnBytes | None,
        terms: Terms,
        own: Own | None,
    ) -> None:
        self._own = own
        self._url = url
        self._fresh = fresh
        self._on_bytes = on_bytes
        self._terms = terms
        self._furthest = 0
        self._deadline = Deadline(_CHUNK_SECONDS)

    def go_on(self, session: requests.Session, part: Partial) -> bool:
        """Try once; tell whether the file is whole.

        Raises:
            Again: this try brought nothing new. A try that did, and was cut, returns False.
        """
        headers = {"Accept-Encoding": "identity"}
        if part.size and part.validator:
            headers |= {"Range": f"bytes={part.size}-", "If-Range": part.validator}
        request = requests.Request("GET", self._url, headers=headers)
        if self._own is not None:
            request.auth, request.params = self._own.auth, self._own.call.params
        terms = self._terms
        got = exchange(
            session,
            request,
            terms.timeout,
            terms.verify,
            terms.service,
            deadline=self._deadline,
            away=True,
        )
        if isinstance(got, Lost):
            raise got.error if got.stage in {Stage.NEVER, Stage.LIMIT} else Again(got.error)
        with got:
            if not self._begins(got, part):
                return True
            return self._rest(got, part)

    def _begins(self, got: requests.Response, part: Partial) -> bool:
        """Judge the answer's beginning; False if there is nothing left to fetch."""
        if got.status_code == 206:
            start, total = _content_range(got)
            if start == part.size and total in {part.total, None}:
                return True
            self._start_over(part, "sent another part than was asked for")
        if got.status_code == 416:
            if part.total is not None and part.size == part.total:
                return False
            self._start_over(part, "has less than it had")
        if got.status_code != 200:
            raise self._refused(got)
        kind = got.headers.get("Content-Type", "")
        if "html" in kind.lower() and not self._is_page(part.target):
            words = server_words(beginning(got), kind)
            raise Again(
                ServiceError(
                    f"The {self._terms.service} answered {words} in place of {part.target.name}.",
                    "Check the connection to the service, then try again.",
                    status=200,
                    method="GET",
                )
            )
        part.restart(_validator(got), _length(got))
        return True

    def _is_page(self, target: Path) -> bool:
        """Say whether a web page may be what is asked for, and not an answer in its place."""
        return is_page(target.name) or (self._own is not None and self._own.page)

    def _rest(self, got: requests.Response, part: Partial) -> bool:
        cut = self._written(got, part)
        if part.total is not None:
            whole = part.size == part.total
        else:
            # Without a length only the chunks' own end tells that this is all; or nothing does.
            whole = cut is None and (part.size > 0 or "Transfer-Encoding" in got.headers)
        if whole:
            return True
        if part.size > self._furthest:
            self._furthest = part.size
            return False
        raise Again(cut.error if cut else self._wrong_length(part))

    def _written(self, got: requests.Response, part: Partial) -> Lost | None:
        """Write what comes; return why it ended too early, if that is known."""
        while True:
            self._deadline.reset()
            try:
                chunk = got.raw.read(CHUNK, decode_content=_is_encoded(got))
            except NETWORK_ERRORS as failure:
                return self._cut(failure, part)
            if not chunk:
                return None
            part.write(chunk)
            if part.total is None and part.size > LARGEST_UNDECLARED:
                part.restart(None, None)
                raise ResponseLimitError(
                    f"{part.target.name} has more than {LARGEST_UNDECLARED / 1024**3:g} GiB, and "
                    f"the {self._terms.service} does not say how many.",
                    "Tell whoever runs the service; nothing was kept.",
                )
            if self._on_bytes:
                self._on_bytes(part.size, part.total)

    def _cut(self, failure: Exception, part: Partial) -> Lost:
        cut = lost(failure, self._url, self._terms.service)
        if cut.stage is not Stage.LIMIT:
            return cut
        slow = f"The {self._terms.service} sends {part.target.name} at less than 2 KiB a second."
        return replace(cut, error=UnreachableError(slow, "Try again later."))

    def _refused(self, got: requests.Response) -> Exception:
        if self._own is not None:
            return self._own.refused(got)
        status = got.status_code
        kind = got.headers.get("Content-Type", "")
        words = server_words(beginning(got), kind)
        error = self._error(status, words)
        if status in _EXPIRED and self._fresh is not None:
            self._url = self._fresh()
            check_presigned(self._url, self._terms.service)
            return Again(error, after=0.0, at_most=3)
        if status in REJECTED | TRANSIENT:
            return Again(error, asked_to_wait(got.status_code, got.headers))
        return error

    def _error(self, status: int, words: str) -> LabextError:
        said = f": {first_words(words, 200)}" if words else ""
        kind: type[LabextError] = ServiceError
        what, step = f"The {self._terms.service} answered {status} to a download{said}.", None
        if status == 404:
            kind, step = NotFoundError, "Check the name."
        elif status in _EXPIRED:
            kind, step = AccessError, "Ask for the result again: it gets a new address."
            what = f"The address of the download is not, or no longer, good ({status}{said})."
        return kind(what, step, status=status, method="GET", server=words)

    def _start_over(self, part: Partial, why: str) -> None:
        part.restart(None, None)
        raise Again(ServiceError(f"The {self._terms.service} {why}."), after=0.0)

    def _wrong_length(self, part: Partial) -> ServiceError:
        of = "" if part.total is None else f" of {part.total:,}"
        return ServiceError(
            f"{part.target.name} ended after {part.size:,}{of} bytes.",
            "Try again; look at the service if it stays.",
        )


def _validator(got: requests.Response) -> str | None:
    """Return what If-Range may hold: a strong ETag, or else the date; None without ranges."""
    if _is_encoded(got) or got.headers.get("Accept-Ranges", "").lower() == "none":
        return None
    etag = got.headers.get("ETag", "")
    return etag if etag.startswith('"') else got.headers.get("Last-Modified")


def _length(got: requests.Response) -> int | None:
    length = got.headers.get("Content-Length", "")
    return int(length) if re.fullmatch("[0-9]{1,18}", length) and not _is_encoded(got) else None


def _is_encoded(got: requests.Response) -> bool:
    return got.headers.get("Content-Encoding", "identity").lower() != "identity"


def _content_range(got: requests.Response) -> tuple[int | None, int | None]:
    """Return where a part begins, and the length of the whole."""
    found = re.fullmatch(
        r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)", got.headers.get("Content-Range", "").strip()
    )
    if found is None:
        return None, None
    return int(found[1]), None if found[2] == "*" else int(found[2])
