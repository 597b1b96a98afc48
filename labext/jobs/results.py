"""Results fetched to disk: the two-step download, kept, unpacked, and not fetched twice.

Into a folder goes the archive as `<name>.zip`, its files beside it, and `<name>.manifest.json`,
which says what they are. A path that ends in `.zip` gets the archive alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from labext.errors import (
    ArchiveError,
    ConflictError,
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    StorageError,
)
from labext.jobs import archives, manifest, merging, names, placing, rows
from labext.jobs.archives import File
from labext.jobs.identity import canonical
from labext.jobs.manifest import Manifest
from labext.jobs.parts import Parts
from labext.jobs.rows import Row
from labext.jobs.service import Service
from labext.jobs.storage import storage_errors, write_whole
from labext.jobs.watching import resolve, seen
from labext.progress import Outcome

if TYPE_CHECKING:
    import pandas as pd

OnBytes = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Results:
    """Results on disk.

    Attributes:
        path: the folder, or the one file, that was asked for.
        files: a row a file: file (path in the folder), bytes, sha256.
        fetched: False where they were on disk already and whole.
        archive: the archive, if it was kept.
        message: what happened, one sentence.
    """

    path: Path
    files: pd.DataFrame = field(repr=False, compare=False)
    fetched: bool
    archive: Path | None
    message: str


@dataclass(frozen=True)
class Wanted:
    """Which results of a job are wanted: all, one file, or the structures only; and whose."""

    file: str | None = None
    pdbs_only: bool = False
    email: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None and self.pdbs_only:
            raise InputError("One file and the structures only can't both be asked for.", "Choose.")
        if self.file == "":
            raise InputError("The name of the file is empty.", "Name one of the job's files.")

    @property
    def record(self) -> dict[str, Any]:
        """What stands in the manifest."""
        return {"fileName": self.file, "pdbsOnly": self.pdbs_only}


@dataclass(frozen=True)
class _Job:
    """The job or batch whose results are fetched: its name, its row, and its parts' rows."""

    name: str
    row: Row
    found: Mapping[str, Row | None]

    @property
    def split(self) -> bool:
        return self.name not in self.found


class Fetcher:
    """Fetches results from one service.

    Args:
        service: the service.
        parts: knows split batches.
        state: the folder for records of single files.
        verify: for TLS, as the transport's.
    """

    def __init__(
        self, service: Service, parts: Parts, state: Path, verify: bool | str = True
    ) -> None:
        self._service = service
        self._parts = parts
        self._state = state
        self._verify = verify

    def fetch(
        self, name: str, to: Path | str, wanted: Wanted, on_bytes: OnBytes | None = None
    ) -> Results:
        """Fetch results; see `JobsClient.download`."""
        found = resolve(self._service, self._parts, name, wanted.email)
        job = _Job(name, seen(name, found, {}), found)
        _check_ended(job)
        path = Path(to).expanduser()
        if wanted.file is not None:
            base = PurePosixPath(wanted.file).name
            if path.is_dir() or not path.suffix or str(to).endswith(("/", "\\")):
                path = path / base
            return self._single(job, path, wanted, on_bytes)
        if path.suffix.lower() == ".zip" and not path.is_dir():
            return self._single(job, path, wanted, on_bytes)
        return self._folder(job, path, wanted, on_bytes)

    def _folder(self, job: _Job, folder: Path, wanted: Wanted, on_bytes: OnBytes | None) -> Results:
        if folder.exists() and not folder.is_dir():
            raise StorageError(f"{folder} is a file.", "Give the name of a folder.")
        stem = f"{job.name}-pdbs" if wanted.pdbs_only else job.name
        record = folder / f"{stem}.manifest.json"
        fresh, before = self._manifest(job, wanted), Manifest.read(record)
        if before is not None and before.is_of(fresh) and before.is_whole(folder):
            return _results(folder, before, folder, False, f"are in {folder} already, whole")
        with placing.staging(folder, stem, _key(fresh)) as stage:
            archive = folder / f"{stem}.zip"
            fetched = not _restorable(before, fresh, folder)
            if fetched:
                archive = self._archive(job, stage, stage / f"{stem}.zip", wanted, on_bytes)
            try:
                files, kept = placing.install(archive, stage, folder, before, record.name)
            except (ArchiveError, ConflictError, StorageError):
                if fetched:
                    placing.clear(stage)
                raise
            done = self._manifest(job, wanted, files, kept)
            done.write(record)
        what = f"were fetched to {folder}" if fetched else f"in {folder} were mended"
        what += _left_out(job)
        return _results(folder, done, folder, fetched, what)

    def _single(self, job: _Job, target: Path, wanted: Wanted, on_bytes: OnBytes | None) -> Results:
        record = manifest.elsewhere(self._state, target)
        fresh, before = self._manifest(job, wanted), Manifest.read(record)
        there = target.exists()
        if there and before is not None and before.is_of(fresh) and before.is_whole(target.parent):
            return _results(target, before, target.parent, False, f"are at {target} already, whole")
        if target.is_dir():
            raise StorageError(f"{target} is a folder.", "Give the name of a file.")
        if there and before is None:
            raise ConflictError(
                f"{target} is there already, and is not from the results of {job.name}.",
                "Choose another name, or move it away.",
            )
        if job.split:
            with placing.staging(target.parent, job.name, _key(fresh)) as stage:
                whole = self._whole(job, stage, wanted, on_bytes)
                with storage_errors(target):
                    whole.replace(target)
        else:
            self._download(job.name, target, wanted, on_bytes)
        file = archives.file_of(target, target.name)
        done = self._manifest(job, wanted, [file])
        if wanted.file is None:
            try:
                archives.unpacked_size(target)
            except ArchiveError:
                target.unlink()
                raise
        done.write(record)
        what = f"were fetched to {target}{_left_out(job)}"
        return _results(target, done, target.parent, True, what)

    def _whole(self, job: _Job, stage: Path, wanted: Wanted, on_bytes: OnBytes | None) -> Path:
        """Fetch one archive, or one file, of a split batch into the stage."""
        target = stage / "whole"
        if wanted.file is None:
            return self._archive(job, stage, target, wanted, on_bytes)
        first, _, rest = wanted.file.partition("/")
        if wanted.file == merging.METRICS:
            tables = {
                part: self._download(part, stage / f"{part}.csv", wanted, on_bytes).read_bytes()
                for part in _complete(job)
            }
            write_whole(target, merging.metrics_of(tables, self._order(job, wanted)).encode())
            return target
        for part in _complete(job):
            if rest and first in self._jobs_of(part, wanted):
                try:
                    return self._download(part, target, wanted, on_bytes)
                except NotFoundError:  # an archive whose folders have the jobs' stored names
                    stored = replace(wanted, file=f"{part}-{wanted.file}")
                    return self._download(part, target, stored, on_bytes)
        raise InputError(
            f'{job.name} has no file "{wanted.file}".', "Files are named `<job>/<file>` in a batch."
        )

    def _archive(
        self, job: _Job, stage: Path, target: Path, wanted: Wanted, on_bytes: OnBytes | None
    ) -> Path:
        """Fetch the archive; of a split batch its parts', merged."""
        if not job.split:
            return self._download(job.name, target, wanted, on_bytes)
        fetched: dict[str, Path] = {}
        for part in _complete(job):
            done = sum(path.stat().st_size for path in fetched.values())
            path = stage / f"{part}.zip"
            # What an interrupted fetch left whole is not fetched again.
            if not path.exists():
                self._download(part, path, wanted, on_bytes and _from(on_bytes, done))
            fetched[part] = path
        try:
            merging.merge(fetched, target, self._order(job, wanted))
        except ArchiveError:
            for path in fetched.values():
                path.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
            raise
        return target

    def _download(self, name: str, target: Path, wanted: Wanted, on_bytes: OnBytes | None) -> Path:
        from labext.transport.download import fetch

        def address() -> str:
            return self._service.result_url(
                name, file=wanted.file, pdbs_only=wanted.pdbs_only, email=wanted.email
            )

        return fetch(
            address(),
            target,
            fresh=address,
            on_bytes=on_bytes,
            verify=self._verify,
            service="job service",
        )

    def _order(self, job: _Job, wanted: Wanted) -> list[str]:
        entry = None if wanted.email else self._parts.entry(job.name)
        if entry is not None and {part.name for part in entry.plan.parts} == set(job.found):
            return list(entry.plan.jobs)
        return [own for part in _complete(job) for own in self._jobs_of(part, wanted)]

    def _jobs_of(self, part: str, wanted: Wanted) -> list[str]:
        pages = self._service.pages(batch=part, jobEmail=wanted.email)
        return [names.own(str(row.get("JobName")), part) for page in pages for row in page.rows]

    def _manifest(
        self,
        job: _Job,
        wanted: Wanted,
        files: list[File] | None = None,
        archive: File | None = None,
    ) -> Manifest:
        return Manifest(
            self._service.address,
            manifest.identity(job.name, job.found),
            wanted.record,
            tuple(files or ()),
            archive,
            manifest.kept(job.row),
        )


def _check_ended(job: _Job) -> None:
    """Check that there may be results; of a single job or batch the service itself says so.

    Raises:
        NotReadyError: the batch goes on.
        JobFailedError: its aggregation failed, or no part of it is complete.
    """
    if not rows.is_batch(job.row):
        return
    phase, outcome = rows.phase(job.row), rows.outcome(job.row)
    if outcome is None and (job.split or phase in ("Running", "Aggregating")):
        raise NotReadyError(
            f"{job.name} is not complete. Status: {phase}.", f"Wait: `%jobs watch {job.name}`."
        )
    if outcome is Outcome.FAILED or (job.split and not _complete(job)):
        why = rows.reason(job.row)
        raise JobFailedError(
            f"{job.name} has no results as a whole: {phase}{f' ({why})' if why else ''}.",
            "Fetch its jobs one by one: `%jobs results <batch>-<job>`.",
        )


def _complete(job: _Job) -> list[str]:
    return [
        part
        for part, row in job.found.items()
        if row is not None and rows.outcome(row) is Outcome.COMPLETE
    ]


def _left_out(job: _Job) -> str:
    """Say which parts of a split batch have no results, since none of their jobs is complete."""
    absent = [part for part in job.found if part not in _complete(job)] if job.split else []
    return f"; without {', '.join(absent)}, which ended without results" if absent else ""


def _restorable(before: Manifest | None, fresh: Manifest, folder: Path) -> bool:
    """Say whether the archive on disk is whole, so that damaged files come from it."""
    return (
        before is not None
        and before.archive is not None
        and before.is_of(fresh)
        and manifest.is_same(folder, before.archive)
    )


def _key(fresh: Manifest) -> str:
    said = canonical([fresh.service, fresh.identity, fresh.wanted])
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()


def _from(on_bytes: OnBytes, before: int) -> OnBytes:
    return lambda done, _: on_bytes(before + done, None)


def _results(path: Path, done: Manifest, folder: Path, fetched: bool, what: str) -> Results:
    import pandas as pd

    files = pd.DataFrame(
        [(file.path, file.size, file.sha256) for file in done.files],
        columns=["file", "bytes", "sha256"],
    )
    archive = None if done.archive is None else folder / done.archive.path
    if done.wanted["fileName"] is None and path != folder:
        archive = path
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return Results(path, files, fetched, archive, f"The results ({count}) {what}.")
