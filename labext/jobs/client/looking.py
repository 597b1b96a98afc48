"""The client's methods that list and watch jobs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from labext import progress, wording
from labext.errors import InputError, JobFailedError, NotReadyError
from labext.jobs import names, rows
from labext.jobs.client.base import Base
from labext.jobs.job_filter import JobFilter, parse_since
from labext.jobs.listing import Query
from labext.jobs.lookup import parent
from labext.jobs.watching import Watched
from labext.progress import Outcome, Progress

if TYPE_CHECKING:
    import pandas as pd


class Looking(Base):
    """Where jobs and batches are."""

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
        """Return a list of jobs as a typed DataFrame, a row a job.

        Columns: JobName, Type, JobStatus, batchStatus, Created, Started, Completed (UTC),
        WeightedHours, Settings and Score (parsed), AggregationError, then what else the service
        gives. A split batch is one row. Of a batch's jobs the first column is Name, the job's own
        name; they stand in the input's order, the input's columns beside them (`<column>.input`
        where both have a name).
        All of them are in `.columns`; shown are those that hold anything, what tells most first.
        `.attrs` holds `statuses`, the service's tally, and `start_key`, where a list that `limit`
        cut short goes on.

        Args:
            batch: the jobs of this batch, also of a split one, or of this pipeline.
            limit: rows wanted in all; None for every one.
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
                adapted; then that column stands behind JobName.

        The service filters by none of state, tool and time: its pages are read until there are
        `limit` rows that match.

        Raises:
            NotFoundError: the batch is not there; a near name is told.
            InputError: no job is in that state or of that tool, and neither is known.
        """
        wanted = JobFilter(state, tool, None if since is None else parse_since(since))
        query = Query(batch, limit, organization, subjobs, email, start_key, wanted)
        table = self._lister.frame(query, scores=scores, input_rows=rows, name_column=name_column)
        if wanted and table.empty:
            wanted.check_state(table.attrs.get("statuses", {}))
            self._check_tool(tool)
        return table

    def _check_tool(self, tool: str | None) -> None:
        """Check the name of a tool that no job is of.

        Raises:
            InputError: the service has no such tool.
        """
        known = ["batch", "pipeline", *self._catalogue.known()]
        if tool is not None and tool.casefold() not in {name.casefold() for name in known}:
            raise InputError(
                f'No job is of "{tool}", and the service has no such tool'
                f"{wording.did_you_mean(tool, known)}.",
                "See `%jobs tools`.",
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
        """Yield job rows as the service gives them, page by page; arguments as for `jobs`."""
        wanted = JobFilter(state, tool, None if since is None else parse_since(since))
        query = Query(batch, limit, organization, subjobs, email, start_key, wanted)
        for _, page in self._lister.pages(query):
            yield from page.rows

    def job(self, name: str, email: str | None = None) -> dict[str, Any]:
        """Return one job's or batch's row as the service gives it.

        A batch's tells its jobs by state in `statuses`. Of a split batch it is merged out of the
        parts': `batchStatus` is `Complete` only if every part's is, `parts` names them.

        Raises:
            NotFoundError: there is none of that name; a near name is told.
        """
        return parent(self._service, self._parts, names.check(name), email)

    def show(self, name: str, email: str | None = None) -> pd.DataFrame:
        """Return one job's or batch's row as a typed DataFrame of one row.

        Raises:
            NotFoundError: there is none of that name.
        """
        from labext import frames
        from labext.jobs.rowviews import JOBS

        row = self.job(name, email)
        kept = {key: value for key, value in row.items() if key not in ("resultUrl", "statuses")}
        if rows.is_parent(row):
            kept["statuses"] = rows.tally(row.get("statuses"))
        return JOBS.show(frames.frame([kept], rows.columns()))

    def watch(
        self, name: str, stop: threading.Event | None = None, email: str | None = None
    ) -> Iterator[Progress]:
        """Look at something until it has ended; yield what is seen, and ticks between.

        A batch is judged by `batchStatus` alone.

        Args:
            name: of a job, a pipeline or a batch, also of a split one.
            stop: ends the watching, not the job.
            email: a teammate's, where permitted.

        Raises:
            NotFoundError: there is none of that name.
            ServiceError: its status is unknown and has not changed for ten minutes.
        """
        watched = Watched(self._service, self._parts, names.check(name), email)
        return progress.watch(watched.look, stop=stop)

    def wait(self, name: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait until a job or a batch is complete, and return its row.

        Args:
            name: of a job or a batch.
            timeout: seconds to wait at most.

        Raises:
            JobFailedError: it ended, but not as complete; the service's reason is told.
            NotReadyError: it is not complete in time; it goes on.
        """
        watched = Watched(self._service, self._parts, names.check(name))
        for seen in progress.watch(watched.look):
            if seen.outcome is Outcome.COMPLETE:
                return watched.row
            if seen.outcome is not None:
                why = f": {seen.reason}" if seen.reason else ""
                raise JobFailedError(
                    f"{name} has ended as {seen.phase}{why}.",
                    f"See `%jobs show {name}`.",
                )
            if timeout is not None and seen.elapsed >= timeout:
                break
        raise NotReadyError(
            f"{name} is not complete after {timeout:g} seconds.", "It goes on; wait again."
        )
