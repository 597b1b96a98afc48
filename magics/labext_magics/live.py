"""Names that only the service knows, for completion: remembered, and refreshed behind the prompt.

Pressing Tab never waits longer than `PATIENCE`: what is known by then is offered, and an answer
that comes later is there for the next Tab.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from labext.errors import LabextError

PATIENCE = 0.28
"""The longest that a prompt waits, in seconds."""

FRESH = 10.0
"""How long an answer, or a failure, counts as fresh, in seconds."""


class Names:
    """A cache of lists of names, one a kind of thing, each filled by a function in a thread.

    A kind is written with its service before it: `jobs/files`.

    Attributes:
        filled: the services whose names have been looked for without being asked for one by one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, Sequence[Any]] = {}
        self._looked: dict[str, float] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._closed = False
        self.filled: set[str] = set()

    def get(self, key: str, look: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Return what is known under `key`; have `look` find it if that is too old.

        `look` runs in a thread of its own, never two for one key at once. A service that fails or
        isn't there gives no names, and isn't asked again for a while.
        """
        with self._lock:
            thread = self._threads.get(key)
            looked = self._looked.get(key)
            stale = looked is None or self._clock() - looked > FRESH
            if thread is None and stale and not self._closed:
                thread = threading.Thread(
                    target=self._look, args=(key, look), name=f"labext-names-{key}", daemon=True
                )
                self._threads[key] = thread
                thread.start()
        if thread is not None:
            thread.join(PATIENCE)
        with self._lock:
            return self._known.get(key, ())

    def expire(self) -> None:
        """Let the next `get` look again: something may have changed."""
        with self._lock:
            self._looked.clear()

    def forget(self, service: str) -> None:
        """Forget every name of a service: another one is in its place."""
        with self._lock:
            for table in (self._looked, self._known):
                for key in [key for key in table if key.startswith(f"{service}/")]:
                    del table[key]

    def close(self, timeout: float = 2.0) -> None:
        """Look for nothing more, and give what is being looked for a moment to end."""
        with self._lock:
            self._closed = True
            threads = list(self._threads.values())
        deadline = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _look(self, key: str, look: Callable[[], Sequence[Any]]) -> None:
        found: Sequence[Any] | None = None
        try:
            found = look()
        except (LabextError, OSError):
            pass  # no names then: completion is no place for a message
        finally:
            with self._lock:
                if found is not None:
                    self._known[key] = found
                self._looked[key] = self._clock()
                self._threads.pop(key, None)
