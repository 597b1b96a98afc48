"""The output files of a job: found by their path, listed, and put into archives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.jobs.aggregation import METRICS
from labext.sandbox.jobs.files.archives import files_in
from labext.sandbox.jobs.files.folders import output_folder, work_folder
from labext.sandbox.jobs.store import COMPLETE, Job, job_named
from labext.sandbox.service import Site


def output_file(session: Session, site: Site, job: Job, path: str) -> Path | None:
    """The file of one output of a complete job, or None where there is no such output.

    Args:
        session: reads a parent's jobs.
        site: where the files are.
        job: a job, or the parent of a batch's or a pipeline's.
        path: as in the archive: `folder/file`; for a parent `metrics.csv` and `<job>/folder/file`.
    """
    if "\0" in path or "\\" in path:
        return None
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or PurePosixPath(path).is_absolute():
        return None
    if not job.is_parent:
        return _inside(output_folder(site, job.id), parts)
    if parts == (METRICS,):
        return _inside(work_folder(site, job.id), parts)
    part = job_named(session, job.account_id, f"{job.name}-{parts[0]}")
    if part is None or part.parent_id != job.id or part.status != COMPLETE or len(parts) < 2:
        return None
    return _inside(output_folder(site, part.id), parts[1:])


def outputs(session: Session, site: Site, job: Job) -> Iterator[tuple[str, Path]]:
    """Each output with its name in the archive; a parent's jobs are folders."""
    if not job.is_parent:
        yield from files_in(output_folder(site, job.id))
        return
    yield METRICS, work_folder(site, job.id) / METRICS
    parts = select(Job).where(Job.parent_id == job.id, Job.status == COMPLETE).order_by(Job.id)
    for part in session.scalars(parts):
        short = part.name.removeprefix(f"{job.name}-")
        for name, file in files_in(output_folder(site, part.id)):
            yield f"{short}/{name}", file


def _inside(folder: Path, parts: tuple[str, ...]) -> Path | None:
    file = folder.joinpath(*parts)
    try:
        inside = file.resolve().is_relative_to(folder.resolve()) and file.is_file()
    except OSError:  # a name longer than the file system takes
        return None
    return file if inside else None
