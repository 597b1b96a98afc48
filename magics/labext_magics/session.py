"""What the magics keep between two lines: the client of each service, and names for completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from labext_magics.live import Names

if TYPE_CHECKING:
    from labext.config import Connection
    from labext.jobs import JobsClient


class Session:
    """The clients of one shell, made when first needed and again when the profile changes."""

    def __init__(self) -> None:
        self.names = Names()
        self._jobs: tuple[Connection, JobsClient] | None = None

    def jobs(self) -> JobsClient:
        """Return the client for the job service that is chosen now.

        Raises:
            SetupError: nothing says where the service is.
        """
        return self.connected()[1]

    def connected(self) -> tuple[Connection, JobsClient]:
        """Return the job service's client and how it is reached."""
        from labext.config import connection
        from labext.jobs import JobsClient

        found = connection("jobs")
        if self._jobs is None or self._jobs[0] != found:
            self.names.forget()
            self._jobs = found, JobsClient.reached(found)
        return self._jobs

    def close(self) -> None:
        """End the threads that look for names, and close the connections."""
        self.names.close()
        if self._jobs is not None:
            self._jobs[1].close()


_sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()


def of(shell: Any) -> Session:
    """Return a shell's session; a new one after `unload`."""
    found: Session | None = _sessions.get(shell)
    if found is None:
        found = _sessions[shell] = Session()
    return found


def unload() -> None:
    """Close every session and forget it."""
    for session in list(_sessions.values()):
        session.close()
    _sessions.clear()
