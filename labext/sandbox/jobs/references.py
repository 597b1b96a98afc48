"""Resolve the value of a file setting (job service contract, Settings rules 6 to 8).

Tried in this order:

1. `<JobName>/path/to/file`: an output of an earlier job;
2. `<folder>/<file>`: an uploaded file in a folder. A path that names both is refused;
3. any other path, such as `<account>/<file>`: refused, the file has not been uploaded;
4. the bare name of an uploaded file: the one outside all folders, else the only one of that name.
   A name that is in several folders, and not outside them, is refused;
5. else the content itself.

A value is a path if it is one line with a '/' and no blank before the first '/'.
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
    """Resolves the file settings of the jobs in one submission."""

    def __init__(self, session: Session, site: Site, account: Account) -> None:
        self._session = session
        self._site = site
        self._account = account
        self._jobs: dict[str, Job | None] = {}
        self._files: dict[str, list[UploadedFile]] = {}

    def not_uploaded(self, tool: Tool, settings: Settings) -> list[str]:
        """Return the paths that are neither an output of a job nor an uploaded file."""
        return [
            value
            for _parameter, value in _file_settings(tool, settings)
            if (path := _path(value)) is not None
            and self._job(path[0]) is None
            and self._file_in(*path) is None
        ]

    def inputs(self, tool: Tool, settings: Settings) -> dict[str, Input]:
        """Return the files of `settings`; a setting that holds the content itself has none."""
        inputs = {}
        for parameter, value in _file_settings(tool, settings):
            source = self._input(parameter, value)
            if source is not None:
                inputs[parameter.name] = source
        return inputs

    def _input(self, parameter: Parameter, value: str) -> Input | None:
        path = _path(value)
        if path is not None:
            return self._input_at(parameter, *path)
        file = self._file_named(parameter, value)
        if file is not None:
            return self._uploaded(file)
        if parameter.type == "pdb" and _ATOM.search(value) is None:
            raise invalid(
                f"Setting {parameter.name} is neither the name of an uploaded file nor the text "
                f"of a PDB file: {shown(value)}."
            )
        return None

    def _input_at(self, parameter: Parameter, head: str, rest: str) -> Input:
        """Return the output or the uploaded file at a path."""
        job, file = self._job(head), self._file_in(head, rest)
        if job is None:
            if file is None:  # `not_uploaded` has reported it
                raise invalid(not_uploaded_sentence([f"{head}/{rest}"]))
            return self._uploaded(file)
        output = None
        if job.state == COMPLETE:
            output = output_file(self._session, self._site, job, rest)
        if file is not None:
            if output is not None:
                raise invalid(
                    f"Setting {parameter.name}: {shown(f'{head}/{rest}')} is an output of job "
                    f"{head} and also an uploaded file in the folder {head}; rename one of them."
                )
            return self._uploaded(file)
        if job.state != COMPLETE:
            raise invalid(
                f"Setting {parameter.name} refers to job {head}, which is not complete. "
                f"Status: {job.state}"
            )
        if output is None:
            raise invalid(
                f"Setting {parameter.name} refers to {shown(rest)}, which is no output of "
                f"job {head}."
            )
        return Input(output, output.name)

    def _uploaded(self, file: UploadedFile) -> Input:
        return Input(upload_path(self._site, file.id), file.name)

    def _job(self, name: str) -> Job | None:
        if name not in self._jobs:
            self._jobs[name] = job_named(self._session, self._account.id, name)
        return self._jobs[name]

    def _file_in(self, folder: str, name: str) -> UploadedFile | None:
        return next((file for file in self._all_named(name) if file.folder == folder), None)

    def _file_named(self, parameter: Parameter, name: str) -> UploadedFile | None:
        """Return the file that a bare name stands for; 400 if it could be one of several."""
        files = self._all_named(name)
        outside = next((file for file in files if not file.folder), None)
        if outside is not None or len(files) < 2:
            return outside or next(iter(files), None)
        paths = ", ".join(f"{file.folder}/{file.name}" for file in files)
        raise invalid(
            f"Setting {parameter.name}: {shown(name)} is the name of {len(files)} uploaded files; "
            f"send one of {paths}."
        )

    def _all_named(self, name: str) -> list[UploadedFile]:
        """Return the account's files of a name, whatever their folders."""
        if file_fault("", name) is not None:  # content: many lines, or longer than any name
            return []
        if name not in self._files:
            mine = UploadedFile.account_id == self._account.id
            named = select(UploadedFile).where(mine, UploadedFile.name == name)
            files = self._session.scalars(named.order_by(UploadedFile.folder))
            self._files[name] = [*files]
        return self._files[name]


def not_uploaded_sentence(values: list[str]) -> str:
    """Return the sentence of the 400 for files that have not been uploaded."""
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
