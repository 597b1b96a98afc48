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
    """A column that a list may be ordered by.

    Attributes:
        column: the column; texts are ordered case-insensitively.
        descending: the default direction, True for times.
    """

    column: InstrumentedAttribute[Any]
    descending: bool = False


def order_by_terms(
    order_by: str, sort_keys: Mapping[str, SortKey], last: Any
) -> list[ColumnElement[Any]]:
    """Return the terms of an ORDER BY clause.

    Args:
        order_by: a sort key, optionally followed by a blank and `asc` or `desc`.
        sort_keys: the allowed keys by name.
        last: the column that makes the order unique.

    Raises:
        HTTPException: 400 if `order_by` is invalid.
    """
    name, _, direction = order_by.strip().partition(" ")
    key = sort_keys.get(name)
    descending = (
        key.descending if key is not None and not direction else _DIRECTIONS.get(direction.lower())
    )
    if key is None or descending is None:
        names = ", ".join(sort_keys)
        raise errors.bad_request(
            f"order_by is one of {names}, and perhaps a blank with asc or desc."
        )
    textual = key.column.type.python_type is str
    terms = [func.lower(key.column), key.column, last] if textual else [key.column, last]
    return [term.desc() if descending else term.asc() for term in terms]


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
"""Selects a notebook with the numbers of its sources and notes."""


def get_notebook(session: Session, identifier: str) -> Notebook:
    """Return a notebook by its identifier.

    Raises:
        HTTPException: 404.
    """
    notebook = session.get(Notebook, identifier)
    if notebook is None:
        raise errors.not_found("notebook", identifier)
    return notebook


def list_notebooks(site: Site, archived: bool | None, order_by: str) -> list[dict[str, Any]]:
    """Return the records of all notebooks, or of only (un)archived ones.

    Raises:
        HTTPException: 400 if `order_by` is invalid.
    """
    query = _WITH_COUNTS.order_by(*order_by_terms(order_by, _SORT_KEYS, Notebook.id))
    if archived is not None:
        query = query.where(Notebook.archived.is_(archived))
    with site.database.read() as session:
        return [_to_record(*row) for row in session.execute(query)]


def notebook_record(session: Session, identifier: str) -> dict[str, Any]:
    """Return a notebook's record.

    Raises:
        HTTPException: 404.
    """
    row = session.execute(_WITH_COUNTS.where(Notebook.id == identifier)).one_or_none()
    if row is None:
        raise errors.not_found("notebook", identifier)
    return _to_record(*row)


def _to_record(notebook: Notebook, sources: int, notes: int) -> dict[str, Any]:
    return {
        "id": notebook.id,
        "name": notebook.name,
        "description": notebook.description,
        "archived": notebook.archived,
        "created_at": format_time(notebook.created),
        "updated_at": format_time(notebook.updated),
        "source_count": sources,
        "note_count": notes,
    }
