"""Client methods that list and watch jobs and download their results."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages, progress
from labext.actions import Action
from labext.errors import InputError, JobFailedError, NotReadyError
from labext.jobs import identity, records
from labext.jobs.client.base import BaseClient
from labext.progress import Outcome, Progress

if TYPE_CHECKING:
    import pandas as pd

    from labext.http.download import OnBytes
    from labext.jobs.results.download import OnPhase
    from labext.jobs.results.results import Results
    from labext.jobs.watch import JobWatcher


class ListMethods(BaseClient):
    """Lists of jobs and batches, and their progress."""

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
        since: str | datetime | timedelta | None = None,
        scores: bool = False,
        rows: pd.DataFrame | None = None,
        name_column: str | None = None,
    ) -> pd.DataFrame:
        """Return a list of jobs as a typed DataFrame, one row per job.

        Columns: JobName, Type, JobStatus, batchStatus, Created, Started, Completed (UTC),
        WeightedHours, Settings and Score (parsed), AggregationError, then the service's further
        fields. A split batch is one row. Of a batch's jobs the first column is Name, the job's own
        name; they stand in the input's order, the input's columns beside them (`<column>.input`
        where both have a name). `.columns` has all of them; the display leaves out empty ones and
        puts the most important first. `.attrs` holds `statuses`, the service's tally, and
        `start_key`, where a list that `limit` cut short goes on.

        Args:
            batch: the jobs of this batch, also of a split one, or of this pipeline.
            limit: maximum number of rows; None for all.
            organization: the organization's jobs, where permitted; parts as they are.
            subjobs: the jobs of batches too; parts as they are.
            email: a teammate's jobs, where permitted.
            start_key: where an earlier list ended.
            state: jobs in this state, in any case; `failed` also stands for `Stopped` and
                `AggregationFailed`, `queued` for `In Queue` and `Pending`. Of a batch it is
                `batchStatus`.
            tool: jobs of this tool; also batches of it, and pipelines with a stage of it.
            since: jobs created since then: a date, a time, a duration such as `2h` or `3d`, or a
                datetime or timedelta. Without a zone it is the machine's.
            scores: spread Score into columns `score.<metric>`.
            rows: the input's rows, to be put beside the jobs; of a batch that was sent from this
                machine the journal has them.
            name_column: the column of `rows` with the jobs' names, as they were before some were
                adapted; then that column follows JobName.

        The service filters by none of state, tool and time: its pages are read until there are
        `limit` rows that match.

        Raises:
            NotFoundError: the batch does not exist; the error names a close match.
            InputError: no job is in that state or of that tool, and the state or tool is unknown.
        """
        from labext.jobs.listing import JobFilter, ListQuery

        job_filter = JobFilter.parse(state, tool, since)
        query = ListQuery(batch, limit, organization, subjobs, email, start_key, job_filter)
        table = self._lister.frame(query, scores=scores, input_rows=rows, name_column=name_column)
        if job_filter and table.empty:
            job_filter.check_state(table.attrs.get("statuses", {}))
            self._check_tool(tool)
        return table

    def _check_tool(self, tool: str | None) -> None:
        """Check the name of a tool that no job is of.

        Raises:
            InputError: the service has no such tool.
        """
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
        since: str | datetime | timedelta | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the service's job rows unchanged, page by page; arguments as for `jobs`."""
        from labext.jobs.listing import JobFilter, ListQuery

        job_filter = JobFilter.parse(state, tool, since)
        query = ListQuery(batch, limit, organization, subjobs, email, start_key, job_filter)
        for _, page in self._lister.pages(query):
            yield from page.rows

    def job(self, name: str, email: str | None = None) -> dict[str, Any]:
        """Return the service's row of one job or batch unchanged.

        A batch's row counts its jobs by state in `statuses`. Of a split batch it is merged out of
        the parts': `batchStatus` is `Complete` only if every part's is, `parts` names them.

        Raises:
            NotFoundError: there is none of that name; the error names a close match.
        """
        from labext.jobs.batch.merge_parts import find_row

        return find_row(self._service, self._parts, identity.check_name(name), email)

    def show(self, name: str, email: str | None = None) -> pd.DataFrame:
        """Return one job's or batch's row as a typed DataFrame of one row.

        Raises:
            NotFoundError: there is none of that name.
        """
        from labext.frames.conversion import records_to_frame
        from labext.jobs.views import JOBS

        row = self.job(name, email)
        fields = {key: value for key, value in row.items() if key not in ("resultUrl", "statuses")}
        if records.is_parent(row):
            fields["statuses"] = records.parse_tally(row.get("statuses"))
        return JOBS.show(records_to_frame([fields], records.job_columns()))

    def watch(
        self, name: str, stop: threading.Event | None = None, email: str | None = None
    ) -> Iterator[Progress]:
        """Poll a job, pipeline or batch until it has ended; yield the snapshots, and ticks between.

        A batch is judged by `batchStatus` alone.

        Args:
            name: of a job, a pipeline or a batch, also of a split one.
            stop: ends the watching, not the job.
            email: a teammate's, where permitted.

        Raises:
            NotFoundError: there is none of that name.
            ServiceError: its status is unknown and has not changed for ten minutes.
        """
        return progress.watch(self._watcher(name, email).look, stop=stop)

    def wait(self, name: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait until a job or a batch is complete, and return its row.

        Args:
            name: of a job or a batch.
            timeout: seconds to wait at most.

        Raises:
            JobFailedError: it ended incomplete; the error has the service's reason.
            NotReadyError: it is not complete in time; it keeps running.
        """
        watcher = self._watcher(name)
        for snapshot in progress.watch(watcher.look):
            if snapshot.outcome is Outcome.COMPLETE:
                return watcher.row
            if snapshot.outcome is not None:
                why = f": {snapshot.reason}" if snapshot.reason else ""
                raise JobFailedError(
                    f"{name} did not complete: its status is {snapshot.phase}{why}.",
                    action=Action.show_job(name),
                )
            if timeout is not None and snapshot.elapsed >= timeout:
                break
        raise NotReadyError(
            f"{name} did not complete within {timeout:g} seconds.",
            "It is still running; wait again.",
        )

    def _watcher(self, name: str, email: str | None = None) -> JobWatcher:
        from labext.jobs.watch import JobWatcher

        return JobWatcher(self._service, self._parts, identity.check_name(name), email)


_TABLE_OF_CONTENTS = 256 * 1024
"""Bytes of the end of an archive that are read for the names of its files."""


class ResultMethods(BaseClient):
    """Results of jobs."""

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
        """Fetch the results of a complete job or batch; complete files on disk are reused.

        The folder receives the archive as `<name>.zip`, its files, `<name>.manifest.json` with
        their checksums, and their provenance as `ro-crate-metadata.json` (RO-Crate 1.1). A split
        batch results in one archive with one metrics.csv, in the input's order. `.frame()` of the
        result has the metrics beside the input.

        Args:
            name: of a job or a batch.
            to: a folder, created if needed; or a path ending in `.zip` for the archive alone.
            file: one output file instead of the archive; `to` is then its path, or a folder.
            pdbs_only: structures only (the archive is then `<name>-pdbs.zip`).
            email: a teammate's job, where permitted.
            on_bytes: called with the number of bytes received, and the total if known; in later
                phases with the bytes processed.
            on_phase: called with the current phase: Fetching (part by part of a split batch),
                Merging, Unpacking.

        Raises:
            NotFoundError: there is no such job or file.
            NotReadyError: it is not complete.
            ConflictError: another file is in the way; nothing was written.
            ArchiveError: the archive is damaged or would leave the folder; nothing was written.
            StorageError: the disk is full, or the folder can't be written.
        """
        from labext.jobs.results.download import ResultSelection, TransferCallbacks

        selection = ResultSelection(file, pdbs_only, email)
        callbacks = TransferCallbacks(
            on_bytes or TransferCallbacks.bytes, on_phase or TransferCallbacks.phase
        )
        return self._fetcher.fetch(identity.check_name(name), to, selection, callbacks)

    def result_files(self, name: str, email: str | None = None) -> list[str]:
        """Return the paths of the files in the results of a complete job, for `download(file=…)`.

        Only the end of the archive is fetched, which has its table of contents: two requests. The
        list is empty for an archive of several thousand files, and for a split batch.

        Args:
            name: of a job, a batch or a pipeline.
            email: a teammate's, where permitted.

        Raises:
            NotFoundError: there is no such job.
            InputError: it is not complete.
        """
        return list(self.result_sizes(name, email))

    def result_sizes(self, name: str, email: str | None = None) -> dict[str, int]:
        """Return the files as by `result_files`, with the size of each in bytes."""
        from labext.jobs.results.archives import sizes_at_end

        url = self._service.result_url(identity.check_name(name), email=email)
        return sizes_at_end(self._service.http.store().tail(url, name, _TABLE_OF_CONTENTS))

    def read_result(self, name: str, file: str, email: str | None = None) -> bytes:
        """Return the content of one result file of a complete job, without saving it.

        Args:
            name: of a job, a batch or a pipeline.
            file: a path as in `result_files`.
            email: a teammate's, where permitted.

        Raises:
            NotFoundError: there is no such job or file.
            InputError: it is not complete.
        """
        from tempfile import TemporaryDirectory

        def presigned_url() -> str:
            return self._service.result_url(name, file=file, email=email)

        identity.check_name(name)
        with TemporaryDirectory(prefix="labext-") as folder:
            target = Path(folder) / "result"
            self._service.http.download(presigned_url(), target, renew_url=presigned_url)
            return target.read_bytes()
