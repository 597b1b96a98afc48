"""What the service has from the start: an organization, a teacher, a student, a saved pipeline.

Each is made once: what an administrator has removed stays away.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.folder import secret
from labext.sandbox.jobs import limits
from labext.sandbox.jobs.store import Account, Key, Organization, SavedPipeline, Seeded, now
from labext.sandbox.keys import key_hash
from labext.sandbox.seeding import once
from labext.sandbox.service import Site

ORGANIZATION = "sandbox"
STUDENT = "student@sandbox.local"
TEACHER = "teacher@sandbox.local"
ADVANCED = "advanced"
"""The permission of the catalogue's gated parameters; the teacher has it."""

HELIX_TO_MODES = "helix-to-modes"
"""A saved pipeline: from a sequence to the slow motions of its helix."""


def seed(site: Site) -> None:
    """Make what was never made; keys are made at the first start and kept in owner-only files."""
    with site.database.write() as session:
        if once(session, Seeded, f"organization {ORGANIZATION}"):
            _organization(session)
        if once(session, Seeded, f"account {STUDENT}"):
            _account(session, STUDENT, student_key(site))
        if once(session, Seeded, f"account {TEACHER}"):
            _account(session, TEACHER, teacher_key(site), owner=True, gates=[ADVANCED])
        if once(session, Seeded, f"pipeline {HELIX_TO_MODES}"):
            _pipeline(session)


def student_key(site: Site) -> str:
    """The key of the connection that the sandbox hands out."""
    return secret(site.secrets / "jobs_student_key")


def teacher_key(site: Site) -> str:
    """The key of the organization's owner."""
    return secret(site.secrets / "jobs_teacher_key")


def _organization(session: Session) -> Organization:
    """Return the organization, created on the first start."""
    found = session.scalars(
        select(Organization).where(Organization.name == ORGANIZATION)
    ).one_or_none()
    if found is None:
        found = Organization(name=ORGANIZATION)
        session.add(found)
        session.flush()
    return found


def _pipeline(session: Session) -> None:
    stages = [
        {
            "task": "Structure Prediction",
            "toolSettings": {"peptide_build": {"sequence": "pipe", "conformation": "helix"}},
        },
        {"task": "Scoring PDB", "toolSettings": {"normal_modes": {"pdbFile": "pipe"}}},
    ]
    organization = _organization(session)
    session.add(
        SavedPipeline(
            organization_id=organization.id, name=HELIX_TO_MODES, stages=stages, created=now()
        )
    )


def _account(
    session: Session, email: str, key: str, *, owner: bool = False, gates: Collection[str] = ()
) -> None:
    account = session.scalars(select(Account).where(Account.email == email)).one_or_none()
    if account is None:
        account = Account(
            organization_id=_organization(session).id,
            email=email,
            owner=owner,
            gates=[*gates],
            storage_quota=limits.limit(session, "storage_quota"),
        )
        session.add(account)
        session.flush()
    if session.scalars(select(Key).where(Key.hash == key_hash(key))).one_or_none() is None:
        session.add(Key(account_id=account.id, name="first", hash=key_hash(key), created=now()))
