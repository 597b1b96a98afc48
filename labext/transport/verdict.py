"""What follows from a try that failed: an error, another try, or that nobody knows."""

from __future__ import annotations

from collections.abc import Set

import requests

from labext.errors import LabextError, NotFoundError, OutcomeUnknownError
from labext.transport.call import Call
from labext.transport.exchange import beginning
from labext.transport.failure import Explain, Failure, error_of, server_words
from labext.transport.lost import Lost, Stage
from labext.transport.operation import Repeat
from labext.transport.rate_headers import asked_to_wait
from labext.transport.retries import GATEWAY, REJECTED, TRANSIENT, Again

_FIRST_CONTACT = 3
"""Tries to connect to a service that has never answered: a wrong address is told at once."""


def after_loss(call: Call, missing: Lost, *, answered: bool) -> Exception:
    """Return what follows from a request without an answer.

    Args:
        call: what was asked; it remembers that the service may have seen it.
        missing: how the answer was lost.
        answered: the service has answered before, so that it is there.
    """
    missing.error.method, missing.error.path = call.op.method, call.path
    if missing.stage is Stage.NEVER:
        return missing.error
    if missing.stage is Stage.LIMIT:
        return beyond_limits(call, missing.error)
    if missing.stage is Stage.UNSENT:
        return Again(missing.error, at_most=None if answered else _FIRST_CONTACT)
    return after_half(call, missing.error)


def after_half(call: Call, error: LabextError) -> Exception:
    """Return what follows from an answer that came, but not as a whole or as what it should be."""
    if call.op.repeat is Repeat.UNSENT:
        return _unknown(call, error)
    call.seen = True
    return Again(error)


def beyond_limits(call: Call, error: LabextError) -> Exception:
    """Return what follows from a response that exceeds a limit: the same again would do so too."""
    return _unknown(call, error) if call.op.repeat is Repeat.UNSENT else error


def after_refusal(
    call: Call,
    response: requests.Response,
    service: str,
    explain: Explain | None,
    last_words: Set[int] = frozenset(),
) -> Exception:
    """Return what follows from an answer of 400 and above; reads it to its end.

    Args:
        call: what was asked.
        response: the answer.
        service: what it is called.
        explain: the service's own reading of a failure.
        last_words: statuses that are the service's last word where it says them itself: nothing is
            tried again then, and nothing is left unknown.
    """
    status = response.status_code
    after = asked_to_wait(status, response.headers)
    kind = response.headers.get("Content-Type", "")
    with response:
        words = server_words(beginning(response), kind)
    spoken = "json" in kind.lower()
    challenged = "WWW-Authenticate" in response.headers
    failure = Failure(status, call.op.method, call.path, words, call.op, spoken, challenged)
    error = error_of(failure, service, explain)
    if spoken and status in last_words:
        return error
    if status in REJECTED or (status == 503 and after is not None):
        return Again(error, after)
    if status not in TRANSIENT:
        return error
    if call.op.repeat is Repeat.UNSENT:
        return _unknown(call, error) if status in GATEWAY else error
    call.seen = True
    return Again(error, after)


def is_settled(call: Call, verdict: Exception) -> bool:
    """Tell whether a removal's repeat finds nothing more to remove: then it has succeeded."""
    return call.op.repeat is Repeat.DELETE and call.seen and isinstance(verdict, NotFoundError)


def _unknown(call: Call, error: LabextError) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"'{call.op.name}' was sent ({call.op.method} {call.path}) and may or may not have been"
        f" done: {error.what}",
        call.op.find_out,
        status=error.status,
        method=call.op.method,
        path=call.path,
        server=error.server,
    )
