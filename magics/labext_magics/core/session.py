"""The clients and the cache of names of a shell."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload
from weakref import WeakKeyDictionary

from labext.errors import LabextError
from labext_magics.core import output

if TYPE_CHECKING:
    from labext.config import Connection, Service
    from labext.jobs import JobsClient
    from labext.lab import LabClient
    from labext.nb import NotebookClient
    from labext.nb.records import Answer, Citation

LOOKUP_TIMEOUT = 0.28
"""Maximum time in seconds for which completion waits for names."""

MAX_AGE = 10.0
"""Time in seconds for which a result or a failure is cached."""


@contextmanager
def session_lock(service: Service, waiting: str, *identity: str) -> Iterator[None]:
    """Let one session on this computer at a time run a block.

    Args:
        service: the service that the block uses.
        waiting: the message if another session runs it.
        identity: what identifies the block.
    """
    from labext.config.paths import state_dir
    from labext.storage import exclusive

    key = hashlib.sha256("\n".join(identity).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    path = state_dir() / service / f"{key}.lock"
    with exclusive(path, lambda: output.print_message(waiting)):
        yield


class NameCache:
    """A cache of name lists, which are fetched in threads.

    Keys start with the service: `jobs/files`.

    Attributes:
        prefetched: the services whose names have been prefetched.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: dict[str, Sequence[Any]] = {}
        self._fetched_at: dict[str, float] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._closed = False
        self.prefetched: set[str] = set()

    def get(self, key: str, fetch: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Return the names cached under `key`; call `fetch` to refresh stale names.

        `fetch` runs in a separate thread, at most one per key at a time. If it fails, the cached
        names stay, and it is not called again within `MAX_AGE`.
        """
        with self._lock:
            thread = self._threads.get(key)
            fetched_at = self._fetched_at.get(key)
            stale = fetched_at is None or time.monotonic() - fetched_at > MAX_AGE
            if thread is None and stale and not self._closed:
                thread = self._start(key, partial(self._refresh, key, fetch))
        if thread is not None:
            thread.join(LOOKUP_TIMEOUT)
        with self._lock:
            return self._cached.get(key, ())

    def prefetch(self, service: str, fetch: Callable[[], object]) -> threading.Thread | None:
        """Call `fetch` in a thread unless one is running for the service; return the thread."""
        with self._lock:
            if self._closed or service in self._threads:
                return self._threads.get(service)
            return self._start(service, fetch)

    def expire(self) -> None:
        """Mark all names as stale, since the last command may have changed them."""
        with self._lock:
            self._fetched_at.clear()

    def forget(self, service: str) -> None:
        """Remove the cached names of a service, since another server may be in use."""
        with self._lock:
            for table in (self._fetched_at, self._cached):
                for key in [key for key in table if key.startswith(f"{service}/")]:
                    del table[key]

    def close(self, timeout: float = 2.0) -> None:
        """Prevent new threads, and wait up to `timeout` seconds for the running ones."""
        with self._lock:
            self._closed = True
            threads = list(self._threads.values())
        deadline = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _start(self, key: str, target: Callable[[], object]) -> threading.Thread:
        """Start a thread for which `close` waits; called with the lock held."""

        def run() -> None:
            try:
                target()
            finally:
                with self._lock:
                    self._threads.pop(key, None)

        thread = threading.Thread(target=run, name=f"labext-names-{key}", daemon=True)
        self._threads[key] = thread
        thread.start()
        return thread

    def _refresh(self, key: str, fetch: Callable[[], Sequence[Any]]) -> None:
        names: Sequence[Any] | None = None
        try:
            names = fetch()
        except (LabextError, OSError):
            pass  # completion does not report errors
        finally:
            with self._lock:
                if names is not None:
                    self._cached[key] = names
                self._fetched_at[key] = time.monotonic()


_CLIENTS = {"lab": "LabClient", "jobs": "JobsClient", "nb": "NotebookClient"}


@dataclass(frozen=True)
class NotebookInUse:
    """The default notebook of `%nb` lines."""

    id: str
    name: str


class Session:
    """The clients of one shell, created on first use and recreated when the profile changes.

    Attributes:
        names: the cache of names for completion.
        notebook: the notebook in use.
        chats: the current chat by ID of its notebook or source.
        answers: the answers by ID of the notebook and by question.
        cited: the passages of the last search or answer, best first.
    """

    def __init__(self) -> None:
        self.names = NameCache()
        self.notebook: NotebookInUse | None = None
        self.chats: dict[str, str] = {}
        self.answers: dict[str, dict[str, Answer]] = {}
        self.cited: Sequence[Citation] = ()
        self._open: dict[Service, tuple[Connection, Any]] = {}
        self._connecting = threading.Lock()

    @overload
    def connected(self, service: Literal["jobs"]) -> tuple[Connection, JobsClient]: ...
    @overload
    def connected(self, service: Literal["lab"]) -> tuple[Connection, LabClient]: ...
    @overload
    def connected(self, service: Literal["nb"]) -> tuple[Connection, NotebookClient]: ...
    def connected(self, service: Service) -> tuple[Connection, Any]:
        """Return a service's connection and its client.

        Raises:
            SetupError: no service is configured.
            SignInError: no credentials of the lab platform are configured.
        """
        from labext.config import connection

        with self._connecting:  # completion looks up several kinds of names concurrently
            target = connection(service)
            connected = self._open.get(service)
            if connected is None or connected[0] != target:
                self.names.forget(service)
                if (
                    service == "nb"
                    and connected is not None
                    and not _is_same_service(connected[0], target)
                ):
                    self.clear_notebook()
                client_class = getattr(import_module(f"labext.{service}.client"), _CLIENTS[service])
                client = client_class.from_connection(target)
                connected = self._open[service] = target, client
            return connected

    def forget(self, service: Service) -> None:
        """Close a service's client, and remove its tokens and names."""
        self.names.forget(service)
        if service == "nb":
            self.clear_notebook()
        if service in self._open:
            self._open.pop(service)[1].close()

    def clear_notebook(self) -> None:
        """Clear the notebook in use, the chats, the answers and the cited passages."""
        self.notebook = None
        self.chats.clear()
        self.answers.clear()
        self.cited = ()

    def close(self) -> None:
        """Stop the threads of the name cache, and close the clients."""
        self.names.close()
        for _, client in self._open.values():
            client.close()


def _is_same_service(one: Connection, other: Connection) -> bool:
    """Return True if the profiles are equal, since the sandbox changes its port, or the URLs."""
    if one.profile is not None or other.profile is not None:
        return one.profile == other.profile
    return one.base_url == other.base_url


_sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()


def session_of(shell: Any) -> Session:
    """Return a shell's session, created on first use."""
    session: Session | None = _sessions.get(shell)
    if session is None:
        session = _sessions[shell] = Session()
    return session


def unload() -> None:
    """Close and remove all sessions."""
    for session in list(_sessions.values()):
        session.close()
    _sessions.clear()
