"""Client methods for tools, uploads and usage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from labext import messages
from labext.config import Connection, clean_url, state_dir
from labext.errors import InputError
from labext.http import HttpClient, Rate
from labext.http.auth import ApiKeyAuth
from labext.http.client import ServiceClient
from labext.http.connection_pool import ResponseLimits
from labext.jobs.api import JobsApi
from labext.jobs.error_messages import map_error
from labext.jobs.tools import Tool, ToolCatalogue

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
    """A job service that is reached; see `JobsClient`."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        rate: Rate | None = Rate(None),  # noqa: B008 - immutable
        verify: bool | str = True,
        limits: ResponseLimits | None = None,
    ) -> None:
        self._http = HttpClient(
            clean_url(base_url),
            auth=None if api_key is None else ApiKeyAuth(api_key),
            rate=rate,
            verify=verify,
            limits=limits,
            map_error=map_error,
            service="job service",
        )
        self.base_url = self._http.base_url
        self._service = JobsApi(self._http)
        self._catalogue = ToolCatalogue(self._service)
        self._state = state_dir() / "jobs"
        self._account = self._state, self._service.address, api_key

    # Created on first use: a command needs few of these, and each imports other modules.

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
        """Return a client for the service that a profile, the environment or the sandbox names."""
        return cls(
            connection.base_url,
            connection.secrets.get("api_key"),
            verify=connection.options.get("ca_bundle", True),
            limits=ResponseLimits.from_options(connection.options),
        )


class ToolMethods(BaseClient):
    """The tools and their parameters."""

    def tools(self) -> pd.DataFrame:
        """Return the catalogue, read again: one row per tool.

        Columns: name, displayName, description, required and optional (the parameters' names),
        paper, github.
        """
        from labext.jobs.frames import tools_frame

        return tools_frame(self._catalogue.read().values())

    def iter_tools(self) -> Iterator[dict[str, Any]]:
        """Yield each tool's record from the service, its parameters in `settings`."""
        for tool in self._catalogue.read().values():
            yield tool.record

    def tool(self, name: str) -> pd.DataFrame:
        """Return a tool's parameters, read again: one row per parameter.

        Columns: name, required, type, default, options, description. `.attrs` holds the tool's
        other fields.

        Raises:
            InputError: the service has no such tool; the error names a close match.
        """
        from labext.jobs.frames import parameters_frame

        return parameters_frame(self.describe(name))

    def describe(self, name: str) -> Tool:
        """Return a tool with its parameters, as `cast` and forms need them, read again.

        Raises:
            InputError: the service has no such tool; the error names a close match.
        """
        self._catalogue.read()
        return self._catalogue.tool(name)


class UploadMethods(BaseClient):
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
            NotFoundError: the service has no presigned addresses.
        """
        from labext.jobs.file_versions import FileVersion
        from labext.jobs.uploads import upload_file

        done = upload_file(self._service, path, folder, presigned=presigned)
        with contextlib.suppress(OSError):  # it is uploaded; only its checksum is not known then
            version = FileVersion.from_file(Path(path).expanduser())
            self._uploaded.note(done.name, version, folder)
        return done

    def files(self, folder: str | None = None, include_folders: bool = False) -> list[str]:
        """Return the names of the uploaded files, of one folder or those in none."""
        return self._service.files(folder, include_folders=include_folders)

    def folders(self) -> list[str]:
        """Return the names of the folders that hold uploaded files."""
        paths = self._service.folders()
        if paths is None:  # a service that lists them only among the files
            flat = set(self._service.files())
            entries = self._service.files(include_folders=True)
            paths = [name for name in entries if name not in flat]
        return [name.rstrip("/") for name in paths if name.strip("/")]

    def delete_file(self, path: str | None = None, folder: str | None = None) -> str:
        """Delete an uploaded file, or a folder with its files; return the service's message.

        Raises:
            InputError: neither or both are given.
            NotFoundError: there is no such file or folder.
        """
        if (not path and not folder) or (path and folder):
            raise InputError("Pass either a file or a folder to delete.", "Name one of them.")
        return self._service.delete_file(path or None, folder or None)


class UsageMethods(BaseClient):
    """Usage statistics."""

    def usage(self, statistic: str = "weighted_hours", scope: str = "user") -> pd.DataFrame:
        """Return the usage in all, by tool and by user (GET `/usage-statistics`).

        Columns: group (`total`, `tool` or `user`), name, and the statistic: `weighted_hours`
        (weighted hours, a number) or `jobs` (whole). `.attrs` holds statistic, scope and total.

        Args:
            statistic: `weighted_hours` or `jobs`.
            scope: `user`, one's own; or `organization`, where permitted.

        Raises:
            InputError: there is no such statistic or scope.
            AccessError: the organization's usage is not accessible.
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
