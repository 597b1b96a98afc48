"""On what terms a service is asked, and the store that it gives presigned addresses of."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from labext.transport.limits import ResponseLimits
from labext.transport.retries import Again, retrying
from labext.transport.session import Timeout, trust

_T = TypeVar("_T")


@dataclass(frozen=True)
class Terms:
    """Whom to trust, how long to wait, how often to try.

    Attributes:
        service: what it is called in errors: `job service`.
        verify: True, or the path of a CA bundle.
        timeout: seconds to connect, and between two bytes of the answer.
        attempts: tries of one request, at most.
        patience: seconds after which no further try begins.
        limits: bounds of a response that is read as a whole.
        clock: seconds, ever rising.
        sleep: waits for seconds.

    Raises:
        SetupError: the CA bundle is not there.
    """

    service: str = "service"
    verify: bool | str = True
    timeout: Timeout = (5, 60)
    attempts: int = 5
    patience: float = 60.0
    limits: ResponseLimits = field(default_factory=ResponseLimits)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        object.__setattr__(self, "verify", trust(self.verify))

    def tried(self, once: Callable[[], _T]) -> _T:
        """Try until a try does not raise Again; raise what the last one's error was."""
        policy = retrying(self.attempts, self.patience, clock=self.clock, sleep=self.sleep)
        try:
            return policy(once)
        except Again as again:
            error = again.error
        raise error
