"""Wait for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def wait_until(condition: Callable[[], Result], seconds: float = 90.0) -> Result:
    """Call a function until its result is true, and return that; fail after a time.

    The longer it waits, the less often it calls the function, which may be a request.
    """
    began = time.monotonic()
    while not (result := condition()):
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds:g} s"
        time.sleep(pause_after(waited))
    return result


def pause_after(waited: float) -> float:
    """Return the seconds until the next check of a condition: 0.02 at first, 0.25 after 4.6 s."""
    return min(0.25, 0.02 + waited / 20)
