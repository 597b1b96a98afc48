"""`%jobs` results, upload and files: what goes over the wire as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labext import wording
from labext.errors import InputError
from labext_magics import output
from labext_magics.dispatch import Call
from labext_magics.line import quote

if TYPE_CHECKING:
    import pandas as pd


def results(
    call: Call, *, name: str, to: Path | None, file: str | None, pdbs_only: bool, email: str | None
) -> pd.DataFrame:
    """Fetch results into a folder, say where they are, and return a row for each file."""
    import labext_widgets

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
    return fetched.files


def upload(call: Call, *, path: list[Path], folder: str | None) -> pd.DataFrame:
    """Upload files, all of which must be there, and return a row for each."""
    import pandas as pd

    folders = [p for p in path if p.is_dir()]
    if folders:
        raise InputError(
            f"{wording.listed(str(p) for p in folders)} is a folder.",
            "Name the files in it; `--folder` names the folder on the service.",
        )
    missing = [p for p in path if not p.is_file()]
    if missing:
        raise InputError(
            f"There is no file {wording.listed(str(p) for p in missing)}.",
            "Check the path: it counts from the notebook's folder.",
        )
    rows = []
    for each in path:
        call.jobs.upload(each, folder)
        rows.append({"file": each.name, "folder": folder or "", "bytes": each.stat().st_size})
    output.say(
        f"{wording.listed(p.name for p in path)} uploaded; "
        f"a setting refers to {'it' if len(path) == 1 else 'each'} by that name."
    )
    return pd.DataFrame(rows)


def files(call: Call, *, folder: str | None, folders: bool) -> pd.DataFrame:
    """Return a row for each uploaded file."""
    import pandas as pd

    return pd.DataFrame({"file": call.jobs.files(folder, include_folders=folders)}, dtype="str")
