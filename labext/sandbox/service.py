"""What a local service is to the host: the protocol between the two.

A service is a module-level object, named `package.module:name` in `labext.sandbox.host.SERVICES`.
The host opens its port, creates `metadata`'s tables, adds `kinds` to the queue, calls `seed`, then
`app`, serves that, and writes `connection` into connection.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from sqlalchemy import MetaData
from starlette.types import ASGIApp

from labext.sandbox.database import Database
from labext.sandbox.queue import Kind, Queue
from labext.sandbox.signing import Signer

RateLimits = Literal["named", "off"]


@dataclass(frozen=True)
class Site:
    """Where a service lives: what the host gives it.

    Attributes:
        folder: a folder of its own, readable by its owner only, kept between starts.
        secrets: a folder for its secrets: `labext.sandbox.folder.secret(site.secrets / "api_key")`.
        database: shared by all services; a service's tables carry its name as a prefix.
        queue: shared by all services.
        signer: signs addresses and cursors; its key is kept in the data folder.
        origin: `http://127.0.0.1:PORT`, without a slash at the end.
        rate: `named` keeps the limits that the contract or the service names, `off` keeps none.
    """

    folder: Path
    secrets: Path
    database: Database
    queue: Queue
    signer: Signer
    origin: str
    rate: RateLimits


class Service(Protocol):
    """A local service."""

    @property
    def name(self) -> str:
        """`lab`, `jobs` or `nb`."""

    @property
    def metadata(self) -> MetaData:
        """Its tables."""

    @property
    def preload(self) -> Sequence[str]:
        """Modules that its tasks need: imported once, so that a task's process has them at once."""

    def kinds(self, site: Site) -> Sequence[Kind]:
        """Its kinds of tasks."""

    def seed(self, site: Site) -> None:
        """Make what it has from the start, unless it is there. Runs at every start."""

    def app(self, site: Site) -> ASGIApp:
        """The application. The host wraps it in the Host check and the bound on a body's size."""

    def connection(self, site: Site) -> Mapping[str, str]:
        """Its entry in connection.json: `{"base_url": …, "api_key": …}`."""
