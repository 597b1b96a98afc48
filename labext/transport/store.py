"""Uploads to a presigned address, and what is asked of a file there besides a download.

The address is the key: it is given to nobody but the store that it names, and no message holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import BinaryIO, TypeVar

import requests

from labext.errors import AccessError, LabextError, NotFoundError, ServiceError
from labext.transport.call import size_of
from labext.transport.exchange import beginning, exchange
from labext.transport.failure import first_words, server_words
from labext.transport.limits import Deadline, ResponseTooLarge, read_body
from labext.transport.lost import NETWORK_ERRORS, Lost, Stage, lost
from labext.transport.rate_headers import asked_to_wait
from labext.transport.retries import REJECTED, TRANSIENT, Again
from labext.transport.session import UNSAFE, new_session, origin
from labext.transport.terms import Terms

_T = TypeVar("_T")

_EXPIRED = frozenset({400, 401, 403, 410})
"""What stores answer to a presigned address that is no longer good."""


def check_presigned(url: str, service: str) -> None:
    """Check that an address that a service gave is one.

    Raises:
        ServiceError: it is not.
    """
    try:
        prepared = requests.Request("GET", url).prepare().url or ""
        is_address = origin(prepared)[0] in {"http", "https"} and not UNSAFE.search(url)
    except ValueError:  # requests.InvalidURL is one
        is_address = False
    if not is_address:
        raise ServiceError(
            f"The {service} gave an invalid address for a file.",
            "Try again; tell whoever runs the service if it stays.",
        )


class Store:
    """Where presigned addresses lead."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def put(self, url: str, name: str, content: Callable[[], BinaryIO]) -> None:
        """Send a file's content; the same again does no harm, so a lost answer is tried again.

        Args:
            url: the presigned address.
            name: the file's, for messages.
            content: opens it, anew for every try.

        Raises:
            AccessError: the address is not, or no longer, good.
            ServiceError: the store failed.
        """
        check_presigned(url, self._terms.service)

        def once(session: requests.Session) -> None:
            with closing(content()) as stream:
                empty = size_of(stream) == 0  # `requests` would send that in chunks
                request = requests.Request(
                    "PUT",
                    url,
                    headers={"Content-Type": "application/octet-stream"},
                    data=b"" if empty else stream,
                )
                self._sent(session, request, name).close()

        self._tried(once)

    def headers(self, url: str, name: str) -> Mapping[str, str]:
        """Return the headers that describe the file at an address, as HEAD gives them.

        Raises:
            NotFoundError: it is not there.
            AccessError, ServiceError: as for `put`.
        """
        check_presigned(url, self._terms.service)

        def once(session: requests.Session) -> Mapping[str, str]:
            request = requests.Request("HEAD", url, headers={"Accept-Encoding": "identity"})
            with self._sent(session, request, name) as response:
                return response.headers

        return self._tried(once)

    def tail(self, url: str, name: str, length: int) -> bytes:
        """Return the last bytes of the file at an address, `length` at most.

        Nothing where the store ignores ranges and the file is longer.

        Raises:
            NotFoundError: it is not there.
            AccessError, ServiceError: as for `put`.
        """
        check_presigned(url, self._terms.service)

        def once(session: requests.Session) -> bytes:
            headers = {"Accept-Encoding": "identity", "Range": f"bytes=-{length}"}
            request = requests.Request("GET", url, headers=headers)
            with self._sent(session, request, name) as response:
                try:
                    return read_body(response, length)
                except ResponseTooLarge:
                    return b""
                except NETWORK_ERRORS as failure:
                    raise Again(lost(failure, url, self._terms.service).error) from failure

        return self._tried(once)

    def _tried(self, once: Callable[[requests.Session], _T]) -> _T:
        with new_session() as session:
            return self._terms.tried(lambda: once(session))

    def _sent(
        self, session: requests.Session, request: requests.Request, name: str
    ) -> requests.Response:
        terms = self._terms
        got = exchange(
            session,
            request,
            terms.timeout,
            terms.verify,
            terms.service,
            deadline=Deadline(terms.limits.seconds),
            away=request.method == "GET",
        )
        if isinstance(got, Lost):
            raise got.error if got.stage in {Stage.NEVER, Stage.LIMIT} else Again(got.error)
        if got.status_code < 400:
            return got
        with got:
            words = server_words(beginning(got), got.headers.get("Content-Type", ""))
        error = self._refused(got.status_code, str(request.method), words, name)
        if got.status_code in REJECTED | TRANSIENT:
            raise Again(error, asked_to_wait(got.status_code, got.headers))
        raise error

    def _refused(self, status: int, method: str, words: str, name: str) -> LabextError:
        said = f": {first_words(words, 200)}" if words else ""
        kind: type[LabextError] = ServiceError
        transfer = "download" if method == "GET" else "upload"
        what = f"The {self._terms.service} answered {status} to the {transfer} of {name}{said}."
        step = None
        if status == 404:
            kind, step = NotFoundError, f"{transfer.capitalize()} it again."
        elif status in _EXPIRED:
            kind, step = AccessError, f"{transfer.capitalize()} it again: it gets a new address."
            what = f"The address for the {transfer} of {name} is not, or no longer, good"
            what += f" ({status}{said})."
        return kind(what, step, status=status, method=method, server=words)
