"""`%jobs` results, upload and files: what goes over the wire as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labext.errors import InputError
from labext_magics import output
from labext_magics.dispatch import Call

if TYPE_CHECKING:
    import pandas as pd


def results(
    call: Call, *, name: str, to: Path | None, file: str | None, pdbs_only: bool, email: str | None
) -> pd.DataFrame:
    """Fetch results into a folder, say where they are, and return a row for each file."""
    fetched = call.jobs.download(
        name, to or Path(name), file=file, pdbs_only=pdbs_only, email=email
    )
    output.say(fetched.message)
    return fetched.files


def upload(call: Call, *, path: list[Path], folder: str | None) -> pd.DataFrame:
    """Upload files, all of which must be there, and return a row for each."""
    import pandas as pd

    missing = [p for p in path if not p.is_file()]
    if missing:
        raise InputError(
            f"There is no file {output.listed(str(p) for p in missing)}.",
            "Check the path: it counts from the notebook's folder.",
        )
    rows = []
    for each in path:
        call.jobs.upload(each, folder)
        rows.append({"file": each.name, "folder": folder or "", "bytes": each.stat().st_size})
    output.say(
        f"{output.listed(p.name for p in path)} uploaded; "
        f"a setting refers to {'it' if len(path) == 1 else 'each'} by that name."
    )
    return pd.DataFrame(rows)


def files(call: Call, *, folder: str | None, folders: bool) -> pd.DataFrame:
    """Return a row for each uploaded file."""
    import pandas as pd

    return pd.DataFrame({"file": call.jobs.files(folder, include_folders=folders)}, dtype="str")
