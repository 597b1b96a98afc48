"""Send operations to a service with authentication, rate limiting and retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self, Unpack

import requests
from requests.auth import AuthBase

from labext.errors import LabextError, ResponseLimitError
from labext.http.auth import RefreshableAuth
from labext.http.connection_failures import ConnectionFailure, classify_failure
from labext.http.connection_pool import (
    DEFAULT_TIMEOUT,
    NETWORK_ERRORS,
    Deadline,
    ResponseLimits,
    SessionPool,
    Timeout,
    first_check,
    read_body,
)
from labext.http.download import AuthenticatedSource, OnBytes, download_file
from labext.http.headers import parse_http_date
from labext.http.rate_limiter import Rate, RateLimiter, UnlimitedRateLimiter
from labext.http.redirects import send_following_redirects
from labext.http.request import (
    Operation,
    QueryParams,
    Request,
    RequestArguments,
    RetryMode,
    build_request,
)
from labext.http.responses import ErrorMapper, Response
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


MIN_CLOCK_DIFFERENCE = timedelta(seconds=2)
"""Smallest difference between the clocks of server and client that is taken into account."""


class HttpClient:
    """Send operations to one service: authenticate, rate-limit, retry, validate, map errors.

    Threads may share a client: each has its own session, the rate limiter is shared.

    Args:
        base_url: the service's address; the paths of operations are relative to it.
        auth: the authentication; None for a service without keys.
        rate: the rate limit; `Rate(None)` follows the service's headers only; None disables rate
            limiting.
        verify: True, or the path of a CA bundle.
        map_error: turns an error response of this service into an exception.
        timeout: seconds to connect, and between two bytes of the response.
        attempts: maximum number of attempts per operation.
        patience: seconds after which no further attempt starts, and the longest wait for a rate
            limit.
        limits: bounds of a response that is read as a whole.
        service: the service's name in errors: `jobs service`.
        rate_limiter: a rate limiter to share with other clients, instead of a new one for `rate`.
        final_statuses: statuses that are final if the service itself sends them
            (`labext.http.retry_policy`).
    """

    def __init__(
        self,
        base_url: str,
        *,
        auth: AuthBase | None,
        rate: Rate | None,
        verify: bool | str = True,
        map_error: ErrorMapper | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        attempts: int = 5,
        patience: float = 60.0,
        limits: ResponseLimits | None = None,
        service: str = "service",
        rate_limiter: RateLimiter | None = None,
        final_statuses: Set[int] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = f"{base_url.rstrip('/')}/"
        self._auth = auth
        if rate_limiter is None and rate is not None:
            rate_limiter = RateLimiter(rate, clock=clock, sleep=sleep)
        self._rate_limiter = rate_limiter or UnlimitedRateLimiter()
        self._map_error = map_error
        self._final_statuses = final_statuses
        if (seconds := first_check.get()) is not None:
            timeout, patience = (5, seconds), seconds
        self._options = RequestOptions(
            service=service,
            verify=verify,
            timeout=timeout,
            attempts=attempts,
            patience=patience,
            limits=limits or ResponseLimits(),
            clock=clock,
            sleep=sleep,
        )
        self._server_seen = False
        self._server_ahead = timedelta()
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
        timeout: Timeout | None = None,
        **arguments: Unpack[RequestArguments],
    ) -> Response:
        """Send an operation and return its whole response.

        Args:
            op: the operation.
            timeout: replaces the client's timeout.
            arguments: see `RequestArguments`.

        Raises:
            LabextError: the service rejected the request, or sent no response.
            OutcomeUnknownError: the response to an operation that must not be repeated was lost.
        """
        request = build_request(op, self.base_url, **arguments)
        return self._options.run_with_retries(lambda: self._send_once(request, timeout))

    @contextmanager
    def stream(
        self,
        op: Operation,
        *,
        timeout: Timeout | None = None,
        **arguments: Unpack[RequestArguments],
    ) -> Iterator[requests.Response]:
        """Send an operation and yield its streamed response; errors are raised before that.

        Until the response begins it is retried like `send`; a later interruption is an
        UnreachableError. A GET that the service sends on to another origin is followed there
        without the key. The arguments are those of `send`.
        """
        request = build_request(op, self.base_url, **arguments)

        def start() -> requests.Response:
            response = self._exchange(request, timeout, streamed=True)
            if response.status_code >= 400:
                raise self._error(request, response)
            return response

        with self._options.run_with_retries(start) as response:
            error: LabextError
            try:
                yield response
                return
            except NETWORK_ERRORS as failure:
                if isinstance(failure, OSError) and not isinstance(
                    failure, requests.RequestException
                ):
                    raise  # of the stream's reader
                error = classify_failure(failure, request.url, self._options.service).error
        raise error

    def download(
        self,
        url: str,
        target: Path,
        *,
        renew_url: Callable[[], str] | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Path:
        """Download a presigned address to `target`; see `download.download_file`."""
        return download_file(
            url, target, renew_url=renew_url, on_bytes=on_bytes, options=self._options
        )

    def fetch(
        self,
        op: Operation,
        target: Path,
        *,
        path: Mapping[str, str] | None = None,
        params: QueryParams | None = None,
        page: bool = False,
        overwrite: bool = False,
        on_bytes: OnBytes | None = None,
    ) -> Path:
        """Stream an operation's response to `target`, as `download` does, but authenticated.

        Args:
            op: a GET.
            target: the file to write; its folder is created.
            path: the values of the path's placeholders.
            params: the query.
            page: the response may be a web page.
            overwrite: replace a file with other content.
            on_bytes: called with the number of bytes present, and the total if known.

        Raises:
            LabextError: the service refused the request, or sent no response.
            ConflictError: there is a file with other content, and `overwrite` is False.
            StorageError: the disk is full, or the folder can't be written.
        """
        request = build_request(op, self.base_url, path=path or {}, params=params)
        source = AuthenticatedSource(
            request, self._auth, lambda response: self._error(request, response), page=page
        )
        return download_file(
            request.url,
            target,
            on_bytes=on_bytes,
            options=self._options,
            source=source,
            overwrite=overwrite,
        )

    def store(self) -> PresignedStore:
        """Return a store for presigned addresses, with this client's timeouts and retries."""
        return PresignedStore(self._options)

    def server_time(self) -> datetime:
        """Return the current time by the server's clock, as far as its responses state it."""
        return datetime.now(UTC) + self._server_ahead

    def _compare_clocks(self, headers: Mapping[str, str]) -> None:
        if (date := parse_http_date(headers.get("Date", ""))) is not None:
            ahead = date - datetime.now(UTC)
            # `Date` has a resolution of one second.
            self._server_ahead = ahead if abs(ahead) > MIN_CLOCK_DIFFERENCE else timedelta()

    def _send_once(self, request: Request, timeout: Timeout | None) -> Response:
        response = self._exchange(request, timeout)
        if response.status_code >= 400:
            error = self._error(request, response)
            if not is_already_deleted(request, error):
                raise error
            return self._new_response(request, response, b"")
        with response:
            content = self._read_content(request, response)
        result = self._new_response(request, response, content)
        fault = result.validation_error()
        if isinstance(fault, ResponseLimitError):
            raise on_limit_exceeded(request, fault)
        if fault is not None:
            raise on_incomplete_response(request, fault)
        return result

    def _exchange(
        self, request: Request, timeout: Timeout | None, *, streamed: bool = False
    ) -> requests.Response:
        """Send a request once and return the response before its body is read."""
        options, op = self._options, request.op
        session = self._sessions.for_this_thread(fresh=op.repeat is RetryMode.UNSENT)
        deadline = Deadline(options.limits.seconds)
        if isinstance(self._auth, RefreshableAuth):
            self._auth.ready()
        with request.open_content() as stream, self._rate_limiter.slot(options.patience) as slot:
            began = options.clock()
            response = send_following_redirects(
                session,
                request.prepare(self._auth, stream),
                options,
                timeout=timeout,
                deadline=deadline,
                away=streamed and op.method == "GET",
            )
            self._sessions.mark_used()
            if not isinstance(response, ConnectionFailure):
                if not _is_relayed(request, response):
                    slot.record_response(response.headers, response.status_code)
                self._compare_clocks(response.headers)
        outcome = (
            response.reason if isinstance(response, ConnectionFailure) else response.status_code
        )
        _log.debug("%s %s: %s, %.3f s", op.method, request.path, outcome, options.clock() - began)
        if isinstance(response, ConnectionFailure):
            raise on_connection_lost(request, response, server_seen=self._server_seen)
        self._server_seen = True
        if streamed and response.status_code < 400:
            deadline.lift()
        return response

    def _read_content(self, request: Request, response: requests.Response) -> bytes:
        try:
            return read_body(response, self._options.limits.size)
        except NETWORK_ERRORS as error:
            failure = classify_failure(error, request.url, self._options.service)
        raise on_connection_lost(request, failure, server_seen=True)

    def _error(self, request: Request, response: requests.Response) -> Exception:
        error = on_error_response(
            request, response, self._options.service, self._map_error, self._final_statuses
        )
        if isinstance(error, RetryableError) and error.after and not _is_relayed(request, response):
            self._rate_limiter.pause(error.after)
        return error

    def _new_response(
        self, request: Request, response: requests.Response, content: bytes
    ) -> Response:
        return Response(
            request.op,
            response.status_code,
            response.headers,
            content,
            repeated=request.maybe_received,
            service=self._options.service,
            limit=self._options.limits.size,
        )


def _is_relayed(request: Request, response: requests.Response) -> bool:
    """Return whether a response may be the 429 of another server."""
    return request.op.relays and response.status_code == 429


class ServiceClient:
    """Base of the clients of the three services.

    Attributes:
        base_url: the service's address.
    """

    base_url: str
    _http: HttpClient

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._http.close()
