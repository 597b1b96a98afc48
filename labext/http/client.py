"""Send operations to a service with authentication, rate limiting and retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

import requests
from requests.auth import AuthBase

from labext.errors import LabextError, ResponseLimitError
from labext.http.auth import RefreshableAuth
from labext.http.connection_pool import Deadline, ResponseLimits, SessionPool, Timeout, read_body
from labext.http.download import AuthenticatedSource, OnBytes, download_file
from labext.http.rate_limiter import Rate, RateLimiter, new_rate_limiter
from labext.http.redirects import send_following_redirects
from labext.http.request import Operation, QueryParams, Request, RetryMode, build_request
from labext.http.responses import (
    NETWORK_ERRORS,
    ConnectionFailure,
    ErrorMapper,
    Response,
    classify_failure,
)
from labext.http.retry_policy import (
    RequestOptions,
    RetryableError,
    is_already_deleted,
    on_connection_lost,
    on_error_response,
    on_incomplete_response,
    on_limit_exceeded,
)
from labext.http.upload import PresignedStore
from labext.redaction import get_logger

_log = get_logger("labext.http")


class HttpClient:
    """Send operations to one service: authenticate, rate-limit, retry, validate, explain errors.

    Threads may share a client: each has its own session, the rate limiter is shared.

    Args:
        base_url: the service's address; the paths of operations are relative to it.
        auth: how to sign in; None for a service without keys.
        rate: the rate limit; `Rate(None)` follows the service's headers only; None disables rate
            limiting.
        verify: True, or the path of a CA bundle.
        explain: turns an error response of this service into an exception.
        timeout: seconds to connect, and between two bytes of the response.
        attempts: maximum number of attempts per operation.
        patience: seconds after which no further attempt starts, and the longest wait for a rate
            limit.
        limits: bounds of a response that is read as a whole.
        service: the service's name in errors: `jobs service`.
        pacer: a rate limiter to share with other clients, instead of a new one for `rate`.
        last_words: statuses that are final if the service itself sends them
            (`labext.http.retry_policy`).
    """

    def __init__(
        self,
        base_url: str,
        *,
        auth: AuthBase | None,
        rate: Rate | None,
        verify: bool | str = True,
        explain: ErrorMapper | None = None,
        timeout: Timeout = (5, 60),
        attempts: int = 5,
        patience: float = 60.0,
        limits: ResponseLimits | None = None,
        service: str = "service",
        pacer: RateLimiter | None = None,
        last_words: Set[int] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = f"{base_url.rstrip('/')}/"
        self._auth = auth
        self._pacer = pacer or new_rate_limiter(rate, clock, sleep)
        self._explain = explain
        self._last_words = last_words
        self._terms = RequestOptions(
            service=service,
            verify=verify,
            timeout=timeout,
            attempts=attempts,
            patience=patience,
            limits=limits or ResponseLimits(),
            clock=clock,
            sleep=sleep,
        )
        self._answered = False
        self._sessions = SessionPool(clock)

    def __repr__(self) -> str:
        return f"HttpClient({self.base_url!r}, auth={self._auth!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of every thread; a later call opens new ones."""
        self._sessions.close()

    def send(
        self,
        op: Operation,
        *,
        path: Mapping[str, str] | None = None,
        params: QueryParams | None = None,
        json: Any = None,
        content: Callable[[], BinaryIO] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: Timeout | None = None,
    ) -> Response:
        """Send an operation and return its whole response.

        Args:
            op: the operation.
            path: the values of the path's placeholders.
            params: the query; a value of None is left out, booleans become `true` and `false`.
            json: the body as JSON.
            content: opens the body as a stream, anew for every attempt.
            headers: further headers.
            timeout: replaces the client's timeout.

        Raises:
            LabextError: the service refused the request, or sent no response.
            OutcomeUnknownError: the response to an operation that must not be repeated was lost.
        """
        call = build_request(
            op,
            self.base_url,
            path=path or {},
            params=params,
            json=json,
            content=content,
            headers=headers,
        )
        return self._terms.run_with_retries(
            lambda: self._whole(call, timeout or self._terms.timeout)
        )

    @contextmanager
    def stream(
        self,
        op: Operation,
        *,
        path: Mapping[str, str] | None = None,
        params: QueryParams | None = None,
        json: Any = None,
        content: Callable[[], BinaryIO] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: Timeout | None = None,
    ) -> Iterator[requests.Response]:
        """Send an operation and yield its streamed response; errors are raised before that.

        Until the response begins it is retried like `send`; a later interruption is an
        UnreachableError. A GET that the service sends on to another origin is followed there
        without the key.
        """
        call = build_request(
            op,
            self.base_url,
            path=path or {},
            params=params,
            json=json,
            content=content,
            headers=headers,
        )
        with self._terms.run_with_retries(
            lambda: self._begun(call, timeout or self._terms.timeout)
        ) as response:
            error: LabextError
            try:
                yield response
                return
            except NETWORK_ERRORS as failure:
                if not _is_network_error(failure):
                    raise
                error = classify_failure(failure, call.url, self._terms.service).error
        raise error

    def download(
        self,
        url: str,
        target: Path,
        *,
        fresh: Callable[[], str] | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Path:
        """Download a presigned address to `target`; see `download.download_file`."""
        return download_file(url, target, fresh=fresh, on_bytes=on_bytes, terms=self._terms)

    def fetch(
        self,
        op: Operation,
        target: Path,
        *,
        path: Mapping[str, str] | None = None,
        params: QueryParams | None = None,
        page: bool = False,
        on_bytes: OnBytes | None = None,
    ) -> Path:
        """Stream an operation's response to `target`, as `download` does, but authenticated.

        Args:
            op: a GET.
            target: the file to write; its folder is created.
            path: the values of the path's placeholders.
            params: the query.
            page: the response may be a web page.
            on_bytes: called with the number of bytes present, and the total if known.

        Raises:
            LabextError: the service refused the request, or sent no response.
            StorageError: the disk is full, or the folder can't be written.
        """
        call = build_request(
            op,
            self.base_url,
            path=path or {},
            params=params,
            json=None,
            content=None,
            headers=None,
        )
        own = AuthenticatedSource(call, self._auth, lambda got: self._refused(call, got), page=page)
        return download_file(call.url, target, on_bytes=on_bytes, terms=self._terms, own=own)

    def store(self) -> PresignedStore:
        """Return a store for presigned addresses, with this client's timeouts and retries."""
        return PresignedStore(self._terms)

    def _whole(self, call: Request, timeout: Timeout) -> Response:
        response = self._response(call, timeout)
        if response.status_code >= 400:
            verdict = self._refused(call, response)
            if not is_already_deleted(call, verdict):
                raise verdict
            return self._reply(call, response, b"")
        with response:
            content = self._content(call, response)
        reply = self._reply(call, response, content)
        broken = reply.validation_error()
        if isinstance(broken, ResponseLimitError):
            raise on_limit_exceeded(call, broken)
        if broken is not None:
            raise on_incomplete_response(call, broken)
        return reply

    def _begun(self, call: Request, timeout: Timeout) -> requests.Response:
        response = self._response(call, timeout, streamed=True)
        if response.status_code >= 400:
            raise self._refused(call, response)
        return response

    def _response(
        self, call: Request, timeout: Timeout, *, streamed: bool = False
    ) -> requests.Response:
        """Send once; return the start of the response, or raise the error for a lost one."""
        session = self._sessions.for_this_thread(fresh=call.op.repeat is RetryMode.UNSENT)
        terms, deadline = self._terms, Deadline(self._terms.limits.seconds)
        if isinstance(self._auth, RefreshableAuth):
            self._auth.ready()
        with call.open_content() as stream, self._pacer.slot(self._terms.patience) as turn:
            began = self._terms.clock()
            request = call.request(self._auth, stream)
            response = send_following_redirects(
                session,
                request,
                timeout,
                terms.verify,
                terms.service,
                deadline=deadline,
                away=streamed and call.op.method == "GET",
            )
            self._sessions.mark_used()
            if not isinstance(response, ConnectionFailure):
                turn.record_response(response.headers, response.status_code)
        outcome = (
            response.reason if isinstance(response, ConnectionFailure) else response.status_code
        )
        _log.debug(
            "%s %s: %s, %.3f s", call.op.method, call.path, outcome, self._terms.clock() - began
        )
        if isinstance(response, ConnectionFailure):
            raise on_connection_lost(call, response, answered=self._answered)
        self._answered = True
        if streamed and response.status_code < 400:
            deadline.lift()
        return response

    def _content(self, call: Request, response: requests.Response) -> bytes:
        try:
            return read_body(response, self._terms.limits.size)
        except NETWORK_ERRORS as failure:
            missing = classify_failure(failure, call.url, self._terms.service)
        raise on_connection_lost(call, missing, answered=True)

    def _refused(self, call: Request, response: requests.Response) -> Exception:
        verdict = on_error_response(
            call, response, self._terms.service, self._explain, self._last_words
        )
        if isinstance(verdict, RetryableError) and verdict.after:
            self._pacer.pause(verdict.after)
        return verdict

    def _reply(self, call: Request, response: requests.Response, content: bytes) -> Response:
        return Response(
            call.op,
            response.status_code,
            response.headers,
            content,
            repeated=call.maybe_received,
            service=self._terms.service,
            limit=self._terms.limits.size,
        )


def _is_network_error(failure: Exception) -> bool:
    """Return whether an exception is a network failure, not an OSError of the stream's reader."""
    return not isinstance(failure, OSError) or isinstance(failure, requests.RequestException)
