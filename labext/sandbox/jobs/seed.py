"""Create the initial organization, teacher, student and saved pipeline."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import ensure_secret
from labext.sandbox.core.database import mark_seeded
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import hash_key
from labext.sandbox.jobs import limits
from labext.sandbox.jobs.tables import (
    Account,
    Key,
    Organization,
    SavedPipeline,
    Seeded,
    current_timestamp,
)

ORGANIZATION = "sandbox"
STUDENT = "student@sandbox.local"
TEACHER = "teacher@sandbox.local"
ADVANCED_GATE = "advanced"
"""The gate of all gated parameters of the catalogue; the teacher has its permission."""

HELIX_TO_MODES = "helix-to-modes"
"""Name of the saved pipeline that builds a helix from a sequence and computes its normal modes."""


def seed(site: Site) -> None:
    """Create the initial data that was not created before.

    Keys are created once and stored in files that only the owner can read. A server gets no
    accounts, and an organization with the name in its settings.
    """
    with site.database.write() as session:
        for name in ("max_running_per_account", "max_queued_per_account"):
            if (value := getattr(site.options, name)) is not None:
                limits.change_limit(session, name, value)
        name = initial_organization(site)
        if mark_seeded(session, Seeded, f"organization {name}"):
            _seed_organization(session, name)
        if site.server is None and mark_seeded(session, Seeded, f"account {STUDENT}"):
            _seed_account(session, STUDENT, student_key(site))
        if site.server is None and mark_seeded(session, Seeded, f"account {TEACHER}"):
            _seed_account(session, TEACHER, teacher_key(site), owner=True, gates=[ADVANCED_GATE])
        if mark_seeded(session, Seeded, f"pipeline {HELIX_TO_MODES}"):
            _seed_pipeline(session, name)


def initial_organization(site: Site) -> str:
    """Return the name of the organization that the first start creates."""
    return ORGANIZATION if site.server is None else site.server.organization


def has_sample_accounts(site: Site) -> bool:
    """Return whether the student or the teacher exists."""
    query = select(Account.id).where(Account.email.in_([STUDENT, TEACHER])).limit(1)
    with site.database.read() as session:
        return session.scalar(query) is not None


def student_key(site: Site) -> str:
    """Return the student's key, which connection.json contains."""
    return ensure_secret(site.secrets / "jobs_student_key")


def teacher_key(site: Site) -> str:
    """Return the key of the organization's owner."""
    return ensure_secret(site.secrets / "jobs_teacher_key")


def _seed_organization(session: Session, name: str = ORGANIZATION) -> Organization:
    """Return an organization, creating it if it does not exist."""
    organization = session.scalars(
        select(Organization).where(Organization.name == name)
    ).one_or_none()
    if organization is None:
        organization = Organization(name=name)
        session.add(organization)
        session.flush()
    return organization


def _seed_pipeline(session: Session, organization: str) -> None:
    stages = [
        {
            "task": "Structure Prediction",
            "toolSettings": {"peptide_build": {"sequence": "pipe", "conformation": "helix"}},
        },
        {"task": "Scoring PDB", "toolSettings": {"normal_modes": {"pdbFile": "pipe"}}},
    ]
    number, now = _seed_organization(session, organization).id, current_timestamp()
    session.add(
        SavedPipeline(organization_id=number, name=HELIX_TO_MODES, stages=stages, created=now)
    )


def _seed_account(
    session: Session, email: str, key: str, *, owner: bool = False, gates: Collection[str] = ()
) -> None:
    account = session.scalars(select(Account).where(Account.email == email)).one_or_none()
    if account is None:
        account = Account(
            organization_id=_seed_organization(session).id,
            email=email,
            owner=owner,
            gates=[*gates],
            storage_quota=limits.limit_value(session, "storage_quota"),
        )
        session.add(account)
        session.flush()
    if session.scalars(select(Key).where(Key.hash == hash_key(key))).one_or_none() is None:
        session.add(Key.create(account, "first", key))
