"""`%jobs view`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, JobFailedError, NotReadyError
from labext.messages import pluralize
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT
from labext_magics.jobs.options import EMAIL, JOB

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs import JobsClient
    from labext.jobs.records import JobRecord
    from labext_widgets.progress.job_log import JobLog
    from labext_widgets.results import JobFiles


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
    return call.jobs.outputs(name, email)


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


def view(
    call: Call,
    *,
    name: str,
    file: str | None,
    compare: str | None,
    email: str | None,
    **gallery: Any,
) -> Any:
    """Return the view of a job's results, or the gallery of a batch."""
    from labext.jobs import records
    from labext_widgets import results

    row = call.jobs.job(name, email)
    if records.is_parent(row) and file is None:
        if compare is not None:
            _check_single(row, name)
        return _batch_gallery(call.jobs, name, email, **gallery)
    if any(gallery.values()):
        raise InputError(
            f"{name} is a single job; `--sort`, `--descending` and `--page` are for batches.",
            "Omit these options.",
        )
    files = _job_files(call.jobs, row, email)
    if compare is None:
        return results.open_job(files, file)
    other_row = call.jobs.job(compare, email)
    _check_single(other_row, compare)
    other = _job_files(call.jobs, other_row, email)
    return results.open_comparison(files, file, other)


def _check_single(row: JobRecord, name: str) -> None:
    """Check that a row is a single job, else raise InputError."""
    from labext.jobs import records

    if records.is_parent(row):
        raise InputError(
            f"{name} is a {records.kind(row)}; `--compare` takes a single job.",
            f"`%jobs list --batch {name}` lists its jobs.",
        )


def _batch_gallery(
    jobs: JobsClient,
    name: str,
    email: str | None,
    *,
    sort: str | None = None,
    descending: bool = False,
    page: int | None = None,
) -> Any:
    """Return the gallery of a batch's complete jobs, and print their number.

    By default, the jobs are sorted by their first score.
    """
    from labext.jobs import records
    from labext.progress import Outcome
    from labext_widgets import results

    rows = list(jobs.iter_jobs(batch=name, email=email))
    complete = [row for row in rows if records.outcome(row) is Outcome.COMPLETE]
    if not complete:
        message = f"None of the {pluralize(len(rows), 'job')} of {name} is complete."
        if rows and all(map(records.outcome, rows)):
            raise JobFailedError(message, f"`%jobs list --batch {name}` shows the reasons.")
        raise NotReadyError(message, f"`%jobs watch {name}` waits for them.")
    if len(complete) < len(rows):
        output.print_message(
            f"{len(complete)} of the {pluralize(len(rows), 'job')} of {name} "
            f"{'is' if len(complete) == 1 else 'are'} complete."
        )
    files_by_job = dict[Any, Sequence[str]]()
    files = list[Any]()
    for row in complete:  # the jobs of one tool write the same files
        tool = row.get("Type")
        if tool not in files_by_job:
            files_by_job[tool] = jobs.result_files(str(row["JobName"]), email)
        files.append(_job_files(jobs, row, email, files_by_job[tool]))
    first_score = next((score for job in files for score in job.scores), None)
    return results.open_gallery(
        name, files, sort=sort or first_score, ascending=not descending, page=page or 1
    )


def _job_files(
    jobs: JobsClient, row: JobRecord, email: str | None, paths: Sequence[str] | None = None
) -> JobFiles:
    from labext.jobs.identity import stored_settings
    from labext_widgets.results import JobFiles

    name = str(row["JobName"])
    read: Callable[[str], bytes] = partial(jobs.read_result, name, email=email)
    return JobFiles(
        name,
        jobs.result_files(name, email) if paths is None else paths,
        read,
        stored_settings(row) or {},
        _numeric_scores(row),
    )


def _numeric_scores(row: JobRecord) -> dict[str, float]:
    from labext.jobs.identity import stored_record

    scores = stored_record(row, "Score") or {}
    return {
        str(key): float(value)
        for key, value in scores.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


VIEW = Command(
    "view",
    "View a job's results: structures, trees, drawings, pictures, tables or text.",
    view,
    [JOB, Parameter("FILE", value_types.RESULT_FILE, "a file of the job; by default the main one")],
    [
        Parameter("compare", value_types.JOB, "superpose the structure of this job"),
        Parameter(
            "sort",
            value_types.text_type("SCORE", "scores"),
            "sort the jobs of a batch by this score; by default the first score",
        ),
        Parameter("descending", None, "sort in descending order"),
        Parameter("page", value_types.INTEGER, "the page of the gallery"),
        EMAIL,
        OUT,
    ],
    details="The view depends on the content of the file. A batch is shown as a gallery.",
    examples=[
        "%jobs view helix1",
        "viewer = %jobs view strand1 --compare helix1",
        "%jobs view folds --sort mfe",
    ],
)
