"""The log: every call with the identity of whoever made it (contract, Access control rules).

A call is logged before its answer goes out: what can't be logged is not answered. Never logged are
the query, the headers and the body, which may hold secrets.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from sqlalchemy import delete, insert
from starlette.requests import Request

from labext.redaction import mask
from labext.sandbox.database import Database
from labext.sandbox.lab.access import Caller
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.lab.store import AuditEntry, now

# Made once, and of the table alone: half the time of a call would go into them.
_TABLE = AuditEntry.__table__
_INSERT = insert(_TABLE).returning(_TABLE.c.id)  # type: ignore[arg-type]

LONGEST_PATH = 500
"""Characters of a path that are kept."""

SWEPT_EVERY = 1000
"""Calls after which those that are too many are forgotten."""


@dataclass
class Entry:
    """A call, as far as it is known by now.

    Attributes:
        caller: whose the credentials are, or were.
    """

    tenant_id: int
    method: str
    path: str
    address: str | None
    caller: Caller | None = None

    @classmethod
    def of(cls, request: Request, tenant_id: int) -> Entry:
        """What a request says before anybody looks at who sent it."""
        path = quote(request.scope["path"], safe="/:@!$&'()*+,;=~")
        address = None if request.client is None else request.client.host
        return cls(tenant_id, request.method[:10], mask(path)[:LONGEST_PATH], address)

    def write(self, database: Database, status: int, reason: str | None) -> None:
        """Log the call with what came of it."""
        caller = self.caller
        values = {
            "tenant_id": self.tenant_id,
            "time": now(),
            "method": self.method,
            "path": self.path,
            "status": status,
            "user": None if caller is None or caller.user is None else caller.user.email,
            "app": None if caller is None or caller.app is None else caller.app.name,
            "credential": None if caller is None else caller.credential,
            "address": self.address,
            "reason": reason,
        }
        # A call that changed nothing is worth no wait for the disk.
        with database.write(durable=False) as session:
            number: int = session.connection().execute(_INSERT, values).scalar_one()
            if number % SWEPT_EVERY == 0:
                kept = LIMITS.value(session, "audit_entries")
                session.execute(delete(AuditEntry).where(AuditEntry.id <= number - kept))
