"""The one HTTP client beneath the three services' clients."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

import requests
from requests.auth import AuthBase

from labext.errors import LabextError, NotFoundError, OutcomeUnknownError
from labext.redaction import logger
from labext.transport.call import Call, Params, new_call
from labext.transport.download import fetch
from labext.transport.exchange import beginning, exchange
from labext.transport.failure import Explain, Failure, error_of, server_words
from labext.transport.lost import NETWORK_ERRORS, Lost, Stage, lost
from labext.transport.operation import Operation, Repeat
from labext.transport.pacing import Pacer, Rate, retry_after
from labext.transport.reply import Reply
from labext.transport.retries import GATEWAY, REJECTED, TRANSIENT, Again, retrying
from labext.transport.session import Timeout, new_session, trust

_T = TypeVar("_T")

_log = logger("labext.transport")

_FIRST_CONTACT = 3
"""Tries to connect to a service that has never answered: a wrong address is told at once."""

_IDLE = 1.0
"""Seconds after which a kept connection is not trusted with what must not be sent twice."""


class Transport:
    """Sends operations to one service: signs in, paces, retries, checks, and explains failures.

    It may be used by several threads: each has a session of its own, the pacing is shared.

    Args:
        base_url: the service's address; operations' paths are relative to it.
        auth: how to sign in; None for a service without keys.
        rate: the limit to keep; `Rate(None)` follows the service's headers only; None is no pacing.
        verify: True, or the path of a CA bundle.
        explain: the service's own reading of a failure.
        timeout: seconds to connect, and between two bytes of the answer.
        attempts: tries of one operation, at most.
        patience: seconds after which no further try begins, and the longest wait for a rate limit.
        service: what it is called in errors: `jobs service`.
    """

    def __init__(
        self,
        base_url: str,
        *,
        auth: AuthBase | None,
        rate: Rate | None,
        verify: bool | str = True,
        explain: Explain | None = None,
        timeout: Timeout = (5, 60),
        attempts: int = 5,
        patience: float = 60.0,
        service: str = "service",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = f"{base_url.rstrip('/')}/"
        self.service = service
        self._auth = auth
        self._pacer = None if rate is None else Pacer(rate, clock=clock, sleep=sleep)
        self._verify = trust(verify)
        self._explain = explain
        self._timeout = timeout
        self._attempts = attempts
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._answered = False
        self._local = threading.local()
        self._sessions: weakref.WeakSet[requests.Session] = weakref.WeakSet()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Transport({self.base_url!r}, auth={self._auth!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of every thread; a later call opens new ones."""
        with self._lock:
            for session in list(self._sessions):
                session.close()

    def send(
        self,
        op: Operation,
        *,
        path: Mapping[str, str] | None = None,
        params: Params | None = None,
        json: Any = None,
        content: Callable[[], BinaryIO] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: Timeout | None = None,
    ) -> Reply:
        """Send an operation and return its whole answer.

        Args:
            op: what to ask.
            path: the values of the path's placeholders.
            params: the query; None leaves one out, booleans become `true` and `false`.
            json: the body as JSON.
            content: opens the body as a stream, anew for every try.
            headers: further headers.
            timeout: in place of the transport's.

        Raises:
            LabextError: what the service refused, or why there is no answer.
            OutcomeUnknownError: the answer to an operation that must not be repeated was lost.
        """
        call = new_call(
            op,
            self.base_url,
            path=path or {},
            params=params,
            json=json,
            content=content,
            headers=headers,
        )
        return self._tried(lambda: self._whole(call, timeout or self._timeout))

    @contextmanager
    def stream(
        self,
        op: Operation,
        *,
        path: Mapping[str, str] | None = None,
        params: Params | None = None,
        json: Any = None,
        content: Callable[[], BinaryIO] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: Timeout | None = None,
    ) -> Iterator[requests.Response]:
        """Send an operation and give its answer as it comes; a failure is raised before.

        Until the answer begins it is tried like `send`; after that a cut is an UnreachableError.
        A GET that the service sends on to another origin is followed there without the key.
        """
        call = new_call(
            op,
            self.base_url,
            path=path or {},
            params=params,
            json=json,
            content=content,
            headers=headers,
        )
        with self._tried(lambda: self._begun(call, timeout or self._timeout)) as response:
            error: LabextError
            try:
                yield response
                return
            except NETWORK_ERRORS as failure:
                if not _of_network(failure):
                    raise
                error = lost(failure, call.url, self.service).error
        raise error

    @contextmanager
    def get_presigned(
        self, url: str, *, headers: Mapping[str, str] | None = None, timeout: Timeout | None = None
    ) -> Iterator[requests.Response]:
        """GET a presigned address, which needs no key and gets none; no retry, any status.

        Raises:
            UnreachableError: there is no answer.
        """
        session = self._session()
        request = requests.Request("GET", url, headers=dict(headers or {}))
        got = exchange(
            session, request, timeout or self._timeout, self._verify, self.service, away=True
        )
        if isinstance(got, Lost):
            raise got.error
        with got:
            yield got

    def download(
        self,
        url: str,
        target: Path,
        *,
        fresh: Callable[[], str] | None = None,
        on_bytes: Callable[[int, int | None], None] | None = None,
    ) -> Path:
        """Download a presigned address to `target`, as `labext.transport.download.fetch` does."""
        return fetch(
            url,
            target,
            fresh=fresh,
            on_bytes=on_bytes,
            verify=self._verify,
            timeout=self._timeout,
            attempts=self._attempts,
            patience=self._patience,
            service=self.service,
            clock=self._clock,
            sleep=self._sleep,
        )

    def _tried(self, once: Callable[[], _T]) -> _T:
        policy = retrying(self._attempts, self._patience, clock=self._clock, sleep=self._sleep)
        try:
            return policy(once)
        except Again as again:
            error = again.error
        raise error

    def _whole(self, call: Call, timeout: Timeout) -> Reply:
        response = self._response(call, timeout)
        status = response.status_code
        if status >= 400:
            error = self._failed(call, response)
            if not _settled(call, error):
                raise error
            return self._reply(call, response, b"")
        with response:
            content = self._content(call, response)
        reply = self._reply(call, response, content)
        broken = reply.broken()
        if broken is not None:
            raise self._unfinished(call, broken)
        return reply

    def _begun(self, call: Call, timeout: Timeout) -> requests.Response:
        response = self._response(call, timeout, away=call.op.method == "GET")
        if response.status_code >= 400:
            raise self._failed(call, response)
        return response

    def _response(self, call: Call, timeout: Timeout, *, away: bool = False) -> requests.Response:
        """Send once; return the answer's beginning, or raise what its loss means."""
        if self._pacer:
            self._pacer.wait(self._patience)
        session = self._session(fresh=not call.repeatable)
        began = self._clock()
        stream = call.open()
        try:
            request = call.request(self._auth, stream)
            got = exchange(session, request, timeout, self._verify, self.service, away=away)
        finally:
            if stream is not None:
                stream.close()
            self._local.used = self._clock()
        took = self._local.used - began
        if isinstance(got, Lost):
            if self._pacer:
                self._pacer.lost()
            _log.debug("%s %s: %s after %.3f s", call.op.method, call.path, got.why, took)
            raise self._after_loss(call, got)
        _log.debug("%s %s: %s in %.3f s", call.op.method, call.path, got.status_code, took)
        self._answered = True
        if self._pacer:
            self._pacer.answered(got.headers)
        return got

    def _content(self, call: Call, response: requests.Response) -> bytes:
        try:
            # At once: `response.content` would put it together from pieces of 10 KiB.
            return bytes(response.raw.read(decode_content=True))
        except NETWORK_ERRORS as failure:
            missing = lost(failure, call.url, self.service)
        raise self._after_loss(call, missing)

    def _after_loss(self, call: Call, missing: Lost) -> Exception:
        missing.error.method, missing.error.path = call.op.method, call.path
        if missing.stage is Stage.NEVER:
            return missing.error
        if missing.stage is Stage.UNSENT:
            return Again(missing.error, at_most=None if self._answered else _FIRST_CONTACT)
        return self._unfinished(call, missing.error)

    def _unfinished(self, call: Call, error: LabextError) -> Exception:
        """Return what follows from an answer that never came whole."""
        if not call.repeatable:
            return self._unknown(call, error)
        call.seen = True
        return Again(error)

    def _unknown(self, call: Call, error: LabextError) -> OutcomeUnknownError:
        return OutcomeUnknownError(
            f"'{call.op.name}' was sent ({call.op.method} {call.path}) and may or may not have been"
            f" done: {error.what}",
            call.op.find_out,
            status=error.status,
            method=call.op.method,
            path=call.path,
            server=error.server,
        )

    def _failed(self, call: Call, response: requests.Response) -> Exception:
        """Return what follows from an answer of 400 and above: an error, or another try."""
        status, after = response.status_code, retry_after(response.headers)
        with response:
            words = server_words(beginning(response), response.headers.get("Content-Type", ""))
        error = error_of(
            Failure(status, call.op.method, call.path, words, call.op), self.service, self._explain
        )
        if after and self._pacer and status in REJECTED | TRANSIENT:
            self._pacer.pause(after)
        if status in REJECTED or (status == 503 and after is not None):
            return Again(error, after)
        if status not in TRANSIENT:
            return error
        if call.repeatable:
            call.seen = True
            return Again(error, after)
        return self._unknown(call, error) if status in GATEWAY else error

    def _reply(self, call: Call, response: requests.Response, content: bytes) -> Reply:
        return Reply(
            call.op,
            response.status_code,
            response.headers,
            content,
            repeated=call.seen,
            service=self.service,
        )

    def _session(self, *, fresh: bool = False) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = new_session()
            with self._lock:
                self._sessions.add(session)
        elif fresh and self._clock() - self._local.used > _IDLE:
            # A connection that the service closes just now would lose the request's outcome.
            session.close()
        return session


def _settled(call: Call, error: Exception) -> bool:
    """Tell whether a removal's repeat finds nothing more to remove: then it has succeeded."""
    return call.op.repeat is Repeat.DELETE and call.seen and isinstance(error, NotFoundError)


def _of_network(failure: Exception) -> bool:
    """Tell a failure of the network from an OSError of whoever reads the stream."""
    return not isinstance(failure, OSError) or isinstance(failure, requests.RequestException)
