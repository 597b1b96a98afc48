"""What the service has from the start: an organization, a teacher who owns it, and a student."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.folder import secret
from labext.sandbox.jobs import limits
from labext.sandbox.jobs.identity import key_hash
from labext.sandbox.jobs.store import Account, Organization
from labext.sandbox.service import Site

ORGANIZATION = "sandbox"
STUDENT = "student@sandbox.local"
TEACHER = "teacher@sandbox.local"
ADVANCED = "advanced"
"""The permission of the catalogue's gated parameters; the teacher has it."""


def seed(site: Site) -> None:
    """Make what isn't there; keys are made at the first start and kept in owner-only files."""
    with site.database.write() as session:
        limits.seed(session)
        session.flush()
        organization = session.scalars(
            select(Organization).where(Organization.name == ORGANIZATION)
        ).one_or_none()
        if organization is None:
            organization = Organization(name=ORGANIZATION)
            session.add(organization)
            session.flush()
        _account(session, organization, STUDENT, student_key(site), owner=False, gates=[])
        _account(session, organization, TEACHER, teacher_key(site), owner=True, gates=[ADVANCED])


def student_key(site: Site) -> str:
    """The key of the connection that the sandbox hands out."""
    return secret(site.secrets / "jobs_student_key")


def teacher_key(site: Site) -> str:
    """The key of the organization's owner."""
    return secret(site.secrets / "jobs_teacher_key")


def _account(
    session: Session,
    organization: Organization,
    email: str,
    key: str,
    *,
    owner: bool,
    gates: list[str],
) -> None:
    if session.scalars(select(Account).where(Account.email == email)).one_or_none() is None:
        session.add(
            Account(
                organization_id=organization.id,
                email=email,
                owner=owner,
                key_hash=key_hash(key),
                gates=gates,
                storage_quota=limits.limit(session, "storage_quota"),
            )
        )
