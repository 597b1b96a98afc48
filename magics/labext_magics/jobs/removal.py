"""`%jobs stop`, `delete` and `rm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError, NotFoundError
from labext_magics.core import output
from labext_magics.core.dispatch import Call

if TYPE_CHECKING:
    import pandas as pd


def stop(call: Call, *, name: list[str]) -> None:
    """Stop jobs, batches or pipelines, after checking that all of them exist."""
    for job in name:
        call.jobs.job(job)
    for job in name:
        output.print_message(_sentence(call.jobs.stop(job)))


def delete(call: Call, *, name: list[str], yes: bool, preview: bool) -> pd.DataFrame | None:
    """Delete jobs, batches or pipelines; a preview returns the affected rows."""
    rows = {job: call.jobs.job(job) for job in name}
    would_go = [_describe_job(job, row) for job, row in rows.items()]
    if not output.confirm_destruction("delete", would_go, yes=yes, preview=preview):
        from labext.jobs.records import jobs_frame
        from labext.jobs.views import JOBS

        return JOBS.show(jobs_frame(rows.values()))
    for job in name:
        output.print_message(_sentence(call.jobs.delete(job)))
    return None


def rm(
    call: Call, *, file: str | None, folder: str | None, yes: bool, preview: bool
) -> pd.DataFrame | None:
    """Remove an uploaded file or a whole folder; a preview returns the affected files."""
    if (file is None) == (folder is None):
        raise InputError(
            "`%jobs rm` takes either a file or `--folder`.", "Example: `%jobs rm 1A8O.pdb --yes`."
        )
    would_go = _files_in(call, folder) if folder is not None else [_find_uploaded(call, str(file))]
    if not output.confirm_destruction("remove", would_go, yes=yes, preview=preview):
        import pandas as pd

        return pd.DataFrame({"file": would_go}, dtype="str")
    confirmation = call.jobs.delete_file(path=file, folder=folder)
    output.print_message(_sentence(confirmation or f"Removed {file or folder}."))
    return None


def _describe_job(name: str, row: dict[str, Any]) -> str:
    from labext.jobs import records

    parts = sum(records.parse_tally(row.get("statuses")).values())
    inside = f" with {messages.pluralize(parts, 'job')}" if records.is_parent(row) else ""
    return f"{name} ({row.get('Type')}{inside}, {records.phase(row)}) and its results"


def _find_uploaded(call: Call, file: str) -> str:
    names = call.jobs.files()
    if file in names or "/" in file:
        return file
    near = messages.closest_match(file, names)
    raise NotFoundError(
        f"There is no uploaded file {file}.",
        f"Did you mean {near}?" if near else "See `%jobs files`.",
    )


def _files_in(call: Call, folder: str) -> list[str]:
    return [f"{folder}/{file}" for file in call.jobs.files(folder)] or [folder]


def _sentence(words: str) -> str:
    """Return the service's confirmation with a full stop."""
    return words if words.endswith((".", "!", "?")) else f"{words}."
