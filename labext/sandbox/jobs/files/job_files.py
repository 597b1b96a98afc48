"""Locate, list and pack the files of a job, and serve them by presigned URLs."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.data_folder import list_entries
from labext.sandbox.core.database import after_commit
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import InvalidSignatureError
from labext.sandbox.jobs import schemas
from labext.sandbox.jobs.dependencies import find_teammate
from labext.sandbox.jobs.files import result_archives
from labext.sandbox.jobs.files.result_archives import (
    ARCHIVE_FILE,
    METRICS_FILE,
    PDBS_FILE,
    walk_files,
    write_archive,
)
from labext.sandbox.jobs.limits import limit_value
from labext.sandbox.jobs.names import quote_value
from labext.sandbox.jobs.schemas import bad_request, forbidden, not_found
from labext.sandbox.jobs.tables import COMPLETE, Account, Job, UploadedFile, find_job

DATA_FOLDERS = ("files", "jobs")
"""The folders in which every entry belongs to a row."""


def job_folder(site: Site, job_id: int) -> Path:
    """Return the folder with all files of a job."""
    return site.folder / "jobs" / str(job_id)


def work_folder(site: Site, job_id: int) -> Path:
    """Return the working folder of the job's process, which also holds its results."""
    return job_folder(site, job_id) / result_archives.WORK_FOLDER


def output_folder(site: Site, job_id: int) -> Path:
    """Return the folder with the output files of a job."""
    return work_folder(site, job_id) / result_archives.OUTPUT_FOLDER


def inputs_folder(site: Site, job_id: int) -> Path:
    """Return the folder with the input files of a job, each in a folder named after its setting."""
    return job_folder(site, job_id) / "inputs"


def upload_path(site: Site, file_id: int) -> Path:
    """Return the path of an uploaded file."""
    return site.folder / "files" / str(file_id)


def incoming_folder(site: Site) -> Path:
    """Return the folder for incomplete uploads."""
    return site.folder / "incoming"


def prepare_folders(site: Site) -> None:
    """Create the folders, and remove incomplete uploads."""
    shutil.rmtree(incoming_folder(site), ignore_errors=True)
    for name in (*DATA_FOLDERS, "incoming"):
        (site.folder / name).mkdir(parents=True, exist_ok=True)


def find_orphans(site: Site) -> list[Path]:
    """Return the uploaded files and the job folders that have no row."""
    with site.database.read() as session:
        referenced = {
            upload_path(site, number) for number in session.scalars(select(UploadedFile.id))
        }
        referenced |= {job_folder(site, number) for number in session.scalars(select(Job.id))}
    return [path for name in DATA_FOLDERS for path in list_entries(site.folder / name) - referenced]


def remove_jobs(site: Site, job_ids: Iterable[int]) -> None:
    """Remove all files of these jobs; missing files are not an error."""
    for job_id in job_ids:
        shutil.rmtree(job_folder(site, job_id), ignore_errors=True)


def remove_after_commit(session: Session, folder: Path) -> None:
    """Remove a folder after the commit, since until then its job may start again."""
    after_commit(session, partial(shutil.rmtree, folder, ignore_errors=True))


def link_or_copy(source: Path, target: Path) -> None:
    """Create `target` as a hard link to `source`, or as a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # left by a submission that could not be committed
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        shutil.copyfile(source, target)


def find_output(session: Session, site: Site, job: Job, path: str) -> Path | None:
    """Return the file of an output of a complete job, or None if there is no such output.

    The path is that in the archive: `folder/file`; for a parent `metrics.csv` or
    `<job>/folder/file`.
    """
    if "\0" in path or "\\" in path:
        return None
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or PurePosixPath(path).is_absolute():
        return None
    if not job.is_parent:
        return _resolve_inside(output_folder(site, job.id), parts)
    if parts == (METRICS_FILE,):
        return _resolve_inside(work_folder(site, job.id), parts)
    part = find_job(session, job.account_id, f"{job.name}-{parts[0]}")
    if part is None or part.parent_id != job.id or part.status != COMPLETE or len(parts) < 2:
        return None
    return _resolve_inside(output_folder(site, part.id), parts[1:])


def list_outputs(session: Session, site: Site, job: Job) -> Iterator[tuple[str, Path]]:
    """Yield the outputs with their names in the archive; the jobs of a parent are folders."""
    if not job.is_parent:
        yield from walk_files(output_folder(site, job.id))
        return
    yield METRICS_FILE, work_folder(site, job.id) / METRICS_FILE
    parts = select(Job).where(Job.parent_id == job.id, Job.status == COMPLETE).order_by(Job.id)
    for part in session.scalars(parts):
        short = part.name.removeprefix(f"{job.name}-")
        for name, file in walk_files(output_folder(site, part.id)):
            yield f"{short}/{name}", file


def _resolve_inside(folder: Path, parts: tuple[str, ...]) -> Path | None:
    file = folder.joinpath(*parts)
    try:
        inside = file.resolve().is_relative_to(folder.resolve()) and file.is_file()
    except OSError:  # the name is too long for the file system
        return None
    return file if inside else None


DOWNLOAD_PREFIX = "/download"

_packing_lock = threading.Lock()


@dataclass(frozen=True)
class DownloadFile:
    """A file to send, and its name for the client."""

    file: Path
    name: str


def create_result_url(site: Site, caller: Account, body: bytes) -> str:
    """Return the presigned URL of a complete job's archive, its PDB files, or one of its files."""
    content = schemas.parse_body(body)
    name = schemas.require_text(content, "jobName")
    file = schemas.optional_text_field(content, "fileName")
    pdbs_only = schemas.flag_field(content, "pdbsOnly")
    email = schemas.optional_text_field(content, "jobEmail")
    with site.database.read() as session:
        account = find_teammate(session, caller, email)
        job = find_job(session, account.id, name)
        if job is None:
            raise not_found(f"There is no job {quote_value(name)}.")
        if job.state != COMPLETE:
            raise bad_request(f"Job {name} is not complete. Status: {job.state}")
        if file is not None and pdbs_only:
            raise bad_request("fileName and pdbsOnly exclude each other.")
        if file is not None:
            return _file_url(session, site, job, file)
        if pdbs_only:
            return _pdbs_url(session, site, job)
        return create_archive_url(session, site, job)


def create_archive_url(session: Session, site: Site, job: Job) -> str:
    """Return the presigned URL of the archive of a complete job or batch."""
    return _presigned_url(session, site, f"{job.id}/archive/{job.name}.zip")


def find_download(
    site: Site, path: str, expires: str | None, signature: str | None
) -> DownloadFile:
    """Return the file of a presigned address: 403 if the address is invalid, 404 without a file."""
    try:
        site.signer.check_presigned(path, expires, signature)
    except InvalidSignatureError as error:
        raise forbidden(str(error)) from None
    number, kind, rest = path.removeprefix(f"{DOWNLOAD_PREFIX}/").split("/", 2)
    with site.database.read() as session:
        job = session.get(Job, int(number))
        # A batch whose archive is being rebuilt is not complete; its old archive is not served.
        if job is not None and job.state == COMPLETE:
            name = PurePosixPath(rest).name
            file = _packed_file(site, job, kind) or find_output(session, site, job, rest)
            if file is not None and file.is_file():
                return DownloadFile(file, name)
    raise deleted_file_error()


def deleted_file_error() -> HTTPException:
    """Return the error for a file that was deleted after its URL was created."""
    return not_found("The file of this address is gone.")


def _packed_file(site: Site, job: Job, kind: str) -> Path | None:
    names = {"archive": ARCHIVE_FILE, "pdbs": PDBS_FILE}
    return work_folder(site, job.id) / names[kind] if kind in names else None


def _file_url(session: Session, site: Site, job: Job, file: str) -> str:
    if find_output(session, site, job, file) is None:
        raise not_found(f"Job {job.name} has no output file {quote_value(file)}.")
    # Clients normalize `.` in a path, and the signature must match the path that they send.
    return _presigned_url(session, site, f"{job.id}/file/{PurePosixPath(file).as_posix()}")


def _pdbs_url(session: Session, site: Site, job: Job) -> str:
    """Return the URL of the archive of PDB files, which is built at the first request."""
    target = work_folder(site, job.id) / PDBS_FILE
    packed = target.with_name(f"new-{PDBS_FILE}")
    with _packing_lock:
        if not target.is_file():
            try:
                _pack_pdbs(session, site, job, packed)
            finally:
                _publish_archive(site, job, packed, target)
    return _presigned_url(session, site, f"{job.id}/pdbs/{job.name}.zip")


def _pack_pdbs(session: Session, site: Site, job: Job, target: Path) -> None:
    try:
        pdbs = [(n, f) for n, f in list_outputs(session, site, job) if n.lower().endswith(".pdb")]
        if not pdbs:
            raise not_found(f"Job {job.name} has no PDB files.")
        write_archive(target, pdbs)
    except FileNotFoundError:
        raise not_found(f"Outputs of job {job.name} were deleted meanwhile.") from None


def _publish_archive(site: Site, job: Job, packed: Path, target: Path) -> None:
    """Rename the archive to its final name, unless a job was deleted meanwhile.

    Uses a writing transaction, so that no job is deleted between check and rename.
    """
    with site.database.write(durable=False) as session:
        current = session.get(Job, job.id)
        if current is not None and (current.state, current.completed) == (COMPLETE, job.completed):
            if packed.is_file():
                packed.replace(target)
            return
    packed.unlink(missing_ok=True)
    if current is None:
        remove_jobs(site, [job.id])
        raise not_found(f"There is no job {quote_value(job.name)}.")
    raise bad_request(f"Job {job.name} is not complete. Status: {current.state}")


def _presigned_url(session: Session, site: Site, path: str) -> str:
    path = f"{DOWNLOAD_PREFIX}/{path}"
    query = site.signer.presign(path, limit_value(session, "url_seconds"))
    return f"{site.origin}{quote(path)}?{query}"
