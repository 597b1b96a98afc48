"""Wait for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def wait_until(condition: Callable[[], Result], seconds: float = 90.0) -> Result:
    """Call a function until its result is true, and return that; fail after a time.

    Waits between calls are a tenth of the time so far, since many conditions ask a browser or a
    server, which needs the processor for what is waited for.
    """
    begin = time.monotonic()
    while not (result := condition()):
        waited = time.monotonic() - begin
        assert waited < seconds, f"not within {seconds:g} s"
        time.sleep(min(max(0.02, waited / 10), 0.25))
    return result
