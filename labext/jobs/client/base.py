"""Connection of the client, and its methods for tools, uploads and usage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from labext import messages
from labext.config import Connection, clean_url, state_dir
from labext.errors import InputError, LabextError, ServiceError
from labext.http import HttpClient, Rate
from labext.http.auth import ApiKeyAuth
from labext.http.client import ServiceClient
from labext.http.connection_pool import DEFAULT_TIMEOUT, ResponseLimits, Timeout
from labext.jobs.api import JobsApi
from labext.jobs.error_messages import map_error
from labext.jobs.tools import Tool, ToolCatalogue
from labext.storage import user_path

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs.batch.journal import Journal
    from labext.jobs.batch.merge_parts import PartFinder
    from labext.jobs.batch.submit_batch import BatchSubmitter
    from labext.jobs.file_versions import UploadRecords
    from labext.jobs.input_files import ContentReader, ContentRecords
    from labext.jobs.listing import JobLister
    from labext.jobs.results.results import ResultsFetcher
    from labext.jobs.uploads import Upload


class BaseClient(ServiceClient):
    """Connection to a job service; tools, uploads and usage."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        rate: Rate | None = Rate(None),  # noqa: B008 - immutable
        verify: bool | str = True,
        timeout: Timeout = DEFAULT_TIMEOUT,
        limits: ResponseLimits | None = None,
    ) -> None:
        address = clean_url(base_url)
        self._http = HttpClient(
            address,
            auth=None if api_key is None else ApiKeyAuth(api_key),
            rate=rate,
            verify=verify,
            timeout=timeout,
            limits=limits,
            map_error=partial(map_error, address=address),
            service="job service",
        )
        self.base_url = self._http.base_url
        self._service = JobsApi(self._http)
        self._catalogue = ToolCatalogue(self._service)
        self._state = state_dir() / "jobs"
        self._account = self._state, self._service.address, api_key

    # Created on first use: a command needs only a few of these, and each imports other modules.

    @cached_property
    def _journal(self) -> Journal:
        from labext.jobs.batch.journal import Journal

        return Journal(*self._account)

    @cached_property
    def _parts(self) -> PartFinder:
        from labext.jobs.batch.merge_parts import PartFinder

        return PartFinder(self._service, self._journal)

    @cached_property
    def _lister(self) -> JobLister:
        from labext.jobs.listing import JobLister

        return JobLister(self._service, self._parts)

    @cached_property
    def _uploaded(self) -> UploadRecords:
        from labext.jobs.file_versions import UploadRecords

        return UploadRecords(*self._account)

    @cached_property
    def _records(self) -> ContentRecords:
        from labext.jobs.input_files import ContentRecords

        return ContentRecords(*self._account)

    @cached_property
    def _contents(self) -> ContentReader:
        from labext.jobs.input_files import ContentReader

        return ContentReader(self._service, self._uploaded, self._records)

    @cached_property
    def _fetcher(self) -> ResultsFetcher:
        from labext.jobs.results.download import ResultsSource
        from labext.jobs.results.results import ResultsFetcher

        source = ResultsSource(self._service, self._parts, self._catalogue, self._uploaded)
        return ResultsFetcher(self._service, self._parts, self._lister, source, self._state)

    @cached_property
    def _submitter(self) -> BatchSubmitter:
        from labext.jobs.batch.submit_batch import BatchSubmitter

        return BatchSubmitter(self._service, self._journal, self._parts, self._contents)

    @classmethod
    def from_connection(cls, connection: Connection) -> Self:
        """Return a client for a connection from a profile, the environment or the sandbox."""
        return cls(
            connection.base_url,
            connection.secrets.get("api_key"),
            verify=connection.options.get("ca_bundle", True),
            limits=ResponseLimits.from_options(connection.options),
        )

    def tools(self) -> pd.DataFrame:
        """Return the current catalogue, one row per tool.

        Columns: name, displayName, required (names of parameters), description, optional (names
        of parameters), paper, github. The displayed frame has the first sentence of a description.
        """
        from labext.jobs.frames import tools_frame

        return tools_frame(self._catalogue.read().values())

    def iter_tools(self) -> Iterator[dict[str, Any]]:
        """Yield the service's record of each tool; `settings` lists its parameters."""
        for tool in self._catalogue.read().values():
            yield tool.record

    def tool(self, name: str) -> pd.DataFrame:
        """Return the current parameters of a tool, one row per parameter.

        Columns: name, required, type, default, options, description. `.attrs` has the other fields
        of the tool.

        Raises:
            InputError: the service has no such tool; the error suggests a similar name.
        """
        from labext.jobs.frames import parameters_frame

        return parameters_frame(self.describe(name))

    def describe(self, name: str) -> Tool:
        """Return a tool with its current parameters, for `cast` and forms.

        Raises:
            InputError: the service has no such tool; the error suggests a similar name.
        """
        self._catalogue.read()
        return self._catalogue.tool(name)

    def upload(
        self, path: Path | str, folder: str | None = None, presigned: bool = False
    ) -> Upload:
        """Upload a file as a stream, unless the service has a file with the same content.

        Settings refer to the file by its name, or by `folder/name` if several folders have a file
        of this name. `.message` says whether the upload replaced a file.

        Args:
            path: the file.
            folder: folder on the service.
            presigned: upload to a presigned URL of the service's object store and check the stored
                size. Files that are too large for `/upload` always use a presigned URL.

        Raises:
            InputError: the file does not exist or can't be read.
            NotFoundError: the service does not support presigned uploads.
        """
        from labext.jobs.file_versions import FileVersion
        from labext.jobs.uploads import upload_file

        upload = upload_file(self._service, path, folder, presigned=presigned)
        with contextlib.suppress(OSError):  # the upload succeeded; only its checksum stays unknown
            version = FileVersion.from_file(user_path(path))
            self._uploaded.note(upload.name, version, self._http.server_time(), folder)
        return upload

    def files(self, folder: str | None = None, include_folders: bool = False) -> list[str]:
        """Return the names of the uploaded files in a folder, or of those outside of folders."""
        return self._service.files(folder, include_folders=include_folders)

    def folders(self) -> list[str]:
        """Return the names of the folders with uploaded files."""
        paths = self._service.folders()
        if paths is None:  # the service lists folders only together with the files
            outside = set(self._service.files())
            entries = self._service.files(include_folders=True)
            paths = [name for name in entries if name not in outside]
        return [name.rstrip("/") for name in paths if name.strip("/")]

    def delete_file(self, path: str | None = None, folder: str | None = None) -> str:
        """Delete an uploaded file, or a folder with its files; return the service's message.

        Raises:
            InputError: neither or both of file and folder are given.
            NotFoundError: the file or folder does not exist.
        """
        if (not path and not folder) or (path and folder):
            raise InputError("Pass either a file or a folder to delete.", "Name one of them.")
        return self._service.delete_file(path or None, folder or None)

    def workers(self) -> pd.DataFrame:
        """Return the workers that run jobs: one row per worker.

        Columns: name, state (`ready`, `unreachable`, `refused` or `full`), slots and busy (cores),
        memory (bytes), jobs (the caller's running jobs), tools, address, lastSeen (seconds ago),
        sharedDir, note. `.attrs` has `executor`, its address, and `waiting`: `tool`, number of
        `jobs` and `reason` for each tool whose queued jobs no worker can run.

        Raises:
            ServiceError: the service does not list its workers.
        """
        from labext.jobs import frames
        from labext.jobs.api import is_not_served

        try:
            answer = self._service.workers()
        except LabextError as error:
            if is_not_served(error):
                raise ServiceError(
                    "This service does not list its workers.", "Ask its operator."
                ) from error
            raise
        return frames.workers_frame(answer)

    def usage(self, statistic: str = "weighted_hours", scope: str = "user") -> pd.DataFrame:
        """Return the total usage, and the usage by tool and by user (GET `/usage-statistics`).

        Columns: group (`total`, `tool` or `user`), name, and the statistic: `weighted_hours`
        (a float) or `jobs` (an integer). `.attrs` has statistic, scope and total.

        Args:
            statistic: `weighted_hours` or `jobs`.
            scope: `user` for the caller's usage, or `organization`, if permitted.

        Raises:
            InputError: the statistic or scope is unknown.
            AccessError: access to the organization's usage is not permitted.
        """
        from labext.jobs import frames

        for label, value, choices in (
            ("statistic", statistic, frames.STATISTICS),
            ("scope", scope, frames.SCOPES),
        ):
            if value not in choices:
                raise InputError(
                    f"There is no {label} {messages.quote_value(value)}.",
                    f"Give {' or '.join(choices)}.",
                )
        return frames.usage_frame(self._service.usage(statistic, scope), statistic, scope)
