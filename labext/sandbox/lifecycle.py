"""Start, stop, inspect, back up and reset a sandbox."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

from labext.actions import Action, parameter
from labext.config import sandbox_dir
from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    NotReadyError,
    ServiceError,
    SetupError,
    StorageError,
)
from labext.redaction import register_secret
from labext.sandbox import host_process
from labext.sandbox.core.data_folder import (
    EXIT_DISK_FULL,
    EXIT_LOCKED,
    DataFolder,
    FileLock,
    Kind,
    read_json,
)
from labext.sandbox.core.executors.worker_states import WorkersFile
from labext.sandbox.status import (
    JobsConnection,
    LabConnection,
    NotebookConnection,
    SandboxStatus,
    endpoint_problem,
)
from labext.storage import storage_errors

if TYPE_CHECKING:
    from labext.sandbox.core.backup import BackupResult
    from labext.sandbox.core.file_storage.objects import StorageSettings
    from labext.sandbox.core.restore import RestoreResult

START_SECONDS = 60.0
SEQUENCES_PER_SECOND = 500
"""Generated sequences for each second by which a start may take longer."""

STOP_SECONDS = 15.0

_PACKAGES = (
    *("Bio", "fastapi", "fastapi_offline", "itsdangerous", "jwt", "lxml_html_clean", "psutil"),
    *("pypdfium2", "python_multipart", "sqlalchemy", "starlette", "trafilatura", "trustme"),
    "uvicorn",
)


class Sandbox:
    """The local services and their data folder.

    Args:
        data_dir: the data folder; by default that of the session or the platform.
        rate: `named` enforces rate limits, `off` does not. None accepts a running sandbox with any
            value, and starts one with `named`.
        workers: the number of concurrent jobs; None as for `rate`, or one per core.
        sequences: the minimum number of sequences of the laboratory platform, reached with
            generated fragments and point mutants; None as for `rate`, or no minimum.
        services: `module:name` of the services to run; None for all.
        executor: the place where jobs run: None or `local` for this machine; `dask` on workers that
            connect to a scheduler beside the services; `tls://HOST:PORT` on those of a running
            scheduler.
        certificates: the folder with the cluster's certificates `ca.pem`, `server.pem` and
            `server.key`.
        allow_plaintext: whether the connection to a scheduler on another machine may be
            unencrypted.
        adopt_empty: start although the database is empty or damaged, and existing files are moved
            to the folder `quarantine`; or although the files of a PostgreSQL database are missing.
        database_url: the address of a PostgreSQL database, `postgresql+psycopg://…`, which keeps
            the data instead of a SQLite file in the folder; None as for `rate`. The folder
            remembers it.
        processes: the number of service processes, for a PostgreSQL database; None as for `rate`,
            or one.
        storage: the location of users' files: `s3://BUCKET/PREFIX` or `file:///DIR`; by default the
            data folder. The folder remembers it. Credentials are those of the environment or of the
            usual files of AWS.
        storage_endpoint: the address of the S3 service; None is that of AWS.
        storage_cache: the size of the copies of such files in the data folder, in bytes.
        max_running_per_account, max_queued_per_account: limits of jobs of each account, kept in
            the database; 0 for no limit, None to leave them as they are.

    Raises:
        SetupError: the data folder belongs to another user.

    As a context manager, it is started at the beginning, and stopped at the end unless it was
    running before.
    """

    kind: Kind = "sandbox"
    """The name of the program in messages."""

    _stop_seconds = STOP_SECONDS

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        rate: Literal["named", "off"] | None = None,
        workers: int | None = None,
        sequences: int | None = None,
        services: Sequence[str] | None = None,
        executor: str | None = None,
        certificates: Path | None = None,
        allow_plaintext: bool = False,
        adopt_empty: bool = False,
        database_url: str | None = None,
        processes: int | None = None,
        storage: str | None = None,
        storage_endpoint: str | None = None,
        storage_cache: int | None = None,
        max_running_per_account: int | None = None,
        max_queued_per_account: int | None = None,
    ) -> None:
        self._folder = DataFolder(sandbox_dir() if data_dir is None else data_dir)
        self._folder.check_user()
        storage = None if storage is None else storage.rstrip("/")
        self._storage = (storage, storage_endpoint, storage_cache)
        self._options = {
            "rate": rate,
            "workers": workers,
            "sequences": sequences,
            "executor": executor,
            "processes": processes,
            "storage": storage,
            "storage_endpoint": storage_endpoint,
            "storage_cache": storage_cache,
            "max_running_per_account": max_running_per_account,
            "max_queued_per_account": max_queued_per_account,
            "certificates": None if certificates is None else str(certificates.absolute()),
            "allow_plaintext": allow_plaintext or None,
        }
        self._start_seconds = START_SECONDS + (sequences or 0) // SEQUENCES_PER_SECOND
        self._services = services
        self._adopt_empty = adopt_empty
        self._database_url = database_url
        self._lock = FileLock(self._folder.lock_file)
        self._started_here = False

    @property
    def data_dir(self) -> Path:
        """The data folder."""
        return self._folder.path

    def command(self, verb: str) -> str:
        """Return a shell command for this sandbox, such as `labext sandbox stop`."""
        return self._folder.command(verb)

    @property
    def lab(self) -> LabConnection:
        """Addresses and credentials of the laboratory platform.

        Raises:
            NotReadyError: the sandbox does not run.
        """
        return LabConnection(**self.connection()["lab"])

    @property
    def jobs(self) -> JobsConnection:
        """Address and key of the job service.

        Raises:
            NotReadyError: the sandbox does not run.
        """
        return JobsConnection(**self.connection()["jobs"])

    @property
    def nb(self) -> NotebookConnection:
        """Address and password of the notebook service.

        Raises:
            NotReadyError: the sandbox does not run.
        """
        return NotebookConnection(**self.connection()["nb"])

    def start(self) -> SandboxStatus:
        """Start the sandbox unless it is running; return once its services respond.

        Concurrent starts give the same sandbox.

        Raises:
            SetupError: a package is missing, the system can't run it, the folder contains other
                files.
            ConflictError: it is running with other options than the requested ones.
            ServiceError: it did not start; the message says why.
            StorageError: the disk is full, or the folder can't be written.
        """
        check_system()
        self._folder.check_kind(self.kind)
        self._started_here = False
        until = time.monotonic() + self._start_seconds
        while not self._answers():
            if time.monotonic() > until:
                raise ServiceError(
                    f"The {self.kind} in {self.data_dir} did not start within "
                    f"{self._start_seconds:g} seconds. It goes on: the upgrade of a large "
                    "database may take longer.",
                    **self._next_step("stop", f"Wait, look at {self._folder.log}, or stop it with"),
                )
            if self._runs():
                time.sleep(0.02)
            else:
                self._started_here = self._start_host(until)
        if not self._started_here:
            self._check_options()
        return self.status()

    def stop(self) -> bool:
        """Stop the sandbox and wait for its end; return False if it was not running.

        Running jobs are stopped and restart with the sandbox.

        Raises:
            ConflictError: it is being restored or reset.
            ServiceError: it can't be stopped.
        """
        if not self._runs():
            return False
        holder = self._holder()
        if (work := holder.get("work")) and host_process.is_host_alive(holder):
            raise ConflictError(
                f"A {work} of the {self.kind} in {self.data_dir} is in progress.",
                "Wait until it has ended.",
            )
        for number, seconds in ((signal.SIGTERM, self._stop_seconds), (signal.SIGKILL, 5.0)):
            host_process.send_signal(holder, number)
            if _wait_until(
                lambda: not self._runs() and not host_process.is_host_alive(holder), seconds
            ):
                self._folder.connection.unlink(missing_ok=True)
                return True
        raise ServiceError(
            f"The {self.kind} in {self.data_dir} did not stop.",
            f"End the process {holder.get('pid')} yourself.",
        )

    def status(self) -> SandboxStatus:
        """Return the current state, also after a crash."""
        host_process.reap_hosts()
        if not self._runs():
            return SandboxStatus("stopped", self.data_dir)
        connection = self._connection()
        state = read_json(self._folder.state)
        started = state.get("started")
        return SandboxStatus(
            "running" if connection else "starting",
            self.data_dir,
            pid=self._lock.holder().get("pid"),
            addresses={
                name: entry["base_url"]
                for name, entry in connection.items()
                if isinstance(entry, dict)
            },
            rate=state.get("rate"),
            workers=state.get("workers"),
            started=None if started is None else datetime.fromtimestamp(started, UTC),
            cluster=tuple(map(asdict, WorkersFile(self._folder.workers).workers())),
            worker_command=connection.get("worker_command"),
            notices=tuple(state.get("notices", ())),
        )

    def health(self) -> dict[str, str]:
        """Return why each running endpoint cannot work; empty texts where it can."""
        urls = {name: urlsplit(url) for name, url in self.status().addresses.items()}
        return {
            name: endpoint_problem("127.0.0.1", url.port or 443, uses_tls=url.scheme == "https")
            for name, url in urls.items()
        }

    def reset(self) -> bool:
        """Stop the sandbox and delete all its data; return False if there was none.

        Objects in a `storage` are kept.

        Raises:
            SetupError: the folder is not that of a sandbox, or is that of a server.
            ServiceError: it can't be stopped.
            StorageError: something can't be deleted.
        """
        if not self.data_dir.exists():
            return False
        self._folder.check_kind(self.kind)
        self._folder.check_is_sandbox()
        self.stop()
        if not self._lock.acquire(seconds=STOP_SECONDS, work="reset"):
            raise ServiceError("The sandbox was started while it was reset.", "Reset it again.")
        try:
            self._drop_tables()
            self._folder.delete()
        except OSError as error:
            raise StorageError(
                f"Not all of {self.data_dir} could be deleted: {error}.",
                "Delete the rest yourself.",
            ) from error
        finally:
            self._lock.release()
        return True

    def _drop_tables(self) -> None:
        """Drop the tables in a PostgreSQL database; those of other applications are kept.

        Raises:
            ConflictError: another sandbox or server uses the database.
            StorageError: it cannot be reached or changed. In both cases, nothing was deleted.
        """
        if not self._folder.uses_postgresql:
            return
        from labext.sandbox.core.startup_checks import exclusive_database, open_database

        with exclusive_database(self._folder), open_database(self._folder) as database:
            database.drop_tables()

    def backup(self, file: str | Path) -> BackupResult:
        """Back up the sandbox, also while it runs, to a new file that only its owner can read."""
        check_system()
        from labext.sandbox.core.backup import back_up

        return back_up(self._folder, Path(file))

    def restore(self, file: str | Path, *, replace: bool = False) -> RestoreResult:
        """Restore a backup into the data folder.

        With `replace` the sandbox is stopped first, and its data are moved to `quarantine`.
        """
        check_system()
        from labext.sandbox.core.restore import check_backup, restore

        self._folder.check_kind(self.kind)
        folder, storage = self._requested_folder(), self._check_storage()
        check_backup(folder, Path(file), storage, self.kind)
        stopped = replace and self.stop()
        try:
            return restore(folder, Path(file), storage, replace=replace)
        except LabextError as error:
            start = self.command("start")
            if not stopped or start in error.next_step:
                raise
            step = f"{error.next_step} The {self.kind} is stopped: `{start}` starts it again."
            raise error.with_next_step(step) from None

    def connection(self) -> dict[str, Any]:
        """Return the addresses and keys of the services from connection.json.

        Raises:
            NotReadyError: the sandbox is not running.
        """
        connection = self._connection() if self._runs() else {}
        if not connection:
            raise NotReadyError(
                f"The {self.kind} in {self.data_dir} is not running.",
                **self._next_step("start", "Start it with"),
            )
        for entry in connection.values():
            if isinstance(entry, dict):
                for name in ("api_key", "client_secret", "oidc_secret", "password"):
                    register_secret(entry.get(name))
        return connection

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._started_here:
            self.stop()

    def _runs(self) -> bool:
        return sys.platform != "win32" and self._lock.is_held()

    def _answers(self) -> bool:
        # A killed process holds its lock until its last thread has ended.
        return (
            self._runs()
            and bool(self._connection())
            and host_process.is_host_alive(self._lock.holder())
        )

    def _connection(self) -> dict[str, Any]:
        """Return connection.json if it was written by the current host."""
        connection = read_json(self._folder.connection)
        return connection if connection.get("pid") == self._lock.holder().get("pid") else {}

    def _holder(self) -> dict[str, Any]:
        """Return the holder of the lock, which is written shortly after the lock is acquired."""
        _wait_until(lambda: bool(self._lock.holder()), 1.0)
        return self._lock.holder()

    def _start_host(self, until: float) -> bool:
        """Start a host and wait until it responds.

        Return False if another host was faster, or if it has not responded in time; then it goes
        on, since it may be upgrading the database.
        """
        self._check_storage()
        self._folder.prepare()
        folder = self._requested_folder()
        log = self._folder.log
        offset = log.stat().st_size if log.exists() else 0
        with storage_errors(log):
            process = host_process.spawn_host(folder, self._arguments())
        try:
            while process.poll() is None:
                if self._connection().get("pid") == process.pid:
                    host_process.detach(process)
                    return True
                if time.monotonic() > until:
                    host_process.detach(process)
                    return False
                time.sleep(0.01)
        except KeyboardInterrupt:
            host_process.detach(process)  # it keeps running: the next start finds it
            raise
        if process.returncode == EXIT_LOCKED:
            return False
        raise self._failure(process, offset)

    def _requested_folder(self) -> DataFolder:
        """Return the data folder with the requested database, which may be unusable.

        Raises:
            SetupError: the sandbox keeps its data elsewhere, or the driver is not installed.
            InputError: the address is not that of a PostgreSQL database.
        """
        folder = DataFolder(self.data_dir)
        if self._database_url is not None:
            from labext.sandbox.core.database import Database

            Database(self._database_url).close()
            folder.request_database(self._database_url)
        return folder

    def _check_storage(self) -> StorageSettings | None:
        """Return the requested storage; raise InputError or SetupError if it cannot be used."""
        url, endpoint, cache_bytes = self._storage
        if url is not None:
            from labext.sandbox.core.file_storage.objects import StorageSettings

            storage = StorageSettings(url, endpoint, cache_bytes)
            storage.check()
            return storage
        if endpoint is not None or cache_bytes is not None:
            raise InputError(
                "The address of the storage is missing.",
                f"Give it with {parameter('storage', 's3://BUCKET/PREFIX')}.",
            )
        return None

    def _failure(self, process: subprocess.Popen[bytes], offset: int) -> LabextError:
        """Return the reason why a host has ended, from its record, exit code or log."""
        failure = read_json(self._folder.state).get("failure", {})
        if failure.get("pid") == process.pid:
            return ServiceError(
                f"The {self.kind} did not start. {failure['message']}", failure["next_step"]
            )
        if process.returncode == EXIT_DISK_FULL:
            return StorageError(
                f"The disk is full: {self.data_dir} cannot be written.",
                "Make room, then start again.",
            )
        log = self._folder.log
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            return ServiceError(
                f"The {self.kind} did not start: its process was ended by {name}.",
                f"Look at {log}.",
            )
        reason = (
            host_process.last_log_line(log, offset) or f"it ended with code {process.returncode}."
        )
        return ServiceError(f"The {self.kind} did not start: {reason}", f"Look at {log}.")

    def _arguments(self) -> list[str]:
        arguments = []
        for name, value in self._options.items():
            if value is not None:
                option = f"--{name.replace('_', '-')}"
                arguments += [option] if value is True else [option, str(value)]
        for service in self._services or ():
            arguments += ["--service", service]
        if self._adopt_empty:
            arguments.append("--adopt-empty")
        return arguments

    def _check_options(self) -> None:
        """Raise ConflictError if the sandbox runs with other options than the requested ones."""
        state = read_json(self._folder.state)
        conflicts = [
            f"runs with {name} {state.get(name) or 'by default'}, not {requested}"
            for name, requested in self._options.items()
            if requested is not None and requested != state.get(name)
        ]
        if self._database_url is not None:
            from labext.sandbox.core import postgresql

            current, requested = self._folder.database_name, postgresql.display(self._database_url)
            if requested != current:
                conflicts.append(f"keeps its data in {current}, not in {requested}")
        if conflicts:
            raise ConflictError(
                f"The {self.kind} {conflicts[0]}.",
                **self._next_step("stop", "Stop it, then start it with these options:"),
            )

    def _next_step(self, verb: Literal["start", "stop"], step: str) -> dict[str, Any]:
        """Return the next step of an error: a sentence that ends with how to do it.

        An action is for the sandbox of the session; for another one it is a shell command.
        """
        if self.kind == "sandbox" and self.data_dir == sandbox_dir():
            action = Action.start_sandbox() if verb == "start" else Action.stop_sandbox()
            return {"next_step": f"{step} {{action}}.", "action": action}
        return {"next_step": f"{step} `{self.command(verb)}`."}


def check_system() -> None:
    """Check that the services can run on this system.

    Raises:
        SetupError: on Windows, or where their packages are not installed.
    """
    if sys.platform == "win32":
        raise SetupError(
            "The sandbox needs Linux or macOS.",
            "Connect to a service elsewhere with {action}, or use the Linux subsystem.",
            action=Action.connect("jobs"),
        )
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        from labext.extras import install_line

        raise SetupError(
            f"The sandbox needs packages that are not installed: {', '.join(missing)}.",
            f"Run `{install_line('sandbox')}`.",
        )


def _wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition; return False on a timeout."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
