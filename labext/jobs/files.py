"""Files: uploading, and what a job's settings say about them.

A file parameter takes the bare name of an uploaded file, `<JobName>/path` in an earlier job's
output, or else the content itself (job service contract, Settings rules 6 to 8). So a name that is
misspelt would become content; it is refused here instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from labext import wording
from labext.errors import InputError, NotFoundError, ServiceError
from labext.jobs import rows
from labext.jobs.schema import Tool
from labext.jobs.service import Service
from labext.jobs.settings import file_values, looks_like_a_file, output_of, refuse
from labext.progress import Outcome

_MOST_JOBS = 10
"""References to more jobs than this are left to the service to check."""

_MOST_FOLDERS = 20


class ReferenceFaults(NamedTuple):
    """What is wrong with references, and the file names among them that are not there."""

    faults: list[str]
    absent: list[str]


TOO_LARGE = 413
"""The status of an answer to an upload that has to go by a presigned address."""


def upload(
    service: Service, path: Path | str, folder: str | None = None, *, presigned: bool = False
) -> str:
    """Upload a file, streamed; return the name by which settings refer to it.

    With `presigned`, or where the service finds it too large for `/upload` (413), it goes to an
    address of the service's store, and is then looked for there.

    Raises:
        InputError: there is no such file, it can't be read, or its name can't be sent.
        NotFoundError: it has to go by a presigned address, and the service gives none.
    """
    source = Path(path).expanduser()
    if source.is_dir():
        raise InputError(f"{source} is a folder.", "Upload its files one by one.")
    if not source.is_file():
        hint = wording.did_you_mean(source.name, _siblings(source))
        raise InputError(f"There is no file {source}{hint}.", "Check the path.")
    if folder is not None and (not folder or ".." in folder.split("/") or folder.startswith("/")):
        raise InputError(f'"{folder}" can\'t be a folder.', "Give its plain name.")
    try:
        source.open("rb").close()
    except OSError as error:
        raise InputError(f"{source} can't be read ({error.strerror}).", "Check the file.") from None
    if not presigned:
        try:
            service.upload(source.name, lambda: source.open("rb"), folder)
            return source.name
        except InputError as error:
            if error.status != TOO_LARGE:
                raise
            _upload_to_store(service, source, folder, too_large=error)
            return source.name
    _upload_to_store(service, source, folder)
    return source.name


def _upload_to_store(
    service: Service, source: Path, folder: str | None, too_large: InputError | None = None
) -> None:
    """Upload by a presigned address.

    Raises:
        InputError: there is none, and the file is too large for another way.
        NotFoundError: there is none.
        ServiceError: the store does not have the file afterwards, or not the whole of it.
    """
    try:
        address, head = service.presigned_upload(source.name, folder)
    except NotFoundError:
        if too_large is not None:
            raise too_large from None
        raise
    store = service.transport.store()
    store.put(address, source.name, lambda: source.open("rb"))
    if head is None:
        return
    try:
        there = store.size(head, source.name)
    except NotFoundError:
        raise _not_whole(source, "it is not there") from None
    size = source.stat().st_size
    if there is not None and there != size:
        raise _not_whole(source, f"{there:,} of {size:,} bytes are there")


def _not_whole(source: Path, what: str) -> ServiceError:
    return ServiceError(
        f"{source.name} was sent to the service's store, but {what}.", "Upload it again."
    )


def check_references(service: Service, tool: Tool, jobs: Iterable[Mapping[str, Any]]) -> None:
    """Check what the file parameters of clean settings refer to.

    Raises:
        InputError: a file that has not been uploaded, a job that is not there or not complete.
    """
    found = reference_faults(service, tool, jobs)
    if found.faults:
        raise refuse(tool, found.faults, step(found.faults, found.absent))


def reference_faults(
    service: Service, tool: Tool, jobs: Iterable[Mapping[str, Any]]
) -> ReferenceFaults:
    """Find what is wrong with what the file parameters of clean settings refer to."""
    values: dict[str, str] = {}
    for settings in jobs:
        values |= {value: name for name, value in file_values(tool, settings).items()}
    outputs = {value: job for value in values if (job := output_of(value)) is not None}
    faults = _outputs_faults(service, {value: values[value] for value in outputs}, outputs)
    bare = {value: values[value] for value in values if looks_like_a_file(value)}
    absent = _absent(service, bare)
    return ReferenceFaults([*faults, *absent.values()], list(absent))


def step(faults: Sequence[str], absent: Sequence[str]) -> str | None:
    """Return the next step where all that is wrong is that files are not there."""
    if len(faults) > len(absent):
        return None
    return f"Correct the name, or upload it: `%jobs upload {' '.join(absent)}`."


def _outputs_faults(
    service: Service, values: Mapping[str, str], outputs: Mapping[str, str]
) -> list[str]:
    wanted = set(outputs.values())
    if len(wanted) > _MOST_JOBS:
        return []
    found = {job: service.find(job) for job in wanted}
    faults = []
    for value, name in values.items():
        job = outputs[value]
        row = found[job]
        if row is None:
            faults.append(
                f'{name} is {wording.shown(value)}, but no job is called "{job}" '
                "(an uploaded file goes by its bare name)"
            )
        elif rows.outcome(row) is not Outcome.COMPLETE:
            faults.append(
                f"{name} is an output of {job}, which is not complete ({rows.phase(row)})"
            )
    return faults


def _absent(service: Service, values: Mapping[str, str]) -> dict[str, str]:
    """Return the fault of each file name that is not one of an uploaded file."""
    if not values:
        return {}
    known = set(service.files())
    if not known.issuperset(values):
        known |= _in_folders(service)
    return {
        value: f"{name} is {wording.shown(value)}, but no such file has been uploaded"
        f"{wording.did_you_mean(value, known)}"
        for value, name in values.items()
        if value not in known
    }


def _in_folders(service: Service) -> set[str]:
    """Return the bare names of files in folders, as far as the service lists them."""
    found: set[str] = set()
    entries = service.files(include_folders=True)
    for entry in entries[:1000]:
        found.add(entry.rstrip("/").rpartition("/")[2])
    for folder in [entry for entry in entries if entry.endswith("/")][:_MOST_FOLDERS]:
        try:
            inner = service.files(folder.rstrip("/"))
        except NotFoundError:
            continue
        found |= {name.rpartition("/")[2] for name in inner}
    return found


def _siblings(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []
