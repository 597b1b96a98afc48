"""Notebook lookups and the ordering of lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.tables import Note, Notebook, NotebookSource

_DIRECTIONS = {"asc": False, "desc": True}


@dataclass(frozen=True)
class SortKey:
    """What a list may be ordered by.

    Attributes:
        column: of the table; a text's case makes no difference.
        down: whether it goes down unless it is told, as times do.
    """

    column: InstrumentedAttribute[Any]
    descending: bool = False


def order_by_terms(
    order_by: str, known: Mapping[str, SortKey], last: Any
) -> list[ColumnElement[Any]]:
    """The terms of an ORDER BY.

    Args:
        order_by: one of the names, and perhaps a blank with `asc` or `desc`.
        known: the names.
        last: the column that tells apart what is the same otherwise.

    Raises:
        HTTPException: 400.
    """
    name, _, direction = order_by.strip().partition(" ")
    by = known.get(name)
    down = by.descending if by is not None and not direction else _DIRECTIONS.get(direction.lower())
    if by is None or down is None:
        names = ", ".join(known)
        raise errors.bad_request(
            f"order_by is one of {names}, and perhaps a blank with asc or desc."
        )
    textual = by.column.type.python_type is str
    terms = [func.lower(by.column), by.column, last] if textual else [by.column, last]
    return [term.desc() if down else term.asc() for term in terms]


_SORT_KEYS = {
    "updated_at": SortKey(Notebook.updated, descending=True),
    "created_at": SortKey(Notebook.created, descending=True),
    "name": SortKey(Notebook.name),
}

_WITH_COUNTS = select(
    Notebook,
    select(func.count()).where(NotebookSource.notebook_id == Notebook.id).scalar_subquery(),
    select(func.count()).where(Note.notebook_id == Notebook.id).scalar_subquery(),
)
"""A notebook with the numbers of its sources and notes."""


def get_notebook(session: Session, identifier: str) -> Notebook:
    """The notebook of an identifier.

    Raises:
        HTTPException: 404.
    """
    found = session.get(Notebook, identifier)
    if found is None:
        raise errors.not_found("notebook", identifier)
    return found


def list_notebooks(site: Site, archived: bool | None, order_by: str) -> list[dict[str, Any]]:
    """The records of all notebooks, or of those that are archived or not.

    Raises:
        HTTPException: 400, there is no such order.
    """
    wanted = _WITH_COUNTS.order_by(*order_by_terms(order_by, _SORT_KEYS, Notebook.id))
    if archived is not None:
        wanted = wanted.where(Notebook.archived.is_(archived))
    with site.database.read() as session:
        return [_to_record(*row) for row in session.execute(wanted)]


def notebook_record(session: Session, identifier: str) -> dict[str, Any]:
    """A notebook's record.

    Raises:
        HTTPException: 404.
    """
    row = session.execute(_WITH_COUNTS.where(Notebook.id == identifier)).one_or_none()
    if row is None:
        raise errors.not_found("notebook", identifier)
    return _to_record(*row)


def _to_record(found: Notebook, sources: int, notes: int) -> dict[str, Any]:
    return {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "archived": found.archived,
        "created_at": format_time(found.created),
        "updated_at": format_time(found.updated),
        "source_count": sources,
        "note_count": notes,
    }
