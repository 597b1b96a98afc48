"""`%jobs` stop, delete and rm: what ends or destroys something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError, NotFoundError
from labext_magics import output
from labext_magics.dispatch import Call

if TYPE_CHECKING:
    import pandas as pd


def stop(call: Call, *, name: list[str]) -> None:
    """Stop jobs, batches or pipelines, once all of them are known to be there."""
    for each in name:
        call.jobs.job(each)
    for each in name:
        output.say(_sentence(call.jobs.stop(each)))


def delete(call: Call, *, name: list[str], yes: bool, preview: bool) -> pd.DataFrame | None:
    """Delete jobs, batches or pipelines; a preview returns the rows that would go."""
    rows = {each: call.jobs.job(each) for each in name}
    would_go = [_described(each, row) for each, row in rows.items()]
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        from labext.jobs.rows import table
        from labext.jobs.rowviews import JOBS

        return JOBS.show(table(rows.values()))
    for each in name:
        output.say(_sentence(call.jobs.delete(each)))
    return None


def rm(
    call: Call, *, file: str | None, folder: str | None, yes: bool, preview: bool
) -> pd.DataFrame | None:
    """Remove an uploaded file or a whole folder; a preview returns what would go."""
    if (file is None) == (folder is None):
        raise InputError(
            "`%jobs rm` takes one file or one `--folder`.", "Example: `%jobs rm 1A8O.pdb --yes`."
        )
    would_go = _files_in(call, folder) if folder is not None else [_uploaded(call, str(file))]
    if not output.confirmed("remove", would_go, yes=yes, preview=preview):
        import pandas as pd

        return pd.DataFrame({"file": would_go}, dtype="str")
    said = call.jobs.delete_file(path=file, folder=folder)
    output.say(_sentence(said or f"{file or folder} is removed."))
    return None


def _described(name: str, row: dict[str, Any]) -> str:
    from labext.jobs import rows

    parts = sum(rows.tally(row.get("statuses")).values())
    inside = f" with {wording.count(parts, 'job')}" if rows.is_parent(row) else ""
    return f"{name} ({row.get('Type')}{inside}, {rows.phase(row)}) and its results"


def _uploaded(call: Call, file: str) -> str:
    there = call.jobs.files()
    if file in there or "/" in file:
        return file
    near = wording.near(file, there)
    raise NotFoundError(
        f"There is no uploaded file {file}.",
        f"Did you mean {near}?" if near else "See `%jobs files`.",
    )


def _files_in(call: Call, folder: str) -> list[str]:
    return [f"{folder}/{file}" for file in call.jobs.files(folder)] or [folder]


def _sentence(words: str) -> str:
    """Return the service's confirmation with a full stop."""
    return words if words.endswith((".", "!", "?")) else f"{words}."
