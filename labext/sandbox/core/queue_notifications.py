"""Hear from PostgreSQL that other processes have added, cancelled or ended tasks."""

from __future__ import annotations

import logging
import threading

from labext.sandbox.core import postgresql
from labext.sandbox.core.queue import CHANNEL, Queue

RETRY_SECONDS = 2.0
"""Pause after a lost connection. The queue is also polled, so that nothing is missed meanwhile."""

log = logging.getLogger(__name__)


class QueueNotifications:
    """A thread that listens with a connection of its own."""

    def __init__(self, url: str, queue: Queue) -> None:
        self._url = url
        self._queue = queue
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="labext-notifications", daemon=True)

    def start(self) -> None:
        """Start to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Stop to listen."""
        self._stopping.set()
        self._thread.join(5.0)

    def _loop(self) -> None:
        import psycopg

        while not self._stopping.is_set():
            try:
                with psycopg.connect(postgresql.libpq_address(self._url), autocommit=True) as line:
                    line.execute(f"LISTEN {CHANNEL}")
                    self._queue.changed()  # what came before it listened
                    while not self._stopping.is_set():
                        if any(True for _ in line.notifies(timeout=0.5, stop_after=1)):
                            self._queue.changed()
            except psycopg.Error as error:
                log.warning("No notifications from the database for a while: %s", error)
                self._stopping.wait(RETRY_SECONDS)
