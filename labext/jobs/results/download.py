"""Download results archives and files from the job service."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labext.actions import parameter
from labext.errors import (
    AccessError,
    ArchiveError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    NotReadyError,
)
from labext.http.download import OnBytes
from labext.jobs import identity, records
from labext.jobs.api import JobsApi
from labext.jobs.batch.merge_parts import PartFinder
from labext.jobs.file_versions import UploadRecords
from labext.jobs.identity import stored_record, stored_settings
from labext.jobs.records import JobRecord
from labext.jobs.results.archives import METRICS, JobArchive, merge_archives, merge_metrics
from labext.jobs.results.manifest import Origin
from labext.jobs.tools import ToolCatalogue
from labext.progress import Outcome
from labext.storage import write_atomic

OnPhase = Callable[[str], None]
"""Callback for the name of the current phase, to which subsequent bytes belong."""


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True)
class TransferCallbacks:
    """Callbacks for the progress of a download: bytes and phase."""

    bytes: OnBytes = _ignore
    phase: OnPhase = _ignore

    def with_offset(self, offset: int, *, last: bool) -> TransferCallbacks:
        """Return callbacks for one of several files, after `offset` bytes of earlier files.

        The total is only reported for the last file.
        """

        def on_bytes(done: int, size: int | None) -> None:
            self.bytes(offset + done, offset + size if last and size is not None else None)

        return replace(self, bytes=on_bytes)


@dataclass(frozen=True)
class ResultSelection:
    """Selection of the results of a job.

    Attributes:
        file: path of the only file; None for all files.
    """

    file: str | None = None
    pdbs_only: bool = False
    email: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None:
            identity.check_text("file", self.file)
        if self.file is not None and self.pdbs_only:
            raise InputError(
                f"{parameter('file', self.file)} selects one file, and "
                f"{parameter('pdbs_only')} all structures.",
                "Use only one of them.",
            )
        if self.file == "":
            raise InputError("The name of the file is empty.", "Name one of the job's files.")

    @property
    def record(self) -> dict[str, Any]:
        """The selection as the manifest records it."""
        return {"fileName": self.file, "pdbsOnly": self.pdbs_only}


@dataclass(frozen=True)
class ResultsJob:
    """The job or batch to download.

    Attributes:
        row: its row, merged for a split batch.
        parts: its row by name, or the rows of the parts of a split batch.
        jobs: cache of the rows of the jobs of each part.
    """

    name: str
    row: JobRecord
    parts: Mapping[str, JobRecord | None]
    selection: ResultSelection
    jobs: dict[str, list[JobRecord]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def split(self) -> bool:
        """True for a split batch."""
        return self.name not in self.parts

    @property
    def ended(self) -> list[str]:
        """The batches and pipelines in `parts` that have ended."""
        return [
            part
            for part, row in self.parts.items()
            if row is not None and records.is_parent(row) and records.outcome(row) is not None
        ]

    @property
    def incomplete(self) -> list[str]:
        """The batches and pipelines that ended incomplete; single jobs may have results."""
        return [part for part in self.ended if not _is_complete_row(self.parts[part])]


@dataclass(frozen=True)
class ResultsSource:
    """Reads results from one service."""

    service: JobsApi
    parts: PartFinder
    catalogue: ToolCatalogue
    uploaded: UploadRecords

    def fetch(self, job: ResultsJob, stage: Path, callbacks: TransferCallbacks) -> Path:
        """Download the selected archive or file into the staging folder."""
        target = stage / "download"
        if job.selection.file is None:
            return self.archive(job, stage, target, callbacks)
        if not job.split and not job.incomplete:
            return self.download(job.name, target, job.selection, callbacks)
        if job.selection.file == METRICS:
            tables = [(part, self._metrics(job, part, stage, callbacks)) for part in job.ended]
            write_atomic(target, merge_metrics(tables, self._order(job)).encode())
            return target
        first, _, rest = job.selection.file.partition("/")
        for part in job.ended:
            stored_names = {
                identity.strip_batch_name(name, part): name
                for name in self._stored_names(job, part)
            }
            if not rest or first not in stored_names:
                continue
            if part in job.incomplete:
                single = replace(job.selection, file=rest)
                return self.download(stored_names[first], target, single, callbacks)
            try:
                return self.download(part, target, job.selection, callbacks)
            except NotFoundError:  # the folders of the archive may have the full names of the jobs
                stored = replace(job.selection, file=f"{part}-{job.selection.file}")
                return self.download(part, target, stored, callbacks)
        raise InputError(
            f'{job.name} has no file "{job.selection.file}".',
            "The files of a batch are named `<job>/<file>`.",
        )

    def archive(
        self, job: ResultsJob, stage: Path, target: Path, callbacks: TransferCallbacks
    ) -> Path:
        """Download the archive, merging the archives of several parts or jobs."""
        # Reuse archives completed by an interrupted download.
        if target.exists():
            return target
        if not job.split and not job.incomplete:
            return self.download(job.name, target, job.selection, callbacks)
        archives: dict[str, Path] = {}
        jobs: list[JobArchive] = []
        tables: dict[str, bytes] = {}
        for number, part in enumerate(job.ended, 1):
            if job.split:
                callbacks.phase(f"Fetching part {number} of {len(job.ended)}")
            done = _total_size([*archives.values(), *(item.path for item in jobs)])
            last = part == job.ended[-1]
            path = self._part_archive(job, part, stage, callbacks.with_offset(done, last=last))
            if path is not None:
                archives[part] = path
                continue
            jobs += self._job_archives(job, part, stage, callbacks.with_offset(done, last=False))
            if not job.selection.pdbs_only:
                tables[part] = _metrics_of_rows(self.jobs(job, [part]), part)
        if not archives and not jobs:
            raise NotReadyError(f"No job of {job.name} has results.")
        if not job.split and archives:
            archives[job.name].replace(target)
            return target
        callbacks.phase("Merging")
        order = self._order(job)
        try:
            merge_archives(archives, target, order, callbacks.bytes, jobs=jobs, tables=tables)
        except ArchiveError:
            for path in (*archives.values(), *(item.path for item in jobs)):
                path.unlink(missing_ok=True)
            raise
        return target

    def complete_jobs(self, job: ResultsJob) -> list[str]:
        """Return the names of the complete jobs of a batch that ended incomplete."""
        return [
            str(row.get("JobName"))
            for row in self.jobs(job, job.incomplete)
            if _is_complete_row(row)
        ]

    def jobs(self, job: ResultsJob, parts: Iterable[str]) -> list[JobRecord]:
        """Return the rows of the jobs of batches and pipelines; empty if they can't be listed."""
        try:
            return [row for part in parts for row in self._rows(job, part)]
        except (AccessError, InputError):
            return []

    def _part_archive(
        self, job: ResultsJob, part: str, stage: Path, callbacks: TransferCallbacks
    ) -> Path | None:
        """Download the archive of a batch or a pipeline; None if it has no archive."""
        path = stage / f"{part}.zip"
        if path.exists():
            return path
        if part not in job.incomplete:
            return self.download(part, path, job.selection, callbacks)
        if records.outcome(job.parts[part] or {}) is Outcome.FAILED:
            return None  # the aggregation failed, so there is no archive
        try:
            return self.download(part, path, job.selection, callbacks)
        except (InputError, NotReadyError, JobFailedError):
            return None

    def _job_archives(
        self, job: ResultsJob, part: str, stage: Path, callbacks: TransferCallbacks
    ) -> list[JobArchive]:
        """Download the archives of the complete jobs of a batch or a pipeline, one by one."""
        fetched: list[JobArchive] = []
        for row in self.jobs(job, [part]):
            if not _is_complete_row(row):
                continue
            name = str(row.get("JobName"))
            path = stage / f"job-{name}.zip"
            if not path.exists():
                offset = _total_size([item.path for item in fetched])
                try:
                    self.download(
                        name, path, job.selection, callbacks.with_offset(offset, last=False)
                    )
                except (InputError, NotReadyError, JobFailedError):
                    continue  # the job has no results, or no structures
            fetched.append(JobArchive(name, identity.strip_batch_name(name, part), path))
        return fetched

    def _metrics(
        self, job: ResultsJob, part: str, stage: Path, callbacks: TransferCallbacks
    ) -> bytes:
        """Return the metrics table of a batch or a pipeline."""
        if part in job.incomplete:
            return _metrics_of_rows(self._rows(job, part), part)
        return self.download(part, stage / f"{part}.csv", job.selection, callbacks).read_bytes()

    def download(
        self, name: str, target: Path, selection: ResultSelection, callbacks: TransferCallbacks
    ) -> Path:
        """Download the selected results of one job or batch on the service to `target`."""

        def presigned_url() -> str:
            return self.service.result_url(
                name, file=selection.file, pdbs_only=selection.pdbs_only, email=selection.email
            )

        return self.service.http.download(
            presigned_url(), target, renew_url=presigned_url, on_bytes=callbacks.bytes
        )

    def _order(self, job: ResultsJob) -> list[str]:
        """Return the names of the jobs inside the batch, in the order of the input."""
        entry = None if job.selection.email else self.parts.entry(job.name)
        if entry is not None and {part.name for part in entry.plan.parts} == set(job.parts):
            return list(entry.plan.jobs)
        return [
            identity.strip_batch_name(name, part)
            for part in job.ended
            for name in self._stored_names(job, part)
        ]

    def _stored_names(self, job: ResultsJob, part: str) -> list[str]:
        return [str(row.get("JobName")) for row in self._rows(job, part)]

    def _rows(self, job: ResultsJob, part: str) -> list[JobRecord]:
        if part not in job.jobs:
            pages = self.service.pages(batch=part, jobEmail=job.selection.email)
            job.jobs[part] = [row for page in pages for row in page.rows]
        return job.jobs[part]

    def origin(self, job: ResultsJob) -> Origin:
        """Return the origin of the results: the jobs, in the order of the input, and their tools.

        Fields that the service does not return are empty, for example for a teammate's jobs.
        """
        rows = [job.row]
        if records.is_parent(job.row):
            try:
                rows = self._in_order(job)
            except (AccessError, NotFoundError):
                rows = []
        types = dict.fromkeys(str(row.get("Type")) for row in rows)
        inputs: dict[tuple[Any, ...], dict[str, Any]] = {}
        # A teammate's uploads are unknown; a local upload of the same name is another file.
        for row in () if job.selection.email else rows:
            for upload in self.uploaded.inputs_of(row, stored_settings(row) or {}):
                key = upload["name"], upload["sha256"]
                inputs.setdefault(key, {**upload, "jobs": []})["jobs"].append(row.get("JobName"))
        return Origin.now(filter(None, map(self._tool, types)), rows, inputs.values())

    def _in_order(self, job: ResultsJob) -> list[JobRecord]:
        parts = [part for part, row in job.parts.items() if row is not None]
        by_name = {
            identity.strip_batch_name(str(row.get("JobName")), part): row
            for part in parts
            for row in self._rows(job, part)
        }
        order = [name for name in self._order(job) if name in by_name]
        return [by_name[name] for name in dict.fromkeys([*order, *by_name])]

    def _tool(self, name: str) -> Mapping[str, Any] | None:
        try:
            return self.catalogue.tool(name).record
        except LabextError:  # the record of the tool is optional
            return None


def _is_complete_row(row: JobRecord | None) -> bool:
    return row is not None and records.outcome(row) is Outcome.COMPLETE


def _total_size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def _metrics_of_rows(rows: Iterable[JobRecord], part: str) -> bytes:
    """Return a metrics table in the service's format, with state and score of each job."""
    scores = [(row, stored_record(row, "Score") or {}) for row in rows]
    keys = [*dict.fromkeys(key for _, score in scores for key in score)]
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["job", "status", *keys])
    for row, score in scores:
        own = identity.strip_batch_name(str(row.get("JobName")), part)
        table.writerow([own, records.phase(row), *(score.get(key, "") for key in keys)])
    return out.getvalue().encode()
