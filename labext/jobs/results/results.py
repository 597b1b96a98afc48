"""Download results to disk, reusing complete results of an earlier download."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self

from labext import messages
from labext.actions import Action
from labext.errors import (
    ArchiveError,
    ConflictError,
    InputError,
    JobFailedError,
    NotReadyError,
    StorageError,
)
from labext.jobs import records
from labext.jobs.api import JobsApi
from labext.jobs.batch.merge_parts import PartFinder, find_rows, merge_found_rows
from labext.jobs.identity import canonical_json
from labext.jobs.listing import JobLister
from labext.jobs.records import JobRecord
from labext.jobs.results import archives, install, manifest, provenance
from labext.jobs.results.archives import ArchiveFile
from labext.jobs.results.download import (
    ResultSelection,
    ResultsJob,
    ResultsSource,
    TransferCallbacks,
)
from labext.jobs.results.manifest import Manifest
from labext.progress import Outcome
from labext.storage import is_folder_name, storage_errors, user_path

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 3
_NUMBER_SUFFIX = re.compile(r"\.\d+(e[+-]?\d+)?", re.IGNORECASE)
"""End of a name such as `T_37.5`, which is that of a folder."""


def incomplete_jobs_message(jobs: Sequence[Mapping[str, Any]], parent: str) -> str:
    """Return a message with the number, names and reasons of incomplete jobs; empty if none."""
    failed = [job for job in jobs if records.outcome(job) is not Outcome.COMPLETE]
    if not failed:
        return ""
    by_reason: dict[str, list[str]] = {}
    for job in failed:
        reason = records.reason(job) or records.phase(job)
        name = manifest.own_job_name(str(job.get("JobName")), parent)
        by_reason.setdefault(reason.rstrip("."), []).append(name)
    groups = [
        f"{messages.join_words(names, _SHOWN)} ({reason})"
        for reason, names in list(by_reason.items())[:_SHOWN]
    ]
    if len(by_reason) > _SHOWN:
        others = sum(map(len, list(by_reason.values())[_SHOWN:]))
        groups.append(f"{others:,} more for other reasons")
    total = messages.pluralize(len(jobs), "job")
    return f"{len(failed):,} of {total} did not complete: {'; '.join(groups)}"


@dataclass(frozen=True)
class Results:
    """Results on disk.

    Attributes:
        path: the folder or file.
        files: one row per file: file (path in the folder), bytes, sha256.
        fetched: False if the results were already complete on disk.
        archive: the archive, if it was kept.
        message: the outcome in one sentence.
        rows_of_jobs: function that creates the result of `frame`.
    """

    path: Path
    files: pd.DataFrame = field(repr=False, compare=False)
    fetched: bool
    archive: Path | None
    message: str
    rows_of_jobs: Callable[[pd.DataFrame | None, str | None], pd.DataFrame] = field(
        repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the connection that `frame` uses."""
        return {**self.__dict__, "rows_of_jobs": _rows_of_pickled_results}

    def __copy__(self) -> Self:
        """Return a copy with the same connection."""
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy with the same connection and its own table of files."""
        return replace(self, files=self.files.copy())

    def frame(
        self, rows: pd.DataFrame | None = None, name_column: str | None = None
    ) -> pd.DataFrame:
        """Return the results as a DataFrame with one row per job, in the order of the input.

        Columns: Name (inside the batch), JobName, Type (the tool), Stage and Input (the initial
        input) for a pipeline, JobStatus, Reason (of a failure), Folder (with the files of the job),
        Structures (list of paths); then the metrics; then the input columns, or the settings if the
        input is unknown. Metrics whose name is taken are called `score.<metric>`, input columns
        named like those of jobs `<column>.input`.

        Queries the service for the rows of the jobs.

        Args:
            rows: the input rows; by default those in the journal, if the batch was sent from this
                machine.
            name_column: the column of `rows` with the names of the jobs.

        Raises:
            InputError: `rows` has no such column, or a name occurs twice; or the results were
                pickled.
        """
        return self.rows_of_jobs(rows, name_column)


def _rows_of_pickled_results(*_: Any) -> pd.DataFrame:
    raise InputError(
        "Results that were pickled have no connection to the service.",
        "Download them again; complete files are kept.",
    )


@dataclass(frozen=True)
class ResultsFetcher:
    """Downloads results from one service; `state` has the manifests of single files."""

    service: JobsApi
    parts: PartFinder
    lister: JobLister
    source: ResultsSource
    state: Path

    def fetch(
        self, name: str, to: Path | str, selection: ResultSelection, callbacks: TransferCallbacks
    ) -> Results:
        """Download results; see `JobsClient.download`."""
        rows = find_rows(self.service, self.parts, name, selection.email)
        job = ResultsJob(name, merge_found_rows(name, rows, {}), rows, selection)
        _check_ended(job)
        callbacks.phase("Fetching")
        try:
            with storage_errors(user_path(to)):
                return self._fetch_to(job, to, callbacks)
        except (NotReadyError, JobFailedError) as error:
            if records.outcome(job.row) in (None, Outcome.COMPLETE):
                raise
            raise no_results_error(job.name, job.row) from error

    def read(self, name: str, selection: ResultSelection, stage: Path) -> bytes:
        """Return the content of the selected file, downloaded to the folder `stage`."""
        rows = find_rows(self.service, self.parts, name, selection.email)
        job = ResultsJob(name, merge_found_rows(name, rows, {}), rows, selection)
        return self.source.fetch(job, stage, TransferCallbacks()).read_bytes()

    def _fetch_to(self, job: ResultsJob, to: Path | str, callbacks: TransferCallbacks) -> Results:
        path = user_path(to)
        if job.selection.file is not None:
            file_name = PurePosixPath(job.selection.file).name
            if not path.suffix or _NUMBER_SUFFIX.fullmatch(path.suffix) or is_folder_name(to):
                path = path / file_name
            return self._fetch_file(job, path, callbacks)
        if path.suffix.lower() == ".zip" and not path.is_dir():
            return self._fetch_file(job, path, callbacks)
        return self._fetch_folder(job, path, callbacks)

    def _fetch_folder(self, job: ResultsJob, folder: Path, callbacks: TransferCallbacks) -> Results:
        if folder.exists() and not folder.is_dir():
            raise StorageError(f"{folder} is a file.", "Give the name of a folder.")
        stem = f"{job.name}-pdbs" if job.selection.pdbs_only else job.name
        record = folder / f"{stem}.manifest.json"
        fresh, before = self._manifest(job), Manifest.read(record)
        if before is not None and before.same_results(fresh) and before.is_complete(folder):
            install.remove_old_stages(folder, stem)
            provenance.write_crate(folder)
            action = f"are already complete in {_display_path(folder)}"
            return self._results(job, folder, before, False, action)
        with install.staging_folder(folder, stem, _stage_key(fresh)) as stage:
            archive = folder / f"{stem}.zip"
            fetched = not _can_repair(before, fresh, folder)
            if fetched:
                archive = self.source.archive(job, stage, stage / f"{stem}.zip", callbacks)
            if fetched or before is None:
                fresh = replace(fresh, origin=self.source.origin(job))
            else:
                fresh = replace(fresh, origin=before.origin)
            callbacks.phase("Unpacking")
            earlier = () if before is None else (*before.files, *before.earlier)

            kept: list[int] = []

            def write_manifest(files: list[ArchiveFile], stored: ArchiveFile) -> None:
                kept.append(install.keep_changed_files(folder, files, earlier))
                pending = replace(fresh, files=tuple(files), archive=stored)
                stale = tuple(file for file in earlier if file not in pending.files)
                replace(pending, earlier=stale).write(record)

            try:
                files, stored_archive = install.install_archive(
                    archive,
                    stage,
                    folder,
                    before,
                    record.name,
                    write_manifest,
                    callbacks.bytes,
                    bounds=archives.ArchiveBounds.for_parts(len(job.parts)),
                )
                paths = {file.path for file in files}
                removed, left = install.remove_stale_files(
                    folder, earlier, paths, of_jobs=records.is_parent(job.row)
                )
            except (ArchiveError, ConflictError, StorageError):
                if fetched:
                    install.clear_stage(stage)
                raise
            done = replace(fresh, files=tuple(files), archive=stored_archive)
            done.write(record)
            provenance.write_crate(folder)
        place = _display_path(folder)
        action = f"were downloaded to {place}" if fetched else f"in {place} were repaired"
        action += _changed_clause(sum(kept))
        if before and before.identity.get("created") != fresh.identity.get("created"):
            action += f"; they replace those of an earlier {job.name}"
        if removed:
            action += f"; {messages.pluralize(removed, 'file')} of an earlier download removed"
        if left:
            action += f"; {messages.pluralize(left, 'file')} of jobs without results now kept"
        return self._results(job, folder, done, fetched, action)

    def _fetch_file(self, job: ResultsJob, target: Path, callbacks: TransferCallbacks) -> Results:
        record = manifest.separate_manifest_path(self.state, target)
        fresh, before = self._manifest(job), Manifest.read(record)
        exists = target.exists()
        if (
            exists
            and before is not None
            and before.same_results(fresh)
            and before.is_complete(target.parent)
        ):
            install.remove_old_stages(target.parent, install.single_file_stage_name(target))
            return self._results(job, target, before, False, f"are already complete at {target}")
        if target.is_dir():
            raise StorageError(f"{target} is a folder.", "Give the name of a file.")
        if exists and before is not None and not before.same_source(fresh):
            raise _other_file_error(job, target)
        with install.staging_folder(
            target.parent, install.single_file_stage_name(target), _stage_key(fresh)
        ) as stage:
            # Reuse a file completed by an interrupted download.
            downloaded = stage / "download"
            if not downloaded.exists():
                downloaded = self.source.fetch(job, stage, callbacks)
            if job.selection.file is None:
                try:
                    archives.unpacked_size(
                        downloaded, archives.ArchiveBounds.for_parts(len(job.parts))
                    )
                except ArchiveError:
                    install.clear_stage(stage)
                    raise
            done = replace(fresh, files=(archives.describe_file(downloaded, target.name),))
            # Without a manifest, the file may come from another machine.
            if exists and before is None and not done.is_complete(target.parent):
                install.clear_stage(stage)
                raise _other_file_error(job, target)
            # Write the manifest first: a file without one is treated as the user's own.
            done.write(record)
            before_files = () if before is None else before.files
            kept = install.keep_changed_files(target.parent, done.files, before_files)
            with storage_errors(target):
                downloaded.replace(target)
        action = f"were downloaded to {target}{_changed_clause(kept)}"
        return self._results(job, target, done, True, action)

    def _manifest(self, job: ResultsJob) -> Manifest:
        """Return the manifest of the selected results, without files."""
        identity = manifest.run_identity(job.name, job.parts)
        if job.incomplete:
            identity["complete"] = sorted(self.source.complete_jobs(job))
        return Manifest(
            self.service.address,
            identity,
            job.selection.record,
            (),
            job=manifest.recorded_fields(job.row),
        )

    def _results(
        self, job: ResultsJob, path: Path, done: Manifest, fetched: bool, action: str
    ) -> Results:
        import pandas as pd

        from labext.jobs.frames import RESULT_FILES
        from labext.jobs.results.frame import results_frame

        files = RESULT_FILES.show(
            pd.DataFrame(
                [(file.path, file.size, file.sha256) for file in done.files],
                columns=["file", "bytes", "sha256"],
            )
        )
        archive: Path | None = None
        unpacked: list[str] = []
        if done.archive is not None:
            archive, unpacked = path / done.archive.path, [file.path for file in done.files]
        elif done.selection["fileName"] is None:
            archive = path
        count = messages.pluralize(len(files), "file")
        build_frame = partial(
            results_frame, self.lister, job.row, job.selection.email, path, unpacked
        )
        message = f"The results ({count}) {action}{self._missing_results(job, done)}."
        return Results(path, files, fetched, archive, message, build_frame)

    def _missing_results(self, job: ResultsJob, done: Manifest) -> str:
        """Return the end of a sentence: incomplete jobs, missing parts, a stopped pipeline."""
        if job.selection.file is not None or not records.is_parent(job.row):
            return ""
        jobs = done.origin.jobs or self.source.jobs(job, job.ended)
        clauses = [incomplete_jobs_message(jobs, job.name)] if jobs else []
        if missing := [part for part, row in job.parts.items() if row is None]:
            clauses.append(f"{messages.join_subject(missing)} missing on the service")
        if records.is_pipeline(job.row) and records.outcome(job.row) is not Outcome.COMPLETE:
            reason = records.reason(job.row).rstrip(".")  # such as a stage that could not start
            if reason and not any(reason in clause for clause in clauses):
                state = records.phase(job.row)
                clauses.insert(0, f"the pipeline ended with the state {state}: {reason}")
        return "".join(f"; {clause}" for clause in clauses if clause)


def _changed_clause(count: int) -> str:
    return f"; {messages.pluralize(count, 'changed file')} kept as NAME.changed" if count else ""


def _display_path(folder: Path) -> Path:
    """Return a path to display; an absolute one for `.` and `..`."""
    return folder if folder.name not in ("", "..") else folder.resolve()


def _other_file_error(job: ResultsJob, target: Path) -> ConflictError:
    return ConflictError(
        f"{target} already exists and is not {job.selection.file or 'the archive'} of {job.name}.",
        "Choose another name, or move it away.",
    )


def _check_ended(job: ResultsJob) -> None:
    """Check that a batch has ended; the service checks this for single jobs and pipelines."""
    if not records.is_batch(job.row):
        return
    phase, outcome = records.phase(job.row), records.outcome(job.row)
    if outcome is None and (job.split or phase in ("Running", "Aggregating")):
        raise NotReadyError(
            f"{job.name} is not complete. Status: {phase}.",
            "Wait: {action}.",
            action=Action.watch_job(job.name),
        )


def no_results_error(name: str, row: JobRecord) -> JobFailedError:
    """Return the error for a job that has ended without results."""
    phase, reason = records.phase(row), records.reason(row)
    status = f"{phase} ({reason.rstrip('.')})" if reason else phase
    if not records.is_parent(row):
        return JobFailedError(
            f"{name} has no results: its status is {status}.", action=Action.show_job(name)
        )
    return JobFailedError(
        f"{name} has no results: its status is {status}, and none of its jobs has results.",
        "{action} shows its jobs.",
        action=Action.list_jobs(name),
    )


def _can_repair(before: Manifest | None, fresh: Manifest, folder: Path) -> bool:
    """Return whether missing or damaged files can be restored from the archive on disk."""
    return (
        before is not None
        and before.archive is not None
        and before.same_results(fresh)
        and manifest.file_matches(folder, before.archive)
    )


def _stage_key(fresh: Manifest) -> str:
    text = canonical_json([fresh.service, fresh.identity, fresh.selection])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
