"""Who and what the platform's tenants have from the start.

Who sees what at `campus`:

| | project Cloning course | Cold response | Barcodes |
|---|---|---|---|
| student | all, by the team | all | Cactus rpl16 introns |
| teacher | all, by the organization | all | all |
| app `notebook` | all | nothing | all |
| suspended | would, by the team | nothing | nothing |
| guest | nothing | nothing | nothing |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labext.sandbox.lab import collection, filling
from labext.sandbox.lab.doors import CAMPUS, CLINIC

NOTEBOOK = "notebook"
"""The app that the sandbox hands out."""


@dataclass(frozen=True)
class Person:
    """Somebody with an account; the e-mail address is `HANDLE@sandbox.local`.

    Attributes:
        belongs: the team, project, folder or organization that she may see, each by its name.
    """

    handle: str
    name: str
    belongs: Sequence[str] = ()
    suspended: bool = False

    @property
    def email(self) -> str:
        """By what the platform and the identity provider know her."""
        return f"{self.handle}@sandbox.local"


@dataclass(frozen=True)
class Plan:
    """What a tenant has.

    Attributes:
        teams: of each project, the team that it belongs to; None where it has none.
        projects: of each project, its folders.
        creators: of a folder, whose sequences it holds; those of the first person elsewhere.
        apps: what each app may see, by names.
    """

    tenant: str
    organization: str
    teams: Mapping[str, str | None]
    projects: Mapping[str, Sequence[str]]
    people: Sequence[Person]
    creators: Mapping[str, str]
    apps: Mapping[str, Sequence[str]]


_COURSE = "Cloning course"

PLANS = (
    Plan(
        CAMPUS,
        "Biology",
        {_COURSE: _COURSE, "Cold response": None, "Barcodes": None},
        {
            _COURSE: (collection.VECTORS, collection.DIGESTS, filling.FOLDER),
            "Cold response": (collection.COLD,),
            "Barcodes": (collection.CACTI, collection.ORCHIDS),
        },
        (
            Person("teacher", "Terry Teacher", ["Biology"]),
            Person(
                "student", "Sam Student", [f"team {_COURSE}", "Cold response", collection.CACTI]
            ),
            Person("suspended", "Sandy Suspended", [f"team {_COURSE}"], suspended=True),
            Person("guest", "Gray Guest"),
        ),
        {collection.DIGESTS: "student"},
        {NOTEBOOK: [_COURSE, "Barcodes"]},
    ),
    Plan(
        CLINIC,
        "Diagnostics",
        {"Plague": None},
        {"Plague": (collection.REFERENCES,)},
        (
            Person("clinician", "Chris Clinician", ["Diagnostics"]),
            Person("teacher", "Terry Teacher", [collection.REFERENCES]),
        ),
        {},
        {"analyser": ["Plague"]},
    ),
)
