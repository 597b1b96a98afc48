"""Locate, list and archive the files of a job, and serve them by presigned URLs."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from sqlalchemy import exists, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.data_folder import list_entries
from labext.sandbox.core.database import after_commit
from labext.sandbox.core.file_storage.service_files import StoredFiles
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import InvalidSignatureError
from labext.sandbox.jobs import schemas
from labext.sandbox.jobs.dependencies import find_teammate, require_job
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
"""The folders in which every entry belongs to a database row."""


def job_folder(site: Site, job_id: int) -> Path:
    """Return the folder with all files of a job."""
    return site.folder / "jobs" / str(job_id)


def work_folder(site: Site, job_id: int) -> Path:
    """Return the working folder of the job's process, which also contains the results."""
    return job_folder(site, job_id) / result_archives.WORK_FOLDER


def result_folder(site: Site, job_id: int, session: Session | None = None) -> Path:
    """Return the folder with the results of a job that has ended, or its working folder.

    Raises:
        StoreError, NotCachedError: as `ServiceFiles.local`.
    """
    return site.files.local(f"jobs/{job_id}/{result_archives.WORK_FOLDER}", session)


def output_folder(site: Site, job_id: int, session: Session | None = None) -> Path:
    """Return the folder with the output files of a job; see `result_folder`."""
    return result_folder(site, job_id, session) / result_archives.OUTPUT_FOLDER


def inputs_folder(site: Site, job_id: int) -> Path:
    """Return the folder with a job's input files, each in a subfolder named after its setting."""
    return job_folder(site, job_id) / "inputs"


def upload_path(site: Site, file_id: int) -> Path:
    """Return the path of an uploaded file."""
    return site.folder / "files" / str(file_id)


def incoming_folder(site: Site) -> Path:
    """Return the folder for incomplete uploads."""
    return site.folder / "incoming"


def prepare_folders(site: Site) -> None:
    """Create the folders, and remove incomplete uploads and the files of interrupted tasks."""
    shutil.rmtree(incoming_folder(site), ignore_errors=True)
    if site.files.is_remote:  # the folders have the files of running tasks only
        for name in DATA_FOLDERS:
            shutil.rmtree(site.folder / name, ignore_errors=True)
    for name in (*DATA_FOLDERS, "incoming"):
        (site.folder / name).mkdir(parents=True, exist_ok=True)


def has_records(site: Site) -> bool:
    """Return whether there is an uploaded file, or a job with results."""
    results = exists().where(Job.bytes > 0)
    with site.database.read() as session:
        return bool(session.scalar(select(exists().where(UploadedFile.id > 0) | results)))


def find_orphans(site: Site) -> list[Path]:
    """Return the uploaded files and job folders without a database row."""
    if site.files.is_remote:
        return []
    with site.database.read() as session:
        referenced = {
            upload_path(site, file_id) for file_id in session.scalars(select(UploadedFile.id))
        }
        referenced |= {job_folder(site, job_id) for job_id in session.scalars(select(Job.id))}
    return [path for name in DATA_FOLDERS for path in list_entries(site.folder / name) - referenced]


def remove_jobs(site: Site, job_ids: Iterable[int]) -> None:
    """Remove the folders of these jobs; missing ones are not an error. See `forget_jobs`."""
    for job_id in job_ids:
        shutil.rmtree(job_folder(site, job_id), ignore_errors=True)


def forget_jobs(session: Session, site: Site, job_ids: Iterable[int]) -> None:
    """Remove the files of these jobs from an object store after the commit."""
    site.files.forget(session, [f"jobs/{job_id}" for job_id in job_ids])


def remove_after_commit(session: Session, site: Site, job_id: int, part: str = "") -> None:
    """Remove all files of a job or those in a subfolder after the commit.

    After a rollback the job still needs them.
    """
    path = f"jobs/{job_id}/{part}".rstrip("/")
    site.files.forget(session, [path])
    remove_folder_after_commit(session, site.folder / path)


def remove_folder_after_commit(session: Session, folder: Path) -> None:
    """Remove a folder of a task that has ended."""
    after_commit(session, partial(shutil.rmtree, folder, ignore_errors=True))


def fetch_inputs(site: Site, payload: Mapping[str, Any]) -> None:
    """Create the folder with a job's input files from an object store."""
    assert isinstance(site.files, StoredFiles)
    shutil.rmtree(inputs_folder(site, payload["job"]), ignore_errors=True)
    for path in site.files.paths_below(f"jobs/{payload['job']}/inputs"):
        site.files.materialize(path, site.folder / path)


def fetch_parts(site: Site, payload: Mapping[str, Any]) -> None:
    """Create the folders of the jobs whose outputs an archive will contain."""
    assert isinstance(site.files, StoredFiles)
    for part in payload["parts"]:
        if part["status"] == COMPLETE:
            folder = work_folder(site, part["job"])
            # A job whose outputs are missing is reported by the task.
            with contextlib.suppress(FileNotFoundError):
                site.files.materialize(f"jobs/{part['job']}/{folder.name}", folder)


def store_results(site: Site, payload: Mapping[str, Any]) -> list[StagedFile]:
    """Put the log, the outputs and the archive of a job or parent into an object store."""
    assert isinstance(site.files, StoredFiles)
    folder = work_folder(site, payload["job"])
    path = f"jobs/{payload['job']}/{folder.name}"
    return [site.files.stage_folder(folder, result_archives.RESULT_NAMES, path)]


def find_output(session: Session, site: Site, job: Job, path: str) -> Path | None:
    """Return the file of a complete job's output, or None if the output does not exist.

    `path` is the path in the archive: `folder/file`, or for a parent `metrics.csv` or
    `<job>/folder/file`.
    """
    if "\0" in path or "\\" in path:
        return None
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or PurePosixPath(path).is_absolute():
        return None
    if not job.is_parent:
        return _resolve_inside(output_folder(site, job.id, session), parts)
    if parts == (METRICS_FILE,):
        return _resolve_inside(result_folder(site, job.id, session), parts)
    part = find_job(session, job.account_id, f"{job.name}-{parts[0]}")
    if part is None or part.parent_id != job.id or part.status != COMPLETE or len(parts) < 2:
        return None
    return _resolve_inside(output_folder(site, part.id, session), parts[1:])


def list_outputs(session: Session, site: Site, job: Job) -> Iterator[tuple[str, Path]]:
    """Yield the outputs as name in the archive and path; a parent has one folder per job."""
    if not job.is_parent:
        yield from walk_files(output_folder(site, job.id, session))
        return
    yield METRICS_FILE, result_folder(site, job.id, session) / METRICS_FILE
    parts = select(Job).where(Job.parent_id == job.id, Job.status == COMPLETE).order_by(Job.id)
    for part in session.scalars(parts):
        folder = part.name.removeprefix(f"{job.name}-")
        for name, file in walk_files(output_folder(site, part.id, session)):
            yield f"{folder}/{name}", file


def _resolve_inside(folder: Path, parts: tuple[str, ...]) -> Path | None:
    file = folder.joinpath(*parts)
    try:
        is_inside = file.resolve().is_relative_to(folder.resolve()) and file.is_file()
    except OSError:  # the name is too long for the file system
        return None
    return file if is_inside else None


DOWNLOAD_PREFIX = "/download"

_packing_lock = threading.Lock()


@dataclass(frozen=True)
class DownloadFile:
    """A file to send, with the file name for the client."""

    file: Path
    name: str


def create_result_url(site: Site, caller: Account, body: bytes) -> str:
    """Return the presigned URL of a complete job's archive, PDB files or single file."""
    content = schemas.parse_body(body)
    name = schemas.require_text(content, "jobName")
    file = schemas.optional_text_field(content, "fileName")
    pdbs_only = schemas.flag_field(content, "pdbsOnly")
    email = schemas.optional_text_field(content, "jobEmail")
    with site.database.read() as session:
        account = find_teammate(session, caller, email)
        job = require_job(session, account, name)
        if job.state != COMPLETE:
            raise bad_request(f"Job {name} is not complete. Status: {job.state}")
        if file is not None and pdbs_only:
            raise bad_request("fileName and pdbsOnly exclude each other.")
        if file is not None:
            if find_output(session, site, job, file) is None:
                raise not_found(f"Job {name} has no output file {quote_value(file)}.")
            # Clients normalize `.` segments, and the signature must match the requested path.
            return _presigned_url(session, site, f"{job.id}/file/{PurePosixPath(file).as_posix()}")
        if pdbs_only:
            _ensure_pdbs(session, site, job)
            return _presigned_url(session, site, f"{job.id}/pdbs/{job.name}.zip")
        return create_archive_url(session, site, job)


def create_archive_url(session: Session, site: Site, job: Job) -> str:
    """Return the presigned URL of the archive of a complete job or parent."""
    return _presigned_url(session, site, f"{job.id}/archive/{job.name}.zip")


def find_download(
    site: Site, path: str, expires: str | None, signature: str | None
) -> DownloadFile:
    """Return the file of a presigned URL; 403 if the URL is invalid, 404 if the file is missing."""
    try:
        site.signer.check_presigned(path, expires, signature)
    except InvalidSignatureError as error:
        raise forbidden(str(error)) from None
    job_id, kind, rest = path.removeprefix(f"{DOWNLOAD_PREFIX}/").split("/", 2)
    with site.database.read() as session:
        job = session.get(Job, int(job_id))
        # A batch whose archive is being rebuilt is not complete; its old archive is not served.
        if job is not None and job.state == COMPLETE:
            name = PurePosixPath(rest).name
            if kind == "pdbs":  # it is not stored, and may be on another machine only
                _ensure_pdbs(session, site, job)
            file = _archive_path(session, site, job, kind) or find_output(session, site, job, rest)
            if file is not None and file.is_file():
                return DownloadFile(file, name)
    raise deleted_file_error()


def deleted_file_error() -> HTTPException:
    """Return the error for a file that was deleted after its URL was created."""
    return not_found("The file of this address was deleted.")


def _archive_path(session: Session, site: Site, job: Job, kind: str) -> Path | None:
    names = {"archive": ARCHIVE_FILE, "pdbs": PDBS_FILE}
    return result_folder(site, job.id, session) / names[kind] if kind in names else None


def _ensure_pdbs(session: Session, site: Site, job: Job) -> None:
    """Build the archive of PDB files on the first request."""
    target = result_folder(site, job.id, session) / PDBS_FILE
    new_archive = target.with_name(f"new-{PDBS_FILE}")
    with _packing_lock:
        if not target.is_file():
            try:
                _pack_pdbs(session, site, job, new_archive)
            finally:
                _publish_archive(site, job, new_archive, target)


def _pack_pdbs(session: Session, site: Site, job: Job, target: Path) -> None:
    try:
        outputs = list_outputs(session, site, job)
        pdbs = [(name, file) for name, file in outputs if name.lower().endswith(".pdb")]
        if not pdbs:
            raise not_found(f"Job {job.name} has no PDB files.")
        write_archive(target, pdbs)
    except FileNotFoundError:
        raise not_found(f"Outputs of job {job.name} were deleted during the request.") from None


def _publish_archive(site: Site, job: Job, new_archive: Path, target: Path) -> None:
    """Rename the archive to its final name, unless the job has changed or was deleted.

    A write transaction prevents a deletion between the check and the renaming.
    """
    with site.database.write(durable=False) as session:
        current = session.get(Job, job.id)
        if current is not None and (current.state, current.completed) == (COMPLETE, job.completed):
            if new_archive.is_file():
                new_archive.replace(target)
            return
    new_archive.unlink(missing_ok=True)
    if current is None:
        remove_jobs(site, [job.id])
        raise not_found(f"There is no job {quote_value(job.name)}.")
    raise bad_request(f"Job {job.name} is not complete. Status: {current.state}")


def _presigned_url(session: Session, site: Site, path: str) -> str:
    path = f"{DOWNLOAD_PREFIX}/{path}"
    query = site.signer.presign(path, limit_value(session, "url_seconds"))
    return f"{site.origin}{quote(path)}?{query}"
