"""Where the job service keeps its files.

<service>/files/<number>             an uploaded file
<service>/incoming/…                 a file while it is uploaded
<service>/jobs/<number>/inputs/      a job's input files, as they were when it was submitted
<service>/jobs/<number>/work/        where its process works: log.txt, out/, the archive
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.folder import entries
from labext.sandbox.jobs.files import archives
from labext.sandbox.jobs.store import Job, UploadedFile
from labext.sandbox.service import Site

DATA_FOLDERS = ("files", "jobs")
"""The folders whose every entry belongs to a row."""


def job_folder(site: Site, job_id: int) -> Path:
    """All that is kept of one job."""
    return site.folder / "jobs" / str(job_id)


def work_folder(site: Site, job_id: int) -> Path:
    """Where the job's process works, and where its results stay."""
    return job_folder(site, job_id) / archives.WORK


def output_folder(site: Site, job_id: int) -> Path:
    """The job's output files."""
    return work_folder(site, job_id) / archives.OUT


def inputs_folder(site: Site, job_id: int) -> Path:
    """The job's input files: a folder for each setting, which holds that file alone."""
    return job_folder(site, job_id) / "inputs"


def upload_path(site: Site, file_id: int) -> Path:
    """The bytes of an uploaded file."""
    return site.folder / "files" / str(file_id)


def incoming(site: Site) -> Path:
    """Where uploads are written until they are whole."""
    return site.folder / "incoming"


def prepare(site: Site) -> None:
    """Make the folders, and remove uploads that a kill has cut off."""
    shutil.rmtree(incoming(site), ignore_errors=True)
    for name in (*DATA_FOLDERS, "incoming"):
        (site.folder / name).mkdir(parents=True, exist_ok=True)


def orphans(site: Site) -> list[Path]:
    """Return the uploaded files and the job folders that have no row."""
    with site.database.read() as session:
        kept = {upload_path(site, number) for number in session.scalars(select(UploadedFile.id))}
        kept |= {job_folder(site, number) for number in session.scalars(select(Job.id))}
    return [path for name in DATA_FOLDERS for path in entries(site.folder / name) - kept]


def remove_jobs(site: Site, job_ids: Iterable[int]) -> None:
    """Remove all that is kept of these jobs; what isn't there is no error."""
    for job_id in job_ids:
        shutil.rmtree(job_folder(site, job_id), ignore_errors=True)


def remove_after_commit(session: Session, folder: Path) -> None:
    """Remove a folder once the transaction stands: until then its job may start again."""
    after_commit(session, partial(shutil.rmtree, folder, ignore_errors=True))


def link(source: Path, target: Path) -> None:
    """Keep `source` as `target` too, whatever becomes of it: a hard link, or a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # left by a submission that could not be committed
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        shutil.copyfile(source, target)
