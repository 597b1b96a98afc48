"""Access matrix of identity × state × grant × place, each with its status and visible rows.

The expected results are computed independently in `OPENS` and `expected`, from the rules in
labext/sandbox/lab/RULES.md; no code of the platform is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from labext.sandbox.lab.tables import (
    Folder,
    IpRange,
    Organization,
    Project,
    Sequence,
    Team,
    current_timestamp,
)

FOLDERS = {
    # folder: its project, that project's team, its organization
    "lib_a1": ("src_a", "team_1", "org_1"),
    "lib_a2": ("src_a", "team_1", "org_1"),
    "lib_b1": ("src_b", "team_1", "org_1"),
    "lib_c1": ("src_c", None, "org_1"),
    "lib_d1": ("src_d", None, "org_2"),
    "lib_z1": ("src_z", "team_z", "org_z"),  # of the other tenant
}
EMPTY_PROJECT = "src_e"  # of team_1, without a folder
GRANTS: dict[str, dict[str, str]] = {
    "none": {},
    "organization": {"organization_id": "org_1"},
    "team": {"team_id": "team_1"},
    "project": {"project_id": "src_a"},
    "folder": {"folder_id": "lib_a1"},
    "their-organization": {"organization_id": "org_z"},
    "their-folder": {"folder_id": "lib_z1"},
}


OPENS: dict[str, tuple[set[str], set[str]]] = {
    "organization": (
        {"lib_a1", "lib_a2", "lib_b1", "lib_c1"},
        {"src_a", "src_b", "src_c", "src_e"},
    ),
    "team": ({"lib_a1", "lib_a2", "lib_b1"}, {"src_a", "src_b", "src_e"}),
    "project": ({"lib_a1", "lib_a2"}, {"src_a"}),
    "folder": ({"lib_a1"}, {"src_a"}),
}
"""Folders and projects that a grant makes visible in `campus`; the other grants none."""


PLACES = [
    None,
    *[("folderId", folder_id) for folder_id in [*FOLDERS, "lib_nowhere"]],
    *[("projectId", f"src_{name}") for name in ("a", "b", "c", "d", "z", "nowhere")],
    ("projectId", EMPTY_PROJECT),
]
SOME_PLACES = [
    None,
    *[("folderId", folder_id) for folder_id in ("lib_a1", "lib_a2", "lib_c1")],
    *[("projectId", folder_id) for folder_id in ("src_a", "src_b", EMPTY_PROJECT)],
]
FEW_PLACES = [None, ("folderId", "lib_a1"), ("folderId", "lib_nowhere")]

APP_STATES = [
    *("good", "archived", "deleted", "expired", "outside", "no permission", "other tenant's")
]
STATES = {
    "key": ["good", "suspended", "deleted", "outside", "other tenant's"],
    "ID token": ["good", "suspended", "expired", "outside", "other tenant's"],
    "token": APP_STATES,
    "token for a user": [*APP_STATES, "user suspended", "user unknown"],
}


@dataclass(frozen=True)
class Cell:
    """One call of the matrix."""

    identity: str
    state: str
    grant: str
    users_grant: str | None
    place: tuple[str, str] | None

    @property
    def by_app(self) -> bool:
        return self.identity.startswith("token")


def expected(cell: Cell) -> tuple[int, set[str] | None]:
    """Return the expected status and the expected folders of the rows."""
    if cell.state in ("deleted", "expired", "other tenant's"):
        return 401, None
    if cell.state != "good":
        return 403, None
    folders, projects = OPENS.get(cell.grant, (set(), set()))
    if cell.by_app and not folders:
        return 403, None
    if cell.users_grant is not None:
        users_folders, users_projects = OPENS.get(cell.users_grant, (set(), set()))
        folders, projects = folders & users_folders, projects & users_projects
    if cell.place is None:
        return 200, folders
    name, place = cell.place
    if place not in (folders if name == "folderId" else projects):
        return 403, None
    if name == "folderId":
        return 200, {place}
    return 200, {folder for folder in folders if FOLDERS[folder][0] == place}


def expected_me(cell: Cell) -> int:
    """Return the expected status of /users/me, which needs no grant."""
    if cell.state in ("deleted", "expired", "other tenant's"):
        return 401
    if cell.state not in ("good", "no permission"):
        return 403
    return 404 if cell.identity == "token" else 200


def expected_log(cell: Cell) -> tuple[str | None, str | None]:
    """Return the expected user and app of the log entry."""
    unknown = cell.state == "other tenant's"
    unknown |= cell.identity == "ID token" and cell.state == "expired"
    if unknown:
        return None, None
    if not cell.by_app:
        return _email(cell.grant, cell.state), None
    ended = cell.state in ("deleted", "expired")  # the user that such a token acts for is ignored
    no_user = cell.users_grant is None or ended or cell.state == "user unknown"
    user = None if no_user else _email(cell.users_grant or "", cell.state)
    return user, _app(cell.grant, cell.state)


def _email(grant: str, state: str) -> str:
    return f"{grant}-suspended@x.y" if "suspended" in state else f"{grant}@x.y"


def _app(grant: str, state: str) -> str:
    return f"{grant}-{state.replace(' ', '-')}" if state in ("archived", "no permission") else grant


class Matrix:
    """The platform of the matrix, and requests for its cells."""

    def __init__(self, world: Any, kit: Any) -> None:
        self.world, self._kit = world, kit
        self._places()
        for grant, where in GRANTS.items():
            world.user(f"{grant}@x.y", **where)
            world.key(f"{grant}@x.y", "gone", deleted=True)
            world.user(f"{grant}-suspended@x.y", suspended=True, **where)
            for app, more in {
                grant: {},
                f"{grant}-archived": {"archived": True},
                f"{grant}-no-permission": {"permissions": ("sequences:write",)},
            }.items():
                secret = world.app(app, **more, **where)
                world.token(secret)
                world.token(secret, seconds=-1)
                world.token(world.secret(app, "gone", deleted=True))

    def _places(self) -> None:
        """Every folder holds two sequences."""
        with self.world.database.write() as session:
            tenants = {name: self.world.tenant_id(session, name) for name in ("campus", "clinic")}
            for id in ("org_1", "org_2", "org_z"):
                tenant_id = tenants["clinic" if id == "org_z" else "campus"]
                session.add(Organization(id=id, tenant_id=tenant_id, name=id))
            session.flush()
            session.add(Team(id="team_1", organization_id="org_1", name="one"))
            session.add(Team(id="team_z", organization_id="org_z", name="z"))
            session.flush()
            projects = {project: rest for project, *rest in FOLDERS.values()}
            for id, (team, organization) in (
                projects | {EMPTY_PROJECT: ["team_1", "org_1"]}
            ).items():
                session.add(Project(id=id, organization_id=organization, team_id=team, name=id))
            session.flush()
            for id, (project, *_) in FOLDERS.items():
                session.add(Folder(id=id, project_id=project, name=id))
            session.flush()
            for folder, number in product(FOLDERS, (1, 2)):
                session.add(_sequence(folder, number))

    def request(self, cell: Cell, path: str) -> Any:
        """Make the call of a cell, at `campus` unless it is the other tenant's."""
        client = self.world.clinic if cell.state == "other tenant's" else self.world.campus
        acting = None
        if cell.users_grant is not None:
            acting = _email(cell.users_grant, cell.state)
            acting = "nobody@x.y" if cell.state == "user unknown" else acting
        query = "" if cell.place is None else "=".join(cell.place)
        address = "198.51.100.7" if cell.state == "outside" else "192.0.2.9"
        return client.get(
            path, self._credentials(cell), query=query, on_behalf_of=acting, address=address
        )

    def _credentials(self, cell: Cell) -> str:
        if cell.identity == "key":
            name = "gone" if cell.state == "deleted" else "first"
            return self._kit.basic(f"sk_{_email(cell.grant, cell.state)}_{name}")
        if cell.identity == "ID token":
            email = _email(cell.grant, cell.state)
            return self._kit.id_token(email, expired=cell.state == "expired")
        name = "gone" if cell.state == "deleted" else "first"
        seconds = -1 if cell.state == "expired" else 900
        return f"Bearer at_cs_{_app(cell.grant, cell.state)}_{name}_{seconds}"


def _sequence(folder: str, number: int) -> Sequence:
    id, moment = f"seq_{folder}_{number}", current_timestamp()
    return Sequence(
        id=id,
        folder_id=folder,
        creator_id="ent_x",
        name=id,
        folded=id,
        bases_hash="0" * 64,
        created=moment,
        modified=moment,
        record=RECORD % (id, folder),
    )


RECORD = '{"id":"%s","folderId":"%s","name":"x","bases":"ACGT"}'


@pytest.fixture(scope="module")
def matrix(make_world, kit):
    world = make_world()
    with world.database.write() as session:
        for network in ("192.0.2.0/24", "2001:db8::/32"):
            session.add(IpRange(tenant_id=world.tenant_id(session), network=network))
    return Matrix(world, kit)


def cells(identity: str, state: str) -> list[Cell]:
    """Return every grant (for two identities every pair), with every place where it matters."""
    pairs: list[tuple[str, str | None]] = [(grant, None) for grant in GRANTS]
    if identity == "token for a user":
        pairs = [*product(GRANTS, GRANTS)] if state == "good" else [(g, g) for g in GRANTS]
    places = FEW_PLACES
    if state == "good":
        places = SOME_PLACES if identity == "token for a user" else PLACES
    return [Cell(identity, state, *pair, place) for pair, place in product(pairs, places)]


CASES = [(identity, state) for identity, states in STATES.items() for state in states]


@pytest.mark.parametrize(("identity", "state"), CASES)
def test_identity_lists_the_sequences_of_its_grants(matrix, identity, state):
    requested = cells(identity, state)
    wrong = []
    for cell in requested:
        response = matrix.request(cell, "dna-sequences")
        rows = None
        if response.status == 200:
            folder_ids = [row["folderId"] for row in response.json()["dnaSequences"]]
            assert sorted(folder_ids) == sorted([*set(folder_ids)] * 2), (
                "both of a folder's sequences"
            )
            rows = set(folder_ids)
        if (response.status, rows) != expected(cell):
            wrong.append((cell, response.status, rows, expected(cell)))
    assert not wrong, f"{len(wrong)} of {len(requested)}, the first: {wrong[0]}"
    logged = [(entry.status, entry.user, entry.app) for entry in matrix.world.log(len(requested))]
    assert logged == [(expected(cell)[0], *expected_log(cell)) for cell in requested]


@pytest.mark.parametrize(("identity", "state"), CASES)
def test_identity_is_reported_or_refused(matrix, identity, state):
    requested = [cell for cell in cells(identity, state) if cell.place is None]
    response = [matrix.request(cell, "users/me") for cell in requested]
    assert [row.status for row in response] == [expected_me(cell) for cell in requested]
    for cell, row in zip(requested, response, strict=True):
        if row.status == 200:
            assert row.json()["email"] == _email(cell.users_grant or cell.grant, "good")
