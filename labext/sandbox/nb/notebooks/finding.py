"""Notebooks as they are found and shown."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.ordering import By, ordered
from labext.sandbox.nb.store import Link, Note, Notebook
from labext.sandbox.service import Site

_ORDERS = {
    "updated_at": By(Notebook.updated, down=True),
    "created_at": By(Notebook.created, down=True),
    "name": By(Notebook.name),
}

_COUNTED = select(
    Notebook,
    select(func.count()).where(Link.notebook_id == Notebook.id).scalar_subquery(),
    select(func.count()).where(Note.notebook_id == Notebook.id).scalar_subquery(),
)
"""A notebook with the numbers of its sources and notes."""


def notebook(session: Session, identifier: str) -> Notebook:
    """The notebook of an identifier.

    Raises:
        HTTPException: 404.
    """
    found = session.get(Notebook, identifier)
    if found is None:
        raise faults.absent("notebook", identifier)
    return found


def listed(site: Site, archived: bool | None, order_by: str) -> list[dict[str, Any]]:
    """The records of all notebooks, or of those that are archived or not.

    Raises:
        HTTPException: 400, there is no such order.
    """
    wanted = _COUNTED.order_by(*ordered(order_by, _ORDERS, Notebook.id))
    if archived is not None:
        wanted = wanted.where(Notebook.archived.is_(archived))
    with site.database.read() as session:
        return [_record(*row) for row in session.execute(wanted)]


def shown(session: Session, identifier: str) -> dict[str, Any]:
    """A notebook's record.

    Raises:
        HTTPException: 404.
    """
    row = session.execute(_COUNTED.where(Notebook.id == identifier)).one_or_none()
    if row is None:
        raise faults.absent("notebook", identifier)
    return _record(*row)


def _record(found: Notebook, sources: int, notes: int) -> dict[str, Any]:
    return {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "archived": found.archived,
        "created_at": moment(found.created),
        "updated_at": moment(found.updated),
        "source_count": sources,
        "note_count": notes,
    }
