"""Upload files unless the service already has the same content."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from labext.actions import parameter
from labext.errors import InputError, LabextError, NotFoundError, ServiceError, SignInError
from labext.jobs import identity
from labext.jobs.api import JobsApi
from labext.jobs.file_versions import FileVersion
from labext.storage import similar_file_hint, user_path

TOO_LARGE = 413
"""HTTP status of an upload that is too large for `/upload`."""


@dataclass(frozen=True)
class Upload:
    """A file that was uploaded, or that the service already had with the same content.

    Attributes:
        name: file name, by which settings refer to the file.
        folder: folder on the service; empty if none.
        size: size in bytes.
        sent: False if the service had the same content, and nothing was sent.
        replaced: True if the upload replaced a file with other content; None if unknown.
        message: the outcome in one sentence.
    """

    name: str
    folder: str
    size: int
    sent: bool
    replaced: bool | None
    message: str

    @property
    def path(self) -> str:
        """Path for settings: `folder/name`, or `name` for a file outside of folders."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


def upload_file(
    service: JobsApi, path: Path | str, folder: str | None = None, *, presigned: bool = False
) -> Upload:
    """Upload a file as a stream, unless the service has a file with the same content.

    It is uploaded to a presigned URL if the service responds that it is too large (413), or with
    `presigned`.
    """
    source = check_readable(path)
    _check_folder(folder)
    size = source.stat().st_size
    exists = _file_exists(service, source.name, folder)
    stored = service.stored_version(source.name, folder) if exists else None
    if stored is not None and _has_same_content(stored, source):
        message = (
            f"{_service_path(source, folder)} already exists with the same content; "
            "nothing was sent."
        )
        return Upload(source.name, folder or "", size, False, False, message)
    _send_file(service, source, folder, presigned=presigned)
    message = f"{_service_path(source, folder)} was uploaded"
    if exists:
        old_size = "" if stored is None or stored.size is None else f" of {stored.size:,} bytes"
        message += f" ({size:,} bytes) and replaced the file of that name{old_size}"
    return Upload(source.name, folder or "", size, True, exists, f"{message}.")


def check_readable(path: Path | str) -> Path:
    """Return the path of a file; raise InputError if it does not exist or can't be read."""
    source = user_path(path)
    if os.path.isdir(source):  # unlike Path.is_dir, false for a name that is too long
        raise InputError(
            f"{source} is a folder.",
            f"Upload its files; {parameter('folder', 'NAME')} is a folder on the service.",
        )
    if not os.path.isfile(source):
        raise InputError(
            f"There is no file {source}{similar_file_hint(source)}.",
            "Check the path; it is relative to the working directory.",
        )
    try:
        source.open("rb").close()
    except OSError as error:
        raise InputError(f"{source} can't be read ({error.strerror}).", "Check the file.") from None
    return source


def _check_folder(folder: str | None) -> None:
    """Check that the name of a folder is not empty, not absolute and has no `..`."""
    if folder is None:
        return
    identity.check_text("folder", folder)
    if not folder or ".." in folder.split("/") or folder.startswith("/"):
        raise InputError(f'"{folder}" is not a valid folder name.', "Use a plain name.")


def _service_path(source: Path, folder: str | None) -> str:
    return f"{folder}/{source.name}" if folder else source.name


def _file_exists(service: JobsApi, name: str, folder: str | None) -> bool | None:
    """Return whether the service lists a file; None if it can't list files."""
    try:
        return name in {entry.rpartition("/")[2] for entry in service.files(folder)}
    except NotFoundError:
        return False
    except SignInError:
        raise
    except LabextError:
        return None


def _has_same_content(stored: FileVersion, source: Path) -> bool:
    if stored.sha256 is None and stored.md5 is None:
        return False
    return stored.same_content(FileVersion.from_file(source)) is True


def _send_file(service: JobsApi, source: Path, folder: str | None, *, presigned: bool) -> None:
    if not presigned:
        try:
            service.upload(source.name, lambda: source.open("rb"), folder)
            return
        except InputError as error:
            if error.status != TOO_LARGE:
                raise
            _upload_to_store(service, source, folder, too_large=error)
            return
    _upload_to_store(service, source, folder)


def _upload_to_store(
    service: JobsApi, source: Path, folder: str | None, too_large: InputError | None = None
) -> None:
    """Upload a file to a presigned URL and check the stored size."""
    try:
        address, head = service.presigned_upload(source.name, folder)
    except NotFoundError:
        if too_large is not None:
            raise too_large from None
        raise
    store = service.http.store()
    store.put(address, source.name, lambda: source.open("rb"))
    if head is None:
        return
    try:
        stored = FileVersion.from_headers(store.headers(head, source.name))
    except NotFoundError:
        raise _incomplete_upload(source, "it was not found there") from None
    size = source.stat().st_size
    if stored.size is not None and stored.size != size:
        raise _incomplete_upload(source, f"only {stored.size:,} of {size:,} bytes arrived")


def _incomplete_upload(source: Path, reason: str) -> ServiceError:
    return ServiceError(
        f"{source.name} was sent to the service's storage, but {reason}.", "Upload it again."
    )
