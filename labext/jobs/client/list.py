"""Client methods that list, watch, stop and delete jobs, and download their results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages, progress
from labext.actions import Action
from labext.errors import InputError, JobFailedError, NotFoundError, NotReadyError
from labext.jobs import identity, records
from labext.jobs.api import is_not_served
from labext.jobs.client.base import BaseClient
from labext.jobs.records import JobRecord
from labext.messages import pluralize
from labext.progress import Outcome, Progress

if TYPE_CHECKING:
    import pandas as pd

    from labext.http.download import OnBytes
    from labext.jobs.listing import JobFilter
    from labext.jobs.results.download import OnPhase
    from labext.jobs.results.results import Results
    from labext.jobs.watch import JobWatcher


PartAction = Callable[[str, JobRecord], str]
"""Operation on one job or batch, given its name and row; returns the service's message."""


class ListMethods(BaseClient):
    """List, watch, stop and delete jobs and batches, and download their results."""

    def jobs(
        self,
        *,
        batch: str | None = None,
        limit: int | None = None,
        organization: bool = False,
        subjobs: bool = False,
        email: str | None = None,
        start_key: str | None = None,
        state: str | None = None,
        tool: str | None = None,
        since: str | date | timedelta | None = None,
        scores: bool = False,
        rows: pd.DataFrame | None = None,
        name_column: str | None = None,
    ) -> pd.DataFrame:
        """Return a list of jobs as a typed DataFrame, one row per job.

        Columns: JobName, Type, JobStatus, batchStatus, Created, Started, Completed (UTC),
        WeightedHours, Settings and Score (parsed), AggregationError, then the service's other
        fields. A split batch is one row. The jobs of a batch have a first column Name, with the
        name of the job inside the batch; they are in the order of the input and followed by the
        input columns (`<column>.input` if jobs can have a column of this name, such as a score).
        The display omits empty columns and shows the most important ones first. `.attrs` has
        `statuses`, the service's number of jobs by state, which is empty if a list does not reach
        all parts of a split batch; `start_key`, the continuation key of a list truncated by
        `limit`; and for a batch `name_column`, the column of the input with the names of the jobs.

        The service does not filter by state, tool or time, so its pages are read until `limit` rows
        match.

        Args:
            batch: list the jobs of this batch or pipeline.
            limit: maximum number of rows; None for all.
            organization: list the organization's jobs, if permitted; parts are not merged.
            subjobs: include the jobs of batches; parts are not merged.
            email: list a teammate's jobs, if permitted.
            start_key: continuation key of an earlier list.
            state: only jobs in this state, case-insensitive; `failed` also matches `Stopped` and
                `AggregationFailed`, `queued` matches `In Queue` and `Pending`. The state of a batch
                is its `batchStatus`.
            tool: only jobs and batches of this tool, and pipelines with a stage of this tool.
            since: only jobs created since a date, a time, a duration ago such as `2h` or `3d`, or a
                date, datetime or timedelta. The default time zone is the machine's.
            scores: expand Score into columns `score.<metric>`.
            rows: the input rows to join; by default those in the journal, if the batch was sent
                from this machine.
            name_column: column of `rows` with the original names of the jobs; it follows Name,
                unless it has the same texts.

        Raises:
            NotFoundError: the batch does not exist; the error suggests a similar name.
            InputError: no job matches, and the state or tool is unknown.
        """
        from labext.jobs.listing import JobFilter, ListQuery

        job_filter = JobFilter.parse(state, tool, since, self._http.server_time())
        query = ListQuery(batch, limit, organization, subjobs, email, start_key, job_filter)
        table = self._lister.frame(query, scores=scores, input_rows=rows, name_column=name_column)
        if table.empty:
            self._check_filter(job_filter, tool, table.attrs.get("statuses", {}))
        return table

    def _check_filter(
        self, job_filter: JobFilter, tool: str | None, statuses: Mapping[str, int]
    ) -> None:
        """Check that the state and the tool of a list without jobs exist, else raise InputError."""
        if not job_filter:
            return
        job_filter.check_state(statuses)
        tools = ["batch", "pipeline", *self._catalogue.cached_tools()]
        if tool is not None and tool.casefold() not in {name.casefold() for name in tools}:
            raise InputError(
                f'The service has no tool "{tool}"{messages.did_you_mean(tool, tools)}.',
                action=Action.list_tools(),
            )

    def iter_jobs(
        self,
        *,
        batch: str | None = None,
        limit: int | None = None,
        organization: bool = False,
        subjobs: bool = False,
        email: str | None = None,
        start_key: str | None = None,
        state: str | None = None,
        tool: str | None = None,
        since: str | date | timedelta | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield job rows as the service sends them, page by page.

        The arguments are those of `jobs`. Each part of a split batch is a row of its own.

        Raises:
            InputError: no job matches, and the state or tool is unknown.
        """
        from labext.jobs.listing import JobFilter, ListQuery

        job_filter = JobFilter.parse(state, tool, since, self._http.server_time())
        query = ListQuery(batch, limit, organization, subjobs, email, start_key, job_filter)
        empty, statuses = True, dict[str, int]()
        for _, page in self._lister.pages(query):
            empty = empty and not page.rows
            statuses |= page.statuses
            yield from page.rows
        if empty:
            self._check_filter(job_filter, tool, statuses)

    def job(self, name: str, email: str | None = None) -> dict[str, Any]:
        """Return the row of a job or batch as the service sends it.

        The row of a batch has the number of its jobs by state in `statuses`. The row of a split
        batch is merged from its parts, which are listed in `parts`: `batchStatus` is `Complete`
        only if all parts are complete.

        Raises:
            NotFoundError: no job, batch or pipeline has this name; the error suggests a similar
                name.
        """
        from labext.jobs.batch.merge_parts import find_row

        return find_row(self._service, self._parts, identity.check_name(name), email)

    def show(self, name: str, email: str | None = None) -> pd.DataFrame:
        """Return the row of a job or batch as a typed DataFrame of one row.

        Raises:
            NotFoundError: no job, batch or pipeline has this name.
        """
        from labext.frames.conversion import records_to_frame
        from labext.jobs.frames import JOBS

        row = self.job(name, email)
        fields = {key: value for key, value in row.items() if key not in ("resultUrl", "statuses")}
        if records.is_parent(row):
            fields["statuses"] = records.parse_tally(row.get("statuses"))
        return JOBS.show(records_to_frame([fields], records.job_columns()))

    def watch(
        self, name: str, stop: threading.Event | None = None, email: str | None = None
    ) -> Iterator[Progress]:
        """Poll a job, pipeline or batch until it has ended; yield snapshots, and ticks in between.

        The state of a batch is its `batchStatus`.

        Args:
            name: name of a job, pipeline or batch.
            stop: event that ends the watch, but not the job.
            email: owner of the job, if it is a teammate's.

        Raises:
            NotFoundError: no job, batch or pipeline has this name.
            ServiceError: the service has not responded for ten minutes.
        """
        return progress.watch(
            self._watcher(name, email).poll,
            stop=stop,
            now_utc=lambda: self._http.server_time().timestamp(),
        )

    def wait(self, name: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait until a job or batch is complete, and return its row.

        A batch may be complete although some of its jobs failed: `statuses` of its row counts them.

        Args:
            name: name of a job, pipeline or batch.
            timeout: maximum time to wait, in seconds. It ends between two requests; see the
                client's `timeout` for how long one may take.

        Raises:
            InputError: the timeout is not a number of seconds.
            JobFailedError: the job failed or was stopped; the error has the service's reason.
            NotReadyError: the timeout expired; the job still waits or runs.
            NotFoundError: no job, batch or pipeline has this name.
            ServiceError: the service has not responded to the first request, or for ten minutes.
        """
        progress.check_timeout(timeout)
        watcher = self._watcher(name)
        for snapshot in progress.watch(watcher.poll):
            if snapshot.outcome is Outcome.COMPLETE:
                return watcher.row
            if snapshot.outcome is not None:
                reason = f": {snapshot.reason}" if snapshot.reason else ""
                raise JobFailedError(
                    messages.end_sentence(
                        f"{name} did not complete: its status is {snapshot.phase}{reason}"
                    ),
                    action=Action.show_job(name),
                )
            if timeout is not None and snapshot.elapsed >= timeout:
                break
        assert timeout is not None  # without one, the watch goes on until the job has ended
        raise NotReadyError(
            f"{name} did not complete within {messages.format_seconds(timeout)}: its status is "
            f"{snapshot.phase}.{progress.outage_at_timeout(snapshot.reason)}",
            "Wait again; {action} says why a queued job waits.",
            action=Action.show_job(name),
        )

    def _watcher(self, name: str, email: str | None = None) -> JobWatcher:
        from labext.jobs.watch import JobWatcher

        return JobWatcher(self._service, self._parts, identity.check_name(name), email)

    def download(
        self,
        name: str,
        to: Path | str,
        *,
        file: str | None = None,
        pdbs_only: bool = False,
        email: str | None = None,
        on_bytes: OnBytes | None = None,
        on_phase: OnPhase | None = None,
    ) -> Results:
        """Download the results of a complete job or batch, reusing complete files on disk.

        Writes the archive as `<name>.zip`, its files, `<name>.manifest.json` with their checksums,
        and their provenance as `ro-crate-metadata.json` (RO-Crate 1.1). The parts of a split batch
        are merged into one archive with one metrics.csv, in the order of the input. `.frame()` of
        the result joins the metrics with the input.

        Args:
            name: name of a job, pipeline or batch.
            to: folder, created if needed; or a path ending in `.zip` to keep only the archive.
            file: download one output file instead of the archive; `to` is its path or folder
                (without a suffix, or with a number as its suffix).
            pdbs_only: download only structures (the archive is `<name>-pdbs.zip`).
            email: owner of the job, if it is a teammate's.
            on_bytes: called with the number of bytes received, and the total if known; in later
                phases with the number of bytes processed.
            on_phase: called with the current phase: Fetching (for each part of a split batch),
                Merging, Unpacking.

        Raises:
            NotFoundError: the job or file does not exist.
            NotReadyError, JobFailedError: the job is not complete, or has ended without results.
            ConflictError: a file that would be overwritten is not from these results; nothing was
                written.
            ArchiveError: the archive is damaged or unsafe to unpack; nothing was written.
            StorageError: the disk is full, the folder can't be written, or another download is
                writing to it.
        """
        from labext.jobs.results.download import ResultSelection, TransferCallbacks

        selection = ResultSelection(file, pdbs_only, email)
        callbacks = TransferCallbacks(
            on_bytes or TransferCallbacks.bytes, on_phase or TransferCallbacks.phase
        )
        return self._fetcher.fetch(identity.check_name(name), to, selection, callbacks)

    def result_files(self, name: str, email: str | None = None) -> list[str]:
        """Return the paths of the files in the results of a complete job, for `download(file=…)`.

        Only the central directory at the end of the archive is downloaded. The list is empty if
        the service's store sends whole archives only.

        Args:
            name: name of a job, pipeline or batch.
            email: owner of the job, if it is a teammate's.

        Raises:
            NotFoundError: the job does not exist.
            NotReadyError, JobFailedError: the job is not complete, or has failed or was stopped.
        """
        return list(self.result_sizes(name, email))

    def result_sizes(self, name: str, email: str | None = None) -> dict[str, int]:
        """Return the sizes in bytes of the files listed by `result_files`, by path."""
        from labext.jobs.results.archives import merge_sizes

        try:
            with self._reason_of_failure(name, email):
                return self._archive_sizes(identity.check_name(name), email)
        except NotFoundError as error:
            parts = self._split_parts(name, email, error)
        return merge_sizes({part: self._archive_sizes(part, email) for part in parts})

    @contextmanager
    def _reason_of_failure(self, name: str, email: str | None) -> Iterator[None]:
        """Raise JobFailedError with the service's reason for a job that ended without results."""
        try:
            yield
        except JobFailedError as error:
            from labext.jobs.results.results import no_results_error

            row = self._service.find(name, email)
            raise (error if row is None else no_results_error(name, row)) from None

    def _archive_sizes(self, name: str, email: str | None) -> dict[str, int]:
        from labext.jobs.results.archives import sizes_at_end

        url = self._service.result_url(name, email=email)
        store = self._service.http.store()
        return sizes_at_end(lambda length: store.tail(url, name, length))

    def _split_parts(self, name: str, email: str | None, error: NotFoundError) -> list[str]:
        """Return the existing parts of a split batch; raise the error for any other name."""
        from labext.jobs.batch.merge_parts import find_rows

        rows = find_rows(self._service, self._parts, name, email)
        if name in rows:
            raise error
        return [part for part, row in rows.items() if row is not None]

    def read_result(self, name: str, file: str, email: str | None = None) -> bytes:
        """Return the content of one result file of a complete job, without saving it.

        Args:
            name: name of a job, pipeline or batch.
            file: path as listed by `result_files`.
            email: owner of the job, if it is a teammate's.

        Raises:
            NotFoundError: the job or file does not exist.
            NotReadyError, JobFailedError: the job is not complete, or has failed or was stopped.
        """
        from tempfile import TemporaryDirectory

        from labext.jobs.results.download import ResultSelection, TransferCallbacks

        identity.check_name(name)
        identity.check_text("file", file)
        selection = ResultSelection(file, email=email)
        with TemporaryDirectory(prefix="labext-") as folder:
            target = Path(folder) / "result"
            try:
                with self._reason_of_failure(name, email):
                    self._fetcher.source.download(name, target, selection, TransferCallbacks())
            except NotFoundError as error:
                self._split_parts(name, email, error)
                return self._fetcher.read(name, selection, Path(folder))
            return target.read_bytes()

    def stop(self, name: str) -> str:
        """Stop a job, a batch or a pipeline; return the service's message.

        Raises:
            NotFoundError: no job, batch or pipeline has this name.
        """
        return self._for_each_part(identity.check_name(name), self._stop_part, "stopped")

    def delete(self, name: str) -> str:
        """Delete a job, a batch or a pipeline with its data; return the service's message.

        The records on this machine are deleted too, also those of a batch that does not exist on
        the service.

        Raises:
            NotFoundError: no job, batch or pipeline has this name.
        """
        identity.check_name(name)
        try:
            message = self._for_each_part(
                name, lambda part, _: self._service.delete(part), "deleted"
            )
        except NotFoundError:
            if not self._journal.has(name):
                raise
            message = f"The service does not have {name}; its records on this machine were deleted."
        self._parts.forget(name)
        self._journal.forget(name)
        self._records.forget(name)
        return message

    def _stop_part(self, part: str, row: JobRecord) -> str:
        """Stop a job or batch; succeed if it has already ended.

        A service may reject the request if the job has ended: by itself, or by an earlier request
        whose response was lost.
        """
        try:
            return self._service.stop(part, batch=records.is_batch(row))
        except (InputError, NotReadyError, JobFailedError) as error:
            current = None if is_not_served(error) else self._service.find(part)
            if current is None or records.outcome(current) is None:
                raise
            return f"{part} is already {records.phase(current)}."

    def _for_each_part(self, name: str, operation: PartAction, participle: str) -> str:
        """Run an operation on each existing part of a split batch, or on a single job or batch."""
        from labext.jobs.batch.merge_parts import find_rows

        rows = find_rows(self._service, self._parts, name)
        existing = {part: row for part, row in rows.items() if row}
        if list(existing) == [name]:
            return operation(name, existing[name]) or f"{name} is {participle}."
        results: dict[str, str] = {}
        for part, row in existing.items():
            try:
                results[part] = operation(part, row) or f"{part} is {participle}"
            except NotFoundError:  # deleted after the lookup
                results[part] = f"{part} no longer exists"
        return f"{name}: {_merge_messages(results)}."


def _merge_messages(messages_by_part: Mapping[str, str]) -> str:
    """Return the messages of the parts, with identical messages merged."""
    groups: dict[str, list[str]] = {}
    for part, message in messages_by_part.items():
        groups.setdefault(message.rstrip(".").replace(part, ""), []).append(message.rstrip("."))
    sentences = []
    for group in groups.values():
        more = f", {pluralize(len(group) - 1, 'more part')} too" if len(group) > 1 else ""
        sentences.append(group[0] + more)
    return "; ".join(sentences)
