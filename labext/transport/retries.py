"""How often and how long a request is tried."""

from __future__ import annotations

import random
from collections.abc import Callable

import tenacity

from labext.errors import LabextError

FIRST_WAIT = 0.4
LONGEST_WAIT = 20.0

REJECTED = frozenset({408, 425, 429})
"""The service says that it did not act: to be repeated whatever the operation."""

TRANSIENT = frozenset({500, 502, 503, 504})
"""To be repeated where a repeat does no harm."""

GATEWAY = frozenset({502, 504})
"""Something in between lost the service's answer."""


class Again(Exception):
    """A try failed in a way that another one may mend.

    Attributes:
        error: what a user meets if none does.
        after: seconds that the service asked to wait.
        at_most: tries in all for this kind of failure.
    """

    def __init__(
        self, error: LabextError, after: float | None = None, at_most: int | None = None
    ) -> None:
        super().__init__()
        self.error = error
        self.after = after
        self.at_most = at_most


def retrying(
    attempts: int,
    patience: float,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> tenacity.Retrying:
    """Return the policy: waits double from 0.4 to 20 s with jitter, what the service asks is kept.

    At most `attempts` tries, none begun later than `patience` seconds after the policy was made.
    """
    began = clock()

    def out_of_patience(state: tenacity.RetryCallState) -> bool:
        return clock() - began + state.upcoming_sleep > patience

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Again),
        wait=_wait,
        stop=lambda state: (
            state.attempt_number >= min(attempts, _again(state).at_most or attempts)
            or out_of_patience(state)
        ),
        sleep=sleep,
        reraise=True,
    )


def backoff(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row: 0.4, doubled to 20, jittered.

    Jitter, so that the threads and users that failed together don't come back together.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(failures - 1, 10))
    return random.uniform(longest / 2, longest)  # noqa: S311 - nothing secret


def _wait(state: tenacity.RetryCallState) -> float:
    pause = backoff(state.attempt_number)
    asked = _again(state).after
    return pause if asked is None else max(asked, 0.0) + pause / 10


def _again(state: tenacity.RetryCallState) -> Again:
    failure = state.outcome.exception() if state.outcome else None
    if not isinstance(failure, Again):
        raise TypeError("only Again is tried again")
    return failure
