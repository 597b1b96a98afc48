"""Wait for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def wait_until(condition: Callable[[], Result], seconds: float = 40.0) -> Result:
    """Call a function until its result is true, and return that; fail after a time."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.05)
    return result
