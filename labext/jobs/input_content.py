"""The content of the files that a submission's settings name: when it was sent, and now.

A setting names an uploaded file, or an output of an earlier job, and the same name may stand for
other content later. So the content belongs to the identity of a submission. What it was is
recorded on this machine before the submission is sent; what it is now is asked of the service's
store, or known from uploads of this machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from labext import wording
from labext.errors import ConflictError, StorageError
from labext.jobs import rows
from labext.jobs.file_versions import FileVersion, changed_since, moment
from labext.jobs.identity import account, canonical
from labext.jobs.rows import Row
from labext.jobs.service import Service
from labext.jobs.uploaded import Uploaded
from labext.storage import make_folder, write_atomic

_MOST_ASKED = 20
"""Files of one submission that the service's store is asked about, at two requests each."""

_SHOWN = 3


@dataclass(frozen=True)
class InputFile:
    """What a setting's value names.

    Attributes:
        value: as the setting has it.
        path: of an uploaded file, `name` or `folder/name`; empty for an output.
        job: the earlier job whose output it is; empty for an uploaded file.
        version: its content, as far as it is known.
    """

    value: str
    path: str = ""
    job: str = ""
    version: FileVersion | None = None


class ContentRecords:
    """What the content of submissions' files was, by the submission's name, on this machine."""

    def __init__(self, folder: Path, address: str, api_key: str | None) -> None:
        self._folder = folder / "contents"
        self._key = f"{address}\n{account(address, api_key)}"

    def write(self, name: str, files: Iterable[InputFile]) -> None:
        """Record the files of a submission.

        Raises:
            StorageError: it can't be written.
        """
        record = {
            file.value: {
                "path": file.path,
                "job": file.job,
                **(file.version.record() if file.version else {}),
            }
            for file in files
        }
        make_folder(self._folder, 0o700)
        write_atomic(self._file(name), json.dumps(record).encode(), private=True)

    def read(self, name: str) -> dict[str, InputFile]:
        """Return the recorded files of a submission, by value; empty where nothing is recorded."""
        try:
            record = json.loads(self._file(name).read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(record, dict):
            return {}
        return {
            value: InputFile(
                value, str(known.get("path")), str(known.get("job")), FileVersion.of_record(known)
            )
            for value, known in record.items()
            if isinstance(known, dict)
        }

    def forget(self, name: str) -> None:
        """Remove the record of a submission."""
        with contextlib.suppress(OSError):
            self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        digest = hashlib.sha256(f"{self._key}\n{name}".encode("utf-8", "replace")).hexdigest()
        return self._folder / f"{digest[:32]}.json"


class InputContent:
    """The files that one submission names, with their content now, and what was recorded.

    Args:
        records: what the content was at submissions from this machine.
        files: the files by value.
    """

    def __init__(self, records: ContentRecords | None, files: Mapping[str, InputFile]) -> None:
        self._records = records
        self._files = files

    def checksums(self) -> dict[str, str]:
        """Return a checksum for each value whose content is known."""
        return {
            value: file.version.checksum
            for value, file in self._files.items()
            if file.version is not None and file.version.checksum is not None
        }

    def remember(self, name: str) -> None:
        """Record the content for a submission that is about to be sent under a name."""
        if self._files and self._records is not None:
            with contextlib.suppress(StorageError):  # then it can't be compared later
                self._records.write(name, self._files.values())

    def check(self, name: str, row: Row, values: Collection[str] | None = None) -> None:
        """Compare the content with that of the submission whose row is there under the name.

        Args:
            name: of the submission, as it was given to `remember`.
            row: its row, or that of a part of a batch.
            values: the values that the row's settings hold; None for all.

        Raises:
            ConflictError: it was submitted with other content.
        """
        changed = self._compared(name, row, True, values)
        if not changed:
            return
        then = self._recorded(name)
        words = [_difference(file, then.get(file.value)) for file in changed[:_SHOWN]]
        if len(changed) > _SHOWN:
            words.append(f"{wording.count(len(changed) - _SHOWN, 'file')} more changed")
        raise ConflictError(
            f"{name} is there already, and was submitted with other content: {'; '.join(words)}.",
            f"To run it anew, delete it first (`%jobs delete {name} --yes`) and run the same line "
            "again; or choose another name.",
        )

    def caveat(self, name: str, row: Row) -> str:
        """Return a sentence about the files whose content could not be compared; empty if none."""
        unknown = [file.value for file in self._compared(name, row, None)]
        if not unknown:
            return ""
        return (
            f"The content of {wording.listed(unknown, _SHOWN)} could not be compared with what was "
            "submitted: neither the service nor this machine knows what it was then. To run it "
            f"anew, delete it first: `%jobs delete {name} --yes`."
        )

    def check_unchanged(self, name: str) -> None:
        """Check that the content is still what was recorded for a submission that broke off.

        Raises:
            ConflictError: the rest would be sent with other content.
        """
        then = self._recorded(name)
        changed = [
            _difference(file, then.get(value))
            for value, file in self._files.items()
            if changed_since(None, _version(then.get(value)), file.version)
        ]
        if changed:
            raise ConflictError(
                f"The rest of {name} would run with other content than its first jobs: "
                f"{wording.listed(changed, _SHOWN)}.",
                f"Upload what it was, or delete the batch (`%jobs delete {name} --yes`) and submit "
                "it anew.",
            )

    def _recorded(self, name: str) -> dict[str, InputFile]:
        return self._records.read(name) if self._files and self._records is not None else {}

    def _compared(
        self, name: str, row: Row, verdict: bool | None, values: Collection[str] | None = None
    ) -> list[InputFile]:
        """Return the files whose comparison with those of a submission has a result."""
        then = self._recorded(name)
        created = moment(row.get("Created"))
        return [
            file
            for value, file in self._files.items()
            if (values is None or value in values)
            and changed_since(created, _version(then.get(value)), file.version) is verdict
        ]


NO_FILES = InputContent(None, {})
"""The content of a submission that names no files."""


class Contents:
    """Reads the content of the files that submissions to one service name."""

    def __init__(self, service: Service, uploaded: Uploaded, records: ContentRecords) -> None:
        self._service = service
        self._uploaded = uploaded
        self.records = records

    def of(self, uploaded: Mapping[str, str], outputs: Mapping[str, Row | None]) -> InputContent:
        """Return the content of what the settings of a submission name, as it is now.

        Args:
            uploaded: the paths of uploaded files, by the settings' values.
            outputs: the rows of the earlier jobs whose outputs are named, by the values.
        """
        return self._read(
            [
                *(InputFile(value, path=path) for value, path in uploaded.items()),
                *(InputFile(value, job=value.partition("/")[0]) for value in outputs),
            ],
            {value: row for value, row in outputs.items() if row is not None},
        )

    def recorded(self, name: str) -> InputContent:
        """Return the content of what a recorded submission names, as it is now."""
        files = self.records.read(name).values()
        jobs = {file.job for file in files if file.job}
        found = {job: self._service.find(job) for job in jobs} if len(jobs) <= _MOST_ASKED else {}
        outputs = {file.value: row for file in files if (row := found.get(file.job)) is not None}
        return self._read(files, outputs)

    def _read(self, files: Iterable[InputFile], outputs: Mapping[str, Row]) -> InputContent:
        versions: dict[str, FileVersion | None] = {}
        current: dict[str, InputFile] = {}
        for file in files:
            if file.job:
                version = _of_output(outputs.get(file.value))
            else:
                if file.path not in versions:
                    versions[file.path] = self.version(file.path, ask=len(versions) < _MOST_ASKED)
                version = versions[file.path]
            current[file.value] = InputFile(file.value, file.path, file.job, version)
        return InputContent(self.records, current)

    def version(self, path: str, *, ask: bool = True) -> FileVersion | None:
        """Return what is known of an uploaded file's content now.

        Args:
            path: `name` or `folder/name`.
            ask: ask the service's store; else what was uploaded from here is taken for it.
        """
        folder, _, name = path.rpartition("/")
        stored = self._service.stored_version(name, folder or None) if ask else None
        noted = self._uploaded.latest(name, folder)
        if stored is None or noted is None:
            return stored or noted
        same = noted.same_content(stored)
        if same is False or (same is None and stored.size is None):
            return stored
        return stored.with_checksums_of(noted)


def _of_output(row: Row | None) -> FileVersion | None:
    """Return a version for the output of an earlier job: that of its run."""
    if row is None:
        return None
    run = hashlib.sha256(canonical(rows.identity(row)).encode("utf-8", "replace")).hexdigest()
    completed = row.get("Completed")
    return FileVersion(etag=run, modified=completed if isinstance(completed, str) else None)


def _version(file: InputFile | None) -> FileVersion | None:
    return None if file is None else file.version


def _difference(file: InputFile, then: InputFile | None) -> str:
    """Say in a few words how the content of a file has changed."""
    if file.job:
        return f"{file.value} is of another run of {file.job} now"
    now, before = file.version, _version(then)
    if now is None or before is None or before.checksum is None:
        return f"{file.value} was uploaded again since"
    return f"{file.value} has {now.described()} now, and had {before.described()}"
