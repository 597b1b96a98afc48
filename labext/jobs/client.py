"""The job-submission service as a user of Python sees it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from labext import progress
from labext.config import Connection, clean_url, state_dir
from labext.errors import InputError, JobFailedError, NotReadyError
from labext.jobs import files, names, rows, toolframes
from labext.jobs.actions import Actions
from labext.jobs.batch_submission import BatchSubmission, BatchSubmitter
from labext.jobs.batches import Limits, Plan
from labext.jobs.catalogue import Catalogue
from labext.jobs.failures import explain
from labext.jobs.journal import Journal
from labext.jobs.listing import Lister, Query
from labext.jobs.lookup import parent
from labext.jobs.obtaining import OnPhase, Told, Wanted
from labext.jobs.parts import Parts
from labext.jobs.planning import make_plan
from labext.jobs.results import Fetcher, Results
from labext.jobs.schema import Tool
from labext.jobs.service import Service
from labext.jobs.submission import Submission, submit_job, validate_job
from labext.jobs.watching import Watched
from labext.progress import Outcome, Progress
from labext.transport import Rate, Transport
from labext.transport.auth import ApiKeyHeader
from labext.transport.download import OnBytes

if TYPE_CHECKING:
    import pandas as pd


class JobsClient:
    """A client for the job service at one address, with one key.

    Every method asks the service when it is called, and raises a `LabextError` that says what
    happened and what to do. A batch of more than 100 jobs is sent in parts and seen as one.

    Args:
        base_url: the service's address; the contract's ends in `/api/`.
        api_key: sent as `x-api-key` with every request.
        rate: the limit to keep; `Rate(None)` follows the service's headers only, None no limit.
        verify: True, or the path of a CA bundle.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        rate: Rate | None = Rate(None),  # noqa: B008 - immutable
        verify: bool | str = True,
    ) -> None:
        self._transport = Transport(
            clean_url(base_url),
            auth=None if api_key is None else ApiKeyHeader(api_key),
            rate=rate,
            verify=verify,
            explain=explain,
            service="job service",
        )
        state = state_dir() / "jobs"
        self._service = Service(self._transport)
        self._journal = Journal(state, self._service.address)
        self._parts = Parts(self._service, self._journal)
        self._catalogue = Catalogue(self._service)
        self._lister = Lister(self._service, self._parts)
        self._fetcher = Fetcher(self._service, self._parts, state)
        self._submitter = BatchSubmitter(self._service, self._journal, self._parts)
        self._actions = Actions(self._service, self._parts, self._journal)

    @classmethod
    def reached(cls, connection: Connection) -> Self:
        """Return a client for the service that a profile, the environment or the sandbox names."""
        return cls(
            connection.base_url,
            connection.secrets.get("api_key"),
            verify=connection.options.get("ca_bundle", True),
        )

    def __repr__(self) -> str:
        return f"JobsClient({self.base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """The service's address."""
        return self._transport.base_url

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._transport.close()

    # Tools

    def tools(self) -> pd.DataFrame:
        """Return the catalogue, read anew: a row a tool.

        Columns: name, displayName, description, required and optional (the parameters' names),
        paper, github.
        """
        return toolframes.catalogue(self._catalogue.read().values())

    def iter_tools(self) -> Iterator[dict[str, Any]]:
        """Yield each tool's record as the service gives it, parameters in `settings`."""
        for tool in self._catalogue.read().values():
            yield tool.record

    def tool(self, name: str) -> pd.DataFrame:
        """Return a tool's parameters, read anew: a row a parameter.

        Columns: name, required, type, default, options, description. `.attrs` holds the tool's
        other fields.

        Raises:
            InputError: the service has no such tool; a near name is told.
        """
        return toolframes.parameters(self.describe(name))

    def describe(self, name: str) -> Tool:
        """Return a tool with its parameters, as `cast` and forms need them, read anew.

        Raises:
            InputError: the service has no such tool; a near name is told.
        """
        self._catalogue.read()
        return self._catalogue.tool(name)

    # Submitting

    def check(self, type: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings as they would be sent, held against the tool's parameters.

        Nothing is submitted, and nothing added: defaults are the service's. The rules are the job
        service contract's, Settings rules 1 to 8; the schema is read anew before anything is
        refused.

        Raises:
            InputError: the tool is unknown, or the settings have faults; every one is named.
        """
        clean = self._catalogue.check(type, settings)
        files.check_references(self._service, self._catalogue.tool(type), [clean])
        return clean

    def validate(
        self, type: str, settings: Mapping[str, Any], name: str | None = None
    ) -> dict[str, Any]:
        """Return settings as they would be sent, checked here and by the service itself.

        The service's `/validate-job` runs the check of a submission without submitting; where it
        has none, the check here is all.

        Raises:
            InputError: the settings would be refused.
            ConflictError: the name is taken by another job.
        """
        if name is not None:
            names.check(name)
        clean = self.check(type, settings)
        validate_job(self._service, name or names.made_up(type, clean), type, clean)
        return clean

    def submit(
        self,
        name: str | None,
        type: str,
        settings: Mapping[str, Any],
        project_tag: str | None = None,
    ) -> Submission:
        """Submit one job, or take an identical one that is there as it.

        Args:
            name: unique; letters, digits, `-` and `_`, 1 to 100. None makes one up, always the
                same for the same type and settings.
            type: the tool.
            settings: what the tool takes; `check` tells what is wrong with them.
            project_tag: the project to file it under, `proj_<id>`.

        Raises:
            InputError: something has to be corrected; nothing was sent.
            ConflictError: the name is taken by a job of another type or with other settings.
            OutcomeUnknownError: the answer was lost and the service can't be asked.
        """
        if name is not None:
            names.check(name)
        names.check_project(project_tag)
        clean = self.check(type, settings)
        if name is None:
            name = names.made_up(type, clean)
        return submit_job(self._service, name, type, clean, project_tag)

    def submit_batch(
        self,
        name: str,
        type: str,
        jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any] | None = None,
        name_column: str | None = None,
        mapping: Mapping[str, str] | None = None,
        max_runtime_seconds: int | None = None,
        weighted_hours_budget: float | None = None,
    ) -> BatchSubmission:
        """Submit many jobs of one tool as one batch, or take an identical one as it.

        More than 100 jobs are sent as `<name>-part1of3` and so on, and seen as one batch. All is
        checked before anything is sent, and written to a journal; a line that broke off half-way
        can be run again and sends what is missing.

        Args:
            name: the batch's name.
            type: the tool, one for all jobs.
            jobs: a DataFrame, a row a job; or a mapping of job names to settings; or the service's
                own forms (`{"jobNames": […], "settings": […]}`, `[{"jobName": …, "settings": …}]`).
            settings: settings that all jobs share.
            name_column: the frame's column with the jobs' names; without it they are numbered.
            mapping: for each setting the frame's column that holds it; without it all other
                columns must be called as settings are.
            max_runtime_seconds: the time limit of each job.
            weighted_hours_budget: the limit of the whole batch, divided over its parts.

        Raises:
            InputError: something has to be corrected; nothing was sent.
            ConflictError: the name is taken by something else.
            StorageError: the journal can't be written; nothing was sent.
            OutcomeUnknownError: an answer was lost and the service can't be asked.
        """
        plan, tool = self._planned(
            name,
            type,
            jobs,
            constants=settings or {},
            name_column=name_column,
            mapping=mapping,
            limits=Limits(max_runtime_seconds, weighted_hours_budget),
        )
        return self._submitter.submit(plan, tool)

    def check_batch(
        self,
        name: str,
        type: str,
        jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any] | None = None,
        name_column: str | None = None,
        mapping: Mapping[str, str] | None = None,
        max_runtime_seconds: int | None = None,
        weighted_hours_budget: float | None = None,
    ) -> pd.DataFrame:
        """Check a batch as `submit_batch` does, and by the service's `/validate-job`; send nothing.

        Of each shape of settings the service is asked about one job.

        Returns:
            A row a job: Name, JobName (as the service would know it), Part, the input's columns.

        Raises:
            InputError, ConflictError: as for `submit_batch`.
        """
        plan, tool = self._planned(
            name,
            type,
            jobs,
            constants=settings or {},
            name_column=name_column,
            mapping=mapping,
            limits=Limits(max_runtime_seconds, weighted_hours_budget),
        )
        return self._submitter.check(plan, tool)

    def _planned(self, *asked: Any, **options: Any) -> tuple[Plan, Tool]:
        plan = make_plan(self._catalogue, *asked, **options)
        tool = self._catalogue.tool(plan.type)
        files.check_references(self._service, tool, plan.jobs.values())
        return plan, tool

    # Looking

    def jobs(
        self,
        *,
        batch: str | None = None,
        limit: int | None = None,
        organization: bool = False,
        subjobs: bool = False,
        email: str | None = None,
        start_key: str | None = None,
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
        `.attrs` holds `statuses`, the service's tally, and `start_key`, where a list that `limit`
        cut short goes on.

        Args:
            batch: the jobs of this batch, also of a split one.
            limit: rows wanted in all; None for every one.
            organization: the organization's jobs, where permitted; parts as they are.
            subjobs: the jobs of batches too; parts as they are.
            email: a teammate's jobs, where permitted.
            start_key: where an earlier list ended.
            scores: spread Score into columns `score.<metric>`.
            rows: the input's rows, to be put beside the jobs; of a batch that was sent from this
                machine the journal has them.
            name_column: the column of `rows` with the jobs' names.

        Raises:
            NotFoundError: the batch is not there; a near name is told.
        """
        query = Query(batch, limit, organization, subjobs, email, start_key)
        return self._lister.frame(query, scores=scores, input_rows=rows, name_column=name_column)

    def iter_jobs(
        self,
        *,
        batch: str | None = None,
        limit: int | None = None,
        organization: bool = False,
        subjobs: bool = False,
        email: str | None = None,
        start_key: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield job rows as the service gives them, page by page; arguments as for `jobs`."""
        query = Query(batch, limit, organization, subjobs, email, start_key)
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

        row = self.job(name, email)
        kept = {key: value for key, value in row.items() if key not in ("resultUrl", "statuses")}
        if rows.is_batch(row):
            kept["statuses"] = rows.tally(row.get("statuses"))
        return frames.frame([kept], rows.columns())

    def watch(
        self, name: str, stop: threading.Event | None = None, email: str | None = None
    ) -> Iterator[Progress]:
        """Look at a job or a batch until it has ended; yield what is seen, and ticks between.

        A batch is judged by `batchStatus` alone; an unknown state ends nothing.

        Args:
            name: of a job or a batch, also of a split one.
            stop: ends the watching, not the job.
            email: a teammate's, where permitted.

        Raises:
            NotFoundError: there is none of that name.
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

    # Results

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
        """Fetch the results of a complete job or batch; what is on disk and whole is kept.

        Into a folder go the archive as `<name>.zip`, its files, and `<name>.manifest.json` with
        their checksums. A split batch gives one archive with one metrics.csv, in the input's order.

        Args:
            name: of a job or a batch.
            to: a folder, made if need be; or a path ending in `.zip` for the archive alone.
            file: one output file instead of the archive; `to` is then its path, or a folder.
            pdbs_only: structures only (the archive is then `<name>-pdbs.zip`).
            email: a teammate's job, where permitted.
            on_bytes: is told the bytes that have come, and the whole's if known; in later phases
                those that are done.
            on_phase: is told what is done now: Fetching (part by part of a split batch), Merging,
                Unpacking.

        Raises:
            NotFoundError: there is no such job or file.
            NotReadyError: it is not complete.
            ConflictError: something else stands where a file would go; nothing was written.
            ArchiveError: the archive is damaged or would leave the folder; nothing was written.
            StorageError: the disk is full, or the folder can't be written.
        """
        wanted = Wanted(file, pdbs_only, email)
        told = Told(on_bytes or Told.bytes, on_phase or Told.phase)
        return self._fetcher.fetch(names.check(name), to, wanted, told)

    def stop(self, name: str) -> str:
        """Stop a job or a batch; return what the service says.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._actions.stop(names.check(name))

    def delete(self, name: str) -> str:
        """Delete a job or a batch with its data; return what the service says.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._actions.delete(names.check(name))

    # Files

    def upload(self, path: Path | str, folder: str | None = None) -> str:
        """Upload a file, streamed; return the bare name by which settings refer to it.

        Raises:
            InputError: there is no such file, or it can't be read.
        """
        return files.upload(self._service, path, folder)

    def files(self, folder: str | None = None, include_folders: bool = False) -> list[str]:
        """Return the names of the uploaded files, of one folder or those in none."""
        return self._service.files(folder, include_folders=include_folders)

    def delete_file(self, path: str | None = None, folder: str | None = None) -> str:
        """Delete an uploaded file, or a folder with its files; return what the service says.

        Raises:
            InputError: neither or both are given.
            NotFoundError: there is no such file or folder.
        """
        if (not path and not folder) or (path and folder):
            raise InputError("Either a file or a folder is deleted.", "Name one of them.")
        return self._service.delete_file(path or None, folder or None)
