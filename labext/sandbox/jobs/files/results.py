"""Gives out results by presigned addresses, which expire and need no key.

Source: job service contract, POST /result, and the `resultUrl` of a complete batch.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.jobs import fields
from labext.sandbox.jobs.faults import absent, denied, invalid
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.files.archives import ARCHIVE, PDBS, write_archive
from labext.sandbox.jobs.files.outputs import output_file, outputs
from labext.sandbox.jobs.identity import teammate
from labext.sandbox.jobs.limits import limit
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.store import COMPLETE, Account, Job, job_named
from labext.sandbox.service import Site
from labext.sandbox.signing import Forged

PREFIX = "/download"

_packing = threading.Lock()


@dataclass(frozen=True)
class Download:
    """A file to be sent, and its name at the other end."""

    file: Path
    name: str


def result_address(site: Site, caller: Account, body: bytes) -> str:
    """The presigned address of a complete job's archive, its PDB files, or one of its files."""
    content = fields.parse_body(body)
    name = fields.text(content, "jobName")
    file = fields.optional_text(content, "fileName")
    pdbs_only = fields.switch(content, "pdbsOnly")
    email = fields.optional_text(content, "jobEmail")
    with site.database.read() as session:
        account = teammate(session, caller, email)
        job = job_named(session, account.id, name)
        if job is None:
            raise absent(f"There is no job {shown(name)}.")
        if job.state != COMPLETE:
            raise invalid(f"Job {name} is not complete. Status: {job.state}")
        if file is not None and pdbs_only:
            raise invalid("fileName and pdbsOnly exclude each other.")
        if file is not None:
            return _file_address(session, site, job, file)
        if pdbs_only:
            return _pdbs_address(session, site, job)
        return archive_address(session, site, job)


def archive_address(session: Session, site: Site, job: Job) -> str:
    """The presigned address of a complete job's or batch's archive."""
    return _address(session, site, f"{job.id}/archive/{job.name}.zip")


def download(site: Site, path: str, expires: str | None, signature: str | None) -> Download:
    """The file behind a presigned address: 403 if it expired or was changed, 404 if it is gone.

    Args:
        site: where the files are.
        path: the decoded path of the address.
        expires: of its query.
        signature: of its query.
    """
    try:
        site.signer.check_presigned(path, expires, signature)
    except Forged as error:
        raise denied(str(error)) from None
    number, kind, rest = path.removeprefix(f"{PREFIX}/").split("/", 2)
    with site.database.read() as session:
        job = session.get(Job, int(number))
        # A batch whose archive is built again is not complete: the earlier one is not given out.
        if job is not None and job.state == COMPLETE:
            name = PurePosixPath(rest).name
            file = _packed(site, job, kind) or output_file(session, site, job, rest)
            if file is not None and file.is_file():
                return Download(file, name)
    raise gone()


def gone() -> HTTPException:
    """The refusal of a file that was deleted since its address was given out."""
    return absent("The file of this address is gone.")


def _packed(site: Site, job: Job, kind: str) -> Path | None:
    names = {"archive": ARCHIVE, "pdbs": PDBS}
    return folders.work_folder(site, job.id) / names[kind] if kind in names else None


def _file_address(session: Session, site: Site, job: Job, file: str) -> str:
    if output_file(session, site, job, file) is None:
        raise absent(f"Job {job.name} has no output file {shown(file)}.")
    # As clients send it: they leave out a `.` in a path, and the signature would not fit.
    return _address(session, site, f"{job.id}/file/{PurePosixPath(file).as_posix()}")


def _pdbs_address(session: Session, site: Site, job: Job) -> str:
    """The structures alone; their archive is built when it is first asked for, and kept."""
    target = folders.work_folder(site, job.id) / PDBS
    packed = target.with_name(f"new-{PDBS}")
    with _packing:
        if not target.is_file():
            try:
                _pack_pdbs(session, site, job, packed)
            finally:
                _keep(site, job, packed, target)
    return _address(session, site, f"{job.id}/pdbs/{job.name}.zip")


def _pack_pdbs(session: Session, site: Site, job: Job, target: Path) -> None:
    try:
        pdbs = [(n, f) for n, f in outputs(session, site, job) if n.lower().endswith(".pdb")]
        if not pdbs:
            raise absent(f"Job {job.name} has no PDB files.")
        write_archive(target, pdbs)
    except FileNotFoundError:
        raise absent(f"Outputs of job {job.name} were deleted meanwhile.") from None


def _keep(site: Site, job: Job, packed: Path, target: Path) -> None:
    """Give the archive its name, unless the job, or one of a parent's, was deleted meanwhile.

    In a transaction that writes, so that none is deleted between the look and the name.
    """
    with site.database.write(durable=False) as session:
        found = session.get(Job, job.id)
        if found is not None and (found.state, found.completed) == (COMPLETE, job.completed):
            if packed.is_file():
                packed.replace(target)
            return
    packed.unlink(missing_ok=True)
    if found is None:
        folders.remove_jobs(site, [job.id])
        raise absent(f"There is no job {shown(job.name)}.")
    raise invalid(f"Job {job.name} is not complete. Status: {found.state}")


def _address(session: Session, site: Site, path: str) -> str:
    path = f"{PREFIX}/{path}"
    query = site.signer.presign(path, limit(session, "url_seconds"))
    return f"{site.origin}{quote(path)}?{query}"
