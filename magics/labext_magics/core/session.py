"""The clients and the cache of names that a shell keeps between lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload
from weakref import WeakKeyDictionary

from labext.errors import LabextError

if TYPE_CHECKING:
    from labext.config import Connection, Service
    from labext.jobs import JobsClient
    from labext.lab import LabClient
    from labext.nb import NotebookClient

LOOKUP_TIMEOUT = 0.28
"""The longest that a prompt waits, in seconds."""

MAX_AGE = 10.0
"""How long an answer, or a failure, counts as fresh, in seconds."""


class NameCache:
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
            stale = looked is None or self._clock() - looked > MAX_AGE
            if thread is None and stale and not self._closed:
                thread = threading.Thread(
                    target=self._look, args=(key, look), name=f"labext-names-{key}", daemon=True
                )
                self._threads[key] = thread
                thread.start()
        if thread is not None:
            thread.join(LOOKUP_TIMEOUT)
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


_CLIENTS = {"lab": "LabClient", "jobs": "JobsClient", "nb": "NotebookClient"}


@dataclass(frozen=True)
class NotebookInUse:
    """The notebook that lines of `%nb` are about where they name none."""

    id: str
    name: str


class Session:
    """The clients of one shell, made when first needed and again when the profile changes.

    Attributes:
        names: what completion knows.
        notebook: the notebook in use.
        chats: which chat goes on about a notebook or a source, by its identifier.
    """

    def __init__(self) -> None:
        self.names = NameCache()
        self.notebook: NotebookInUse | None = None
        self.chats: dict[str, str] = {}
        self._open: dict[Service, tuple[Connection, Any]] = {}
        self._connecting = threading.Lock()

    def jobs(self) -> JobsClient:
        """Return the client for the job service that is chosen now.

        Raises:
            SetupError: nothing says where the service is.
        """
        return self.connected("jobs")[1]

    def lab(self) -> LabClient:
        """Return the client for the laboratory platform's tenant that is chosen now.

        Raises:
            SetupError: nothing says where it is.
            SignInError: nothing is known that signs in.
        """
        return self.connected("lab")[1]

    def nb(self) -> NotebookClient:
        """Return the client for the notebook service that is chosen now.

        Raises:
            SetupError: nothing says where it is.
        """
        return self.connected("nb")[1]

    @overload
    def connected(self, service: Literal["jobs"]) -> tuple[Connection, JobsClient]: ...
    @overload
    def connected(self, service: Literal["lab"]) -> tuple[Connection, LabClient]: ...
    @overload
    def connected(self, service: Literal["nb"]) -> tuple[Connection, NotebookClient]: ...
    def connected(self, service: Service) -> tuple[Connection, Any]:
        """Return how a service is reached, and its client."""
        import labext
        from labext.config import connection

        with self._connecting:  # completion looks for several kinds of names at once
            found = connection(service)
            held = self._open.get(service)
            if held is None or held[0] != found:
                self.names.forget(service)
                if service == "nb" and held is not None and not _same_place(held[0], found):
                    self.leave()
                client = getattr(labext, _CLIENTS[service]).reached(found)
                held = self._open[service] = found, client
            return held

    def forget(self, service: Service) -> None:
        """Close a service's client, and forget its tokens and names with it."""
        self.names.forget(service)
        if service == "nb":
            self.leave()
        if service in self._open:
            self._open.pop(service)[1].close()

    def leave(self) -> None:
        """Forget which notebook and which chats are in use."""
        self.notebook = None
        self.chats.clear()

    def close(self) -> None:
        """End the threads that look for names, and close the connections."""
        self.names.close()
        for _, client in self._open.values():
            client.close()


def _same_place(one: Connection, other: Connection) -> bool:
    """Say whether two ways reach one service: the sandbox's port is another at each start."""
    if one.profile is not None or other.profile is not None:
        return one.profile == other.profile
    return one.base_url == other.base_url


_sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()


def session_of(shell: Any) -> Session:
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
