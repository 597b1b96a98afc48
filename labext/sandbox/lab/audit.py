"""The audit log: every call with the identity of its caller.

A call is logged before its response is sent. While the database cannot be written (a full disk), a
call that only reads is answered all the same, and its entry is written with the next one that can
be; a call that hands out a token is refused. The query, the headers and the body, which may hold
secrets, are never logged.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sqlalchemy import delete, insert
from sqlalchemy.exc import DBAPIError
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

MOST_PENDING = 10_000
"""Entries kept in memory while the database cannot be written; then the oldest are dropped."""

log = logging.getLogger(__name__)


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

    def values(self, status: int, reason: str | None) -> dict[str, Any]:
        """Return the row of the call, with what came of it."""
        caller = self.caller
        return {
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


class AuditLog:
    """Writes entries, and keeps those in memory that cannot be written yet. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def write(self, values: dict[str, Any], *, required: bool) -> None:
        """Write an entry, after those that are still to be written.

        Args:
            values: the row.
            required: raise if it cannot be written, instead of keeping it for later.

        Raises:
            DBAPIError: it is required, and the database cannot be written.
        """
        with self._lock:
            pending, self._pending = self._pending, []
        try:
            self._insert([*pending, values])
        except DBAPIError as error:
            kept = pending if required else [*pending, values]
            with self._lock:
                self._pending = [*kept, *self._pending][-MOST_PENDING:]
            if required:
                raise
            if not pending:
                log.error("The audit log cannot be written; its entries are kept: %s", error.orig)

    def _insert(self, rows: list[dict[str, Any]]) -> None:
        # A call that changed nothing is worth no wait for the disk.
        with self._database.write(durable=False) as session:
            connection = session.connection()
            for row in rows:
                number: int = connection.execute(_INSERT, row).scalar_one()
                if number % SWEPT_EVERY == 0:
                    kept = LIMITS.value(session, "audit_entries")
                    session.execute(delete(AuditEntry).where(AuditEntry.id <= number - kept))
