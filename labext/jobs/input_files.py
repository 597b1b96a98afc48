"""Resolve the files named in settings and compare their content."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import ConflictError, InputError, NotFoundError, StorageError
from labext.jobs import identity, records
from labext.jobs.api import JobsApi
from labext.jobs.file_versions import FileVersion, UploadRecords, changed_since, parse_time
from labext.jobs.identity import account_digest, canonical_json
from labext.jobs.records import JobRecord
from labext.jobs.tools import (
    Tool,
    file_values,
    looks_like_file_name,
    settings_error,
    split_file_path,
)
from labext.progress import Outcome
from labext.storage import make_state_folder, user_path, write_atomic

_MAX_JOBS = 10
"""Maximum number of referenced jobs to look up; with more, only the service checks them."""

_MAX_FOLDERS = 100
"""Maximum number of folders searched for a file name."""
_MAX_FILE_NAME = 255


@dataclass
class FileReferences:
    """The files and jobs that the values of file parameters refer to.

    Attributes:
        uploaded: paths of uploaded files (`name` or `folder/name`), by value.
        outputs: rows of the earlier jobs whose outputs are named, by value; None if not looked up.
        faults: descriptions of invalid references, including the parameter, by value.
        absent: values that look like file names or paths but match no uploaded file.
    """

    uploaded: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, JobRecord | None] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def add(self, other: FileReferences) -> None:
        """Add the references of other settings."""
        self.uploaded |= other.uploaded
        self.outputs |= other.outputs
        self.faults |= other.faults
        self.absent += other.absent

    def add_local(self, parameter: str, value: str) -> bool:
        """Add the fault of a value that is the path of a file on this machine, if it is one."""
        with contextlib.suppress(InputError, OSError):
            if "/" in value and (path := user_path(value)).is_file():
                self.faults[value] = (
                    f"{parameter} is {messages.quote_value(value)}, a file on this machine; "
                    f"settings name uploaded files, here {messages.quote_value(path.name)}"
                )
                self.absent.append(value)
        return value in self.faults

    @property
    def next_step(self) -> str | None:
        """The next step if all faults are missing files; None otherwise."""
        if len(self.faults) > len(self.absent):
            return None
        uploads = messages.join_words(str(Action.upload_file(name)) for name in self.absent)
        return f"Correct the name, or upload it: {uploads}."


def check_references(
    service: JobsApi, tool: Tool, jobs: Iterable[Mapping[str, Any]]
) -> FileReferences:
    """Return the files and jobs that the file parameters of validated settings refer to."""
    references = resolve_references(service, tool, jobs)
    if references.faults:
        raise settings_error(tool, [*references.faults.values()], references.next_step)
    return references


def resolve_references(
    service: JobsApi, tool: Tool, jobs: Iterable[Mapping[str, Any]]
) -> FileReferences:
    """Return the references in the file parameters of validated settings, and their faults."""
    values: dict[str, str] = {}
    for settings in jobs:
        values |= {value: name for name, value in file_values(tool, settings).items()}
    return resolve_values(service, values)


def resolve_values(service: JobsApi, values: Mapping[str, str]) -> FileReferences:
    """Return the references of values; `values` maps each value to its parameter."""
    uploads = _UploadedNames(service)
    references = FileReferences()
    _resolve_paths(service, uploads, values, references)
    _resolve_names(uploads, values, references)
    return references


class _UploadedNames:
    """Names of uploaded files, each list requested once."""

    def __init__(self, service: JobsApi) -> None:
        self._service = service
        self._folders: dict[str, set[str]] = {}
        self._by_name: dict[str, list[str]] | None = None
        self.is_complete = True
        """True if all folders have been searched."""

    def outside_folders(self) -> set[str]:
        """Return the names of the files outside of folders."""
        if "" not in self._folders:
            self._folders[""] = set(self._service.files())
        return self._folders[""]

    def in_folder(self, folder: str) -> set[str]:
        """Return the names of the files in a folder; empty if the folder does not exist."""
        if folder not in self._folders:
            try:
                names = self._service.files(folder)
            except NotFoundError:
                names = []
            self._folders[folder] = {name.rpartition("/")[2] for name in names}
        return self._folders[folder]

    def paths(self, name: str) -> list[str]:
        """Return the paths of the listed files with this name in folders."""
        if self._by_name is None:
            self._by_name = {}
            for path in self._all_in_folders():
                self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return self._by_name.get(name, [])

    def names(self) -> set[str]:
        """Return all names requested so far."""
        return self._folders.get("", set()) | set(self._by_name or ())

    def _all_in_folders(self) -> list[str]:
        entries = self._service.files(include_folders=True)
        folders = [entry.rstrip("/") for entry in entries if entry.endswith("/")]
        self.is_complete = len(folders) <= _MAX_FOLDERS
        in_folders = [
            f"{folder}/{name}"
            for folder in folders[:_MAX_FOLDERS]
            for name in sorted(self.in_folder(folder))
        ]
        paths = [entry for entry in entries if "/" in entry.strip("/")]
        return [*dict.fromkeys([*in_folders, *paths])]


def _resolve_paths(
    service: JobsApi, uploads: _UploadedNames, values: Mapping[str, str], references: FileReferences
) -> None:
    """Resolve `<JobName>/path` and `folder/name`."""
    paths = {value: path for value in values if (path := split_file_path(value)) is not None}
    heads = {head for head, _ in paths.values()}
    if len(heads) > _MAX_JOBS:
        references.outputs |= dict.fromkeys(paths)
        return
    jobs = {
        head: service.find(head) if identity.name_fault(head) is None else None
        for head in sorted(heads)
    }
    for value, (head, rest) in paths.items():
        row = jobs[head]
        if row is not None and records.outcome(row) is Outcome.COMPLETE:
            references.outputs[value] = row
        elif rest in uploads.in_folder(head):
            references.uploaded[value] = value
        elif row is not None:
            references.faults[value] = (
                f"{values[value]} is an output of {head}, which is not complete "
                f"({records.phase(row)})"
            )
        elif not references.add_local(values[value], value):
            references.faults[value] = (
                f"{values[value]} is {messages.quote_value(value)}, but no job is called "
                f'"{head}", and no file "{rest}" has been uploaded to a folder "{head}"'
            )


def _resolve_names(
    uploads: _UploadedNames, values: Mapping[str, str], references: FileReferences
) -> None:
    """Resolve names without a folder; values that are neither files nor file names are content."""
    names = [
        value
        for value in values
        if split_file_path(value) is None and 0 < len(value.strip()) <= _MAX_FILE_NAME
    ]
    for value in names:
        if value in uploads.outside_folders():
            references.uploaded[value] = value
            continue
        if not looks_like_file_name(value):
            references.add_local(values[value], value)
            continue
        paths = uploads.paths(value)
        if len(paths) == 1:
            references.uploaded[value] = paths[0]
        elif paths:
            references.faults[value] = (
                f"{values[value]} is {messages.quote_value(value)}, the name of {len(paths)} "
                f"uploaded files; use {', '.join(paths[:-1])} or {paths[-1]}"
            )
        elif uploads.is_complete:
            references.faults[value] = (
                f"{values[value]} is {messages.quote_value(value)}, but no such file has been "
                f"uploaded{messages.did_you_mean(value, uploads.names())}"
            )
            references.absent.append(value)


_MAX_LOOKUPS = 20
"""Maximum number of files per submission to look up in the store, with two requests each."""

_MAX_SHOWN_FILES = 3


@dataclass(frozen=True)
class InputFile:
    """A file that the value of a setting refers to.

    Attributes:
        path: path of an uploaded file, `name` or `folder/name`; empty for an output.
        job: the earlier job, for an output; empty for an uploaded file.
    """

    value: str
    path: str = ""
    job: str = ""
    version: FileVersion | None = None


class ContentRecords:
    """Local records of the input files of submissions, by submission name."""

    def __init__(self, folder: Path, address: str, api_key: str | None) -> None:
        self._folder = folder / "contents"
        self._key = f"{address}\n{account_digest(address, api_key)}"

    def write(self, name: str, files: Iterable[InputFile]) -> None:
        """Record the files of a submission; raise StorageError if the record can't be written."""
        record = {
            file.value: {"path": file.path, "job": file.job}
            | (file.version.to_record() if file.version else {})
            for file in files
        }
        make_state_folder(self._folder)
        write_atomic(self._file(name), json.dumps(record).encode(), private=True)

    def read(self, name: str) -> dict[str, InputFile]:
        """Return the recorded files of a submission, by value; empty without a record."""
        try:
            record = json.loads(self._file(name).read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(record, dict):
            return {}
        return {
            value: InputFile(
                value,
                str(version.get("path")),
                str(version.get("job")),
                FileVersion.from_record(version),
            )
            for value, version in record.items()
            if isinstance(version, dict)
        }

    def forget(self, name: str) -> None:
        """Delete the record of a submission."""
        with contextlib.suppress(OSError):
            self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        digest = hashlib.sha256(f"{self._key}\n{name}".encode("utf-8", "replace")).hexdigest()
        return self._folder / f"{digest[:32]}.json"


class InputContent:
    """The input files of one submission, with their current and recorded content.

    Args:
        records: records of submissions from this machine; None for a submission without files.
        files: the files with their current versions, by value.
    """

    def __init__(self, records: ContentRecords | None, files: Mapping[str, InputFile]) -> None:
        self._records = records
        self._files = files

    def checksums(self) -> dict[str, str]:
        """Return the checksums of the files with known content, by value."""
        return {
            value: file.version.checksum
            for value, file in self._files.items()
            if file.version is not None and file.version.checksum is not None
        }

    def remember(self, name: str) -> None:
        """Record the content for a submission that is about to be sent."""
        if self._files and self._records is not None:
            # Without a record, the content can't be compared later.
            with contextlib.suppress(StorageError):
                self._records.write(name, self._files.values())

    def check(self, name: str, row: JobRecord, values: Collection[str] | None = None) -> None:
        """Compare the content with that of the existing submission `name`, or a part of a batch.

        `values` are those in the settings of the row; None for all.
        """
        changed = self._files_with_result(name, row, True, values)
        if not changed:
            return
        recorded = self._recorded(name)
        differences = [
            _content_difference(file, recorded.get(file.value))
            for file in changed[:_MAX_SHOWN_FILES]
        ]
        if (others := len(changed) - _MAX_SHOWN_FILES) > 0:
            differences.append(f"{messages.pluralize(others, 'more file')} changed")
        raise ConflictError(
            f"{name} already exists and was submitted with other file content: "
            f"{'; '.join(differences)}.",
            "To run it again, delete it first ({action}) and submit it again; or choose another "
            "name.",
            action=Action.delete_job(name),
        )

    def caveat(self, name: str, row: JobRecord) -> str:
        """Return a sentence that lists the files whose content is unknown; empty if none is."""
        unknown = [file.value for file in self._files_with_result(name, row, None)]
        if not unknown:
            return ""
        return (
            f"The content of {messages.join_words(unknown, _MAX_SHOWN_FILES)} could not be "
            "compared with the submitted content: neither the service nor this machine has its "
            f"checksum. To run it again, delete it first: {Action.delete_job(name)}."
        )

    def check_unchanged(self, name: str) -> None:
        """Check that the content has not changed since an interrupted submission."""
        recorded = self._recorded(name)
        changed = [
            _content_difference(file, recorded.get(value))
            for value, file in self._files.items()
            if changed_since(None, recorded.get(value), file.version)
        ]
        if changed:
            raise ConflictError(
                f"The missing jobs of {name} would run with other files than its first jobs: "
                f"{messages.join_words(changed, _MAX_SHOWN_FILES)}.",
                "Upload the original files, or delete the batch ({action}) and submit it again.",
                action=Action.delete_job(name),
            )

    def _recorded(self, name: str) -> dict[str, FileVersion | None]:
        files = self._records.read(name) if self._files and self._records is not None else {}
        return {value: file.version for value, file in files.items()}

    def _files_with_result(
        self, name: str, row: JobRecord, changed: bool | None, values: Collection[str] | None = None
    ) -> list[InputFile]:
        """Return the files for which `changed_since` returns `changed`."""
        recorded = self._recorded(name)
        created = parse_time(row.get("Created"))
        return [
            file
            for value, file in self._files.items()
            if (values is None or value in values)
            and changed_since(created, recorded.get(value), file.version) is changed
        ]


NO_FILES = InputContent(None, {})
"""The content of a submission without files."""


@dataclass(frozen=True)
class ContentReader:
    """Reads versions of the input files of submissions to one service."""

    service: JobsApi
    uploaded: UploadRecords
    records: ContentRecords

    def read_files(
        self, uploaded: Mapping[str, str], outputs: Mapping[str, JobRecord | None]
    ) -> InputContent:
        """Return the current content of the files that the settings of a submission name.

        `uploaded` are paths of uploaded files, `outputs` rows of earlier jobs, both by value.
        """
        files = [InputFile(value, path=path) for value, path in uploaded.items()]
        files += [InputFile(value, job=value.partition("/")[0]) for value in outputs]
        return self._read(files, outputs)

    def recorded(self, name: str) -> InputContent:
        """Return the current content of the files of a recorded submission."""
        files = self.records.read(name).values()
        jobs = {file.job for file in files if file.job}
        rows = {job: self.service.find(job) for job in jobs} if len(jobs) <= _MAX_LOOKUPS else {}
        return self._read(files, {file.value: rows.get(file.job) for file in files})

    def _read(
        self, files: Iterable[InputFile], outputs: Mapping[str, JobRecord | None]
    ) -> InputContent:
        versions: dict[str, FileVersion | None] = {}
        current: dict[str, InputFile] = {}
        for file in files:
            if file.job:
                version = _output_version(outputs.get(file.value))
            else:
                if file.path not in versions:
                    query_store = len(versions) < _MAX_LOOKUPS
                    versions[file.path] = self.version(file.path, query_store=query_store)
                version = versions[file.path]
            current[file.value] = InputFile(file.value, file.path, file.job, version)
        return InputContent(self.records, current)

    def version(self, path: str, *, query_store: bool = True) -> FileVersion | None:
        """Return the current version of an uploaded file, `name` or `folder/name`; None if unknown.

        Without `query_store`, the last upload from this machine is assumed to be current.
        """
        folder, _, name = path.rpartition("/")
        stored = self.service.stored_version(name, folder or None) if query_store else None
        recorded = self.uploaded.latest(name, folder)
        if stored is None or recorded is None:
            return stored or recorded
        same = recorded.same_content(stored)
        if same is False or (same is None and stored.size is None):
            return stored
        return stored.with_checksums_of(recorded)

    def sizes(self, tool: Tool, jobs: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Return the sizes in bytes of the uploaded files that settings name, as far as known.

        Recorded uploads from this machine are not looked up on the service; of the others only the
        first ones are.
        """
        values = [value for settings in jobs for value in file_values(tool, settings).values()]
        sizes: dict[str, int] = {}
        lookups = 0
        for value in dict.fromkeys(values):
            folder, _, name = value.rpartition("/")
            version = self.uploaded.latest(name, folder)
            if version is None and lookups < _MAX_LOOKUPS and looks_like_file_name(name):
                lookups += 1
                version = self.service.stored_version(name, folder or None)
            if version is not None and version.size is not None:
                sizes[value] = version.size
        return sizes


def _output_version(row: JobRecord | None) -> FileVersion | None:
    """Return a version that identifies the run of a job, for its outputs."""
    if row is None:
        return None
    run = canonical_json(records.run_fields(row)).encode("utf-8", "replace")
    completed = row.get("Completed")
    modified = completed if isinstance(completed, str) else None
    return FileVersion(etag=hashlib.sha256(run).hexdigest(), modified=modified)


def _content_difference(file: InputFile, earlier: FileVersion | None) -> str:
    """Describe how the content of a file has changed."""
    if file.job:
        return f"{file.value} is now from another run of {file.job}"
    current = file.version
    if current is None or earlier is None or earlier.checksum is None:
        return f"{file.value} was uploaded again since then"
    return f"{file.value} has {current.description()} now, and had {earlier.description()}"
