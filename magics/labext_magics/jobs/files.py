"""`%jobs results`, `upload`, `files` and `rm`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError, NotFoundError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.namespace import to_frame
from labext_magics.core.session import session_lock

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs.uploads import Upload


def results(
    call: Call,
    *,
    name: str,
    to: Path | str | None,
    file: str | None,
    pdbs_only: bool,
    email: str | None,
    frame: bool = False,
    from_: Any = None,
    name_column: str | None = None,
) -> pd.DataFrame:
    """Download results into a folder, report the folder, and return one row per file.

    With `frame`, return one row per job with its metrics and its input row.
    """
    import labext_widgets

    if not frame and (from_ is not None or name_column is not None):
        raise InputError("`--from` and `--name-column` need `--frame`.", "Add `--frame`.")
    rows = None if from_ is None else to_frame(from_)
    folder = Path(to or name)
    waiting = f"Waiting for another session that downloads the results of {name} to {folder}."
    with (
        session_lock("jobs", waiting, name, str(folder.resolve())),
        labext_widgets.Transfer(name, "results", call.line) as transfer,
    ):
        downloaded = call.jobs.download(
            name,
            to or name,
            file=file,
            pdbs_only=pdbs_only,
            email=email,
            on_bytes=transfer.bytes,
            on_phase=transfer.phase,
        )
        transfer.end(downloaded.message)
    return downloaded.frame(rows, name_column) if frame else downloaded.files


def upload(call: Call, *, path: list[Path], folder: str | None, presigned: bool) -> pd.DataFrame:
    """Upload files after checking that all of them exist, and return one row per file."""
    import pandas as pd

    from labext.frames.views import ROWS
    from labext.jobs.uploads import check_readable

    path = [check_readable(file) for typed in path for file in value_types.expand_pattern(typed)]
    if len(path) > len({file.name for file in path}):
        raise InputError(
            "Some of these files have the same name, and would replace each other.",
            "Upload them one after the other, each with its own `--folder`.",
        )
    uploads = [call.jobs.upload(file, folder, presigned=presigned) for file in path]
    _report_uploads(uploads)
    rows = [
        {
            "file": upload.name,
            "folder": upload.folder,
            "bytes": upload.size,
            "status": _upload_status(upload),
        }
        for upload in uploads
    ]
    return ROWS.show(pd.DataFrame(rows))


def _report_uploads(uploads: list[Upload]) -> None:
    """Report new files with the names that settings use, and replaced and unchanged files."""
    new = [upload for upload in uploads if _upload_status(upload) == "new"]
    if new:
        usage = f"refer to {'it' if len(new) == 1 else 'each'} by that name in a setting"
        if new[0].folder:
            usage += f", or by {new[0].name} if it is the only file of that name"
        paths = messages.join_words(upload.path for upload in new)
        output.print_message(f"Uploaded {paths}; {usage}.")
    for upload in uploads:
        if _upload_status(upload) != "new":
            output.print_message(upload.message)


def _upload_status(upload: Upload) -> str:
    """Return `new`, `replaced` or `unchanged`."""
    if not upload.sent:
        return "unchanged"
    return "replaced" if upload.replaced else "new"


def files(call: Call, *, folder: str | None, folders: bool) -> pd.DataFrame:
    """Return one row per uploaded file."""
    from labext.frames.conversion import Column, records_to_frame
    from labext.jobs.frames import UPLOADED_FILES

    names = call.jobs.files(folder, include_folders=folders)
    if folder is not None and not names:
        _files_in(call, folder)  # raises an error if there is no such folder
    records = [{"file": name} for name in names]
    return UPLOADED_FILES.show(records_to_frame(records, [Column("file", "text")]))


def rm(
    call: Call, *, file: str | None, folder: str | None, yes: bool, preview: bool
) -> pd.DataFrame | None:
    """Remove an uploaded file or a folder; a preview returns the affected files."""
    if (file is None) == (folder is None):
        raise InputError(
            "`%jobs rm` takes either a file or `--folder`.", "Example: `%jobs rm 1A8O.pdb --yes`."
        )
    affected = _files_in(call, folder) if folder is not None else [_find_uploaded(call, str(file))]
    if not output.confirm_destruction("remove", affected, yes=yes, preview=preview):
        import pandas as pd

        return pd.DataFrame({"file": affected}, dtype="str")
    confirmation = call.jobs.delete_file(path=file, folder=folder)
    output.print_confirmation(confirmation or f"Removed {file or folder}.")
    return None


def _find_uploaded(call: Call, file: str) -> str:
    names = call.jobs.files()
    if file in names or "/" in file:
        return file
    raise _not_uploaded("file", file, names, "`%jobs files`")


def _not_uploaded(kind: str, name: str, names: Sequence[str], listing: str) -> NotFoundError:
    return NotFoundError(
        f"There is no uploaded {kind} {name}.", messages.suggest(name, names, f"See {listing}.")
    )


def _files_in(call: Call, folder: str) -> list[str]:
    folders = call.jobs.folders()
    if folder.rstrip("/") not in folders:
        raise _not_uploaded("folder", folder, folders, "`%jobs files --folders`")
    return [f"{folder}/{file}" for file in call.jobs.files(folder)] or [folder]
