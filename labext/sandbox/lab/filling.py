"""Fills `campus` with as many sequences as are asked for: fragments and point mutants of its own.

The sequence of a number is the same in every sandbox. None is made twice and none is deleted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count, islice

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.sandbox.database import Database
from labext.sandbox.lab import collection, identifiers, store
from labext.sandbox.lab.doors import CAMPUS
from labext.sandbox.lab.features import Marks
from labext.sandbox.lab.fragments import as_part, stretch
from labext.sandbox.lab.importing import insert_rows
from labext.sandbox.lab.records import Entry, Home, row
from labext.sandbox.lab.store import Folder, Organization, Project, Record, Tenant, User, written

FOLDER = "Fragments and mutants"

LENGTH = 500
"""Bases of each."""

OLDEST = datetime(2026, 1, 1, tzinfo=UTC)
"""When the first was made: before all others of the platform, so that those lead every list."""

_MOST_MUTATIONS = 3
_AT_ONCE = 5000
"""Rows of one transaction."""


@dataclass(frozen=True)
class Source:
    """A sequence that fragments are of."""

    id: str
    entry: Entry


@dataclass(frozen=True)
class Filling:
    """What is filled in, and where.

    Attributes:
        weights: of the sources, added up: a longer one has more fragments.
        numbers: of the sequences that are not there yet.
    """

    home: Home
    sources: Sequence[Source]
    weights: Sequence[int]
    numbers: Iterator[int]

    @classmethod
    def of(cls, session: Session) -> Filling | None:
        """Look what is there; None once an administrator has removed the folder or its owner."""
        folder = session.get(Folder, identifiers.of("lib", CAMPUS, FOLDER))
        creator = session.get(User, identifiers.of("ent", CAMPUS, "teacher"))
        if folder is None or creator is None:
            return None
        there = {*session.scalars(select(store.Sequence.id).filter_by(folder_id=folder.id))}
        sources = _sources()
        return cls(
            Home.of(session, folder, creator),
            sources,
            [*accumulate(len(source.entry.bases) for source in sources)],
            (number for number in count() if _id(number) not in there),
        )

    def rows(self, most: int) -> list[Record]:
        """The next ones."""
        return [self._row(number) for number in islice(self.numbers, most)]

    def _row(self, number: int) -> Record:
        # Not for secrets: the same number always gives the same sequence.
        chance = random.Random(number)  # noqa: S311
        (source,) = chance.choices(self.sources, cum_weights=self.weights)
        made = _entry(chance, source, number)
        return row(made, self.home, _id(number), written(OLDEST + timedelta(seconds=number)))


def fill(database: Database, wanted: int | None) -> None:
    """Add sequences until `campus` has as many as wanted; do nothing where it has."""
    filling: Filling | None = None
    while wanted is not None:
        with database.write() as session:
            missing = wanted - _count(session)
            if missing <= 0:
                return
            filling = filling or Filling.of(session)
            if filling is None:
                return
            insert_rows(session, filling.rows(min(missing, _AT_ONCE)))


def _count(session: Session) -> int:
    return (
        session.scalar(
            select(func.count())
            .select_from(store.Sequence)
            .join(Folder, Folder.id == store.Sequence.folder_id)
            .join(Project, Project.id == Folder.project_id)
            .join(Organization, Organization.id == Project.organization_id)
            .join(Tenant, Tenant.id == Organization.tenant_id)
            .where(Tenant.name == CAMPUS)
        )
        or 0
    )


def _id(number: int) -> str:
    return identifiers.of("seq", CAMPUS, FOLDER, number)


def _sources() -> list[Source]:
    """The sequences in use that are long enough and not themselves parts of others."""
    return [
        Source(collection.sequence_id(CAMPUS, folder, place), filed.entry)
        for folder in (collection.VECTORS, collection.COLD, collection.CACTI, collection.ORCHIDS)
        for place, filed in enumerate(collection.FOLDERS[folder](CAMPUS))
        if filed.archived is None and len(filed.entry.bases) >= LENGTH
    ]


def _entry(chance: random.Random, source: Source, number: int) -> Entry:
    """A fragment from anywhere of the source; every other one with some bases replaced."""
    entry = source.entry
    start = chance.randrange(len(entry.bases) if entry.circular else len(entry.bases) - LENGTH + 1)
    bases, marks = stretch(entry, start, LENGTH)
    changes = [*_mutations(chance, bases)] if number % 2 else []
    for place, _, after in changes:
        bases = f"{bases[:place]}{after}{bases[place + 1 :]}"
    notes = [f"{before.upper()}{place + 1}{after.upper()}" for place, before, after in changes]
    return Entry(
        " ".join([f"{entry.name.removeprefix('plasmid ')} from {start + 1}", *notes, f"#{number}"]),
        bases,
        marks=_still_true(marks, [place for place, *_ in changes]),
        parts=[as_part(source.id, LENGTH)],
        schema=collection.schema(CAMPUS, "Fragment"),
        fields={"Source": entry.name, "First base": start + 1, "Mutations": notes},
    )


def _still_true(marks: Marks, changed: Sequence[int]) -> Marks:
    """The marks without the proteins and primers that the changed bases would spell otherwise."""

    def untouched(mark: Record) -> bool:
        return not any(mark["start"] <= place < mark["end"] for place in changed)

    return Marks(
        marks.annotations,
        [*filter(untouched, marks.translations)],
        [*filter(untouched, marks.primers)],
    )


def _mutations(chance: random.Random, bases: str) -> Iterator[tuple[int, str, str]]:
    """Some substitutions: the place from 0, the base that was there, the base that is."""
    for place in sorted(chance.sample(range(len(bases)), chance.randint(1, _MOST_MUTATIONS))):
        before = bases[place]
        letters = "acgt" if before.islower() else "ACGT"
        yield place, before, chance.choice([each for each in letters if each != before])
