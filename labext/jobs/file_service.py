"""One method for each request about uploaded files; the others are `service`'s."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import BinaryIO

from labext.errors import LabextError, NotFoundError, ServiceError
from labext.jobs import operations
from labext.jobs.answers import is_address, not_served, said
from labext.jobs.file_versions import FileVersion
from labext.transport import Transport


class Files:
    """The files of the job service that a transport leads to."""

    transport: Transport
    _describes_files = True

    def upload(self, name: str, content: Callable[[], BinaryIO], folder: str | None) -> str:
        """Upload a file's content; return the service's words."""
        reply = self.transport.send(
            operations.UPLOAD,
            path={"filename": name},
            params={"folder": folder},
            content=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        return said(reply)

    def files(self, folder: str | None = None, *, include_folders: bool = False) -> list[str]:
        """Return the names of the uploaded files."""
        params = {"folder": folder, "includeFolders": include_folders or None}
        answer = self.transport.send(operations.FILES, params=params).json()
        if isinstance(answer, Mapping):
            answer = answer.get("files")
        if not isinstance(answer, list):
            raise ServiceError("The service's list of files makes no sense.")
        return [
            str(entry.get("name") or entry.get("key")) if isinstance(entry, Mapping) else str(entry)
            for entry in answer
        ]

    def folders(self) -> list[str] | None:
        """Return the names of the folders of uploaded files; None where that can't be asked."""
        try:
            answer = self.transport.send(operations.FOLDERS).json()
        except LabextError as error:
            if not_served(error):
                return None
            raise
        if isinstance(answer, Mapping):
            answer = answer.get("folders")
        if not isinstance(answer, list):
            raise ServiceError("The service's list of folders makes no sense.")
        return [
            str(entry.get("name")) if isinstance(entry, Mapping) else str(entry) for entry in answer
        ]

    def presigned_upload(self, name: str, folder: str | None) -> tuple[str, str | None]:
        """Return the address to PUT a file to, and the one to ask with HEAD whether it is there.

        Raises:
            NotFoundError: the service gives no such addresses.
        """
        body = {"filename": name} if folder is None else {"filename": name, "folder": folder}
        try:
            answer = self.transport.send(operations.PRESIGN, json=body).json()
        except LabextError as error:
            if not not_served(error):
                raise
            raise NotFoundError(
                "The service gives no presigned address to upload to.",
                "Upload without `--presigned`.",
                status=error.status,
            ) from None
        address = answer.get("uploadUrl") if isinstance(answer, Mapping) else None
        if not isinstance(address, str) or not is_address(address):
            raise ServiceError(f"The service gave no address to upload {name} to.")
        head = answer.get("headUrl")
        return address, head if isinstance(head, str) and is_address(head) else None

    def stored_version(self, name: str, folder: str | None) -> FileVersion | None:
        """Return what the service's store tells of an uploaded file.

        None where it tells nothing: a service without presigned addresses, or none that are good.
        """
        if not self._describes_files:
            return None
        try:
            _, head = self.presigned_upload(name, folder)
            if head is None:
                return None
            return FileVersion.of_headers(self.transport.store().headers(head, name))
        except NotFoundError as error:
            if error.method != "HEAD":
                self._describes_files = False
            return None
        except LabextError:
            return None

    def delete_file(self, path: str | None, folder: str | None) -> str:
        """Delete an uploaded file, or a folder with its files; return the service's words."""
        params = {"filePath": path, "folder": folder}
        return said(self.transport.send(operations.DELETE_FILE, params=params))
