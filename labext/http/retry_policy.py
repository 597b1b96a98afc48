"""Decide whether a failed request is retried, reported, or of unknown outcome."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import TypeVar

import requests
import tenacity

from labext.errors import LabextError, NotFoundError, OutcomeUnknownError
from labext.http.connection_failures import ConnectionFailure, FailureStage
from labext.http.connection_pool import (
    DEFAULT_TIMEOUT,
    ResponseLimits,
    Timeout,
    check_timeout,
    tls_verification,
)
from labext.http.rate_limiter import backoff, requested_delay
from labext.http.request import Request, RetryMode
from labext.http.responses import (
    ErrorMapper,
    ErrorResponse,
    read_start,
    sent_action,
    server_message,
    to_exception,
)
from labext.redaction import mask

REJECTED = frozenset({408, 425, 429})
"""The service did not act: any operation can be retried."""

TRANSIENT = frozenset({500, 502, 503, 504})
"""Retried if the operation can safely be repeated."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

GATEWAY = frozenset({502, 504})
"""A proxy lost the service's response."""


class RetryableError(Exception):
    """A failed attempt that may succeed if it is repeated.

    Attributes:
        error: the exception to raise if no attempt succeeds.
        after: seconds that the service asked to wait.
        max_attempts: maximum number of attempts for this kind of failure.
    """

    def __init__(
        self, error: LabextError, after: float | None = None, max_attempts: int | None = None
    ) -> None:
        super().__init__()
        self.error = error
        self.after = after
        self.max_attempts = max_attempts


def new_retrying(
    attempts: int, patience: float, *, clock: Callable[[], float], sleep: Callable[[float], None]
) -> tenacity.Retrying:
    """Return the policy: waits double from 0.4 to 20 s with jitter, or follow Retry-After.

    At most `attempts` attempts, none started later than `patience` seconds after the policy was
    created. For a 429 without Retry-After twice as many: the window of a rate limit may be longer
    than the waits between `attempts` attempts. With one attempt there are no retries.
    """
    began = clock()

    def out_of_attempts(state: tenacity.RetryCallState) -> bool:
        failure = _last_failure(state)
        limit = min(attempts, failure.max_attempts or attempts)
        if failure.error.status == 429 and failure.after is None and attempts > 1:
            limit = 2 * attempts
        return state.attempt_number >= limit

    def out_of_patience(state: tenacity.RetryCallState) -> bool:
        return clock() - began + state.upcoming_sleep > patience

    def next_wait(state: tenacity.RetryCallState) -> float:
        pause = backoff(state.attempt_number)
        delay = _last_failure(state).after
        return pause if delay is None else max(delay, 0.0) + pause / 10

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(RetryableError),
        wait=next_wait,
        stop=lambda state: out_of_attempts(state) or out_of_patience(state),
        sleep=sleep,
        reraise=True,
    )


def _last_failure(state: tenacity.RetryCallState) -> RetryableError:
    failure = state.outcome.exception() if state.outcome else None
    if not isinstance(failure, RetryableError):
        raise TypeError("only a RetryableError is retried")
    return failure


_T = TypeVar("_T")


@dataclass(frozen=True)
class RequestOptions:
    """TLS verification, timeouts and retries of a request.

    Attributes:
        service: the service's name in errors: `job service`.
        verify: True, or the path of a CA bundle.
        timeout: seconds to connect, and between two bytes of the response.
        attempts: maximum number of attempts per request.
        patience: seconds after which no further attempt starts.
        limits: bounds of a response that is read as a whole.
        clock: returns monotonic seconds.
        sleep: waits for seconds.

    Raises:
        InputError: the timeout is not positive.
        SetupError: the CA bundle does not exist.
    """

    service: str = "service"
    verify: bool | str = True
    timeout: Timeout = DEFAULT_TIMEOUT
    attempts: int = 5
    patience: float = 60.0
    limits: ResponseLimits = field(default_factory=ResponseLimits)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        check_timeout(self.timeout)
        object.__setattr__(self, "verify", tls_verification(self.verify))

    def run_with_retries(self, once: Callable[[], _T]) -> _T:
        """Call `once` until it raises no `RetryableError`, else raise the last error."""
        policy = new_retrying(self.attempts, self.patience, clock=self.clock, sleep=self.sleep)
        try:
            return policy(once)
        except RetryableError as again:
            error, delay = again.error, again.after or 0.0
        if delay > self.patience:
            error = error.with_next_step(f"Try again after {delay:.0f} seconds.")
        raise error


_MAX_FIRST_CONNECTS = 3
"""Attempts to connect to a service that has never responded: a wrong address fails fast."""


def on_connection_lost(
    request: Request, failure: ConnectionFailure, *, server_seen: bool
) -> Exception:
    """Return the exception for a request without a response.

    The request is marked as possibly received once its body was sent. With `server_seen`, the
    service has responded before, so its address is right.
    """
    failure.error.method, failure.error.path = request.op.method, request.path
    if failure.stage is FailureStage.NEVER:
        return failure.error
    if failure.stage is FailureStage.LIMIT:
        return on_limit_exceeded(request, failure.error)
    if failure.stage is FailureStage.UNSENT:
        return RetryableError(
            failure.error, max_attempts=None if server_seen else _MAX_FIRST_CONNECTS
        )
    error = failure.error
    if failure.may_need_tls and not server_seen:
        error = error.with_hint("If it uses HTTPS, begin its address with https://.")
    return on_incomplete_response(request, error)


def on_transfer_failure(failure: ConnectionFailure) -> Exception:
    """Return the exception for a repeatable file transfer without a response."""
    if failure.stage in {FailureStage.NEVER, FailureStage.LIMIT}:
        return failure.error
    return RetryableError(failure.error)


def on_incomplete_response(request: Request, error: LabextError) -> Exception:
    """Return the exception for a response that is incomplete or invalid."""
    if request.op.repeat is RetryMode.UNSENT:
        return _outcome_unknown(request, error)
    request.maybe_received = True
    return RetryableError(error)


def on_limit_exceeded(request: Request, error: LabextError) -> Exception:
    """Return the exception for a response that exceeds a limit; a retry would exceed it too."""
    return _outcome_unknown(request, error) if request.op.repeat is RetryMode.UNSENT else error


def on_error_response(
    request: Request,
    response: requests.Response,
    service: str,
    map_error: ErrorMapper | None,
    final_statuses: Set[int] = frozenset(),
) -> Exception:
    """Return the exception for a response with status 400 or above, and read its body.

    `final_statuses` are final if the service itself sends them: the request is not retried, and
    its outcome counts as known.
    """
    status, headers = response.status_code, response.headers
    after = requested_delay(status, headers)
    kind = headers.get("Content-Type", "")
    with response:
        body = read_start(response)
    from_service = "json" in kind.lower()
    failure = ErrorResponse(
        status,
        request.op.method,
        request.path,
        server_message(body, kind),
        request.op,
        from_service,
        "WWW-Authenticate" in headers,
        sent_action(body),
    )
    error = to_exception(failure, service, map_error)
    request_id = mask(response.headers.get("X-Request-ID", ""))
    error.request_id = request_id if _REQUEST_ID.fullmatch(request_id) else None
    error.retry_after = after
    hint = ""
    if status >= 500 and error.request_id:
        hint = f"The request ID in the service's log is {error.request_id}."
        error = error.with_hint(hint)
    if from_service and status in final_statuses:
        return error
    if status in REJECTED or (status == 503 and after is not None):
        return RetryableError(error, after)
    if status not in TRANSIENT:
        return error
    if request.op.repeat is RetryMode.UNSENT:
        if status not in GATEWAY:
            return error
        unknown = _outcome_unknown(request, error)
        return unknown.with_hint(hint) if hint else unknown
    request.maybe_received = True
    return RetryableError(error, after)


def is_already_deleted(request: Request, error: Exception) -> bool:
    """Return whether a repeated deletion has succeeded because the object no longer exists."""
    return (
        request.op.repeat is RetryMode.DELETE
        and request.maybe_received
        and isinstance(error, NotFoundError)
    )


def _outcome_unknown(request: Request, error: LabextError) -> OutcomeUnknownError:
    unknown = OutcomeUnknownError(
        f"'{request.op.name}' was sent ({request.op.method} {request.path}) and may or may not "
        f"have been done: {error.message}",
        request.op.next_step,
        action=request.op.action,
        status=error.status,
        method=request.op.method,
        path=request.path,
        server=error.server,
        request_id=error.request_id,
    )
    unknown.reason = error.message
    return unknown
