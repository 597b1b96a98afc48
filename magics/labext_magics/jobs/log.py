"""`%jobs log` and `%jobs outputs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT
from labext_magics.jobs.options import EMAIL

if TYPE_CHECKING:
    import pandas as pd

    from labext_widgets.progress.job_log import JobLog

_MORE_LINES = 2000
_JOB = Parameter("NAME", value_types.JOB, "a job", required=True)


def log(call: Call, *, name: str, follow: bool, tail: int | None, email: str | None) -> JobLog:
    """Return the log of a job, and the reason if the job failed."""
    from labext_widgets.progress import job_log

    jobs = call.jobs
    line = f"%jobs log {quote(name)}" + (f" --email {quote(email)}" if email else "")
    more = f"{line} --tail {max(_MORE_LINES, 10 * (tail or 0))}"

    def end() -> tuple[str, str]:
        from labext.jobs import records

        row = jobs.job(name, email)
        return records.phase(row), records.reason(row)

    if follow:
        again = f"{line} --follow"
        parts = jobs.follow_log(name, email=email)
        return job_log.follow_log(parts, name=name, end=end, again=again, tail=tail, more=more)
    text = jobs.log(name, email=email)
    state, reason = end()
    return job_log.JobLog(text, name=name, state=state, reason=reason, tail=tail, more=more)


def outputs(call: Call, *, name: str, email: str | None) -> pd.DataFrame:
    """Return one row per file that a job has written so far."""
    files = call.jobs.outputs(name, email)
    if files.empty:
        output.print_message(f"{name} has not written any files yet.")
    return files


LOG = Command(
    "log",
    "Show the output of a job, also while it runs or after it was stopped.",
    log,
    [_JOB],
    [
        Parameter("follow", None, "show new lines until the job ends"),
        Parameter("tail", value_types.INTEGER, "number of lines to show; by default 200"),
        EMAIL,
        OUT,
    ],
    details="The result is the whole log as text. Interrupting --follow stops only the display. A "
    "service other than the sandbox may keep the logs of complete jobs only.",
    examples=["%jobs log helix1 --tail 20", "text = %jobs log helix1"],
)
OUTPUTS = Command(
    "outputs",
    "List the files written by a job, also while it runs or after it was stopped.",
    outputs,
    [_JOB],
    [EMAIL, OUT],
    details="The column `view` is the kind of view for the file.",
    examples=["files = %jobs outputs helix1"],
)
