"""Queries that all kinds of objects share."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.orm.interfaces import ORMOption

from labext.sandbox.nb import errors
from labext.sandbox.nb.tables import Entity

Row = TypeVar("Row", bound=Entity)


def load(session: Session, table: type[Row], identifier: str, *options: ORMOption) -> Row:
    """Return an object by its identifier, or raise a 404."""
    row = session.get(table, identifier, options=options)
    if row is None:
        raise errors.not_found(table.noun, identifier)
    return row


def numbered_name(
    session: Session, column: InstrumentedAttribute[str], notebook_id: str, word: str
) -> str:
    """Return a name, such as `Chat 3`, that no other object of the notebook has."""
    same_notebook = column.class_.notebook_id == notebook_id
    names = set(session.scalars(select(column).where(same_notebook)))
    return next(name for n in count(1 + len(names)) if (name := f"{word} {n}") not in names)


_DIRECTIONS = {"asc": False, "desc": True}


def order_by_terms(
    order_by: str, sort_keys: Mapping[str, InstrumentedAttribute[Any]], last: Any
) -> list[ColumnElement[Any]]:
    """Return the terms of an ORDER BY clause.

    `order_by` is a sort key, optionally followed by a blank and `asc` or `desc`. By default the
    latest times come first, and texts are in order, without regard to case. The `last` column
    makes the order unique.
    """
    name, _, direction = order_by.strip().partition(" ")
    column = sort_keys.get(name)
    textual = column is not None and column.type.python_type is str
    descending = _DIRECTIONS.get(direction.lower()) if direction else not textual
    if column is None or descending is None:
        names = ", ".join(sort_keys)
        raise errors.bad_request(
            f"order_by must be one of {names}, optionally followed by a blank and asc or desc."
        )
    terms = [func.lower(column), column, last] if textual else [column, last]
    return [term.desc() if descending else term.asc() for term in terms]
