"""`%jobs submit`, `batch` and `resume`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError, SubmissionInterrupted
from labext_magics.core import output, value_types
from labext_magics.core.cell_body import cast_settings, merge_pairs
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.namespace import to_rows
from labext_magics.core.session import session_lock
from labext_magics.jobs import cell_body, files, listing
from labext_magics.jobs.options import AFTERWARDS

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs import JobsClient
    from labext.jobs.estimates import Estimate


def check_follow_options(
    *, wait: bool, to: Path | None, background: bool, only_check: bool = False
) -> None:
    """Check the options for waiting and results; raise InputError if the options conflict."""
    conflicts = {
        "`--to` needs `--wait`": to is not None and not wait,
        "`--background` and `--wait` exclude each other": background and wait,
        "`--check` submits nothing, so there is nothing to wait for": only_check
        and (wait or background),
    }
    for message, applies in conflicts.items():
        if applies:
            next_step = (
                "Add `--wait`." if to is not None and not only_check else "Keep one of them."
            )
            raise InputError(f"{message}.", next_step)


def watch_and_fetch(
    call: Call, name: str, *, wait: bool, to: Path | None, background: bool
) -> bool:
    """Watch a submission and download its results, if requested; return True if it is complete."""
    if not wait and not background:
        return False
    ended = listing.follow(call, name, background=background)
    if ended and to is not None:
        files.results(call, name=name, to=to, file=None, pdbs_only=False, email=None)
    return ended


def resume(
    call: Call, *, name: str | None, wait: bool, to: Path | None, background: bool
) -> pd.DataFrame:
    """Send the rest of a batch and return one row per job; by default list unfinished batches."""
    check_follow_options(wait=wait, to=to, background=background)
    jobs = call.jobs
    if name is None:
        if wait or background:
            raise InputError(
                "`%jobs resume --wait` needs a NAME.", "Without a NAME it lists unfinished batches."
            )
        batches = jobs.unfinished()
        if not batches.empty:  # the view displays its own message for an empty DataFrame
            output.print_message("`%jobs resume NAME` sends the missing jobs of a batch.")
        return batches
    with sending(jobs, name) as on_sent:
        submission = jobs.resume(name, on_sent)
    output.print_message(submission.message)
    if len(submission.deleted) == len(submission.parts):
        return submission.frame
    ended = watch_and_fetch(call, name, wait=wait, to=to, background=background)
    return jobs.jobs(batch=name, scores=True) if ended else submission.frame


@contextmanager
def sending(jobs: JobsClient, name: str) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function that shows how many jobs of a batch were sent.

    Waits for another session that sends the same batch.

    Raises:
        SubmissionInterrupted: the kernel was interrupted when a part of the batch had been sent.
    """
    waiting = f"Waiting for another session that submits {name}."
    try:
        with (
            session_lock("jobs", waiting, jobs.base_url, name),
            output.list_progress(name, "submission", "Sending") as on_sent,
        ):
            yield on_sent
    except KeyboardInterrupt:
        if name not in jobs.unfinished_names():
            raise  # nothing was sent, or the batch is complete
        raise SubmissionInterrupted(
            f"Sending {name} was interrupted; the jobs received so far are kept.",
            f"`%jobs resume {name}` sends the rest; `%jobs delete {name} --yes` deletes the batch.",
        ) from None


RESUME = Command(
    "resume",
    "Finish sending an interrupted batch; without NAME, list the unfinished batches.",
    resume,
    [Parameter("NAME", value_types.UNFINISHED, "a batch submitted from this machine")],
    [*AFTERWARDS],
    details="Each batch is saved on this machine before it is sent, so resuming needs neither "
    "the notebook nor its data. Jobs that exist on the service, or were deleted there, "
    "are not sent again.",
    examples=["%jobs resume folds --wait"],
)


NOT_SENT = "nothing was submitted"


def submit(
    call: Call,
    *,
    tool: str | None,
    name: str | None,
    settings: list[dict[str, Any]],
    project: str | None,
    check: bool,
    **follow: Any,
) -> pd.DataFrame:
    """Submit one job and return its row; an identical job is not repeated."""
    check_follow_options(only_check=check, **follow)
    line = cell_body.Job(tool, name, merge_pairs(settings), project)
    job = line if call.body is None else cell_body.parse_job(call.body, line)
    if job.tool is None:
        raise InputError(
            "`%%jobs submit` needs a tool.", "Give it after `submit`, or as `type:` in the body."
        )
    jobs = call.jobs
    typed = cast_settings(jobs.describe(job.tool), job.settings)
    if check:
        import pandas as pd

        sent = jobs.validate(job.tool, typed, job.name)
        output.print_message(f"The settings of {job.tool} are valid; {NOT_SENT}.")
        print_estimate(jobs.estimate(job.tool, [sent]), f"{job.tool} has no earlier runs")
        return pd.DataFrame({"setting": list(sent), "value": list(sent.values())})
    submission = jobs.submit(job.name, job.tool, typed, job.project)
    output.print_message(submission.message)
    watch_and_fetch(call, submission.name, **follow)
    return jobs.submitted_row(submission)


def batch(
    call: Call,
    *,
    name: str | None,
    tool: str | None,
    from_: Any,
    name_column: str | None,
    mapping: list[dict[str, str]],
    settings: list[dict[str, Any]],
    max_runtime: int | None,
    budget: float | None,
    skip_invalid: bool,
    over_budget: bool,
    check: bool,
    **follow: Any,
) -> pd.DataFrame:
    """Submit a batch and return one row per job; an identical batch is not repeated.

    With `skip_invalid`, invalid jobs are skipped and their rows are returned.
    """
    check_follow_options(only_check=check, **follow)
    request = cell_body.Batch(name, tool, None, max_runtime, budget)
    if call.body is not None:
        sources = {"--from": from_ is not None, "--name-column": name_column is not None}
        for option, present in {**sources, "--map": bool(mapping)}.items():
            if present:
                raise InputError(
                    f"The jobs are in the cell body, so `{option}` cannot be used.",
                    "Use `%jobs batch` with `--from`, or the body.",
                )
        request = cell_body.parse_batch(call.body, request)
    elif from_ is not None:
        request = replace(request, jobs=to_rows(from_))
    if request.name is None or request.tool is None or request.jobs is None:
        parts = {"a NAME": request.name, "`--type`": request.tool, "`--from`": request.jobs}
        missing = [option for option, value in parts.items() if value is None]
        raise InputError(
            f"`%jobs batch` needs {messages.join_all(missing, 'and')}.",
            "Example: `%jobs batch folds --type rna_fold --from frame --name-column name "
            "--map sequence=bases`.",
        )
    jobs = call.jobs
    schema = jobs.describe(request.tool)
    rows = request.jobs
    if isinstance(rows, Mapping):
        rows = {job: cast_settings(schema, values) for job, values in rows.items()}
    arguments: dict[str, Any] = {
        "settings": cast_settings(schema, merge_pairs(settings)),
        "name_column": name_column,
        "mapping": merge_pairs(mapping) or None,
        "max_runtime_seconds": request.max_runtime,
        "weighted_hours_budget": request.budget,
        "skip_invalid": skip_invalid,
    }
    if check:
        checked = jobs.check_batch(request.name, request.tool, rows, **arguments)
        if skip_invalid and len(checked):
            result = f"{messages.pluralize(len(checked), 'row')} would be skipped"
        else:
            count = "all jobs" if skip_invalid else messages.pluralize(len(checked), "job")
            result = f"{request.name} is valid with {count}"
        output.print_message(f"{result}; {NOT_SENT}.")
        for note in ("adapted", "unused"):
            if message := checked.attrs.get(note):
                output.print_message(message)
        print_estimate(stored_estimate(checked), f"{request.tool} has no earlier runs")
        return checked
    with sending(jobs, request.name) as on_sent:
        submission = jobs.submit_batch(
            request.name, request.tool, rows, over_budget=over_budget, on_sent=on_sent, **arguments
        )
    output.print_message(submission.message)
    ended = watch_and_fetch(call, submission.name, **follow)
    if skip_invalid and submission.refused is not None:
        return submission.refused
    return jobs.jobs(batch=submission.name, scores=True) if ended else submission.frame


def stored_estimate(checked: pd.DataFrame) -> Estimate | None:
    """Return the estimate in the attributes of a checked batch or pipeline."""
    from labext.jobs.estimates import Estimate

    fields = checked.attrs.get("estimate")
    return None if fields is None else Estimate(**fields)


def print_estimate(estimate: Estimate | None, reason: str) -> None:
    """Print an estimate, or that the run time is unknown and why."""
    output.print_message(
        f"The run time is unknown: {reason}." if estimate is None else str(estimate)
    )
