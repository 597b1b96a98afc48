"""Client methods for sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.http.download import is_html_name
from labext.nb import polling, uploads
from labext.nb.backends import OnBytes
from labext.nb.polling import Ingestion
from labext.nb.records import Record
from labext.nb.resource import NO_CHANGES_STEP, Resource, iter_sources

if TYPE_CHECKING:
    import pandas as pd


class Sources(Resource):
    """`nb.sources`: research material (contract, Endpoints: Sources)."""

    def list(
        self,
        notebook: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        order_by: str | None = None,
    ) -> pd.DataFrame:
        """Return sources, a row each; columns as `labext.nb.records.SOURCE`.

        Args:
            notebook: those of one notebook; None for all.
            limit: rows wanted in all; None for every one.
            offset: how many to leave out first.
            order_by: `updated_at` (the default, newest first), `created_at` or `title`, with
                ` asc` or ` desc` behind it.
        """
        from labext.nb.views import source_frame

        return source_frame(self.iter(notebook, limit, offset, order_by))

    def iter(
        self,
        notebook: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        order_by: str | None = None,
    ) -> Iterator[Record]:
        """Yield sources' records, page by page; arguments as for `list`."""
        return iter_sources(
            self._executor,
            self._backend,
            notebook=self._notebook(notebook),
            limit=limit,
            offset=offset or 0,
            order_by=order_by,
        )

    def names(self, notebook: str | None = None) -> Sequence[str]:
        """Return the titles of sources, each once."""
        return [
            *dict.fromkeys(
                str(record["title"]) for record in self.iter(notebook) if record["title"]
            )
        ]

    def find(self, source: str, notebook: str | None = None) -> str:
        """Return a source's identifier; with `notebook`, a title is one of this notebook alone."""
        return self._titles.find("source", source, self._notebook(notebook))

    def get(self, source: str) -> Record:
        """Return one source's record, with its `full_text`."""
        return self._executor.run(self._backend.source(self.find(source)))

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
            path: the file: a PDF, DOCX, HTML page, Markdown, plain text, audio or video.
            notebook: where it belongs; None for none.
            title: what it is called; else the service names it after the file.
            topic: what it is about.
            process_async: processed after the answer; else the answer comes when it is done, and
                the client waits for that as long as the service works.
            on_bytes: is told the bytes that have gone, and the whole's.

        Raises:
            InputError: there is no such file, it is empty or can't be read, or the service
                refuses it.
            OutcomeUnknownError: the answer was lost; it may have been added.
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
        """Add a page of the web, which the service fetches; arguments as for `add_file`."""
        options = self._options(notebook, title, topic, process_async)
        return self._executor.run(self._backend.add_url(uploads.validate_url(url), **options))

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
            InputError: it is empty.
        """
        options = self._options(notebook, title, topic, process_async)
        return self._executor.run(self._backend.add_text(uploads.validate_text(text), **options))

    def add(
        self,
        what: Iterable[Path | str] | Path | str,
        notebook: str | None = None,
        topic: str | None = None,
        process_async: bool = True,
        on_bytes: Callable[[str, int, int | None], None] | None = None,
        on_added: Callable[[Record], None] | None = None,
        on_refused: uploads.OnRejected | None = None,
    ) -> pd.DataFrame:
        """Add several files and pages, one after the other; return a row for each.

        All files are looked at before the first is sent. What the service refuses, such as a kind
        of file that it can't read, does not keep the others from being added.

        Args:
            what: paths, and addresses that begin with http:// or https://.
            notebook: where they belong; None for none.
            topic: what they are about.
            process_async: as for `add_file`.
            on_bytes: is told a file's name, the bytes of it that have gone, and the whole's.
            on_added: is told each one's record when it is there.
            on_refused: is told at the end what the service has refused, and why; without it, this
                is raised.

        Raises:
            InputError: a file is not there, is empty or can't be read: then nothing is sent. Or
                the service has refused some; the others were added.
            LabextError: the service failed; the error names the item and how many were added.
        """
        from labext.nb.views import source_frame

        options = self._options(notebook, None, topic, process_async)
        steps = uploads.add_several(
            self._executor, self._backend, what, options, on_bytes, on_refused
        )
        added = []
        for record in steps:
            added.append(record)
            if on_added is not None:
                on_added(record)
        return source_frame(added)

    def status(self, source: str) -> Record:
        """Return how far a source's processing is: `labext.nb.records.STATUS`."""
        return self._executor.run(self._backend.source_status(self.find(source)))

    def update(self, source: str, title: str | None = None, topic: str | None = None) -> Record:
        """Change a source's title or topic; what is None stays. Return its record.

        Raises:
            InputError: nothing is to be changed.
        """
        values = {"title": title, "topic": topic}
        changes = {key: value for key, value in values.items() if value is not None}
        if not changes:
            raise InputError("Nothing of the source is to be changed.", NO_CHANGES_STEP)
        return self._executor.run(self._backend.change_source(self.find(source), changes))

    def delete(self, source: str) -> None:
        """Delete a source, in every notebook that has it."""
        self._executor.run(self._backend.delete_source(self.find(source)))

    def download(
        self, source: str, to: Path | str | None = None, on_bytes: OnBytes | None = None
    ) -> Path:
        """Download the file that was uploaded, streamed; return where it is.

        It is written beside its place and appears under its name when it is whole.

        Args:
            source: which one.
            to: a file, or a folder that is there; by default the working folder. In a folder it
                has the name under which it was uploaded.
            on_bytes: is told the bytes that have come, and the whole's if known.

        Raises:
            NotFoundError: there is no such source, or it has no file (a text or a page).
            StorageError: the disk is full, or the folder can't be written.
        """
        source_id = self.find(source)
        name = uploads.original_file_name(self._executor.run(self._backend.source(source_id)))
        target = Path(to or ".").expanduser()
        if target.is_dir():
            target /= name
        request = self._backend.original(source_id)
        return self._executor.download(request, target, on_bytes, page=is_html_name(name))

    def exists(self, source: str) -> bool:
        """Tell whether a source's file is on the service; False also without such a source."""
        return self._executor.run(self._backend.has_original(self.find(source)))

    def has_content(self, source: str, path: Path | str) -> bool | None:
        """Tell whether a source was made from a local file, going by the file's content.

        Of more than 1 MiB only the size is compared. None if the original can't be looked at.
        """
        request = self._backend.original(self.find(source))
        return uploads.has_content(self._executor, request, uploads.validate_file(path))

    def retry(self, source: str) -> Record:
        """Process a failed source again; return its record.

        Raises:
            InputError: it has not failed.
        """
        return self._executor.run(self._backend.retry_source(self.find(source)))

    def insights(self, source: str) -> pd.DataFrame:
        """Return what models have made of a source, a row each; columns as `records.INSIGHT`."""
        from labext.nb.views import insight_frame

        return insight_frame(self._executor.run(self._backend.insights(self.find(source))))

    def unprocessed(
        self,
        notebook: str | None = None,
        sources: Iterable[str] | None = None,
        *,
        vectors: bool = False,
    ) -> Sequence[Record]:
        """Return the records of sources that are still to be processed, or are being processed.

        No search, answer or chat looks at them yet.

        Args:
            notebook: those of one notebook; None for all.
            sources: these sources alone.
            vectors: also those whose vectors are still being computed.
        """
        within = self._notebook(notebook)
        pending = set[str]()
        if vectors:
            awaiting = self._executor.run(self._backend.sources_awaiting_vectors())
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
        """Look at sources until all are processed or have failed; yield what is seen, and ticks.

        Args:
            sources: one or several.
            stop: ends the watching, not the processing.

        Raises:
            NotFoundError: one is not there at the first look.
        """
        identifiers = self._titles.find_all("source", sources)
        return polling.watch_sources(self._executor, self._backend, identifiers, stop=stop)

    def wait(self, sources: Iterable[str] | str, timeout: float | None = None) -> pd.DataFrame:
        """Wait until sources are processed; return a row for each.

        Args:
            sources: one or several.
            timeout: seconds to wait at most.

        Raises:
            JobFailedError: one has failed; each one's reason is told.
            NotReadyError: they are not done in time: which are at what stage, and how long nothing
                has changed. The processing goes on.
        """
        from labext.nb.views import source_frame as shown

        identifiers = self._titles.find_all("source", sources)
        polling.wait_for_sources(
            polling.watch_sources(self._executor, self._backend, identifiers), timeout
        )
        return shown(polling.fetch_sources(self._executor, self._backend, identifiers))

    def _options(
        self, notebook: str | None, title: str | None, topic: str | None, process_async: bool
    ) -> dict[str, Any]:
        return {
            "notebook": self._notebook(notebook),
            "title": title,
            "topic": topic,
            "process_async": process_async,
        }
