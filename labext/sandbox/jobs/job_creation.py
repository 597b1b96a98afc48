"""Resolve the input files of jobs, and store the jobs with their tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core import postgresql
from labext.sandbox.core.database import text_table
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs import usage
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.files.job_files import find_output
from labext.sandbox.jobs.limits import limit_value
from labext.sandbox.jobs.names import file_name_error, quote_value
from labext.sandbox.jobs.schemas import bad_request
from labext.sandbox.jobs.tables import (
    COMPLETE,
    IN_QUEUE,
    Account,
    Job,
    UploadedFile,
    current_timestamp,
    find_job,
)
from labext.sandbox.jobs.tools.tool import Parameter, Settings, Tool
from labext.sanitize import strip_control

_PATH = re.compile(r"([^\s/]+)/([^\r\n]+)")
_MAX_PATH_LENGTH = 1024
_ATOM = re.compile(r"^(ATOM  |HETATM)", re.MULTILINE)


@dataclass(frozen=True)
class InputFile:
    """An input file: its path on disk and its original name."""

    source: Path
    name: str


class FileResolver:
    """Resolve the file settings of the jobs of one submission; caches its queries."""

    def __init__(self, session: Session, site: Site, account: Account) -> None:
        self._session = session
        self._site = site
        self._account = account
        self._jobs: dict[str, Job | None] = {}
        self._files: dict[str, list[UploadedFile]] = {}

    def not_uploaded(self, tool: Tool, settings: Settings) -> list[str]:
        """Return the paths that match neither a job nor an uploaded file."""
        return [
            value
            for _parameter, value in _file_settings(tool, settings)
            if (path := _split_path(value)) is not None
            and self._job(path[0]) is None
            and self._file_in(*path) is None
        ]

    def inputs(self, tool: Tool, settings: Settings) -> dict[str, InputFile]:
        """Return the input files by setting; settings that hold the content itself are omitted."""
        inputs = {}
        for parameter, value in _file_settings(tool, settings):
            source = self._input(parameter, value)
            if source is not None:
                inputs[parameter.name] = source
        return inputs

    def _input(self, parameter: Parameter, value: str) -> InputFile | None:
        path = _split_path(value)
        if path is not None:
            return self._input_at(parameter, *path)
        file = self._file_named(parameter, value)
        if file is not None:
            return self._uploaded(file)
        if parameter.type == "pdb" and _ATOM.search(value) is None:
            raise bad_request(
                f"Setting {parameter.name} is neither the name of an uploaded file nor the text "
                f"of a PDB file: {quote_value(value)}."
            )
        return None

    def _input_at(self, parameter: Parameter, head: str, tail: str) -> InputFile:
        """Return the job output or the uploaded file at the path `head/tail`."""
        job, file = self._job(head), self._file_in(head, tail)
        if job is None:
            assert file is not None  # `not_uploaded` has reported it
            return self._uploaded(file)
        output = None
        if job.state == COMPLETE:
            output = find_output(self._session, self._site, job, tail)
        if file is not None:
            if output is not None:
                raise bad_request(
                    f"Setting {parameter.name}: {quote_value(f'{head}/{tail}')} is an output of "
                    f"job {head} and also an uploaded file in the folder {head}; rename one."
                )
            return self._uploaded(file)
        if job.state != COMPLETE:
            raise bad_request(
                f"Setting {parameter.name} refers to job {head}, which is not complete. "
                f"Status: {job.state}"
            )
        if output is None:
            raise bad_request(
                f"Setting {parameter.name} refers to {quote_value(tail)}, which is not an output "
                f"of job {head}."
            )
        return InputFile(output, output.name)

    def _uploaded(self, file: UploadedFile) -> InputFile:
        return InputFile(self._site.files.copy_path(f"files/{file.id}", self._session), file.name)

    def _job(self, name: str) -> Job | None:
        if name not in self._jobs:
            self._jobs[name] = find_job(self._session, self._account.id, name)
        return self._jobs[name]

    def _file_in(self, folder: str, name: str) -> UploadedFile | None:
        return next((file for file in self._all_named(name) if file.folder == folder), None)

    def _file_named(self, parameter: Parameter, name: str) -> UploadedFile | None:
        """Return the uploaded file with this name, preferably outside folders; 400 if ambiguous."""
        files = self._all_named(name)
        top_level = next((file for file in files if not file.folder), None)
        if top_level is not None or len(files) < 2:
            return top_level or next(iter(files), None)
        paths = ", ".join(f"{file.folder}/{file.name}" for file in files)
        raise bad_request(
            f"Setting {parameter.name}: {quote_value(name)} is the name of {len(files)} "
            f"uploaded files; send one of {paths}."
        )

    def _all_named(self, name: str) -> list[UploadedFile]:
        """Return the account's files with this name in all folders."""
        if file_name_error("", name) is not None:  # the value is the content of a file
            return []
        if name not in self._files:
            is_owned = UploadedFile.account_id == self._account.id
            statement = select(UploadedFile).where(is_owned, UploadedFile.name == name)
            files = self._session.scalars(statement.order_by(UploadedFile.folder))
            self._files[name] = [*files]
        return self._files[name]


def _file_settings(tool: Tool, settings: Settings) -> list[tuple[Parameter, str]]:
    return [
        (parameter, settings[parameter.name])
        for parameter in tool.parameters
        if parameter.file and parameter.name in settings
    ]


def _split_path(value: str) -> tuple[str, str] | None:
    if len(value) > _MAX_PATH_LENGTH:
        return None
    match = _PATH.fullmatch(value)
    return None if match is None else (match[1], match[2])


RUN_KIND = "jobs.run"
"""Task kind for running a tool; see `tasks`."""


def run_key(job_id: int) -> str:
    """Return the key of the task that runs a job."""
    return f"{RUN_KIND}:{job_id}"


@dataclass(frozen=True)
class JobOrder:
    """A job to be stored: full name, settings as submitted, and input files by setting."""

    name: str
    settings: dict[str, Any]
    inputs: dict[str, InputFile]


def check_names_free(session: Session, account: Account, names: Sequence[str]) -> None:
    """Refuse names of existing jobs of the account (400)."""
    names_table = text_table(names)
    taken = select(Job.name).join(names_table, Job.name == names_table.c.value)
    existing = session.scalars(taken.where(Job.account_id == account.id).limit(1)).first()
    if existing is not None:
        raise bad_request(f"Job name {existing} is already taken.")


def resolve_orders(
    files: FileResolver, tool: Tool, jobs: Sequence[tuple[str, Any]]
) -> list[JobOrder]:
    """Resolve the input files of jobs, given as name and settings; 400 if a file is missing."""
    not_uploaded = [path for _name, settings in jobs for path in files.not_uploaded(tool, settings)]
    if not_uploaded:
        names = strip_control(", ".join(dict.fromkeys(not_uploaded)))
        raise bad_request(f"The following files have not been uploaded: {names}.")
    return [JobOrder(name, settings, files.inputs(tool, settings)) for name, settings in jobs]


def store_jobs(
    session: Session,
    site: Site,
    account: Account,
    tool: Tool,
    orders: Sequence[JobOrder],
    *,
    project: str | None = None,
    parent: Job | None = None,
    max_seconds: float | None = None,
) -> None:
    """Store the rows, tasks and input files of jobs, and count the jobs as submitted.

    `orders` has the order in which the jobs are listed and started. `project` is for jobs without a
    parent, whose row must be flushed. Of all time limits the lowest applies.
    """
    created = current_timestamp()
    jobs = [
        Job(
            account_id=account.id,
            parent_id=None if parent is None else parent.id,
            name=order.name,
            type=tool.name,
            tool=tool.name,
            status=IN_QUEUE,
            created=created,
            settings=dump_json(order.settings),
            project_tag=project if parent is None else parent.project_tag,
            stage=None if parent is None else parent.stage,
        )
        for order in orders
    ]
    if (ids := postgresql.next_ids(session, Job.__tablename__, len(jobs))) is not None:
        for job, job_id in zip(jobs, ids, strict=True):
            job.id = job_id
    session.add_all(jobs)
    session.flush()
    owner = session.get_one(Account, account.id)
    limits = (limit_value(session, "job_seconds"), tool.seconds, max_seconds)
    seconds = min(float(limit) for limit in limits if limit is not None)
    try:
        _store_inputs(
            session, site, {job.id: o.inputs for job, o in zip(jobs, orders, strict=True)}
        )
        site.queue.put_all(
            session,
            RUN_KIND,
            {
                run_key(job.id): _payload(job, order)
                for job, order in zip(jobs, orders, strict=True)
            },
            max_seconds=seconds,
            owner=owner.queue_owner,
            weight=owner.weight,
            needs=tool.name,
        )
        usage.add_usage(session, account.id, tool.name, jobs=len(jobs))
        session.flush()
    except BaseException:
        job_files.remove_jobs(site, [job.id for job in jobs])
        raise


def dump_json(value: Mapping[str, Any]) -> str:
    """Serialize settings for a job's row."""
    return orjson.dumps(value).decode()


def _payload(job: Job, order: JobOrder) -> dict[str, Any]:
    names = {"job": job.id, "account": job.account_id, "tool": job.tool}
    return names | {"settings": order.settings, "files": [*order.inputs]}


def _store_inputs(
    session: Session, site: Site, inputs: Mapping[int, Mapping[str, InputFile]]
) -> None:
    """Copy the input files of jobs into their folders, since the originals may be deleted."""
    # A submission that failed to commit may have left files under the same ids.
    job_files.remove_jobs(site, inputs)
    sources = {
        f"jobs/{job_id}/inputs/{setting}/{file.name}": file.source
        for job_id, files in inputs.items()
        for setting, file in files.items()
    }
    site.files.link(session, sources)
