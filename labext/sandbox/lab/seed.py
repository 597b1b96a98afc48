"""What the platform has from the start: two tenants with their people, apps, places and sequences.

Each tenant is made once: what an administrator has removed stays away. `plans` has who sees what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.folder import secret
from labext.sandbox.keys import key_hash
from labext.sandbox.lab import collection, filling, identifiers
from labext.sandbox.lab.doors import CAMPUS
from labext.sandbox.lab.importing import insert_rows
from labext.sandbox.lab.oidc.issuing import AUDIENCE, configuration_url, is_own
from labext.sandbox.lab.oidc.sign_in import user_secret
from labext.sandbox.lab.plans import NOTEBOOK, PLANS, Person, Plan
from labext.sandbox.lab.records import Home, row
from labext.sandbox.lab.store import (
    READ_SEQUENCES,
    ApiKey,
    App,
    Folder,
    Grant,
    Organization,
    Project,
    Record,
    Secret,
    Seeded,
    Team,
    Tenant,
    User,
    now,
    written,
)
from labext.sandbox.seeding import once
from labext.sandbox.service import Site

STUDENT = "student"
"""The handle of the person whose credentials the sandbox hands out."""

LATEST = datetime(2026, 3, 2, 16, 30, tzinfo=UTC)
"""When the first sequence was last changed: fixed, so that notebooks look the same everywhere."""

FIRST = datetime(2026, 2, 2, 9, 0, tzinfo=UTC)
"""When the first was made."""


def seed(site: Site) -> None:
    """Make what was never made, and fill `campus` up as the sandbox's options say."""
    with site.database.write() as session:
        for plan in PLANS:
            if once(session, Seeded, f"tenant {plan.tenant}"):
                _make(session, site, plan)
        _tell_provider(session, site)
    filling.fill(site.database, site.options.sequences)


def student_key(site: Site) -> str:
    """The API key of the connection that the sandbox hands out."""
    return key(site, CAMPUS, STUDENT)


def student_email() -> str:
    """Return the address of the student."""
    return Person(STUDENT, "").email


def student_secret(site: Site) -> str:
    """Return the secret with which the student signs in at the identity provider."""
    return user_secret(site.secrets, identifiers.of("ent", CAMPUS, STUDENT))


def key(site: Site, tenant: str, handle: str) -> str:
    """A seeded person's first API key."""
    return secret(site.secrets / f"lab_{tenant}_{handle}_key")


def client(site: Site, tenant: str = CAMPUS, app: str = NOTEBOOK) -> tuple[str, str]:
    """Client id and secret of a seeded app."""
    return identifiers.of("client", tenant, app), secret(
        site.secrets / f"lab_{tenant}_{app}_secret"
    )


def _make(session: Session, site: Site, plan: Plan) -> None:
    enterprise = plan.tenant == CAMPUS
    tenant = Tenant(
        name=plan.tenant,
        enterprise=enterprise,
        configuration_url=configuration_url(site) if enterprise else None,
        audience=AUDIENCE if enterprise else None,
    )
    session.add(tenant)
    session.flush()
    places, folders = _places(session, tenant, plan)
    people = {person.handle: _person(session, site, tenant, person) for person in plan.people}
    for person in plan.people:
        for name in person.belongs:
            session.add(Grant(user_id=people[person.handle].id, **places[name]))
    for app, names in plan.apps.items():
        made = _app(session, site, tenant, app)
        for name in names:
            session.add(Grant(app_id=made.id, **places[name]))
    session.flush()
    _sequences(session, plan, folders, people)


def _places(
    session: Session, tenant: Tenant, plan: Plan
) -> tuple[dict[str, dict[str, str]], dict[str, Folder]]:
    """Make the organization and all in it: how a grant names each, and the folders."""
    organization = Organization(
        id=identifiers.of("org", plan.tenant), tenant_id=tenant.id, name=plan.organization
    )
    session.add(organization)
    session.flush()
    places = {plan.organization: {"organization_id": organization.id}}
    teams: dict[str | None, str] = {}
    for name in filter(None, plan.teams.values()):
        teams[name] = identifiers.of("team", plan.tenant, name)
        session.add(Team(id=teams[name], organization_id=organization.id, name=name))
        places[f"team {name}"] = {"team_id": teams[name]}
    session.flush()
    folders = {}
    for project, names in plan.projects.items():
        made = Project(
            id=identifiers.of("src", plan.tenant, project),
            organization_id=organization.id,
            team_id=teams.get(plan.teams[project]),
            name=project,
        )
        session.add(made)
        session.flush()
        places[project] = {"project_id": made.id}
        for name in names:
            folders[name] = Folder(
                id=identifiers.of("lib", plan.tenant, name), project_id=made.id, name=name
            )
            places[name] = {"folder_id": folders[name].id}
    session.add_all(folders.values())
    session.flush()
    return places, folders


def _person(session: Session, site: Site, tenant: Tenant, person: Person) -> User:
    user = User(
        id=identifiers.of("ent", tenant.name, person.handle),
        tenant_id=tenant.id,
        handle=person.handle,
        name=person.name,
        email=person.email,
        suspended=person.suspended,
    )
    session.add(user)
    session.flush()
    made = key(site, tenant.name, person.handle)
    session.add(ApiKey(user_id=user.id, name="first", hash=key_hash(made), created=now()))
    return user


def _app(session: Session, site: Site, tenant: Tenant, name: str) -> App:
    client_id, client_secret = client(site, tenant.name, name)
    app = App(
        id=identifiers.of("app", tenant.name, name),
        tenant_id=tenant.id,
        name=name,
        client_id=client_id,
        redirect_uris=["http://localhost:8888/"],
        permissions=[READ_SEQUENCES],
    )
    session.add(app)
    session.flush()
    session.add(Secret(app_id=app.id, name="first", hash=key_hash(client_secret), created=now()))
    return app


def _sequences(
    session: Session, plan: Plan, folders: Mapping[str, Folder], people: Mapping[str, User]
) -> None:
    """File the collection, each folder's where the plan has one; the first is the latest."""
    first = next(iter(people.values()))
    rows = list[Record]()
    for name, folder in folders.items():
        owner = people[plan.creators[name]] if name in plan.creators else first
        home = Home(plan.tenant, folder.id, name, owner)
        for place, filed in enumerate(_collected(name, plan.tenant)):
            at = len(rows)
            rows.append(
                row(
                    filed.entry,
                    home,
                    collection.sequence_id(plan.tenant, name, place),
                    written(FIRST + timedelta(minutes=5 * at)),
                    written(LATEST - timedelta(minutes=7 * at)),
                    filed.archived,
                )
            )
    insert_rows(session, rows)


def _collected(folder: str, tenant: str) -> Iterator[collection.Filed]:
    if folder in collection.FOLDERS:
        yield from collection.FOLDERS[folder](tenant)


def _tell_provider(session: Session, site: Site) -> None:
    """`campus` trusts the sandbox's provider, whose address may have changed since the last start.

    Not where an administrator has given it another provider, or none.
    """
    campus = session.scalars(select(Tenant).where(Tenant.name == CAMPUS)).one_or_none()
    if campus is not None and is_own(campus.configuration_url or ""):
        campus.configuration_url = configuration_url(site)
