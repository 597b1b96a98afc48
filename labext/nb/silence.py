"""A service that does not answer for a while, because it is started again or the network is away.

Whoever watches something that was seen before is told so, and the watch goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from labext.errors import BusyError, LabextError, ServiceError

PATIENCE = 600.0
"""Seconds without an answer after which a watch of what was seen before is given up."""

FAILURES = (ServiceError, BusyError)
"""What a look fails by that the next one may not."""


class Silence:
    """How long there has been no answer.

    Attributes:
        words: what there is to say of it; empty while there are answers.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.words = ""
        self._clock = clock
        self._since: float | None = None

    def bear(self, error: LabextError) -> None:
        """Take a look that failed, by one of `FAILURES`, for one that is made again.

        Raises:
            LabextError: that failure, where patience has run out.
        """
        now = self._clock()
        since = now if self._since is None else self._since
        if now - since >= PATIENCE:
            raise error
        self._since = since
        self.words = f"No answer now, trying again. {error.what}"

    def end(self) -> None:
        """Note that there is an answer."""
        self._since, self.words = None, ""
