"""`%jobs tools`, `tool`, `list`, `show`, `watch`, `stop`, `delete` and `usage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import JobFailedError
from labext.progress import Outcome, Progress
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.namespace import to_frame
from labext_magics.core.options import OUT

if TYPE_CHECKING:
    import pandas as pd


def tools(call: Call, *, word: str | None) -> pd.DataFrame:
    """Return the tools, filtered by a word in their name, title or description."""
    tools = call.jobs.tools()
    if word is None:
        return tools
    texts = tools[["name", "displayName", "description"]].fillna("").astype(str)
    matches = texts.apply(lambda column: column.str.contains(word, case=False, regex=False))
    matching: pd.DataFrame = tools.loc[matches.any(axis=1)]
    return matching.reset_index(drop=True)


def tool(call: Call, *, tool: str) -> pd.DataFrame:
    """Return one row per parameter of a tool, and print the tool's description and links."""
    parameters = call.jobs.tool(tool)
    if description := parameters.attrs.get("description"):
        output.print_message(f"{tool}: {description}")
    urls = [("Paper", parameters.attrs.get("paper")), ("source", parameters.attrs.get("github"))]
    if links := "; ".join(f"{label}: {url}" for label, url in urls if url):
        output.print_message(messages.capitalize_first(links))
    return parameters


def list_(call: Call, *, from_: Any, **query: Any) -> pd.DataFrame:
    """Return one row per job; jobs of a batch are in its order, joined with their input rows."""
    jobs = call.jobs.jobs(rows=None if from_ is None else to_frame(from_), **query)
    if key := jobs.attrs.get("start_key"):
        output.print_message(f"There are more jobs: continue with `--start-key {key}`.")
    return jobs


def show(call: Call, *, name: str, email: str | None) -> pd.DataFrame:
    """Return the row of one job, batch or pipeline."""
    return call.jobs.show(name, email=email)


def watch(call: Call, *, name: str, background: bool, email: str | None) -> pd.DataFrame | None:
    """Watch a job until it ends, and return its row; None in the background."""
    ended = follow(call, name, background=background, email=email)
    return call.jobs.show(name, email=email) if ended else None


def follow(call: Call, name: str, *, background: bool, email: str | None = None) -> bool:
    """Show the progress of a job, a batch or a pipeline, and return True if it is complete.

    Raises:
        JobFailedError: the job has failed or was stopped.
    """
    jobs = call.jobs

    def stop() -> None:
        jobs.stop(name)

    last = output.watch(
        jobs.watch(name, email=email),
        again=f"%jobs watch {name}" + (f" --email {email}" if email else ""),
        background=background,
        stop=None if email else stop,  # callers can stop only their own jobs
    )
    if last is None or last.outcome is None:
        return False
    if last.outcome is not Outcome.COMPLETE:
        raise _job_failed_error(last)
    return True


def _job_failed_error(last: Progress) -> JobFailedError:
    reason = f": {last.reason.rstrip('.')}" if last.reason else ""
    next_step = f"`%jobs show {last.subject}` shows its settings."
    if last.kind in ("batch", "pipeline"):
        next_step = f"`%jobs list --batch {last.subject}` shows its jobs."
        if last.states.get("Complete"):
            next_step += f" `%jobs results {last.subject}` downloads the results of complete jobs."
    return JobFailedError(
        f"The {last.kind} {last.subject} ended with the state {last.phase}{reason}.", next_step
    )


STATISTICS = ("weighted_hours", "jobs")
SCOPES = ("user", "organization")


def stop(call: Call, *, name: list[str]) -> None:
    """Stop jobs, batches or pipelines after checking that all of them exist."""
    jobs = dict.fromkeys(name)
    for job in jobs:
        call.jobs.job(job)
    for job in jobs:
        output.print_confirmation(call.jobs.stop(job))


def delete(call: Call, *, name: list[str], yes: bool, preview: bool) -> pd.DataFrame | None:
    """Delete jobs, batches or pipelines; a preview returns the affected rows."""
    rows = {job: call.jobs.job(job) for job in name}
    affected = [_describe_job(job, row) for job, row in rows.items()]
    if not output.confirm_destruction("delete", affected, yes=yes, preview=preview):
        from labext.jobs.frames import JOBS
        from labext.jobs.records import jobs_frame

        return JOBS.show(jobs_frame(rows.values()))
    for job in rows:
        output.print_confirmation(call.jobs.delete(job))
    return None


def _describe_job(name: str, row: dict[str, Any]) -> str:
    from labext.jobs import records

    count = sum(records.parse_tally(row.get("statuses")).values())
    jobs = f" with {messages.pluralize(count, 'job')}" if records.is_parent(row) else ""
    return f"{name} ({row.get('Type')}{jobs}, {records.phase(row)}) and its results"


def workers(call: Call) -> pd.DataFrame:
    """Return the workers, and print the jobs that no worker can run."""
    frame = call.jobs.workers()
    for entry in frame.attrs["waiting"]:
        jobs = messages.pluralize(int(entry["jobs"]), "job")
        output.print_message(f"{jobs} of {entry['tool']} cannot start: {entry['reason']}")
    return frame


WORKERS = Command(
    "workers",
    "Show the workers, and the jobs that no worker can run.",
    workers,
    options=[OUT],
    examples=["machines = %jobs workers"],
)


def usage(call: Call, *, statistic: str | None, scope: str | None) -> pd.DataFrame:
    """Return the usage: one row for the total, one per tool and one per user."""
    return call.jobs.usage(statistic or STATISTICS[0], scope or SCOPES[0])


USAGE = Command(
    "usage",
    "Show usage: in total, by tool and by user.",
    usage,
    options=[
        Parameter(
            "statistic",
            value_types.choice(*STATISTICS),
            "the quantity to count; weighted hours by default",
        ),
        Parameter(
            "scope",
            value_types.choice(*SCOPES),
            "your own usage (default), or the organization's, which requires permission",
        ),
        OUT,
    ],
    examples=["hours = %jobs usage --statistic weighted_hours --scope user"],
)
