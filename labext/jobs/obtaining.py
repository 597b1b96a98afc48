"""Archives and files asked of the service: the two-step download, and a split batch's parts as one.

Nothing is put into the user's folder here; that is `labext.jobs.results`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labext.errors import ArchiveError, InputError, NotFoundError
from labext.jobs import merging, names, rows
from labext.jobs.parts import Parts
from labext.jobs.rows import Row
from labext.jobs.service import Service
from labext.progress import Outcome
from labext.storage import write_whole
from labext.transport.download import OnBytes

OnPhase = Callable[[str], None]
"""Is told what is being done now; the bytes told from then on are this phase's."""


def _unheard(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Told:
    """Who is told how far a fetch is: the bytes, and the phase. Without anybody, nobody is."""

    bytes: OnBytes = _unheard
    phase: OnPhase = _unheard

    def after(self, before: int, *, last: bool) -> Told:
        """Return who is told the bytes of one part as those of all; the whole's with the last."""

        def part_bytes(done: int, size: int | None) -> None:
            self.bytes(before + done, before + size if last and size is not None else None)

        return replace(self, bytes=part_bytes)


@dataclass(frozen=True)
class Wanted:
    """Which results of a job are wanted: all, one file, or the structures only; and whose."""

    file: str | None = None
    pdbs_only: bool = False
    email: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None and self.pdbs_only:
            raise InputError(
                "`--file` is one file, and `--pdbs-only` all structures.",
                "Keep one of the two.",
            )
        if self.file == "":
            raise InputError("The name of the file is empty.", "Name one of the job's files.")

    @property
    def record(self) -> dict[str, Any]:
        """What stands in the manifest."""
        return {"fileName": self.file, "pdbsOnly": self.pdbs_only}


@dataclass(frozen=True)
class Job:
    """The job or batch whose results are fetched: its name, its row, and its parts' rows."""

    name: str
    row: Row
    found: Mapping[str, Row | None]

    @property
    def split(self) -> bool:
        """Whether it is a split batch."""
        return self.name not in self.found

    @property
    def complete(self) -> list[str]:
        """The parts of a split batch that are complete."""
        return [
            part
            for part, row in self.found.items()
            if row is not None and rows.outcome(row) is Outcome.COMPLETE
        ]


class Source:
    """Where results come from: one service.

    Args:
        service: the service.
        parts: knows split batches.
    """

    def __init__(self, service: Service, parts: Parts) -> None:
        self._service = service
        self._parts = parts

    def whole(self, job: Job, stage: Path, wanted: Wanted, told: Told) -> Path:
        """Fetch one archive, or one file, of a split batch into the stage."""
        target = stage / "whole"
        if wanted.file is None:
            return self.archive(job, stage, target, wanted, told)
        first, _, rest = wanted.file.partition("/")
        if wanted.file == merging.METRICS:
            tables = {
                part: self.download(part, stage / f"{part}.csv", wanted, told).read_bytes()
                for part in job.complete
            }
            write_whole(target, merging.metrics_of(tables, self._order(job, wanted)).encode())
            return target
        for part in job.complete:
            if rest and first in self._jobs_of(part, wanted):
                try:
                    return self.download(part, target, wanted, told)
                except NotFoundError:  # an archive whose folders have the jobs' stored names
                    stored = replace(wanted, file=f"{part}-{wanted.file}")
                    return self.download(part, target, stored, told)
        raise InputError(
            f'{job.name} has no file "{wanted.file}".', "Files are named `<job>/<file>` in a batch."
        )

    def archive(self, job: Job, stage: Path, target: Path, wanted: Wanted, told: Told) -> Path:
        """Fetch the archive; of a split batch its parts', merged."""
        if not job.split:
            # What an interrupted fetch left whole is not fetched again.
            return target if target.exists() else self.download(job.name, target, wanted, told)
        fetched: dict[str, Path] = {}
        for number, part in enumerate(job.complete, 1):
            done = sum(path.stat().st_size for path in fetched.values())
            path = stage / f"{part}.zip"
            told.phase(f"Fetching part {number} of {len(job.complete)}")
            # What an interrupted fetch left whole is not fetched again.
            if not path.exists():
                self.download(part, path, wanted, told.after(done, last=part == job.complete[-1]))
            fetched[part] = path
        told.phase("Merging")
        try:
            merging.merge(fetched, target, self._order(job, wanted), told.bytes)
        except ArchiveError:
            for path in fetched.values():
                path.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
            raise
        return target

    def download(self, name: str, target: Path, wanted: Wanted, told: Told) -> Path:
        """Fetch what is wanted of one job, or one batch of the service, to `target`."""

        def address() -> str:
            return self._service.result_url(
                name, file=wanted.file, pdbs_only=wanted.pdbs_only, email=wanted.email
            )

        return self._service.transport.download(
            address(), target, fresh=address, on_bytes=told.bytes
        )

    def _order(self, job: Job, wanted: Wanted) -> list[str]:
        entry = None if wanted.email else self._parts.entry(job.name)
        if entry is not None and {part.name for part in entry.plan.parts} == set(job.found):
            return list(entry.plan.jobs)
        return [own for part in job.complete for own in self._jobs_of(part, wanted)]

    def _jobs_of(self, part: str, wanted: Wanted) -> list[str]:
        pages = self._service.pages(batch=part, jobEmail=wanted.email)
        return [names.own(str(row.get("JobName")), part) for page in pages for row in page.rows]
