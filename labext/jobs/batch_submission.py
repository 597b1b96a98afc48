"""Submitting a batch: looked up, journalled, sent part by part, each part once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.jobs import joining, names, rows
from labext.jobs.batches import Part, Plan
from labext.jobs.identity import canonical, difference
from labext.jobs.journal import Journal
from labext.jobs.parts import Parts
from labext.jobs.rows import Row
from labext.jobs.schema import Tool
from labext.jobs.service import Service
from labext.jobs.submission import send_once, taken

if TYPE_CHECKING:
    import pandas as pd

_VALIDATED = 50
"""The most jobs of a split batch that the service is asked to validate before any is sent."""


@dataclass(frozen=True)
class BatchSubmission:
    """A batch that was submitted, or that was there already.

    Attributes:
        name: the batch's name.
        parts: the batches of the service that it consists of; one, of the same name, if it was
            not split.
        count: how many jobs it has.
        created: whether anything was sent.
        message: what happened, one sentence.
        frame: a row a job: Name, JobName (as the service knows it), Part, and the input's columns.
    """

    name: str
    parts: tuple[str, ...]
    count: int
    created: bool
    message: str
    frame: pd.DataFrame = field(repr=False, compare=False)


class BatchSubmitter:
    """Sends plans to one service."""

    def __init__(self, service: Service, journal: Journal, parts: Parts) -> None:
        self._service = service
        self._journal = journal
        self._parts = parts

    def submit(self, plan: Plan, tool: Tool) -> BatchSubmission:
        """Send what is not there yet of a batch; its settings and names are checked.

        Raises:
            ConflictError: the name is taken by another batch or job.
            InputError: the service refuses a job's settings; then nothing was sent, if it has
                `/validate-job`.
            StorageError: the journal can't be written; then nothing was sent.
        """
        absent = self._absent(plan)
        if plan.split:
            self._validate(plan, absent, tool)
        self._journal.write(plan, free=[part.name for part in absent])
        self._parts.forget(plan.name)
        sent: list[Part] = []
        for part in absent:
            try:
                if self._send(plan, part):
                    sent.append(part)
            except LabextError as error:
                raise self._half_done(plan, part, sent, error) from None
            self._journal.sent(plan.name, part.name)
        return BatchSubmission(
            plan.name,
            tuple(part.name for part in plan.parts),
            len(plan.jobs),
            bool(sent),
            _message(plan, sent),
            overview(plan),
        )

    def check(self, plan: Plan, tool: Tool) -> pd.DataFrame:
        """Check what `submit` would send, and send nothing; return a row a job.

        Raises:
            ConflictError: the name is taken by another batch or job.
            InputError: the service refuses a job's settings.
        """
        self._validate(plan, self._absent(plan), tool)
        return overview(plan)

    def _absent(self, plan: Plan) -> list[Part]:
        """Return the parts that the service does not have yet."""
        there = self._split_there(plan) if plan.split else self._there(plan)
        return [part for part in plan.parts if part.name not in there]

    def _there(self, plan: Plan) -> set[str]:
        entry = self._journal.read(plan.name)
        if entry is not None and entry.plan.split and self._service.find(entry.plan.parts[0].name):
            raise taken(plan.name, f"it is a batch of {len(entry.plan.jobs)} jobs")
        (part,) = plan.parts
        return set() if self._same(plan, part) is None else {part.name}

    def _split_there(self, plan: Plan) -> set[str]:
        if (row := self._service.find(plan.name)) is not None:
            kind = "batch that is not split" if rows.is_batch(row) else "single job"
            raise taken(plan.name, f"it is a {kind}")
        listed = self._parts.listed(plan.name).parts
        for count in listed:
            if count != len(plan.parts):
                raise taken(plan.name, f"it is a batch in {count} parts, not {len(plan.parts)}")
        numbers = listed.get(len(plan.parts), {})
        for number, row in numbers.items():
            self._check(plan, plan.parts[number - 1], row)
        return {plan.parts[number - 1].name for number in numbers}

    def _same(self, plan: Plan, part: Part) -> Row | None:
        row = self._service.find(part.name)
        if row is not None:
            self._check(plan, part, row)
        return row

    def _check(self, plan: Plan, part: Part, row: Row) -> None:
        """Compare a batch on the service with the part that is to be sent.

        Raises:
            ConflictError: it is not the same.
        """
        if not rows.is_batch(row):
            raise taken(plan.name, f"{part.name} is a single job")
        found = {
            names.own(str(job.get("JobName")), part.name): job
            for page in self._service.pages(batch=part.name)
            for job in page.rows
        }
        surplus = [job for job in found if job not in set(part.jobs)]
        missing = [job for job in part.jobs if job not in found]
        if surplus or missing:
            which = f"has a job {surplus[0]}" if surplus else f"has no job {missing[0]}"
            raise taken(plan.name, f"{part.name if plan.split else 'it'} {which}")
        for job in part.jobs:
            unlike = difference(plan.type, plan.jobs[job], found[job])
            if unlike is not None:
                raise taken(plan.name, f"in job {job}, {unlike}")

    def _validate(self, plan: Plan, parts: list[Part], tool: Tool) -> None:
        """Ask the service about one job of each shape in these parts, without submitting it.

        Raises:
            InputError: it would refuse one.
        """
        stored = {job: f"{part.name}-{job}" for part in parts for job in part.jobs}
        for job in shapes(tool, {job: plan.jobs[job] for job in stored})[:_VALIDATED]:
            answer = self._service.validate(
                {"jobName": stored[job], "type": plan.type, "settings": plan.jobs[job]}
            )
            if answer is None:
                return
            valid, words = answer
            if not valid:
                raise InputError(
                    f"The service would refuse job {job} of {plan.name}: {words}",
                    f"Nothing was sent; correct the settings (`%jobs tool {plan.type}`).",
                )

    def _send(self, plan: Plan, part: Part) -> bool:
        _, _, created = send_once(
            part.name,
            lambda: self._service.submit_batch(plan.body(part)),
            lambda: self._same(plan, part),
        )
        return created

    def _half_done(
        self, plan: Plan, part: Part, sent: list[Part], error: LabextError
    ) -> LabextError:
        """Return the error for a batch that broke off after some of its parts were sent."""
        if not plan.split or not sent:
            return error
        error_class = error.__class__
        return error_class(
            f"{len(sent)} of {len(plan.parts)} parts of {plan.name} were sent, then {part.name} "
            f"was not: {error.what}",
            f"{error.next_step} Then run the same line again: it sends only what is not there.",
            status=error.status,
            method=error.method,
            path=error.path,
            server=error.server,
        )


def shapes(tool: Tool, jobs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return one job of each shape: the settings it has, and the values of those with options."""
    choices = [
        parameter.name
        for parameter in tool.parameters.values()
        if parameter.options or parameter.kind == "boolean"
    ]
    first: dict[tuple[Any, ...], str] = {}
    for job, settings in jobs.items():
        chosen = tuple(canonical(settings.get(name)) for name in choices)
        first.setdefault((frozenset(settings), chosen), job)
    return list(first.values())


def overview(plan: Plan) -> pd.DataFrame:
    """Return a row a job of a plan: Name, JobName, Part, and the input's columns."""
    import pandas as pd

    records = [(job, f"{part.name}-{job}", part.name) for part in plan.parts for job in part.jobs]
    frame = pd.DataFrame(records, columns=["Name", "JobName", "Part"])
    if plan.rows is None:
        return frame.assign(Settings=pd.Series([*plan.jobs.values()], dtype=object))
    others = plan.rows if plan.name_column is None else plan.rows.drop(columns=plan.name_column)
    return joining.beside(frame, others)


def _message(plan: Plan, sent: list[Part]) -> str:
    jobs = "1 job" if len(plan.jobs) == 1 else f"{len(plan.jobs)} jobs"
    if not sent:
        return f"{plan.name} is there already with the same {jobs}; nothing was sent."
    if not plan.split:
        return f"{plan.name} was submitted with {jobs}."
    whole = f"{plan.parts[0].name} to {plan.parts[-1].name}"
    if len(sent) == len(plan.parts):
        return f"{plan.name} was submitted with {jobs}, in {len(plan.parts)} parts ({whole})."
    jobs_sent = sum(len(part.jobs) for part in sent)
    there = len(plan.parts) - len(sent)
    return (
        f"{there} of {len(plan.parts)} parts of {plan.name} were there already; "
        f"the other {jobs_sent} jobs were submitted."
    )
