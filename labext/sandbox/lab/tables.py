"""Tables and identifiers of the laboratory platform."""

from __future__ import annotations

import hashlib
import secrets
import string
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from labext.sandbox.core.database import cascading_key
from labext.sandbox.core.signing import hash_key

IDENTIFIER_PATTERN = r"[0-9A-Za-z]{8}"
"""Pattern of an identifier after the prefix and the underscore."""

_IDENTIFIER_LETTERS = string.digits + string.ascii_letters
_IDENTIFIER_LENGTH = 8


def new_identifier(prefix: str) -> str:
    """Return a new random identifier.

    The prefix is `seq` for a sequence, `lib` a folder, `src` a project, `ent` a user, `ts` a
    schema; the sandbox adds `org`, `team`, `app`.
    """
    letters = (secrets.choice(_IDENTIFIER_LETTERS) for _ in range(_IDENTIFIER_LENGTH))
    return f"{prefix}_{''.join(letters)}"


def stable_identifier(prefix: str, *names: object) -> str:
    """Return the identifier for these names, which is the same in every sandbox."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    number = int.from_bytes(digest)
    letters = []
    for _ in range(_IDENTIFIER_LENGTH):
        number, letter = divmod(number, len(_IDENTIFIER_LETTERS))
        letters.append(_IDENTIFIER_LETTERS[letter])
    return f"{prefix}_{''.join(letters)}"


READ_SEQUENCES = "sequences:read"
"""The permission that an app needs to read sequences."""


class Base(DeclarativeBase):
    """The platform's tables."""


class Tenant(Base):
    """A customer of the platform, with its own address.

    Attributes:
        name: as in `labext.sandbox.lab.endpoints.TENANT_ENDPOINTS`.
        enterprise: whether it may have an identity provider and IP ranges (LAB-177).
        requires_user_secret: whether the sandbox's own provider requires users' secrets.
    """

    __tablename__ = "lab_tenants"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    enterprise: Mapped[bool] = mapped_column(default=False)
    configuration_url: Mapped[str | None] = mapped_column(Text)
    audience: Mapped[str | None] = mapped_column(String(200))
    requires_user_secret: Mapped[bool] = mapped_column(default=True)


class IpRange(Base):
    """A network from which requests are allowed; without any, all are.

    Attributes:
        network: such as `192.0.2.0/24` or `2001:db8::/32`.
    """

    __tablename__ = "lab_ip_ranges"
    __table_args__ = (UniqueConstraint("tenant_id", "network"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[int] = cascading_key("lab_tenants.id")
    network: Mapped[str] = mapped_column(String(50))


class User(Base):
    """A user of a tenant.

    Attributes:
        handle: the short name shown as the creator of a record.
        email: unique within the tenant, in lower case.
    """

    __tablename__ = "lab_users"
    __table_args__ = (UniqueConstraint("tenant_id", "email"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[int] = cascading_key("lab_tenants.id")
    handle: Mapped[str] = mapped_column(String(100))
    name: Mapped[str] = mapped_column(String(200))
    email: Mapped[str] = mapped_column(String(200))
    suspended: Mapped[bool] = mapped_column(default=False)

    tenant: Mapped[Tenant] = relationship()


class Credential:
    """Columns of a key or secret, of which only the hash is stored.

    Attributes:
        name: unique among the credentials of its owner.
        deleted: when it was removed; None while it is valid.
    """

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    created: Mapped[str] = mapped_column(String(32))
    deleted: Mapped[str | None] = mapped_column(String(32))


class ApiKey(Credential, Base):
    """An API key of a user (LAB-31 to LAB-38)."""

    __tablename__ = "lab_api_keys"

    user_id: Mapped[str] = cascading_key("lab_users.id", index=True)
    user: Mapped[User] = relationship()


class App(Base):
    """A service account (LAB-39 to LAB-55)."""

    __tablename__ = "lab_apps"
    __table_args__ = (UniqueConstraint("tenant_id", "name"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[int] = cascading_key("lab_tenants.id")
    name: Mapped[str] = mapped_column(String(200))
    client_id: Mapped[str] = mapped_column(String(60), unique=True)
    redirect_uris: Mapped[list[str]] = mapped_column(JSON, default=list)
    permissions: Mapped[list[str]] = mapped_column(JSON, default=list)
    archived: Mapped[bool] = mapped_column(default=False)

    tenant: Mapped[Tenant] = relationship()


class Secret(Credential, Base):
    """A client secret of an app, which may have several (LAB-54)."""

    __tablename__ = "lab_secrets"

    app_id: Mapped[str] = cascading_key("lab_apps.id", index=True)
    app: Mapped[App] = relationship()


def new_credential(
    table: type[ApiKey | Secret], owner: User | App, name: str, value: str
) -> ApiKey | Secret:
    """Return a new key of a user or secret of an app."""
    owner_id = {"user_id" if isinstance(owner, User) else "app_id": owner.id}
    return table(name=name, hash=hash_key(value), created=current_timestamp(), **owner_id)


class Token(Base):
    """An access token, which is valid only as long as the secret that it was issued for.

    Attributes:
        expires: seconds since 1970.
    """

    __tablename__ = "lab_tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    secret_id: Mapped[int] = cascading_key("lab_secrets.id", index=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    expires: Mapped[float] = mapped_column(index=True)

    secret: Mapped[Secret] = relationship()


class Organization(Base):
    """An organization with users, teams and projects; `org_…`."""

    __tablename__ = "lab_organizations"
    __table_args__ = (UniqueConstraint("tenant_id", "name"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[int] = cascading_key("lab_tenants.id")
    name: Mapped[str] = mapped_column(String(200))


class Team(Base):
    """A team of an organization; `team_…`."""

    __tablename__ = "lab_teams"
    __table_args__ = (UniqueConstraint("organization_id", "name"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    organization_id: Mapped[str] = cascading_key("lab_organizations.id")
    name: Mapped[str] = mapped_column(String(200))


class Project(Base):
    """A project of an organization, possibly of one of its teams; `src_…`."""

    __tablename__ = "lab_projects"
    __table_args__ = (UniqueConstraint("organization_id", "name"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    organization_id: Mapped[str] = cascading_key("lab_organizations.id")
    team_id: Mapped[str | None] = mapped_column(ForeignKey("lab_teams.id", ondelete="SET NULL"))
    name: Mapped[str] = mapped_column(String(200))


class Folder(Base):
    """A folder of a project; `lib_…`."""

    __tablename__ = "lab_folders"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[str] = cascading_key("lab_projects.id", index=True)
    name: Mapped[str] = mapped_column(String(200))


def _exactly_one_place(*columns: str) -> CheckConstraint:
    filled_columns = " + ".join(
        f"(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)" for column in columns
    )
    return CheckConstraint(f"{filled_columns} = 1")


class Grant(Base):
    """Access of a user or an app to an organization, a team, a project or a folder.

    Membership of a user in an organization or a team is such a grant.
    """

    __tablename__ = "lab_grants"
    __table_args__ = (
        _exactly_one_place("user_id", "app_id"),
        _exactly_one_place("organization_id", "team_id", "project_id", "folder_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[str | None] = cascading_key("lab_users.id", index=True)
    app_id: Mapped[str | None] = cascading_key("lab_apps.id", index=True)
    organization_id: Mapped[str | None] = cascading_key("lab_organizations.id")
    team_id: Mapped[str | None] = cascading_key("lab_teams.id")
    project_id: Mapped[str | None] = cascading_key("lab_projects.id")
    folder_id: Mapped[str | None] = cascading_key("lab_folders.id")


class Sequence(Base):
    """A DNA sequence.

    Attributes:
        id: `seq_…`.
        folded: the case-folded name, for search and sorting.
        aliases: further case-folded names for search, each between line ends; None if it has none.
        bases_hash: for search by bases, see `records.bases_key`.
        created, modified: ISO 8601, UTC, microseconds; they sort as text.
        archive_reason: why it is archived; None if it is not.
        record: the complete JSON record with a placeholder for the tenant's address.
    """

    __tablename__ = "lab_sequences"
    __table_args__ = (
        *(
            # Covering indexes: sort keys and names are read without loading the long rows.
            Index(f"lab_sequences_{key}", "folder_id", "archive_reason", key, "id", *names)
            for key, names in (
                ("modified", ("folded", "aliases")),
                ("created", ("folded", "aliases")),
                ("folded", ("aliases",)),
            )
        ),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    folder_id: Mapped[str] = cascading_key("lab_folders.id")
    creator_id: Mapped[str] = mapped_column(String(40))
    schema_id: Mapped[str | None] = mapped_column(String(40))
    name: Mapped[str] = mapped_column(String(255))
    folded: Mapped[str] = mapped_column(Text)
    aliases: Mapped[str | None] = mapped_column(Text)
    bases_hash: Mapped[str] = mapped_column(String(64), index=True)
    created: Mapped[str] = mapped_column(String(32))
    modified: Mapped[str] = mapped_column(String(32))
    archive_reason: Mapped[str | None] = mapped_column(String(200))
    record: Mapped[str] = mapped_column(Text)


class SearchValue(Base):
    """A value by which a sequence is found; see `records.insert_search_values`.

    Attributes:
        field: `alias`, `registryId`, `entityRegistryId` or `fields.NAME`.
        text: the value as text; None if the field of a schema is empty.
        number: the value of a numeric field; None for others.
    """

    __tablename__ = "lab_search_values"
    __table_args__ = (Index("lab_search_values_text", "field", "text"),)

    sequence_id: Mapped[str] = cascading_key("lab_sequences.id", primary_key=True)
    field: Mapped[str] = mapped_column(String(300), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str | None] = mapped_column(Text)
    number: Mapped[float | None]


class AuditEntry(Base):
    """A request in the audit log (LAB-165 to LAB-174).

    Names and addresses are copied, since entries outlive users and apps.

    Attributes:
        credential: `key NAME`, `secret NAME` or `ID token`; None if unknown.
    """

    __tablename__ = "lab_audit"
    __table_args__ = (Index("lab_audit_tenant", "tenant_id", "id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[int] = cascading_key("lab_tenants.id")
    time: Mapped[str] = mapped_column(String(32))
    method: Mapped[str] = mapped_column(String(10))
    path: Mapped[str] = mapped_column(Text)
    status: Mapped[int]
    user: Mapped[str | None] = mapped_column(String(200))
    app: Mapped[str | None] = mapped_column(String(200))
    credential: Mapped[str | None] = mapped_column(String(120))
    address: Mapped[str | None] = mapped_column(String(50))
    reason: Mapped[str | None] = mapped_column(Text)


class AuthorizationCode(Base):
    """An unredeemed authorization code of the identity provider; only its SHA-256 is stored."""

    __tablename__ = "lab_codes"

    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    expires: Mapped[float]
    request: Mapped[dict[str, Any]] = mapped_column(JSON)
    email: Mapped[str] = mapped_column(String(200))


class Seeded(Base):
    """Name of initial data that were created, so that they are not created again once removed."""

    __tablename__ = "lab_seeded"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)


class Limit(Base):
    """A limit changed by an administrator."""

    __tablename__ = "lab_limits"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    value: Mapped[int]


def normalize_email(email: str) -> str:
    """Return an e-mail address in lower case, as stored.

    It is returned unchanged if only its lower case is ASCII, as that of the Kelvin sign is a k.
    """
    lower = email.lower()
    return email if lower.isascii() and not email.isascii() else lower


def current_timestamp() -> str:
    """Return the current time in the format of the platform."""
    return format_timestamp(datetime.now(UTC))


def format_timestamp(moment: datetime) -> str:
    """Format a time as the platform does: `2026-03-01T12:00:00.000000+00:00`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


Record = dict[str, Any]
"""The JSON record of a sequence."""
