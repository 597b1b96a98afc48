"""The service's limits that are no part of the contract; the database has the changed ones."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from labext.sandbox.jobs.store import Limit

_YEAR = 366 * 24 * 3600


@dataclass(frozen=True)
class Bounds:
    """What a limit is about, its value unless it is changed, and the least and most it may be.

    Attributes:
        size: whether it counts bytes, and may be given with a unit.
    """

    about: str
    default: int
    least: int
    most: int
    size: bool = False


LIMITS = {
    "url_seconds": Bounds("seconds that a presigned address is valid", 15 * 60, 1, _YEAR),
    "flood_requests": Bounds(
        "requests of one account in 10 seconds, with the sandbox's `--rate named`", 1000, 1, 10**9
    ),
    "job_seconds": Bounds("seconds that any job may run", 15 * 60, 1, _YEAR),
    "upload_bytes": Bounds("bytes of one uploaded file", 1 << 30, 1, 1 << 50, size=True),
    "storage_quota": Bounds(
        "bytes of a new account's uploaded files and batches' archives",
        10 << 30,
        0,
        1 << 62,
        size=True,
    ),
}


def limit(session: Session, name: str) -> int:
    """The limit's value now."""
    changed = session.get(Limit, name)
    return LIMITS[name].default if changed is None else changed.value


def change(session: Session, name: str, value: int | None) -> None:
    """Give a limit another value; None for its default again, whatever that will be."""
    if value is not None:
        session.merge(Limit(name=name, value=value))
    elif (changed := session.get(Limit, name)) is not None:
        session.delete(changed)
