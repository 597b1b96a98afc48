"""What every method of the client stands on: one transport, and what works over it."""

from __future__ import annotations

from typing import Self

from labext.config import Connection, clean_url, state_dir
from labext.jobs.actions import Actions
from labext.jobs.batch.journal import Journal
from labext.jobs.batch.parts import Parts
from labext.jobs.batch.submission import BatchSubmitter
from labext.jobs.catalogue import Catalogue
from labext.jobs.failures import explain
from labext.jobs.input_content import ContentRecords, Contents
from labext.jobs.listing import Lister
from labext.jobs.results.fetching import Fetcher
from labext.jobs.results.obtaining import Source
from labext.jobs.service import Service
from labext.jobs.uploaded import Uploaded
from labext.transport import Rate, Transport
from labext.transport.auth import ApiKeyHeader
from labext.transport.limits import ResponseLimits


class Base:
    """A job service that is reached; see `JobsClient`."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        rate: Rate | None = Rate(None),  # noqa: B008 - immutable
        verify: bool | str = True,
        limits: ResponseLimits | None = None,
    ) -> None:
        self._transport = Transport(
            clean_url(base_url),
            auth=None if api_key is None else ApiKeyHeader(api_key),
            rate=rate,
            verify=verify,
            limits=limits,
            explain=explain,
            service="job service",
        )
        state = state_dir() / "jobs"
        self._service = Service(self._transport)
        self._journal = Journal(state, self._service.address, api_key)
        self._parts = Parts(self._service, self._journal)
        self._catalogue = Catalogue(self._service)
        self._lister = Lister(self._service, self._parts)
        self._uploaded = Uploaded(state, self._service.address, api_key)
        records = ContentRecords(state, self._service.address, api_key)
        self._contents = Contents(self._service, self._uploaded, records)
        source = Source(self._service, self._parts, self._catalogue, self._uploaded)
        self._fetcher = Fetcher(self._service, self._parts, self._lister, source, state)
        self._submitter = BatchSubmitter(self._service, self._journal, self._parts, self._contents)
        self._actions = Actions(self._service, self._parts, self._journal, records)

    @classmethod
    def reached(cls, connection: Connection) -> Self:
        """Return a client for the service that a profile, the environment or the sandbox names."""
        return cls(
            connection.base_url,
            connection.secrets.get("api_key"),
            verify=connection.options.get("ca_bundle", True),
            limits=ResponseLimits.of(connection.options),
        )

    def __repr__(self) -> str:
        return f"JobsClient({self.base_url!r})"

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
