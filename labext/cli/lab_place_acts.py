"""What the verbs on places, grants and sequences do (see `labext.cli.acts`)."""

from __future__ import annotations

import argparse

from labext import wording
from labext.cli.acts import Acts, Answer, table, with_lost
from labext.sandbox.lab.administration import Administration, Record, opened, places, sequences
from labext.sandbox.lab.administration import grants as _grants
from labext.sandbox.lab.administration.finding import KINDS

ACTS = Acts(opened)

_COLUMNS = {
    "organization": ("name", "teams", "projects", "folders", "sequences", "grants", "id"),
    "team": ("name", "organization", "grants", "id"),
    "project": ("name", "organization", "team", "folders", "sequences", "grants", "id"),
    "folder": ("name", "project", "organization", "sequences", "grants", "id"),
}


def _add_common(noun: str) -> None:
    """The acts that are the same for all kinds of places."""

    def listed(admin: Administration, options: argparse.Namespace) -> Answer:
        found = places.listed(admin, options.tenant, noun)
        return found, table(found, *_COLUMNS[noun])

    def removed(admin: Administration, options: argparse.Namespace) -> Answer:
        gone = places.remove(admin, options.tenant, noun, options.name, yes=options.yes)
        lost = [name for name in _COLUMNS["organization"] if isinstance(gone.get(name), int)]
        return gone, f"The {noun} {gone['removed']} is removed{with_lost(gone, *lost)}."

    ACTS[f"list_{noun}s"], ACTS[f"remove_{noun}"] = listed, removed


for _noun in KINDS:
    _add_common(_noun)


@ACTS.add
def add_organization(admin: Administration, options: argparse.Namespace) -> Answer:
    """An organization."""
    made = places.add_organization(admin, options.tenant, options.name)
    return made, f"The organization {made['name']} ({made['id']}) is made."


@ACTS.add
def add_team(admin: Administration, options: argparse.Namespace) -> Answer:
    """A team."""
    made = places.add_team(admin, options.tenant, options.name, options.organization)
    return made, f"The team {made['name']} ({made['id']}) of {made['organization']} is made."


@ACTS.add
def add_project(admin: Administration, options: argparse.Namespace) -> Answer:
    """A project."""
    made = places.add_project(
        admin, options.tenant, options.name, options.organization, options.team
    )
    whose = made["team"] or made["organization"]
    return made, f"The project {made['name']} ({made['id']}) of {whose} is made."


@ACTS.add
def add_folder(admin: Administration, options: argparse.Namespace) -> Answer:
    """A folder."""
    made = places.add_folder(admin, options.tenant, options.name, options.project)
    return made, f"The folder {made['name']} ({made['id']}) of {made['project']} is made."


@ACTS.add
def list_grants(admin: Administration, options: argparse.Namespace) -> Answer:
    """Who may see what."""
    found = _grants.grants(admin, options.tenant, _holder(options))
    return found, table(found, "user", "app", "kind", "name", "id")


@ACTS.add
def add_grant(admin: Administration, options: argparse.Namespace) -> Answer:
    """A grant."""
    made = _grants.add_grant(admin, options.tenant, _holder(options), *_place(options))
    return made, f"{_who(made)} may see the {made['kind']} {made['name']}."


@ACTS.add
def remove_grant(admin: Administration, options: argparse.Namespace) -> Answer:
    """A grant taken away."""
    gone = _grants.remove_grant(admin, options.tenant, _holder(options), *_place(options))
    return gone, f"{_who(gone)} has no longer a grant of the {gone['kind']} {gone['name']}."


@ACTS.add
def import_sequences(admin: Administration, options: argparse.Namespace) -> Answer:
    """The sequences of a file."""
    made = sequences.import_file(
        admin, options.tenant, options.file, options.folder, options.creator
    )
    bases = sum(each["length"] for each in made)
    many = wording.count(len(made), "sequence")
    return made, f"{many} of {options.file.name} filed in {options.folder}: {bases:,} bases."


@ACTS.add
def list_sequences(admin: Administration, options: argparse.Namespace) -> Answer:
    """How many there are in each folder."""
    columns = ("folder", "id", "project", "organization", "sequences")
    found = [
        {name: each["name" if name == "folder" else name] for name in columns}
        for each in places.listed(admin, options.tenant, "folder")
    ]
    return found, table(found, *columns)


def _holder(options: argparse.Namespace) -> _grants.Holder:
    return _grants.Holder(options.user, options.app)


def _place(options: argparse.Namespace) -> tuple[str, str]:
    """Which kind of place is named, and how."""
    [named] = [(noun, name) for noun in KINDS if (name := getattr(options, noun)) is not None]
    return named


def _who(record: Record) -> str:
    return str(record["user"]) if record["user"] is not None else f"The app {record['app']}"
