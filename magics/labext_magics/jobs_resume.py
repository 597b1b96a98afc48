"""`%jobs resume`: finishing a batch that broke off, and the list of those that did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from labext.errors import InputError, SubmissionInterrupted
from labext_magics import jobs_follow, kinds, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.jobs_options import AFTERWARDS

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs import JobsClient


def resume(
    call: Call, *, name: str | None, wait: bool, to: Path | None, background: bool
) -> pd.DataFrame:
    """Finish a batch and return a row for each job; without a name, list what is unfinished."""
    jobs_follow.check(wait=wait, to=to, background=background)
    jobs = call.jobs
    if name is None:
        if wait or background:
            raise InputError(
                "`%jobs resume` needs a NAME to wait for.",
                "Without one it lists the batches that are unfinished.",
            )
        return _unfinished(jobs)
    with interruptible(jobs, name):
        done = jobs.resume(name)
    output.say(done.message)
    if len(done.gone) == len(done.parts):
        return done.frame
    ended = jobs_follow.follow(call, name, wait=wait, to=to, background=background)
    return jobs.jobs(batch=name, scores=True) if ended else done.frame


@contextmanager
def interruptible(jobs: JobsClient, name: str) -> Iterator[None]:
    """Let an interrupt while a batch is sent say how far it has come, and how to finish it.

    Raises:
        SubmissionInterrupted: the kernel was interrupted after the sending had begun.
    """
    try:
        yield
    except KeyboardInterrupt:
        if name not in jobs.unfinished_names():
            raise  # nothing was sent, or all of it
        raise SubmissionInterrupted(
            f"The sending of {name} was interrupted; what has arrived stays.",
            f"`%jobs resume {name}` sends the rest; `%jobs delete {name} --yes` removes it all.",
        ) from None


def _unfinished(jobs: JobsClient) -> pd.DataFrame:
    found = jobs.unfinished()
    if not found.empty:  # an empty one says so itself
        output.say("`%jobs resume NAME` sends what is missing of one.")
    return found


RESUME = Command(
    "resume",
    "Finish a batch that broke off while it was sent; without NAME, list those that did.",
    resume,
    [Parameter("NAME", kinds.UNFINISHED, "a batch that was sent from this machine")],
    [*AFTERWARDS],
    details="Every batch is written to this machine's disk before it is sent, so that neither the "
    "notebook that sent it nor its data is needed. What is on the service is not sent again, nor "
    "is what was deleted there since.",
    examples=["%jobs resume folds --wait"],
)
