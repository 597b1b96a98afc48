"""Client methods for sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.http.download import OnBytes, is_html_name
from labext.nb import polling, uploads, views
from labext.nb.polling import Ingestion
from labext.nb.records import Record
from labext.nb.resource import (
    Names,
    Records,
    Resource,
    build_changes,
    iter_sources,
    require_text,
    unique_names,
)
from labext.storage import is_folder_name, user_path

if TYPE_CHECKING:
    import pandas as pd


class Sources(Resource):
    """`nb.sources`: research material."""

    def list(
        self,
        notebook: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        order_by: str | None = None,
    ) -> pd.DataFrame:
        """Return the sources of a notebook, or all; columns as `labext.nb.records.SOURCE`.

        Args:
            notebook: list the sources of this notebook; None lists all sources.
            limit: the maximum number of rows; None for no limit.
            offset: the number of sources to skip.
            order_by: `updated_at` (the default, newest first), `created_at` or `title`, optionally
                followed by ` asc` or ` desc`.
        """
        return views.source_frame(self.iter(notebook, limit, offset, order_by))

    def iter(
        self,
        notebook: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        order_by: str | None = None,
    ) -> Iterator[Record]:
        """Return an iterator over sources' records; arguments as for `list`.

        The whole list is read first: a loop may delete or update the sources that it gets.
        """
        # Pages are numbered: after a deletion, the next one would begin too late.
        records = iter_sources(
            self._executor,
            self._backend,
            notebook=self._notebook(notebook),
            limit=limit,
            offset=offset or 0,
            order_by=order_by,
        )
        return iter([*records])

    def names(self, notebook: str | None = None) -> Names:
        """Return the distinct titles of the sources of a notebook, or of all."""
        return unique_names(self.iter(notebook), "title")

    def find(self, source: str, notebook: str | None = None) -> str:
        """Return a source's identifier; `notebook` restricts titles to this notebook."""
        return self._titles.find("source", source, self._notebook(notebook))

    def get(self, source: str) -> Record:
        """Return one source's record with its text, a `labext.nb.records.SOURCE_DETAIL`."""
        return self._run(self._backend.source(self.find(source)))

    def add_file(
        self,
        path: Path | str,
        notebook: str | None = None,
        title: str | None = None,
        topic: str | None = None,
        process_async: bool = True,
        on_bytes: OnBytes | None = None,
    ) -> Record:
        """Upload a file, streamed from disk; return its record.

        Args:
            path: the file: a document, web page, Jupyter notebook, table, Markdown, plain text,
                picture, audio or video, as far as the service reads it.
            notebook: the notebook to add the source to; None for none.
            title: the title; derived from the file name if omitted.
            topic: the topic.
            process_async: process the source in the background; if False, return when it is
                processed, without a timeout.
            on_bytes: called with the bytes sent so far and the total.

        Raises:
            InputError: the file is missing, empty or unreadable, or the service rejects it.
            OutcomeUnknownError: the response was lost; the source may have been added.
        """
        source = uploads.validate_file(path)
        options = self._options(notebook, title, topic, process_async)
        return self._executor.run(self._backend.add_file(source, **options), on_bytes=on_bytes)

    def add_url(
        self,
        url: str,
        notebook: str | None = None,
        title: str | None = None,
        topic: str | None = None,
        process_async: bool = True,
    ) -> Record:
        """Add a web page, which the service fetches; arguments as for `add_file`."""
        options = self._options(notebook, title, topic, process_async)
        return self._run(self._backend.add_url(uploads.validate_url(url), **options))

    def add_text(
        self,
        text: str,
        notebook: str | None = None,
        title: str | None = None,
        topic: str | None = None,
        process_async: bool = True,
    ) -> Record:
        """Add a text; arguments as for `add_file`.

        Raises:
            InputError: the text is empty.
        """
        options = self._options(notebook, title, topic, process_async)
        require_text(text, "text", "Add a text with content.")
        return self._run(self._backend.add_text(text, **options))

    def add(
        self,
        items: Iterable[Path | str] | Path | str,
        notebook: str | None = None,
        topic: str | None = None,
        process_async: bool = True,
        on_bytes: Callable[[str, int, int | None], None] | None = None,
        on_added: Callable[[Record], None] | None = None,
        on_rejected: uploads.OnRejected | None = None,
        again: bool = False,
    ) -> pd.DataFrame:
        """Add several files and web pages one by one; return one row per item.

        A source that exists, with the same name and content or the same URL, is kept; if it failed,
        it is processed again. A file is added if the service has no original to compare. All files
        are checked before the first upload. A rejected item, such as an unsupported file type, does
        not prevent the others from being added.

        Args:
            items: paths, and URLs that begin with http:// or https://.
            notebook: the notebook to add the sources to; None for none.
            topic: the topic of all sources.
            process_async: as for `add_file`.
            on_bytes: called with a file's name, the bytes of it sent so far and its size.
            on_added: called with the record of each added source.
            on_rejected: called at the end for each rejected item with its error; if omitted, the
                rejections are raised.
            again: add the items even if they exist, as `add_file` and `add_url` do.

        Raises:
            InputError: a file is missing, empty or unreadable, and nothing was sent; or the service
                rejected some items, and the others were added.
            LabextError: the service failed; the error names the item and the number added.
        """
        options = self._options(notebook, None, topic, process_async)
        checked = uploads.validate_items(items)
        records: dict[Path | str, Record] = {}
        for item, existing in ({} if again else self.find_existing(checked, notebook)).items():
            if existing.record is not None and existing.compared:
                failed = existing.record["status"] == "failed"
                records[item] = self.retry(existing.record["id"]) if failed else existing.record
        new = [item for item in checked if item not in records]
        for item, record in uploads.add_several(
            self._executor, self._backend, new, options, on_bytes, on_rejected
        ):
            records[item] = record
            if on_added is not None:
                on_added(record)
        return views.source_frame([records[item] for item in checked if item in records])

    def find_existing(
        self, items: Iterable[Path | str] | Path | str, notebook: str | None = None
    ) -> dict[Path | str, uploads.ExistingSource]:
        """Find the sources of files, by name and content, and of URLs.

        Args:
            items: paths, and URLs that begin with http:// or https://.
            notebook: the notebook to search; None for all sources.
        """
        checked = uploads.validate_items(items)
        sources = list(self.iter(notebook))
        return {
            item: uploads.find_existing(self._executor, self._backend, sources, item)
            for item in checked
        }

    def status(self, source: str) -> Record:
        """Return the processing status of a source: `labext.nb.records.STATUS`."""
        return self._run(self._backend.source_status(self.find(source)))

    def update(self, source: str, title: str | None = None, topic: str | None = None) -> Record:
        """Update a source and return its record; None leaves a field unchanged.

        Raises:
            InputError: there are no changes.
        """
        changes = build_changes("source", {"title": title, "topic": topic})
        return self._run(self._backend.change_source(self.find(source), changes))

    def delete(self, source: str) -> None:
        """Delete a source, also from all notebooks that contain it."""
        self._run(self._backend.delete_source(self.find(source)))

    def download(
        self,
        source: str,
        to: Path | str | None = None,
        on_bytes: OnBytes | None = None,
        *,
        overwrite: bool = False,
    ) -> Path:
        """Download the uploaded file of a source; return the path of the download.

        The file appears under its name only when it is complete.

        Args:
            source: the source.
            to: a file name or a folder, which exists or is a text that ends with a slash; by
                default the working folder. In a folder, the file has the name of the upload.
            on_bytes: called with the bytes received so far and the total, if it is known.
            overwrite: replace a file with other content.

        Raises:
            NotFoundError: the source does not exist, or has no file (a text or a web page).
            ConflictError: there is a file with other content, and `overwrite` is False.
            StorageError: the disk is full, or the folder is not writable.
        """
        source_id = self.find(source)
        name = uploads.original_file_name(self._run(self._backend.source(source_id)))
        target = user_path(to or ".")
        if is_folder_name(to or "."):
            target /= name
        request = self._backend.original(source_id)
        return self._executor.download(
            request, target, on_bytes, page=is_html_name(name), overwrite=overwrite
        )

    def exists(self, source: str) -> bool:
        """Return True if the service has the uploaded file of a source.

        False for a text or a web page, and if no source has this identifier.

        Raises:
            NotFoundError: no source has this title.
        """
        return self._run(self._backend.has_original(self.find(source)))

    def has_content(self, source: str, path: Path | str) -> bool | None:
        """Return True if the content of a source's original equals that of a local file.

        Above 64 MiB, only the sizes are compared. None if the original is not available.
        """
        request = self._backend.original(self.find(source))
        return uploads.has_content(self._executor, request, uploads.validate_file(path))

    def retry(self, source: str) -> Record:
        """Process a failed source again; return its record.

        Raises:
            InputError: the source has not failed.
        """
        return self._run(self._backend.retry_source(self.find(source)))

    def insights(self, source: str) -> pd.DataFrame:
        """Return the insights of a source; columns as `labext.nb.records.INSIGHT`."""
        return views.insight_frame(self._run(self._backend.insights(self.find(source))))

    def unprocessed(
        self,
        notebook: str | None = None,
        sources: Iterable[str] | None = None,
        *,
        vectors: bool = False,
    ) -> Records:
        """Return the records of sources that are queued or being processed.

        Searches, answers and chats ignore these sources until they are processed.

        Args:
            notebook: only sources of this notebook; None for all.
            sources: only these sources.
            vectors: include sources whose vectors are still being computed.
        """
        within = self._notebook(notebook)
        pending = set[str]()
        if vectors:
            awaiting = self._run(self._backend.sources_awaiting_vectors())
            pending = {str(record["id"]) for record in awaiting}
        if sources is None:
            records: Iterable[Record] = iter_sources(self._executor, self._backend, notebook=within)
        else:
            identifiers = self._titles.find_all("source", sources, within)
            records = polling.fetch_sources(self._executor, self._backend, identifiers)
        return [
            record
            for record in records
            if polling.is_in_progress(record["status"]) or record["id"] in pending
        ]

    def watch(
        self, sources: Iterable[str] | str, stop: threading.Event | None = None
    ) -> Iterator[Ingestion]:
        """Poll sources until all are processed or failed; yield a snapshot per poll and tick.

        Args:
            sources: one or several.
            stop: stops watching; the processing continues.

        Raises:
            NotFoundError: a source does not exist at the first poll.
        """
        identifiers = self._titles.find_all("source", sources)
        return polling.watch_sources(self._executor, self._backend, identifiers, stop=stop)

    def wait(self, sources: Iterable[str] | str, timeout: float | None = None) -> pd.DataFrame:
        """Wait until sources are processed; return a row for each.

        Args:
            sources: one or several.
            timeout: the maximum number of seconds to wait.

        Raises:
            JobFailedError: sources failed; the message contains the reasons.
            NotReadyError: the sources are not processed in time; the message contains their
                stages. The processing continues.
        """
        identifiers = self._titles.find_all("source", sources)
        polling.wait_for_sources(
            polling.watch_sources(self._executor, self._backend, identifiers), timeout
        )
        return views.source_frame(polling.fetch_sources(self._executor, self._backend, identifiers))

    def _options(
        self, notebook: str | None, title: str | None, topic: str | None, process_async: bool
    ) -> dict[str, Any]:
        return {
            "notebook": self._notebook(notebook),
            "title": title,
            "topic": topic,
            "process_async": process_async,
        }
