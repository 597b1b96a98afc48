"""Download files with resume; they appear under their name only when complete."""

from __future__ import annotations

import errno
import filecmp
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

import requests
from requests.auth import AuthBase

from labext import storage
from labext.actions import parameter
from labext.errors import (
    ConflictError,
    ResponseLimitError,
    ServiceError,
    StorageError,
    UnreachableError,
)
from labext.http.connection_failures import ConnectionFailure, FailureStage, classify_failure
from labext.http.connection_pool import NETWORK_ERRORS, Deadline, new_session
from labext.http.headers import content_length
from labext.http.redirects import send_following_redirects
from labext.http.request import Request
from labext.http.responses import read_message
from labext.http.retry_policy import RequestOptions, RetryableError, on_transfer_failure
from labext.http.upload import check_presigned_url, on_store_error
from labext.storage import is_full

_T = TypeVar("_T")


class PartialFile:
    """A context for writing a file, which gets the name of its target only after `finish`.

    Attributes:
        size: number of bytes present.
        validator: the ETag or date of the partly downloaded version; None if it can't be resumed.
        total: size of the whole file in bytes, if known.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.size = 0
        self.validator: str | None = None
        self.total: int | None = None
        self._path = target.with_name(f".{target.name}.part")
        self._state_path = target.with_name(f".{target.name}.part.json")

    def __enter__(self) -> Self:
        if self._store(self.target.is_dir):
            raise StorageError(f"{self.target} is a folder.", "Choose the name of a file.")
        for path in (self._path, self._state_path):
            if self._store(path.is_symlink):  # from another user of a shared folder
                self._store(path.unlink)
        self._file = self._store(self._open)
        try:
            self._load_state()
        except BaseException:  # interrupted before the context was entered: close the file
            self._file.close()
            raise
        return self

    def __exit__(
        self, _: type[BaseException] | None, failure: BaseException | None, __: TracebackType | None
    ) -> None:
        self._file.close()
        if isinstance(failure, StorageError) or not (self.size and self.validator):
            self._remove(self._path)
            self._remove(self._state_path)

    def restart(self, validator: str | None, total: int | None) -> None:
        """Start over, with the validator and size of the new version."""
        if self.size:  # ext4 writes a truncated file to disk at once, at half the speed
            self._store(lambda: self._file.truncate(0))
        self.size, self.validator, self.total = 0, validator, total
        free = shutil.disk_usage(self.target.parent)
        if total is not None and free.total and free.free < total:
            raise self._storage_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        state = json.dumps({"validator": validator, "total": total})
        self._store(lambda: self._state_path.write_text(state, "utf-8"))

    def write(self, chunk: bytes) -> None:
        """Append bytes; raise StorageError if the disk is full or not writable."""
        rest = memoryview(chunk)
        while rest:
            written = self._store(partial(self._file.write, rest))
            self.size += written
            rest = rest[written:]

    def finish(self, *, overwrite: bool) -> None:
        """Give the complete file, which is synced to disk before, the name of its target.

        Raises:
            ConflictError: there is a file with other content, and `overwrite` is False.
        """

        def rename() -> None:
            os.fsync(self._file.fileno())
            self._file.close()
            taken = not overwrite and self.target.exists()
            if taken and not filecmp.cmp(self._path, self.target, shallow=False):
                self.validator = None  # nothing to resume
                raise ConflictError(
                    f"{self.target} already exists with other content.",
                    f"Replace it with {parameter('overwrite')}, or write to another path.",
                )
            self._path.replace(self.target)
            storage.sync_folder(self.target.parent)

        self._store(rename)
        self.validator = None
        self._remove(self._state_path)

    def _open(self) -> BinaryIO:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = self._path.open("ab", buffering=0)
            try:
                self._lock(file)
                if storage.is_same_file(file.fileno(), self._path):
                    return file
            except BaseException:
                file.close()
                raise
            file.close()

    def _lock(self, file: BinaryIO) -> None:
        if not storage.lock_file(file.fileno()):
            raise StorageError(
                f"Another download is writing to {self.target}.",
                "Wait until it is done, or choose another folder.",
            )

    def _load_state(self) -> None:
        """Read the state of an earlier download from its file."""
        self.size = os.fstat(self._file.fileno()).st_size
        try:
            state = json.loads(self._state_path.read_text("utf-8"))
            validator, total = state["validator"], state["total"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        if isinstance(validator, str) and isinstance(total, int | None):
            self.validator, self.total = validator, total

    def _store(self, operation: Callable[[], _T]) -> _T:
        try:
            return operation()
        except StorageError:
            raise
        except OSError as failure:
            error = self._storage_error(failure)
        raise error

    def _storage_error(self, failure: OSError) -> StorageError:
        if is_full(failure):
            return StorageError(
                f"The disk is full: {self.target} does not fit.",
                "Free some space, or choose a folder on another disk.",
            )
        return StorageError(
            f"{self.target} can't be written ({failure.strerror}).", storage.write_step(failure)
        )

    @staticmethod
    def _remove(path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return  # the folder is no longer writable: the name marks the file as incomplete


CHUNK_SIZE = 512 * 1024
"""Bytes read and written at once: fewer cost time in calls, more in the kernel's large pages."""

MAX_UNDECLARED_SIZE = 64 * 1024**3
"""Bytes of a file whose length the server does not name: an endless one would fill the disk."""

_CHUNK_SECONDS = 256.0
"""Time for one such chunk: 2 KiB a second."""

OnBytes = Callable[[int, int | None], None]
"""Called with the number of bytes present, and the total if known."""


@dataclass(frozen=True)
class AuthenticatedSource:
    """A download from the service itself, which is authenticated, instead of a presigned address.

    The key is not sent to another origin after a redirect. `refused` maps an error response to an
    exception; with `page` the downloaded file may be a web page.
    """

    request: Request
    auth: AuthBase | None
    refused: Callable[[requests.Response], Exception]
    page: bool = False


_MAX_INTERRUPTIONS = 500

_EXPIRED_DOWNLOAD = frozenset({400, 401, 403, 404, 410})
"""Statuses that object stores send for an expired presigned address."""


def is_html_name(name: str) -> bool:
    """Return whether a file name has a suffix of web pages."""
    return name.lower().endswith((".html", ".htm", ".xhtml"))


def download_file(
    url: str,
    target: Path,
    *,
    renew_url: Callable[[], str] | None = None,
    on_bytes: OnBytes | None = None,
    options: RequestOptions | None = None,
    source: AuthenticatedSource | None = None,
    overwrite: bool = True,
) -> Path:
    """Download a presigned address to `target` and return `target`.

    No key is sent, unless the download comes from the service itself (`source`). After an
    interruption it resumes with Range and If-Range where the server supports them, else from the
    start; a `.<name>.part` file of an earlier call is resumed likewise.

    Args:
        url: the presigned address.
        target: the file to write; its folder is created.
        renew_url: returns a new address after this one has expired.
        on_bytes: called at every chunk with the number of bytes present, and the total if known.
        options: timeouts and retries; attempts and patience count only attempts in a row without
            new bytes.
        source: the authenticated request, for a download from the service itself.
        overwrite: replace a file with other content.

    Raises:
        AccessError: the address has expired, and `renew_url` is None.
        NotFoundError: the file does not exist.
        ConflictError: there is a file with other content, and `overwrite` is False.
        StorageError: the disk is full, or the folder can't be written.
        ServiceError: the download failed.
    """
    options = options or RequestOptions()
    if source is None:
        check_presigned_url(url, options.service)
    download = _Download(url, renew_url, on_bytes, options, source)
    with new_session() as session, PartialFile(target) as part:
        for _ in range(_MAX_INTERRUPTIONS):
            if options.run_with_retries(lambda: download.attempt(session, part)):
                part.finish(overwrite=overwrite)
                return target
        raise ServiceError(f"The download of {target.name} was cut {_MAX_INTERRUPTIONS} times.")


@dataclass
class _Download:
    """A download in progress; only the address changes between attempts."""

    url: str
    renew_url: Callable[[], str] | None
    on_bytes: OnBytes | None
    options: RequestOptions
    source: AuthenticatedSource | None
    max_size: int = 0
    deadline: Deadline = field(default_factory=lambda: Deadline(_CHUNK_SECONDS))

    def attempt(self, session: requests.Session, part: PartialFile) -> bool:
        """Make one attempt and return whether the file is complete.

        Raises:
            RetryableError: this attempt received nothing new. An interrupted one that did returns
                False.
        """
        headers = {"Accept-Encoding": "identity"}
        if part.size and part.validator:
            headers |= {"Range": f"bytes={part.size}-", "If-Range": part.validator}
        request = requests.Request("GET", self.url, headers=headers)
        if self.source is not None:
            request.auth, request.params = self.source.auth, self.source.request.params
        response = send_following_redirects(
            session, request, self.options, deadline=self.deadline, away=True
        )
        if isinstance(response, ConnectionFailure):
            raise on_transfer_failure(response)
        with response:
            if not self._check_start(response, part):
                return True
            return self._read_rest(response, part)

    def _check_start(self, response: requests.Response, part: PartialFile) -> bool:
        """Check the start of the response; return False if nothing is left to fetch."""
        if response.status_code == 206:
            start, total = _content_range(response)
            if start == part.size and (part.total is None or total in {part.total, None}):
                part.total = total or part.total
                return True
            self._start_over(part, "sent a different part than was requested")
        if response.status_code == 416:
            if part.total is not None and part.size == part.total:
                return False
            self._start_over(part, "has less than it had")
        if response.status_code != 200:
            raise self._refused(response, part.target.name)
        kind = response.headers.get("Content-Type", "")
        is_page = is_html_name(part.target.name) or (self.source is not None and self.source.page)
        if "html" in kind.lower() and not is_page:
            page = read_message(response)
            raise RetryableError(
                ServiceError(
                    f"The {self.options.service} answered {page} in place of {part.target.name}.",
                    "Check the connection to the service, then try again.",
                    status=200,
                    method="GET",
                )
            )
        total = None if _is_encoded(response) else content_length(response.headers)
        part.restart(_range_validator(response), total)
        return True

    def _read_rest(self, response: requests.Response, part: PartialFile) -> bool:
        failure = self._write_body(response, part)
        if part.total is not None:
            is_complete = part.size == part.total
        else:
            # Without a Content-Length only the last chunk marks the end, if the body is chunked.
            is_complete = failure is None and (
                part.size > 0 or "Transfer-Encoding" in response.headers
            )
        if is_complete:
            return True
        if part.size > self.max_size:
            self.max_size = part.size
            return False
        raise RetryableError(failure.error if failure else self._wrong_length(part))

    def _write_body(
        self, response: requests.Response, part: PartialFile
    ) -> ConnectionFailure | None:
        """Write the body; return the failure if it ended too early and the reason is known."""
        while True:
            self.deadline.reset()
            try:
                chunk = response.raw.read(CHUNK_SIZE, decode_content=_is_encoded(response))
            except NETWORK_ERRORS as failure:
                return self._transfer_error(failure, part)
            if not chunk:
                return None
            part.write(chunk)
            if part.total is None and part.size > MAX_UNDECLARED_SIZE:
                part.restart(None, None)
                raise ResponseLimitError(
                    f"{part.target.name} has more than {MAX_UNDECLARED_SIZE / 1024**3:g} GiB, and "
                    f"the {self.options.service} does not say how many.",
                    "Tell the administrator of the service; nothing was kept.",
                )
            if self.on_bytes:
                self.on_bytes(part.size, part.total)

    def _transfer_error(self, failure: Exception, part: PartialFile) -> ConnectionFailure:
        lost = classify_failure(failure, self.url, self.options.service)
        if lost.stage is not FailureStage.LIMIT:
            return lost
        slow = f"The {self.options.service} sends {part.target.name} at less than 2 KiB a second."
        return replace(lost, error=UnreachableError(slow, "Try again later."))

    def _refused(self, response: requests.Response, name: str) -> Exception:
        if self.source is not None:
            return self.source.refused(response)
        error = on_store_error(response, self.options.service, name)
        is_expired = response.status_code in _EXPIRED_DOWNLOAD
        if self.renew_url is None or not is_expired or isinstance(error, RetryableError):
            return error
        self.url = self.renew_url()
        check_presigned_url(self.url, self.options.service)
        return RetryableError(error, after=0.0, max_attempts=3)

    def _start_over(self, part: PartialFile, reason: str) -> None:
        part.restart(None, None)
        raise RetryableError(ServiceError(f"The {self.options.service} {reason}."), after=0.0)

    def _wrong_length(self, part: PartialFile) -> ServiceError:
        of = "" if part.total is None else f" of {part.total:,}"
        return ServiceError(
            f"{part.target.name} ended after {part.size:,}{of} bytes.",
            "Try again; check the service if this persists.",
        )


def _range_validator(response: requests.Response) -> str | None:
    """Return the validator for If-Range: a strong ETag, or else the date; None without ranges."""
    if _is_encoded(response) or response.headers.get("Accept-Ranges", "").lower() == "none":
        return None
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified")


def _is_encoded(response: requests.Response) -> bool:
    return response.headers.get("Content-Encoding", "identity").lower() != "identity"


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """Return the offset of a part, and the length of the whole file."""
    match = re.fullmatch(
        r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)",
        response.headers.get("Content-Range", "").strip(),
    )
    if match is None:
        return None, None
    return int(match[1]), None if match[2] == "*" else int(match[2])
