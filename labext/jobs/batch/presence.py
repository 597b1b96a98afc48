"""Look up which parts of a batch the service has, and compare them with what is to be sent."""

from __future__ import annotations

from labext.jobs import names, rows
from labext.jobs.batch.journal import Journal
from labext.jobs.batch.parts import Parts
from labext.jobs.batch.plan import Part, Plan
from labext.jobs.identity import difference
from labext.jobs.input_content import NO_FILES, InputContent
from labext.jobs.rows import Row
from labext.jobs.service import Service
from labext.jobs.submission import taken


class Presence:
    """Looks up what stands under a plan's names on one service."""

    def __init__(self, service: Service, journal: Journal, parts: Parts) -> None:
        self._service = service
        self._journal = journal
        self._parts = parts

    def of(self, plan: Plan, content: InputContent = NO_FILES) -> dict[str, Row]:
        """Return the rows of the parts that are there, by their names.

        Each is compared with the plan, at one request a part, and with the content of the files
        that the settings name.

        Raises:
            ConflictError: a name is taken by something else, or by a batch with other content.
        """
        return self._split(plan, content) if plan.split else self._single(plan, content)

    def part(self, plan: Plan, part: Part, content: InputContent = NO_FILES) -> Row | None:
        """Return the row of one part; None where its name is free.

        Raises:
            ConflictError: the name is taken by something else, or by a batch with other content.
        """
        row = self._service.find(part.name)
        if row is not None:
            self._check(plan, part, row, content)
        return row

    def _single(self, plan: Plan, content: InputContent) -> dict[str, Row]:
        entry = self._journal.read(plan.name)
        if (
            entry is not None
            and entry.plan.split
            and any(self._service.find(part.name) for part in entry.plan.parts)
        ):
            raise taken(plan.name, f"it is a batch of {len(entry.plan.jobs):,} jobs")
        (part,) = plan.parts
        row = self.part(plan, part, content)
        return {} if row is None else {part.name: row}

    def _split(self, plan: Plan, content: InputContent) -> dict[str, Row]:
        if (row := self._service.find(plan.name)) is not None:
            kind = "batch that is not split" if rows.is_batch(row) else _kind(row)
            raise taken(plan.name, f"it is a {kind}")
        listed = self._parts.listed(plan.name).parts
        for count in listed:
            if count != len(plan.parts):
                raise taken(plan.name, f"it is a batch in {count} parts, not {len(plan.parts)}")
        found = {}
        for number, row in listed.get(len(plan.parts), {}).items():
            part = plan.parts[number - 1]
            self._check(plan, part, row, content)
            found[part.name] = row
        return found

    def _check(self, plan: Plan, part: Part, row: Row, content: InputContent) -> None:
        """Compare a batch on the service with the part that is to be sent.

        Raises:
            ConflictError: it is not the same, or its files had other content.
        """
        if not rows.is_batch(row):
            raise taken(plan.name, f"{part.name} is a {_kind(row)}")
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
        settings = [plan.jobs[job] for job in part.jobs]
        values = {value for one in settings for value in one.values() if isinstance(value, str)}
        content.check(plan.name, row, values)


def _kind(row: Row) -> str:
    return "pipeline" if rows.is_pipeline(row) else "single job"
