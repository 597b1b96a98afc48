"""`%jobs results`, `upload`, `files` and `rm`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError, NotFoundError
from labext_magics.core import output
from labext_magics.core.dispatch import Call
from labext_magics.core.line import quote
from labext_magics.core.namespace import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs.uploads import Upload


def results(
    call: Call,
    *,
    name: str,
    to: Path | None,
    file: str | None,
    pdbs_only: bool,
    email: str | None,
    frame: bool = False,
    from_: Any = None,
    name_column: str | None = None,
) -> pd.DataFrame:
    """Download results into a folder, report the folder, and return a row for each file.

    With `frame` return a row for each job, with its metrics and its input row.
    """
    import labext_widgets

    if not frame and (from_ is not None or name_column is not None):
        raise InputError("`--from` and `--name-column` need `--frame`.", "Add `--frame`.")
    rows = None if from_ is None else frame_of(from_)
    target = to or Path(name)
    options = {"--to": target, "--file": file, "--email": email}
    words = [f" {option} {quote(str(value))}" for option, value in options.items() if value]
    again = f"%jobs results {quote(name)}{''.join(words)}{' --pdbs-only' if pdbs_only else ''}"
    with labext_widgets.Transfer(name, "results", again) as transfer:
        fetched = call.jobs.download(
            name,
            target,
            file=file,
            pdbs_only=pdbs_only,
            email=email,
            on_bytes=transfer.bytes,
            on_phase=transfer.phase,
        )
        transfer.end(fetched.message)
    return fetched.frame(rows, name_column) if frame else fetched.files


def upload(call: Call, *, path: list[Path], folder: str | None, presigned: bool) -> pd.DataFrame:
    """Upload files, after checking that all exist, and return a row with the status of each."""
    import pandas as pd

    folders = [p for p in path if p.is_dir()]
    if folders:
        raise InputError(
            f"{messages.join_words(str(p) for p in folders)} is a folder.",
            "Name the files in it; `--folder` names a folder on the service.",
        )
    missing = [p for p in path if not p.is_file()]
    if missing:
        raise InputError(
            f"There is no file {messages.join_words(str(p) for p in missing)}.",
            "Check the path; it is relative to the notebook's folder.",
        )
    done = [call.jobs.upload(file, folder, presigned=presigned) for file in path]
    _report_uploads(done)
    return pd.DataFrame(
        [
            {
                "file": uploaded.name,
                "folder": uploaded.folder,
                "bytes": uploaded.size,
                "status": _upload_status(uploaded),
            }
            for uploaded in done
        ]
    )


def _report_uploads(done: list[Upload]) -> None:
    """Report the new files, how settings refer to them, and the replaced ones."""
    new = [file for file in done if _upload_status(file) == "new"]
    if new:
        refer = f"refer to {'it' if len(new) == 1 else 'each'} by that name in a setting"
        if new[0].folder:
            refer += f", or by {new[0].path} if several folders have a file of that name"
        output.print_message(f"Uploaded {messages.join_words(file.path for file in new)}; {refer}.")
    for file in done:
        if _upload_status(file) != "new":
            output.print_message(file.message)


def _upload_status(done: Upload) -> str:
    """Return the effect of the upload: new, replaced or unchanged."""
    if not done.sent:
        return "unchanged"
    return "replaced" if done.replaced else "new"


def files(call: Call, *, folder: str | None, folders: bool) -> pd.DataFrame:
    """Return a row for each uploaded file."""
    from labext.frames.conversion import Column, records_to_frame

    names = call.jobs.files(folder, include_folders=folders)
    return records_to_frame([{"file": name} for name in names], [Column("file", "text")])


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
    output.print_confirmation(confirmation or f"Removed {file or folder}.")
    return None


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
