"""What is said of a batch that was sent, finished or found: one sentence, and a frame."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labext import wording
from labext.jobs import adapting, joining
from labext.jobs.batch.plan import Part, Plan

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BatchSubmission:
    """A batch that was submitted, finished, or that was there already.

    Attributes:
        name: the batch's name.
        parts: the batches of the service that it consists of; one, of the same name, if it was
            not split.
        count: how many jobs it has.
        created: whether anything was sent.
        message: what happened, in a sentence or two.
        frame: a row a job: Name, JobName (as the service knows it), Part, and the input's columns;
            where names were adapted the original ones stand behind JobName.
        sent: the parts that were sent now.
        gone: parts that the service had from here and has no more; `resume` sends none again.
        refused: the rows that were left out as invalid: Name, Error, and the input's columns.
    """

    name: str
    parts: tuple[str, ...]
    count: int
    created: bool
    message: str
    frame: pd.DataFrame = field(repr=False, compare=False)
    sent: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    refused: pd.DataFrame | None = field(default=None, repr=False, compare=False)


@dataclass
class Findings:
    """What is found out of a batch's parts, one after the other.

    Attributes:
        there: parts that the service had before anything was sent from here.
        known: parts that were sent from here, as the journal knew.
        arrived: parts that were sent from here earlier, and whose answer was lost.
        sent: parts that were sent now.
        gone: parts that the service had from here, and has no more.
        stopped: those of the parts there that have been stopped.
    """

    there: list[Part] = field(default_factory=list)
    known: list[Part] = field(default_factory=list)
    arrived: list[Part] = field(default_factory=list)
    sent: list[Part] = field(default_factory=list)
    gone: list[Part] = field(default_factory=list)
    stopped: list[Part] = field(default_factory=list)


def report(
    plan: Plan,
    found: Findings,
    *,
    resumed: bool,
    refused: pd.DataFrame | None = None,
    caveats: Iterable[str] = (),
) -> BatchSubmission:
    """Return what is said of a batch whose parts have all been seen to.

    Args:
        plan: the batch.
        found: what became of its parts.
        resumed: whether it was to be finished.
        refused: the rows that were left out as invalid.
        caveats: sentences about what could not be compared.
    """
    said = [_whole(plan, found) if resumed else _submitted(plan, found)]
    said += [caveat for caveat in caveats if caveat]
    if refused is not None and len(refused):
        were = "row was" if len(refused) == 1 else "rows were"
        said.append(
            f"{len(refused):,} {were} left out as invalid: "
            f"{wording.listed(refused['Name'].fillna('one without a name'))}."
        )
    if found.gone:
        were, them = ("was", "It is") if len(found.gone) == 1 else ("were", "They are")
        said.append(
            f"{_named(found.gone)} {were} sent and {were} deleted since: {_jobs(found.gone)}. "
            f"{them} not sent again; the same `%jobs batch` line would."
        )
    if words := adapting.told(plan.originals):
        said.append(words)
    if resumed and found.stopped:
        were = "has" if len(found.stopped) == 1 else "have"
        said.append(f"{_named(found.stopped)} {were} been stopped.")
    return BatchSubmission(
        plan.name,
        tuple(part.name for part in plan.parts),
        len(plan.jobs),
        bool(found.sent),
        " ".join(said),
        overview(plan),
        tuple(part.name for part in found.sent),
        tuple(part.name for part in found.gone),
        refused,
    )


def overview(plan: Plan) -> pd.DataFrame:
    """Return a row a job of a plan: Name, JobName, Part, and the input's columns.

    Where names were adapted the original ones stand behind JobName, and `.attrs["adapted"]` says
    so in a sentence.
    """
    import pandas as pd

    from labext.jobs.rowviews import JOBS

    records = [(job, f"{part.name}-{job}", part.name) for part in plan.parts for job in part.jobs]
    frame = pd.DataFrame(records, columns=["Name", "JobName", "Part"])
    if plan.beside is None:
        return JOBS.show(frame.assign(Settings=pd.Series([*plan.jobs.values()], dtype=object)))
    made = JOBS.show(joining.beside(frame, plan.beside, plan.name_column))
    made.attrs["adapted"] = adapting.told(plan.originals)
    return made


def _submitted(plan: Plan, found: Findings) -> str:
    """Say what the same line, for the first time or again, has done."""
    jobs, count = _jobs(plan.parts), len(plan.parts)
    if not found.sent:
        said = f"{plan.name} is there already with the same {jobs}; nothing was sent."
        if found.arrived:
            said += f" {_arrived(plan, found)}"
        return said
    if not plan.split:
        return f"{plan.name} was submitted with {jobs}."
    if len(found.sent) == count:
        return f"{plan.name} was submitted with {jobs}, in {count} parts ({_ends(plan)})."
    return (
        f"{count - len(found.sent)} of {count} parts of {plan.name} were there already; "
        f"the other {_were_submitted(found.sent)}."
    )


def _whole(plan: Plan, found: Findings) -> str:
    """Say what was missing of a batch that was to be finished, and what was sent."""
    jobs, count = _jobs(plan.parts), len(plan.parts)
    if not found.sent and not found.arrived:
        if found.gone:
            return f"Nothing of {plan.name} was left to send."
        parts = f" in {count} parts" if plan.split else ""
        return f"{plan.name} is whole: the service has its {jobs}{parts}; nothing was sent."
    said = []
    if found.arrived:
        said.append(_arrived(plan, found))
    if found.sent:
        were = "was" if len(found.sent) == 1 else "were"
        said.append(f"{_named(found.sent)} {were} missing: {_were_submitted(found.sent)}.")
    else:
        said.append("Nothing was sent.")
    whole = "" if found.gone else f" {plan.name} is whole now, with {jobs}."
    return " ".join(said) + whole


def _arrived(plan: Plan, found: Findings) -> str:
    which = _named(found.arrived) if plan.split else plan.name
    return f"{which} had arrived, though the answer was lost."


def _named(parts: Collection[Part]) -> str:
    return wording.listed((part.name for part in parts), 3)


def _jobs(parts: Iterable[Part]) -> str:
    return wording.count(sum(len(part.jobs) for part in parts), "job")


def _were_submitted(parts: Collection[Part]) -> str:
    jobs = _jobs(parts)
    return f"{jobs} was submitted" if jobs == "1 job" else f"{jobs} were submitted"


def _ends(plan: Plan) -> str:
    return f"{plan.parts[0].name} to {plan.parts[-1].name}"
