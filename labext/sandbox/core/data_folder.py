"""The data folder of a sandbox: layout, permissions, secrets, lock file and shell commands."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

from labext.config import is_default_sandbox, is_default_server
from labext.errors import SetupError, StorageError
from labext.redaction import register_secret
from labext.storage import create_atomic, storage_errors, write_atomic

Kind = Literal["sandbox", "server"]

MARKER_FILE = ".labext-sandbox"
DATABASE_FILE = "sandbox.sqlite"
DATABASE_URL_FILE = "database.url"
"""The address of a PostgreSQL database, with its password, instead of the SQLite file."""
DATABASE_VARIABLE = "LABEXT_DATABASE_URL"
"""Passes a requested address to the host, whose arguments all users can see."""
PORTS_FILE = "ports.json"
STORAGE_FILE = "storage.json"
"""The address of an object store for files, without credentials."""
SERVER_FILE = "server.json"
"""Settings of a server; a sandbox has none."""
EXIT_LOCKED = 3
"""Exit code of a host whose folder is in use by another host."""
EXIT_DISK_FULL = 4
"""Exit code of a host that could not start because the disk is full."""
EXIT_CUT_OFF = 5
"""Exit code of a host that received a second stop signal."""


class DataFolder:
    """Paths of the data folder of a sandbox; `prepare` creates it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().absolute()
        self.lock_file = self.path / "host.lock"
        self.state = self.path / "host.json"
        self.workers = self.path / "workers.json"
        self.log = self.path / "host.log"
        self.connection = self.path / "connection.json"
        self.ports = self.path / PORTS_FILE
        self.server = self.path / SERVER_FILE
        self.storage = self.path / STORAGE_FILE
        self.database = self.path / DATABASE_FILE
        self.secrets = self.path / "secrets"
        self.tasks = self.path / "tasks"
        self.quarantine = self.path / "quarantine"
        self.metrics = self.path / "metrics"
        self.database_url_file = self.path / DATABASE_URL_FILE
        self.requested_database: str | None = None

    @property
    def database_url(self) -> str:
        """The address of its database: the SQLite file, or the requested or kept address."""
        if self.requested_database is not None:
            return self.requested_database
        try:
            return self.database_url_file.read_text()
        except (FileNotFoundError, NotADirectoryError):
            return f"sqlite:///{self.database}"

    @property
    def uses_postgresql(self) -> bool:
        """Whether its data are in a PostgreSQL database."""
        return self.requested_database is not None or self.database_url_file.is_file()

    @property
    def database_name(self) -> str:
        """The path or the address of its database, without the password."""
        from labext.sandbox.core import postgresql

        if self.uses_postgresql:
            return postgresql.display(self.database_url)
        return str(self.database)

    @property
    def has_database(self) -> bool:
        """Whether a database was ever created for it."""
        return self.uses_postgresql or self.database.is_file()

    def request_database(self, url: str) -> None:
        """Use a database at an address; `keep_database` stores it once it is known to work.

        Raises:
            SetupError: its data are in a SQLite file.
        """
        if has_content(self.database):
            raise SetupError(
                f"The data of this {self.kind} are in {self.database}, not in another database.",
                "Choose a new folder for the other database, and restore a backup there.",
            )
        self.requested_database = url

    def keep_database(self) -> None:
        """Store the address of a requested database for later starts.

        Raises:
            StorageError: the folder cannot be written.
        """
        if self.requested_database is not None:
            with storage_errors(self.database_url_file):
                content = self.requested_database.encode()
                write_atomic(self.database_url_file, content, private=True)

    def is_ours(self) -> bool:
        """Return whether the folder belongs to a sandbox."""
        return (self.path / MARKER_FILE).is_file()

    def is_server(self) -> bool:
        """Return whether the folder belongs to a server, not to a person's sandbox."""
        return self.server.is_file()

    def check_kind(self, kind: Kind) -> None:
        """Check that the folder has no data of the other kind of services.

        Raises:
            SetupError: it has: the sample accounts of a sandbox must not be those of a server.
        """
        if self.is_server():
            if kind == "sandbox":
                raise SetupError(
                    f"The data in {self.path} belong to a server.",
                    "Administer it with `labext server`, or choose another folder.",
                )
        elif kind == "server" and (has_content(self.state) or self.database.exists()):
            raise SetupError(
                f"The data in {self.path} belong to a sandbox, which has sample accounts.",
                "Administer it with `labext sandbox`, or choose another folder.",
            )

    def check_user(self) -> None:
        """Check that the folder does not belong to another user.

        The owner could not read the files that root writes into it.

        Raises:
            SetupError: it belongs to another user.
        """
        if sys.platform == "win32":
            return
        try:
            user = (self.path / MARKER_FILE).stat().st_uid
        except PermissionError:
            owner = "another user"
        except OSError:
            return
        else:
            # Some network file systems report another owner than the user who may write.
            if user == 0 or os.geteuid() != 0:
                return
            owner = f"the user {_user_name(user)}"
        raise SetupError(
            f"The folder {self.path} belongs to {owner}.",
            "Run the command as that user, or choose another folder.",
        )

    def check_is_sandbox(self) -> None:
        """Raise SetupError unless the folder belongs to a sandbox."""
        if not self.is_ours():
            raise SetupError(
                f"The folder {self.path} does not belong to a sandbox.",
                "Name the folder that the sandbox was started with.",
            )

    def prepare(self) -> None:
        """Create the folder, or check that it is a sandbox's; make it readable by its owner only.

        Raises:
            SetupError: the folder has other contents.
            StorageError: it can't be created.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.is_ours():
                # Another process may have created the marker since the first check.
                if any(self.path.iterdir()) and not self.is_ours():
                    if has_content(self.state):  # copied without its hidden files
                        marker = shlex.quote(str(self.path / MARKER_FILE))
                        raise SetupError(
                            f"The folder {self.path} is a data folder without the file "
                            f"{MARKER_FILE}.",
                            f"Copy the hidden files, too, or run `touch {marker}`.",
                        )
                    raise SetupError(
                        f"The folder {self.path} contains other files.",
                        f"Choose an empty or a new folder for the {self.kind}.",
                    )
                (self.path / MARKER_FILE).touch(mode=0o600)
            self.path.chmod(0o700)
            for folder in (self.secrets, self.tasks):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"The folder {self.path} can't be written: {error.strerror}.",
                f"Choose another folder for the {self.kind}, or make room.",
            ) from error

    def service(self, name: str) -> Path:
        """Return the folder of a service; it is created if missing."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @property
    def kind(self) -> Kind:
        """Whose folder it is; of a new one, what the current command is for."""
        return "server" if self.is_server() else _commands.get()[0] or "sandbox"

    @property
    def is_default(self) -> bool:
        """Whether commands without `--data-dir` are for this folder."""
        return _is_default(self.kind, self.path)

    def command(self, words: str, *options: str) -> str:
        """Return the shell command for this folder, such as `labext sandbox stop`."""
        return _command(self.kind, words, *options, folder="" if self.is_default else self.path)

    def delete(self) -> None:
        """Delete the folder with its contents; the caller must hold the lock.

        The marker is deleted last, so that an interrupted deletion can be resumed.

        Raises:
            SetupError: it is not a sandbox's folder.
        """
        self.check_is_sandbox()
        for entry in self.path.iterdir():
            if entry.name not in (MARKER_FILE, self.lock_file.name):
                remove_path(entry)
        self.lock_file.unlink(missing_ok=True)
        (self.path / MARKER_FILE).unlink()
        if not self.path.is_symlink():
            self.path.rmdir()


class FileLock:
    """A file lock that is released when its process ends, also after a crash.

    The file contains the id of the process, which is valid only while the file is locked. Raises
    StorageError if the folder does not support locks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, seconds: float = 0.0, work: str = "") -> bool:
        """Acquire the lock, waiting at most `seconds`; return False if another process holds it.

        `work` is what the holder does if it is not a host: `restore` or `reset`.
        """
        until = time.monotonic() + seconds
        while True:
            if self._try(work=work):
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)

    def release(self) -> None:
        """Release the lock; in a forked child, the parent keeps it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_held(self) -> bool:
        """Return whether a running process holds the lock."""
        if self._descriptor is not None:
            return True
        if not self.path.exists():
            return False
        free = self._try(sign=False)
        self.release()
        return not free

    def is_current(self) -> bool:
        """Return whether the file at this path is still the one that this process has locked.

        False if the folder was deleted or moved, or another process created a new file.
        """
        try:
            return self._descriptor is not None and self._is_at_path(self._descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # unknown: a network file system does not respond
            return True

    def holder(self) -> dict[str, Any]:
        """Return `pid`, `created` and `work` of the last holder; empty if there was none."""
        return read_json(self.path)

    def _try(self, sign: bool = True, work: str = "") -> bool:
        import fcntl

        descriptor = None
        try:
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                if sign or error.errno not in (errno.EROFS, errno.EACCES):
                    raise
                descriptor = os.open(self.path, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The lock file of a deleted folder does not count: the next process creates a new one.
            if not self._is_at_path(descriptor):
                raise BlockingIOError
        except OSError as error:
            if descriptor is not None:
                os.close(descriptor)
            if isinstance(error, (BlockingIOError, FileNotFoundError)):
                return False
            raise StorageError(
                f"The file {self.path} can't be locked: {error.strerror}.",
                "Choose a folder of your own on a local disk.",
            ) from error
        self._descriptor = descriptor
        if sign:
            me = {"pid": os.getpid(), "created": start_time(os.getpid()), "work": work}
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(me).encode(), 0)
        return True

    def _is_at_path(self, descriptor: int) -> bool:
        return os.path.samestat(os.fstat(descriptor), self.path.stat())


def start_time(pid: int) -> float:
    """Return when a process has started; on Linux since the boot, whatever the clock is set to.

    Raises:
        psutil.Error: it does not exist.
    """
    import psutil

    # First: psutil before 7.1 calculates `create_time` from the last result.
    boot = psutil.boot_time() if sys.platform == "linux" else 0.0
    return psutil.Process(pid).create_time() - boot


def ensure_secret(path: Path) -> str:
    """Return the secret in a file, created if missing, and mask it in all logs from now on."""
    if not path.exists():
        create_atomic(path, secrets.token_urlsafe(32).encode())
    value = path.read_text()
    register_secret(value)
    return value


def list_entries(folder: Path) -> set[Path]:
    """Return the entries of a folder; empty if it does not exist."""
    return set(folder.iterdir()) if folder.is_dir() else set()


def has_content(path: Path) -> bool:
    """Return whether a file is not empty, or whether there is any file below a folder."""
    if path.is_dir() and not path.is_symlink():
        return any(files for _folder, _folders, files in os.walk(path))
    return os.path.lexists(path) and path.lstat().st_size > 0


def remove_path(path: Path) -> None:
    """Delete a file or a folder with its contents, even if permissions were removed.

    Raises:
        OSError: something could not be deleted.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        for folder, _, _ in os.walk(path):
            Path(folder).chmod(0o700)
            for name in os.listdir(folder):
                entry = Path(folder, name)
                if entry.is_dir() and not entry.is_symlink():
                    entry.chmod(0o700)
        shutil.rmtree(path)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if there is none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_secret(path: Path, value: str) -> None:
    """Replace the secret in a file, and mask it in all logs from now on."""
    register_secret(value)
    write_atomic(path, value.encode(), private=True)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object atomically to a file that only its owner can read."""
    write_atomic(path, json.dumps(value, indent=1).encode(), private=True)


KIND_VARIABLE = "LABEXT_SERVICES"
"""`server` in the processes of a server, also in those of its tasks."""

FOLDER_VARIABLE = "LABEXT_SERVICES_DIR"
"""The folder of a sandbox in its processes, if commands need `--data-dir` for it."""

_commands: ContextVar[tuple[Kind | None, Path | None]] = ContextVar(
    "commands", default=(None, None)
)
"""The kind and the folder of the commands in messages; the folder if they need `--data-dir`."""


def admin_command(words: str, *options: str) -> str:
    """Return a command in backticks: `labext sandbox WORDS`, or `labext server WORDS`.

    It names the folder where that is not the default, but not a server's to its users.
    """
    kind, folder = _commands.get()
    if kind is not None:
        return f"`{_command(kind, words, *options, folder=folder or '')}`"
    kind_name = os.environ.get(KIND_VARIABLE, "sandbox")
    place = os.environ.get(FOLDER_VARIABLE, "")
    return f"`{_command(kind_name, words, *options, folder=place)}`"


def _command(kind: str, words: str, *options: str, folder: Path | str = "") -> str:
    where = ["--data-dir", str(folder)] if folder else []
    return " ".join(["labext", kind, words, *map(shlex.quote, [*options, *where])])


def _is_default(kind: Kind, path: Path) -> bool:
    return (is_default_server if kind == "server" else is_default_sandbox)(path)


def _user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


@contextmanager
def use_commands(kind: Kind, path: Path) -> Iterator[None]:
    """Name the commands of the sandbox or server in a folder within the context."""
    token = _commands.set((kind, None if _is_default(kind, path) else path))
    try:
        yield
    finally:
        _commands.reset(token)
