"""Read the log and the files of a job in any state (JOBS-188 to JOBS-195)."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs.dependencies import find_teammate, require_job
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.files.result_archives import walk_files
from labext.sandbox.jobs.names import quote_value
from labext.sandbox.jobs.schemas import bad_request, not_found
from labext.sandbox.jobs.tables import ACTIVE_STATES, IN_QUEUE, Account, Job

LOG_FILE = "log.txt"
MAX_TEXT_BYTES = 1 << 20
"""Maximum number of log bytes in one response."""

_MAX_OFFSET_DIGITS = 18
_MAX_EXAMPLES = 3


def read_log(site: Site, caller: Account, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a job's log from the requested `offset` on, at most `MAX_TEXT_BYTES`.

    `text` contains the bytes from `start` to `offset`; the next request continues at `offset`. A
    log that is shorter than the requested offset was restarted and is returned from its start. An
    incomplete character at the end is left for the next response.
    """
    requested = _query_offset(query)
    with site.database.read() as session:
        job = _find_single_job(session, caller, query, "logs")
        # The state is read first, so that the log of an ended job is complete.
        is_active = job.status in ACTIVE_STATES
        path = job_files.result_folder(site, job.id, session) / LOG_FILE
    content, start, size = b"", 0, 0
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        size = file.seek(0, 2)
        start = requested if requested <= size else 0
        file.seek(start)
        content = file.read(min(MAX_TEXT_BYTES, size - start))
    at_end = start + len(content) >= size
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(content, final=at_end and not is_active)
    offset = start + len(content) - len(decoder.getstate()[0])
    return {"text": text, "start": start, "offset": offset, "size": size, "running": is_active}


def list_job_outputs(site: Site, caller: Account, query: Mapping[str, str]) -> dict[str, Any]:
    """Return path, size and modification time of the files that a job has written so far."""
    with site.database.read() as session:
        job = _find_single_job(session, caller, query, "files")
        is_active = job.status in ACTIVE_STATES
    files = []
    for name, path in _written_files(site, job):
        with contextlib.suppress(FileNotFoundError):  # removed by the tool since the listing
            stat = path.stat()
            modified = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="milliseconds")
            printable = name.encode("utf-8", "backslashreplace").decode()
            files.append({"path": printable, "bytes": stat.st_size, "modified": modified})
    return {"files": files, "running": is_active}


def find_job_output(
    site: Site, caller: Account, query: Mapping[str, str]
) -> job_files.DownloadFile:
    """Return one file of a job that has ended; 400 if the job is queued or running."""
    file = query["file"]
    with site.database.read() as session:
        job = _find_single_job(session, caller, query, "files")
        if job.status in ACTIVE_STATES:
            state = "queued" if job.status == IN_QUEUE else "running"
            raise bad_request(
                f"Job {job.name} is still {state}; its files can be read once it has ended."
            )
        path = job_files.find_output(session, site, job, file)
        if path is None and file == LOG_FILE:
            path = job_files.result_folder(site, job.id, session) / LOG_FILE
    if path is None or not path.is_file():
        raise not_found(f"Job {job.name} has no output file {quote_value(file)}.")
    return job_files.DownloadFile(path, PurePosixPath(file).name)


def _find_single_job(session: Session, caller: Account, query: Mapping[str, str], noun: str) -> Job:
    """Return the job `name` of the caller or of a teammate; 400 for a batch or pipeline."""
    account = find_teammate(session, caller, query.get("email") or None, "email")
    name = query.get("name")
    if not name:
        raise bad_request("name is missing.")
    job = require_job(session, account, name)
    if job.is_parent:
        kind = "batch" if job.is_batch else "pipeline"
        statement = (
            select(Job.name).where(Job.parent_id == job.id).order_by(Job.id).limit(_MAX_EXAMPLES)
        )
        parts = ", ".join(session.scalars(statement))
        example = f", such as {parts}" if parts else ""
        raise bad_request(f"{name} is a {kind}; request the {noun} of one of its jobs{example}.")
    return job


def _written_files(site: Site, job: Job) -> Iterator[tuple[str, Path]]:
    """Yield the outputs including the log, which only a complete job has in its output folder."""
    outputs = walk_files(job_files.output_folder(site, job.id))
    log = job_files.result_folder(site, job.id) / LOG_FILE
    if log.is_file() and all(name != LOG_FILE for name, _ in outputs):
        outputs.append((LOG_FILE, log))
    yield from sorted(outputs)


def _query_offset(query: Mapping[str, str]) -> int:
    value = query.get("offset")
    if value is None:
        return 0
    if not (value.isascii() and value.isdigit() and len(value) <= _MAX_OFFSET_DIGITS):
        raise bad_request(f"offset is not an integer from 0: {quote_value(value)}.")
    return int(value)
