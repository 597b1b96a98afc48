"""Follow a submission: watch it, fetch its results, show its row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labext.errors import InputError
from labext_magics import jobs_files, jobs_look
from labext_magics.dispatch import Call

if TYPE_CHECKING:
    import pandas as pd


def check(*, wait: bool, to: Path | None, background: bool, only_check: bool = False) -> None:
    """Raise InputError for options about what comes afterwards that don't go together."""
    faults = {
        "`--to` fetches the results when there are some": to is not None and not wait,
        "`--background` doesn't wait, and `--wait` does": background and wait,
        "`--check` submits nothing, so there is nothing to wait for": only_check
        and (wait or background),
    }
    for what, is_wrong in faults.items():
        if is_wrong:
            step = "Add `--wait`." if to is not None and not only_check else "Keep one of the two."
            raise InputError(f"{what}.", step)


def submitted_row(call: Call, name: str) -> pd.DataFrame:
    """Return the row of what was submitted, which is shown in one line."""
    from labext.jobs.rowviews import SUBMITTED

    return SUBMITTED.show(call.jobs.show(name))


def follow(call: Call, name: str, *, wait: bool, to: Path | None, background: bool) -> bool:
    """Watch what was submitted and fetch its results, if asked to; say whether it has ended."""
    if not wait and not background:
        return False
    ended = jobs_look.follow(call, name, background=background)
    if ended and to is not None:
        jobs_files.results(call, name=name, to=to, file=None, pdbs_only=False, email=None)
    return ended
