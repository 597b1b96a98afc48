"""Object stores: S3-compatible storage by fsspec, and a directory."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from labext.actions import parameter
from labext.errors import InputError, SetupError
from labext.extras import install_line
from labext.redaction import mask, register_secret
from labext.storage import sync_folder

SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")

_CONNECT_SECONDS, _READ_SECONDS = 5.0, 60.0
_TRIES = 2
"""Number of tries of one request; callers repeat an operation after a pause."""


class StoreError(Exception):
    """The storage cannot be used at present.

    Attributes:
        reason: one sentence without credentials.
        kind: `unavailable`, `denied`, `no bucket`, `no credentials` or `other`.
    """

    def __init__(self, reason: str, kind: str = "unavailable") -> None:
        super().__init__(reason)
        self.reason, self.kind = reason, kind


@dataclass(frozen=True)
class StorageSettings:
    """An object store, without credentials.

    Attributes:
        url: `s3://BUCKET/PREFIX` or `file:///DIR`.
        endpoint: the address of the S3 service; None is that of AWS.
        cache_bytes: the size of the copies on this machine; None for the default.
    """

    url: str
    endpoint: str | None = None
    cache_bytes: int | None = None

    @property
    def is_s3(self) -> bool:
        """Whether it is a bucket, else a directory."""
        return self.url.startswith("s3://")

    @property
    def root(self) -> str:
        """The bucket with the prefix, or the path of the directory."""
        parts = urlsplit(self.url)
        path = unquote(parts.path)
        return f"{parts.netloc}{path}".strip("/") if self.is_s3 else path

    def check(self) -> None:
        """Check that the address can be used on this machine.

        Raises:
            InputError: the address is invalid, or contains credentials.
            SetupError: a package is missing.
        """
        try:
            parts = urlsplit(self.url)
            endpoint = urlsplit(self.endpoint or "https://s3")
            has_password = bool(parts.password or parts.username or endpoint.password)
        except ValueError:
            raise InputError("The address of the storage is not valid.", _forms()) from None
        if has_password or "@" in parts.netloc:
            raise InputError(
                "The address of the storage contains credentials, which others can read.",
                "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment instead.",
            )
        if parts.scheme not in ("s3", "file"):
            raise InputError(f"{self.url!r} is not a supported storage.", _forms())
        if parts.query or parts.fragment or (parts.scheme == "s3") != bool(parts.netloc):
            raise InputError(f"{self.url} names no bucket or directory.", _forms())
        if parts.scheme == "file":
            if parts.path in ("", "/") or self.endpoint is not None:
                raise InputError(f"{self.url} names no directory for files.", _forms())
            return
        if endpoint.scheme not in ("https", "http") or not endpoint.hostname:
            raise InputError(
                f"{self.endpoint} is not the address of an S3 service.",
                f"Give one such as {parameter('storage_endpoint', 'https://s3.example.org')}.",
            )
        if importlib.util.find_spec("s3fs") is None:
            raise SetupError(
                "Files in S3 need the package s3fs, which is not installed.",
                f"Run `{install_line('s3')}`.",
            )

    def open(self) -> ObjectStore:
        """Return the object store; nothing is read or written yet."""
        return S3Store(self) if self.is_s3 else DirectoryStore(self)


def _forms() -> str:
    return (
        f"Give {parameter('storage', 's3://BUCKET/PREFIX')} or "
        f"{parameter('storage', 'file:///DIR')}."
    )


class ObjectStore(Protocol):
    """Objects by key, such as `jobs/files/0b5e…`. Every method may raise StoreError.

    An object exists as a whole or not at all. Methods may be called from several threads.
    """

    def put(self, source: Path, key: str) -> None:
        """Store the content of a file."""

    def get(self, key: str, target: Path) -> None:
        """Write an object to a new file; raise FileNotFoundError if there is no such object."""

    def delete(self, key: str) -> None:
        """Delete an object; a missing one is not an error."""

    def move(self, key: str, new_key: str) -> None:
        """Rename an object."""

    def sizes(self) -> Mapping[str, int]:
        """Return the size of every object in bytes, by key."""

    def ping(self) -> None:
        """Check that the store responds."""

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""


class DirectoryStore:
    """Objects as files in a directory, which several machines may mount."""

    def __init__(self, settings: StorageSettings) -> None:
        self._root = Path(settings.root)

    def put(self, source: Path, key: str) -> None:
        """Store the content of a file, synced to the disk."""
        target = self._root / key
        partial = self._root / f".{uuid4().hex}"
        with self._explained():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with source.open("rb") as content, partial.open("xb") as file:
                    shutil.copyfileobj(content, file, 1 << 20)
                    file.flush()
                    os.fsync(file.fileno())
                partial.replace(target)
                for folder in target.parents[: key.count("/") + 1]:
                    sync_folder(folder)
            finally:
                partial.unlink(missing_ok=True)

    def get(self, key: str, target: Path) -> None:
        """Write an object to a new file."""
        with self._explained():
            self._root.stat()
        try:
            shutil.copyfile(self._root / key, target)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._explain(error) from error

    def delete(self, key: str) -> None:
        """Delete an object."""
        with self._explained():
            (self._root / key).unlink(missing_ok=True)

    def move(self, key: str, new_key: str) -> None:
        """Rename an object."""
        with self._explained():
            (self._root / new_key).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._root / key).rename(self._root / new_key)

    def sizes(self) -> Mapping[str, int]:
        """Return the size of every object, by key."""
        with self._explained():
            return {
                path.relative_to(self._root).as_posix(): path.stat().st_size
                for path in self._root.rglob("*")
                if path.is_file() and not path.name.startswith(".")
            }

    def ping(self) -> None:
        """Check that the directory exists."""
        with self._explained():
            os.listdir(self._root)

    def close(self) -> None:
        """Do nothing."""

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._explain(error) from error

    def _explain(self, error: OSError) -> StoreError:
        kind = {PermissionError: "denied", FileNotFoundError: "no bucket"}
        return StoreError(
            f"The storage {self._root} can't be used: {error.strerror}.",
            kind.get(type(error), "unavailable"),
        )


class S3Store:
    """Objects in a bucket of an S3-compatible service.

    Credentials are those of the environment, of the usual files of AWS, or of the machine.
    """

    def __init__(self, settings: StorageSettings) -> None:
        self._root = settings.root
        self._endpoint = settings.endpoint
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._files: Any = None

    def put(self, source: Path, key: str) -> None:
        """Store the content of a file, in parts if it is large."""
        with self._explained() as files:
            files.put_file(str(source), self._path(key))

    def get(self, key: str, target: Path) -> None:
        """Write an object to a new file."""
        try:
            self._open().get_file(self._path(key), str(target))
        except Exception as error:
            if isinstance(error, FileNotFoundError) and "bucket" not in str(error):
                raise
            raise self._explain(error) from error

    def delete(self, key: str) -> None:
        """Delete an object."""
        with self._explained() as files:
            files.rm_file(self._path(key))

    def move(self, key: str, new_key: str) -> None:
        """Copy an object within the service, and delete the first one."""
        with self._explained() as files:
            files.cp_file(self._path(key), self._path(new_key))
        self.delete(key)

    def sizes(self) -> Mapping[str, int]:
        """Return the size of every object, by key."""
        start = len(self._root) + 1
        with self._explained() as files:
            found = files.find(self._root, detail=True)
        return {
            path[start:]: info["size"]
            for path, info in found.items()
            if info["type"] == "file" and len(path) > start
        }

    def ping(self) -> None:
        """Request the first key."""
        bucket, _, prefix = self._root.partition("/")
        start = prefix and f"{prefix}/"
        with self._explained() as files:
            files.call_s3("list_objects_v2", Bucket=bucket, Prefix=start, MaxKeys=1)

    def close(self) -> None:
        """Close the connections and end the thread of the event loop, so that a fork is safe."""
        with self._lock:
            files, loop, thread = self._files, self._loop, self._thread
            self._files = self._loop = self._thread = None
        if files is not None and loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_close(files), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _open(self) -> Any:
        with self._lock:
            if self._files is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="labext-s3", daemon=True
                )
                self._thread.start()
                self._files = self._connect(self._loop)
            return self._files

    def _connect(self, loop: asyncio.AbstractEventLoop) -> Any:
        from s3fs import S3FileSystem

        for name in SECRET_VARIABLES:
            if value := os.environ.get(name):
                register_secret(value)
        config: dict[str, Any] = {
            "connect_timeout": _CONNECT_SECONDS,
            "read_timeout": _READ_SECONDS,
            "retries": {"max_attempts": 1},
        }
        if self._endpoint is not None:  # other services than AWS may lack newer checksums
            config |= {
                "s3": {"addressing_style": "path"},
                "request_checksum_calculation": "when_required",
                "response_checksum_validation": "when_required",
            }
        files = S3FileSystem(
            endpoint_url=self._endpoint,
            config_kwargs=config,
            use_listings_cache=False,
            skip_instance_cache=True,
            loop=loop,
        )
        files.retries = _TRIES
        return files

    @contextmanager
    def _explained(self) -> Iterator[Any]:
        """Yield the open file system; an error becomes a StoreError."""
        try:
            yield self._open()
        except Exception as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> StoreError:
        """Return the error in one sentence, without the names of internal classes."""
        # The classes of botocore, which s3fs has imported.
        names = {kind.__name__ for kind in type(error).__mro__}
        where = f"The storage s3://{self._root}"
        cause = error.__cause__ if error.__cause__ is not None else error
        code = str((getattr(cause, "response", None) or {}).get("Error", {}).get("Code", ""))
        if names & {"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"}:
            return StoreError(f"There are no credentials for t{where[1:]}.", "no credentials")
        if code in ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"):
            return StoreError(f"{where} refuses the credentials ({code}).", "no credentials")
        if code == "NoSuchBucket" or isinstance(error, FileNotFoundError):
            return StoreError(f"{where} does not exist: there is no such bucket.", "no bucket")
        if isinstance(error, PermissionError):
            return StoreError(f"{where} denies access ({code or 'AccessDenied'}).", "denied")
        if names & {"BotoCoreError", "ConnectionError", "TimeoutError"}:
            service = self._endpoint or "AWS"
            return StoreError(f"{where} does not respond at {service} ({type(error).__name__}).")
        text = mask(str(error)).split("\n")[0][:200]
        return StoreError(f"{where} can't be used: {text or type(error).__name__}.", "other")


async def _close(files: Any) -> None:
    if files._s3 is not None:
        await files._s3.__aexit__(None, None, None)
