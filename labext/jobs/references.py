"""Resolve what the file parameters of settings name, before anything is sent.

A file parameter takes the name of an uploaded file (`name`, or `folder/name`), `<JobName>/path` in
an earlier job's output, or else the content itself (job service contract, Settings rules 6 to 8).
A misspelt name would become content, and a name that is in several folders one of the files; both
are refused here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labext import wording
from labext.errors import NotFoundError
from labext.jobs import names, rows
from labext.jobs.rows import Row
from labext.jobs.schema import Tool
from labext.jobs.service import Service
from labext.jobs.settings import file_path, file_values, looks_like_a_file, refuse
from labext.progress import Outcome

_MOST_JOBS = 10
"""References to more jobs than this are left to the service to check."""

_MOST_FOLDERS = 100
"""Folders searched for a file name; with more, the service decides whether it is content."""
_LONGEST_NAME = 255


@dataclass
class References:
    """What the values of file parameters name.

    Attributes:
        uploaded: the paths of uploaded files, `name` or `folder/name`, by value.
        outputs: the rows of earlier jobs whose outputs are named, by value; None if not looked up.
        faults: what is wrong with a value, with its parameter, by value.
        absent: the values that look like file names and name nothing.
    """

    uploaded: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, Row | None] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def add(self, other: References) -> None:
        """Add what other settings name."""
        self.uploaded |= other.uploaded
        self.outputs |= other.outputs
        self.faults |= other.faults
        self.absent += other.absent

    @property
    def next_step(self) -> str | None:
        """The next step where all that is wrong is that files are not there."""
        if len(self.faults) > len(self.absent):
            return None
        return f"Correct the name, or upload it: `%jobs upload {' '.join(self.absent)}`."


def check(service: Service, tool: Tool, jobs: Iterable[Mapping[str, Any]]) -> References:
    """Return what the file parameters of clean settings name.

    Raises:
        InputError: a file that has not been uploaded, or whose name is ambiguous; a job that is not
            there or not complete.
    """
    references = resolve(service, tool, jobs)
    if references.faults:
        raise refuse(tool, [*references.faults.values()], references.next_step)
    return references


def resolve(service: Service, tool: Tool, jobs: Iterable[Mapping[str, Any]]) -> References:
    """Return what the file parameters of clean settings name, and what is wrong with it."""
    values: dict[str, str] = {}
    for settings in jobs:
        values |= {value: name for name, value in file_values(tool, settings).items()}
    return resolve_values(service, values)


def resolve_values(service: Service, values: Mapping[str, str]) -> References:
    """Return what values name; `values` holds the parameter of each."""
    uploads = _Uploads(service)
    references = References()
    _resolve_paths(service, uploads, values, references)
    _resolve_names(uploads, values, references)
    return references


class _Uploads:
    """The names of uploaded files, asked for once."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._folders: dict[str, set[str]] = {}
        self._by_name: dict[str, list[str]] | None = None
        self.is_complete = True
        """Whether all folders have been looked through."""

    def outside_folders(self) -> set[str]:
        """Return the names of the files in no folder."""
        if "" not in self._folders:
            self._folders[""] = set(self._service.files())
        return self._folders[""]

    def in_folder(self, folder: str) -> set[str]:
        """Return the names of the files in a folder; none where there is no such folder."""
        if folder not in self._folders:
            try:
                listed = self._service.files(folder)
            except NotFoundError:
                listed = []
            self._folders[folder] = {name.rpartition("/")[2] for name in listed}
        return self._folders[folder]

    def paths(self, name: str) -> list[str]:
        """Return the paths of the files of a name in folders, as far as the service lists them."""
        if self._by_name is None:
            self._by_name = {}
            for path in self._all_in_folders():
                self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return self._by_name.get(name, [])

    def names(self) -> set[str]:
        """Return all names that are known by now."""
        return self._folders.get("", set()) | set(self._by_name or ())

    def _all_in_folders(self) -> list[str]:
        entries = self._service.files(include_folders=True)
        folders = [entry.rstrip("/") for entry in entries if entry.endswith("/")]
        self.is_complete = len(folders) <= _MOST_FOLDERS
        within = [
            f"{folder}/{name}"
            for folder in folders[:_MOST_FOLDERS]
            for name in sorted(self.in_folder(folder))
        ]
        listed = [entry for entry in entries if "/" in entry.strip("/")]
        return [*dict.fromkeys([*within, *listed])]


def _resolve_paths(
    service: Service, uploads: _Uploads, values: Mapping[str, str], references: References
) -> None:
    """Resolve `<JobName>/path` and `folder/name`."""
    paths = {value: path for value in values if (path := file_path(value)) is not None}
    heads = {head for head, _ in paths.values()}
    if len(heads) > _MOST_JOBS:
        references.outputs |= dict.fromkeys(paths)
        return
    jobs = {
        head: service.find(head) if names.fault(head) is None else None for head in sorted(heads)
    }
    for value, (head, rest) in paths.items():
        row = jobs[head]
        if row is not None and rows.outcome(row) is Outcome.COMPLETE:
            references.outputs[value] = row
        elif rest in uploads.in_folder(head):
            references.uploaded[value] = value
        elif row is None:
            references.faults[value] = (
                f'{values[value]} is {wording.shown(value)}, but no job is called "{head}", and '
                f'no file "{rest}" has been uploaded to a folder "{head}"'
            )
        else:
            references.faults[value] = (
                f"{values[value]} is an output of {head}, which is not complete ({rows.phase(row)})"
            )


def _resolve_names(uploads: _Uploads, values: Mapping[str, str], references: References) -> None:
    """Resolve bare names; what does not look like one and names no file is content."""
    bare = [
        value
        for value in values
        if file_path(value) is None and 0 < len(value.strip()) <= _LONGEST_NAME
    ]
    for value in bare:
        if value in uploads.outside_folders():
            references.uploaded[value] = value
            continue
        if not looks_like_a_file(value):
            continue
        paths = uploads.paths(value)
        if len(paths) == 1:
            references.uploaded[value] = paths[0]
        elif paths:
            references.faults[value] = (
                f"{values[value]} is {wording.shown(value)}, the name of {len(paths)} uploaded "
                f"files: write {_alternatives(paths)}"
            )
        elif uploads.is_complete:
            references.faults[value] = (
                f"{values[value]} is {wording.shown(value)}, but no such file has been uploaded"
                f"{wording.did_you_mean(value, uploads.names())}"
            )
            references.absent.append(value)


def _alternatives(paths: Sequence[str]) -> str:
    return f"{', '.join(paths[:-1])} or {paths[-1]}"
