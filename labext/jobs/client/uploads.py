"""The client's methods for uploaded files."""

from __future__ import annotations

import contextlib
from pathlib import Path

from labext.errors import InputError
from labext.jobs import files
from labext.jobs.client.base import Base
from labext.jobs.file_versions import FileVersion
from labext.jobs.files import Upload


class Uploads(Base):
    """Uploaded files."""

    def upload(
        self, path: Path | str, folder: str | None = None, presigned: bool = False
    ) -> Upload:
        """Upload a file, streamed, unless the service has it with the same content.

        Settings refer to it by its bare name; where files of that name are in several folders, by
        `folder/name`. `.message` says whether it replaced a file.

        Args:
            path: the file.
            folder: the folder to file it in.
            presigned: send it to a presigned address of the service's store, as is done by itself
                where the service finds it too large for `/upload`; then its arrival is checked.

        Raises:
            InputError: there is no such file, or it can't be read.
            NotFoundError: the service gives no presigned address.
        """
        done = files.upload(self._service, path, folder, presigned=presigned)
        with contextlib.suppress(OSError):  # it is uploaded; only its checksum is not known then
            version = FileVersion.of_file(Path(path).expanduser())
            self._uploaded.note(done.name, version, folder)
        return done

    def files(self, folder: str | None = None, include_folders: bool = False) -> list[str]:
        """Return the names of the uploaded files, of one folder or those in none."""
        return self._service.files(folder, include_folders=include_folders)

    def folders(self) -> list[str]:
        """Return the names of the folders that hold uploaded files."""
        found = self._service.folders()
        if found is None:  # a service that lists them among the files alone
            flat = set(self._service.files())
            listed = self._service.files(include_folders=True)
            found = [name for name in listed if name not in flat]
        return [name.rstrip("/") for name in found if name.strip("/")]

    def delete_file(self, path: str | None = None, folder: str | None = None) -> str:
        """Delete an uploaded file, or a folder with its files; return what the service says.

        Raises:
            InputError: neither or both are given.
            NotFoundError: there is no such file or folder.
        """
        if (not path and not folder) or (path and folder):
            raise InputError("Either a file or a folder is deleted.", "Name one of them.")
        return self._service.delete_file(path or None, folder or None)
