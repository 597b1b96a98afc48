"""What the value of a file setting stands for (job service contract, Settings rules 6 to 8).

Tried in this order:

1. `<account>/<file>`, and any other path whose head is no job: refused, the file is not uploaded;
2. `<JobName>/path/to/file`: that output of an earlier job;
3. the bare name of an uploaded file, in whichever folder it was filed: one outside all folders
   first, then the latest;
4. else the content itself.

A value is taken for a path if it is one line with a '/' and no blank before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.files.folders import upload_path
from labext.sandbox.jobs.files.outputs import output_file
from labext.sandbox.jobs.names import file_fault, shown
from labext.sandbox.jobs.store import COMPLETE, Account, Job, UploadedFile, job_named
from labext.sandbox.jobs.tool import Parameter, Settings, Tool
from labext.sandbox.service import Site

_PATH = re.compile(r"([^\s/]+)/([^\r\n]+)")
_LONGEST_PATH = 1024
_ATOM = re.compile(r"^(ATOM  |HETATM)", re.MULTILINE)


@dataclass(frozen=True)
class Input:
    """The file of a setting: `source` under the name `name`."""

    source: Path
    name: str


class References:
    """Finds the files of settings, for the jobs of one submission."""

    def __init__(self, session: Session, site: Site, account: Account) -> None:
        self._session = session
        self._site = site
        self._account = account
        self._jobs: dict[str, Job | None] = {}
        self._files: dict[str, UploadedFile | None] = {}

    def not_uploaded(self, tool: Tool, settings: Settings) -> list[str]:
        """The values that name a file of an account, which can't be referred to that way."""
        return [
            value
            for _parameter, value in _file_settings(tool, settings)
            if (parts := _path(value)) is not None and self._job(parts[0]) is None
        ]

    def inputs(self, tool: Tool, settings: Settings) -> dict[str, Input]:
        """The files of `settings`; a setting that holds the content itself is not among them."""
        found = {}
        for parameter, value in _file_settings(tool, settings):
            source = self._input(parameter, value)
            if source is not None:
                found[parameter.name] = source
        return found

    def _input(self, parameter: Parameter, value: str) -> Input | None:
        parts = _path(value)
        if parts is not None:
            return self._output(parameter, *parts)
        file = self._file(value)
        if file is not None:
            return Input(upload_path(self._site, file.id), file.name)
        if parameter.type == "pdb" and _ATOM.search(value) is None:
            raise invalid(
                f"Setting {parameter.name} is neither the name of an uploaded file nor the text "
                f"of a PDB file: {shown(value)}."
            )
        return None

    def _output(self, parameter: Parameter, name: str, path: str) -> Input:
        job = self._job(name)
        if job is None:  # told by `not_uploaded` before
            raise invalid(not_uploaded_sentence([f"{name}/{path}"]))
        if job.state != COMPLETE:
            raise invalid(
                f"Setting {parameter.name} refers to job {name}, which is not complete. "
                f"Status: {job.state}"
            )
        source = output_file(self._session, self._site, job, path)
        if source is None:
            raise invalid(
                f"Setting {parameter.name} refers to {shown(path)}, which is no output of "
                f"job {name}."
            )
        return Input(source, source.name)

    def _job(self, name: str) -> Job | None:
        if name not in self._jobs:
            self._jobs[name] = job_named(self._session, self._account.id, name)
        return self._jobs[name]

    def _file(self, name: str) -> UploadedFile | None:
        if file_fault("", name) is not None:  # content: many lines, or longer than any name
            return None
        if name not in self._files:
            self._files[name] = self._session.scalars(
                select(UploadedFile)
                .where(UploadedFile.account_id == self._account.id, UploadedFile.name == name)
                .order_by(UploadedFile.folder != "", UploadedFile.id.desc())
                .limit(1)
            ).one_or_none()
        return self._files[name]


def not_uploaded_sentence(values: list[str]) -> str:
    """The 400 of rule 7."""
    listed = ", ".join(dict.fromkeys(values))
    return f"The following files have not been uploaded: {listed}."


def _file_settings(tool: Tool, settings: Settings) -> list[tuple[Parameter, str]]:
    return [
        (parameter, settings[parameter.name])
        for parameter in tool.parameters
        if parameter.file and parameter.name in settings
    ]


def _path(value: str) -> tuple[str, str] | None:
    if len(value) > _LONGEST_PATH:
        return None
    match = _PATH.fullmatch(value)
    return None if match is None else (match[1], match[2])
