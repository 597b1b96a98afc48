"""The interface between the host and a sandbox service."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import MetaData
from starlette.types import ASGIApp

from labext.sandbox.core.data_folder import DataFolder, ensure_secret
from labext.sandbox.core.database import Database
from labext.sandbox.core.executors.worker_states import Executors
from labext.sandbox.core.file_storage.service_files import ServiceFiles
from labext.sandbox.core.file_storage.setup import FileStorageSetup
from labext.sandbox.core.queue import Queue, TaskKind
from labext.sandbox.core.server_settings import LOOPBACK_ADDRESS, ServerSettings
from labext.sandbox.core.signing import Signer

RateLimits = Literal["named", "off"]


@dataclass(frozen=True)
class Options:
    """Start options of a sandbox that its services use.

    Attributes:
        rate: `named` applies the limits of the contract or the service, `off` applies none.
        sequences: the minimum number of sequences of the laboratory platform; None for its own.
        max_running_per_account, max_queued_per_account: new values of these limits of the job
            service; None to leave them as they are.
    """

    rate: RateLimits = "named"
    sequences: int | None = None
    max_running_per_account: int | None = None
    max_queued_per_account: int | None = None


@dataclass(frozen=True)
class Certificate:
    """TLS certificate of a service: PEM files of the certificate and its key."""

    chain: Path
    key: Path


@dataclass(frozen=True)
class Site:
    """Resources that the host gives to a service.

    Attributes:
        folder: the folder of the service, readable by its owner only, kept between starts. Its
            folders `incoming` and `work` are for unfinished files and are not backed up.
        secrets: a folder for its secrets: `data_folder.ensure_secret(site.secrets / "api_key")`.
        database: shared by all services; a service's tables carry its name as a prefix.
        queue: shared by all services.
        signer: signs addresses and cursors; its key is kept in the data folder.
        origins: the address of each endpoint, `http://127.0.0.1:PORT`, without a trailing slash.
        options: the options with which the sandbox was started.
        executors: the workers that run tasks.
        server: the settings of a server, which has no sample accounts; None in a sandbox.
        storage: the users' files; by default those in `folder`.
        in_task: whether this is the process of a background task, for which no request waits.
    """

    folder: Path
    secrets: Path
    database: Database
    queue: Queue
    signer: Signer
    origins: Mapping[str, str]
    options: Options
    executors: Executors = field(default_factory=Executors)
    server: ServerSettings | None = None
    storage: ServiceFiles | None = None
    in_task: bool = False

    @property
    def files(self) -> ServiceFiles:
        """The users' files."""
        return ServiceFiles(self.folder) if self.storage is None else self.storage

    @property
    def origin(self) -> str:
        """The address of the first endpoint."""
        return next(iter(self.origins.values()))

    @property
    def rate(self) -> RateLimits:
        """Whether rate limits are enforced: `named` or `off`."""
        return self.options.rate


def create_site(
    service: Service,
    folder: DataFolder,
    database: Database,
    queue: Queue,
    storage: FileStorageSetup,
    options: Options,
    ports: Mapping[str, int],
    executors: Executors | None = None,
) -> Site:
    """Create the site of a service; endpoints without a port have an empty origin."""
    server = ServerSettings.load(folder)
    site_folder = folder.service(service.name)
    if server is None:
        has_tls = service.certificate(site_folder, folder.secrets) is not None
        host = "https://localhost" if has_tls else f"http://{LOOPBACK_ADDRESS}"
        origins = {
            endpoint: f"{host}:{ports[endpoint]}" if endpoint in ports else ""
            for endpoint in service.endpoints
        }
    else:
        origins = {endpoint: server.origin(endpoint) for endpoint in service.endpoints}
    return Site(
        folder=site_folder,
        secrets=folder.secrets,
        database=database,
        queue=queue,
        signer=Signer(ensure_secret(folder.secrets / "signing")),
        origins=origins,
        options=options,
        executors=executors or Executors(),
        server=server,
        storage=storage.files(service.name, site_folder),
    )


class Service(ABC):
    """A local service; by default one without tasks, users' files and sample accounts.

    Attributes:
        name: `lab`, `jobs` or `nb`.
        endpoints: names of its endpoints, each with its own address. Unique among services.
        metadata: the metadata of its tables.
        data_folders: the folders in `Site.folder` with users' files, each entry of which has a row.
    """

    name: str
    endpoints: Sequence[str]
    metadata: MetaData
    data_folders: Sequence[str] = ()

    @property
    def preload(self) -> Sequence[str]:
        """Modules that its tasks need, imported once by the fork server."""
        return ()

    def kinds(self, site: Site) -> Sequence[TaskKind]:  # noqa: ARG002
        """Return its kinds of tasks."""
        return ()

    @abstractmethod
    def seed(self, site: Site) -> None:
        """Create the initial data unless it exists. Runs at every start.

        It never deletes files of users: see `orphans`.
        """

    def has_sample_accounts(self, site: Site) -> bool:  # noqa: ARG002
        """Return whether an account exists that `seed` creates in a sandbox only."""
        return False

    def records_files(self, site: Site) -> bool:  # noqa: ARG002
        """Return whether a row of the database belongs to a file of a user."""
        return False

    def orphans(self, site: Site) -> Iterable[Path]:  # noqa: ARG002
        """Return the entries of `data_folders` that have no row."""
        return ()

    def certificate(self, folder: Path, secrets: Path) -> Certificate | None:  # noqa: ARG002
        """Return the certificate of its endpoints; None for plain HTTP. Called before `seed`."""
        return None

    @abstractmethod
    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """Return the application of each endpoint.

        A server lacks some endpoints: their origin is empty. The host adds the check of the Host
        header and the body size limit.
        """

    @abstractmethod
    def connection(self, site: Site) -> Mapping[str, Any]:
        """Return its entry in connection.json: `{"base_url": …, "api_key": …}`.

        A server's has no keys, since it has no sample accounts.
        """
