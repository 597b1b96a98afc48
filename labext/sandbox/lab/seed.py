"""Create the initial tenants, users, apps, projects and sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import ensure_secret
from labext.sandbox.core.database import mark_seeded
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.lab import sample_data, tables
from labext.sandbox.lab.endpoints import CAMPUS, CLINIC
from labext.sandbox.lab.oidc.service import (
    DEFAULT_AUDIENCE,
    ensure_user_secret,
    is_own_configuration,
    own_configuration_url,
)
from labext.sandbox.lab.sequences.importing import insert_rows
from labext.sandbox.lab.sequences.records import FilingContext, sequence_row
from labext.sandbox.lab.tables import (
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
    format_timestamp,
    new_credential,
)

NOTEBOOK_APP = "notebook"
"""The app whose credentials are in connection.json."""


@dataclass(frozen=True)
class SeedUser:
    """A user to create; the e-mail address is `HANDLE@sandbox.local`."""

    handle: str
    name: str
    places: Sequence[str] = ()
    suspended: bool = False

    @property
    def email(self) -> str:
        """E-mail address at the platform and the identity provider."""
        return f"{self.handle}@sandbox.local"


@dataclass(frozen=True)
class TenantPlan:
    """The initial data of a tenant.

    Attributes:
        teams: the team of each project; None for a project without a team.
        projects: the folders of each project.
        creators: the creator of a folder's sequences; by default the first user.
        apps: the names of the places visible to each app.
    """

    tenant: str
    organization: str
    teams: Mapping[str, str | None]
    projects: Mapping[str, Sequence[str]]
    people: Sequence[SeedUser]
    creators: Mapping[str, str]
    apps: Mapping[str, Sequence[str]]


_COURSE = "Cloning course"

TENANT_PLANS = (
    TenantPlan(
        CAMPUS,
        "Biology",
        {_COURSE: _COURSE, "Cold response": None, "Barcodes": None},
        {
            _COURSE: (sample_data.VECTORS, sample_data.DIGESTS, sample_data.GENERATED_FOLDER),
            "Cold response": (sample_data.COLD_GENES,),
            "Barcodes": (sample_data.CACTI, sample_data.ORCHIDS),
        },
        (
            SeedUser("teacher", "Terry Teacher", ["Biology"]),
            SeedUser(
                "student", "Sam Student", [f"team {_COURSE}", "Cold response", sample_data.CACTI]
            ),
            SeedUser("suspended", "Sandy Suspended", [f"team {_COURSE}"], suspended=True),
            SeedUser("guest", "Gray Guest"),
        ),
        {sample_data.DIGESTS: "student"},
        {NOTEBOOK_APP: [_COURSE, "Barcodes"]},
    ),
    TenantPlan(
        CLINIC,
        "Diagnostics",
        {"Plague": None},
        {"Plague": (sample_data.REFERENCES,)},
        (
            SeedUser("clinician", "Chris Clinician", ["Diagnostics"]),
            SeedUser("teacher", "Terry Teacher", [sample_data.REFERENCES]),
        ),
        {},
        {"analyser": ["Plague"]},
    ),
)

STUDENT = "student"
"""The handle of the user whose credentials are in connection.json."""

LATEST_MODIFIED = datetime(2026, 3, 2, 16, 30, tzinfo=UTC)
"""Modification time of the first sequence; fixed, so that notebooks give the same output."""

FIRST_CREATED = datetime(2026, 2, 2, 9, 0, tzinfo=UTC)
"""Creation time of the first sequence."""


def has_sample_accounts(site: Site) -> bool:
    """Return whether a user exists that `seed` creates in a sandbox."""
    emails = {user.email for plan in TENANT_PLANS for user in plan.people}
    with site.database.read() as session:
        return session.scalar(select(User.id).where(User.email.in_(emails)).limit(1)) is not None


def seed(site: Site) -> None:
    """Create the data of tenants that were never seeded; fill `campus` according to the options."""
    with site.database.write() as session:
        plans: Sequence[TenantPlan] = TENANT_PLANS
        if site.server is not None:  # it gets an organization without users
            plans = [TenantPlan(CAMPUS, site.server.organization, {}, {}, (), {}, {})]
        for plan in plans:
            if mark_seeded(session, Seeded, f"tenant {plan.tenant}"):
                _seed_tenant(session, site, plan)
        _configure_provider(session, site)
    sample_data.fill_campus(site.database, site.options.sequences)


def student_key(site: Site) -> str:
    """Return the student's API key."""
    return seeded_key(site, CAMPUS, STUDENT)


def student_email() -> str:
    """Return the address of the student."""
    return SeedUser(STUDENT, "").email


def student_secret(site: Site) -> str:
    """Return the secret with which the student signs in at the identity provider."""
    return ensure_user_secret(site.secrets, tables.stable_identifier("ent", CAMPUS, STUDENT))


def seeded_key(site: Site, tenant: str, handle: str) -> str:
    """Return the first API key of a seeded user."""
    return ensure_secret(site.secrets / f"lab_{tenant}_{handle}_key")


def seeded_client(site: Site, tenant: str = CAMPUS, app: str = NOTEBOOK_APP) -> tuple[str, str]:
    """Return the client id and secret of a seeded app."""
    return tables.stable_identifier("client", tenant, app), ensure_secret(
        site.secrets / f"lab_{tenant}_{app}_secret"
    )


def _seed_tenant(session: Session, site: Site, plan: TenantPlan) -> None:
    enterprise = plan.tenant == CAMPUS
    tenant = Tenant(
        name=plan.tenant,
        enterprise=enterprise,
        configuration_url=own_configuration_url(site) if enterprise else None,
        audience=DEFAULT_AUDIENCE if enterprise else None,
    )
    session.add(tenant)
    session.flush()
    places, folders = _seed_places(session, tenant, plan)
    people = {person.handle: _seed_user(session, site, tenant, person) for person in plan.people}
    for person in plan.people:
        for name in person.places:
            session.add(Grant(user_id=people[person.handle].id, **places[name]))
    for app, names in plan.apps.items():
        app_row = _seed_app(session, site, tenant, app)
        for name in names:
            session.add(Grant(app_id=app_row.id, **places[name]))
    session.flush()
    _seed_sequences(session, plan, folders, people)


def _seed_places(
    session: Session, tenant: Tenant, plan: TenantPlan
) -> tuple[dict[str, dict[str, str]], dict[str, Folder]]:
    """Create the organization and its places; return the grant columns of each, and the folders."""
    organization = Organization(
        id=tables.stable_identifier("org", plan.tenant), tenant_id=tenant.id, name=plan.organization
    )
    session.add(organization)
    session.flush()
    places = {plan.organization: {"organization_id": organization.id}}
    teams: dict[str | None, str] = {}
    for name in filter(None, plan.teams.values()):
        teams[name] = tables.stable_identifier("team", plan.tenant, name)
        session.add(Team(id=teams[name], organization_id=organization.id, name=name))
        places[f"team {name}"] = {"team_id": teams[name]}
    session.flush()
    folders = {}
    for project, names in plan.projects.items():
        project_row = Project(
            id=tables.stable_identifier("src", plan.tenant, project),
            organization_id=organization.id,
            team_id=teams.get(plan.teams[project]),
            name=project,
        )
        session.add(project_row)
        session.flush()
        places[project] = {"project_id": project_row.id}
        for name in names:
            identifier = tables.stable_identifier("lib", plan.tenant, name)
            folders[name] = Folder(id=identifier, project_id=project_row.id, name=name)
            places[name] = {"folder_id": folders[name].id}
    session.add_all(folders.values())
    session.flush()
    return places, folders


def _seed_user(session: Session, site: Site, tenant: Tenant, person: SeedUser) -> User:
    user = User(
        id=tables.stable_identifier("ent", tenant.name, person.handle),
        tenant_id=tenant.id,
        handle=person.handle,
        name=person.name,
        email=person.email,
        suspended=person.suspended,
    )
    session.add(user)
    session.flush()
    key = seeded_key(site, tenant.name, person.handle)
    session.add(new_credential(ApiKey, user, "first", key))
    return user


def _seed_app(session: Session, site: Site, tenant: Tenant, name: str) -> App:
    client_id, client_secret = seeded_client(site, tenant.name, name)
    app = App(
        id=tables.stable_identifier("app", tenant.name, name),
        tenant_id=tenant.id,
        name=name,
        client_id=client_id,
        redirect_uris=["http://localhost:8888/"],
        permissions=[READ_SEQUENCES],
    )
    session.add(app)
    session.flush()
    session.add(new_credential(Secret, app, "first", client_secret))
    return app


def _seed_sequences(
    session: Session, plan: TenantPlan, folders: Mapping[str, Folder], people: Mapping[str, User]
) -> None:
    """Insert the sample sequences of the plan's folders; the first one is the last modified."""
    rows = list[Record]()
    for name, folder in folders.items():
        owner = (
            people[plan.creators[name]] if name in plan.creators else next(iter(people.values()))
        )
        context = FilingContext(plan.tenant, folder.id, name, owner)
        load = sample_data.SAMPLE_FOLDERS.get(name)
        for index, entry in enumerate(load(plan.tenant) if load else ()):
            identifier = sample_data.sample_sequence_id(plan.tenant, name, index)
            created = format_timestamp(FIRST_CREATED + timedelta(minutes=5 * len(rows)))
            modified = format_timestamp(LATEST_MODIFIED - timedelta(minutes=7 * len(rows)))
            rows.append(sequence_row(entry, context, identifier, created, modified))
    insert_rows(session, rows)


def _configure_provider(session: Session, site: Site) -> None:
    """Update the provider's address for `campus`, which may have changed since the last start.

    Does nothing if an administrator has configured another provider or removed it.
    """
    own = own_configuration_url(site)
    campus = session.scalars(select(Tenant).where(Tenant.name == CAMPUS)).one_or_none()
    if campus is not None and campus.configuration_url is not None:
        former = session.get(Seeded, _provider_name(campus.configuration_url))
        if former is not None or is_own_configuration(site, campus.configuration_url):
            campus.configuration_url = own
    mark_seeded(session, Seeded, _provider_name(own))


def _provider_name(url: str) -> str:
    """Return the name under which an address of the provider is recorded."""
    return f"provider {url}"[:200]
