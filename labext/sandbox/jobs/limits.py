"""The service's limits that are no part of the contract, kept in its database."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.jobs.store import Limit

DEFAULTS = {
    "url_seconds": 15 * 60,  # how long a presigned address is valid
    "flood_requests": 1000,  # of one account in 10 seconds, with the sandbox's `--rate named`
    "job_seconds": 15 * 60,  # how long any job may run
    "upload_bytes": 1 << 30,  # one uploaded file
    "storage_quota": 10 << 30,  # of a new account: its uploaded files and batches' archives
}


def limit(session: Session, name: str) -> int:
    """The limit's value now."""
    value = session.get(Limit, name)
    return DEFAULTS[name] if value is None else value.value


def seed(session: Session) -> None:
    """Write down the limits that aren't there yet."""
    there = set(session.scalars(select(Limit.name)))
    session.add_all(Limit(name=n, value=v) for n, v in DEFAULTS.items() if n not in there)
