"""The audit log (contract, Access control rules: all calls are logged with their identity)."""

from __future__ import annotations

from sqlalchemy import select

from labext.errors import InputError
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import tenant_of
from labext.sandbox.lab.store import AuditEntry

_SHOWN = ("time", "status", "method", "path", "user", "app", "credential", "address", "reason")


def entries(
    admin: Administration,
    tenant: str,
    *,
    limit: int | None = 50,
    user: str | None = None,
    app: str | None = None,
    status: int | None = None,
) -> list[Record]:
    """Calls of a tenant's API, the newest first, refused ones too.

    Args:
        admin: whose.
        tenant: the tenant's name.
        limit: at most so many; None for all.
        user: only those of this e-mail address; also of somebody who was removed.
        app: only those of the app of this name.
        status: only those that were answered so.

    Raises:
        InputError: `limit` is below 1.
        NotFoundError: there is no such tenant.
    """
    if limit is not None and limit < 1:
        raise InputError(f"{limit} entries can't be shown.", "Give a whole number from 1.")
    with admin.database.read() as session:
        found = select(AuditEntry).where(AuditEntry.tenant_id == tenant_of(session, tenant).id)
        if user is not None:
            found = found.where(AuditEntry.user == user.lower())
        if app is not None:
            found = found.where(AuditEntry.app == app)
        if status is not None:
            found = found.where(AuditEntry.status == status)
        rows = session.scalars(found.order_by(AuditEntry.id.desc()).limit(limit))
        return [{name: getattr(row, name) for name in _SHOWN} for row in rows]
