"""What the magics keep between two lines: the client of each service, and names for completion."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload
from weakref import WeakKeyDictionary

from labext_magics.live import Names

if TYPE_CHECKING:
    from labext.config import Connection, Service
    from labext.jobs import JobsClient
    from labext.lab import LabClient
    from labext.nb import NotebookClient

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
        self.names = Names()
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
