"""What stands behind a name: a job, a batch, or the parts of a split batch, seen as one row."""

from __future__ import annotations

from collections.abc import Mapping

from labext.errors import NotFoundError
from labext.jobs import rows
from labext.jobs.batch.parts import Parts, merged
from labext.jobs.rows import Row
from labext.jobs.service import Service


def resolve(
    service: Service, parts: Parts, name: str, email: str | None = None
) -> dict[str, Row | None]:
    """Return the rows behind a name: its own, or one for each part of a split batch.

    Raises:
        NotFoundError: there is none; a near name is told.
    """
    known = parts.of(name, email)
    if known:
        found = {part: service.find(part, email) for part in known}
        if any(found.values()):
            return found
        parts.forget(name)  # deleted from elsewhere; the name may be something else's by now
    try:
        return {name: service.row(name, email)}
    except NotFoundError:
        return {part: service.find(part, email) for part in parts.search(name, email)}


def seen(name: str, found: Mapping[str, Row | None], known_sizes: Mapping[str, int]) -> Row:
    """Return what `resolve` has found as one row.

    Raises:
        NotFoundError: nothing of it is there.
    """
    if name in found and (row := found[name]) is not None:
        return row
    if not any(found.values()):
        raise rows.unknown(name)
    return merged(name, found, known_sizes)


def sizes(parts: Parts, name: str) -> dict[str, int]:
    """Return how many jobs each part of a batch has, as far as this machine knows."""
    entry = parts.entry(name)
    return {} if entry is None else {part.name: len(part.jobs) for part in entry.plan.parts}


def parent(service: Service, parts: Parts, name: str, email: str | None = None) -> Row:
    """Return one job's or batch's row; of a split batch one merged out of its parts'.

    Raises:
        NotFoundError: there is none of that name; a near name is told.
    """
    found = resolve(service, parts, name, email)
    return seen(name, found, {} if email else sizes(parts, name))
