"""The notebook service as a user of Python sees it."""

from __future__ import annotations

from typing import Self

from labext.config import Connection, clean_url
from labext.nb.wire import Wire
from labext.transport import Rate, Transport
from labext.transport.auth import Bearer


class NotebookClient:
    """A client for one notebook service.

    Args:
        base_url: the service's address, ending in `/api`.
        password: the service's password (contract, Authentication); None where it has none.
        rate: the limit to keep; by default the service's own word alone. None is no pacing.
        verify: True, or the path of a CA bundle.
    """

    def __init__(
        self,
        base_url: str,
        password: str | None = None,
        *,
        rate: Rate | None = Rate(None),  # noqa: B008 - immutable
        verify: bool | str = True,
    ) -> None:
        self._transport = Transport(
            clean_url(base_url),
            auth=None if password is None else Bearer(password),
            rate=rate,
            verify=verify,
            service="notebook service",
        )
        self._wire = Wire(self._transport)

    @classmethod
    def reached(cls, connection: Connection) -> Self:
        """Return a client for the service that a profile, the environment or the sandbox names."""
        return cls(
            connection.base_url,
            connection.secrets.get("password"),
            verify=connection.options.get("ca_bundle", True),
        )

    def __repr__(self) -> str:
        return f"NotebookClient({self.base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """The service's address."""
        return self._transport.base_url

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._transport.close()
