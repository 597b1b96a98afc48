"""What a list is ordered by: `order_by=updated_at`, `order_by=name desc`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func
from sqlalchemy.orm import InstrumentedAttribute

from labext.sandbox.nb import faults

_DIRECTIONS = {"asc": False, "desc": True}


@dataclass(frozen=True)
class By:
    """What a list may be ordered by.

    Attributes:
        column: of the table; a text's case makes no difference.
        down: whether it goes down unless it is told, as times do.
    """

    column: InstrumentedAttribute[Any]
    down: bool = False


def ordered(order_by: str, known: Mapping[str, By], last: Any) -> list[ColumnElement[Any]]:
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
    down = by.down if by is not None and not direction else _DIRECTIONS.get(direction.lower())
    if by is None or down is None:
        names = ", ".join(known)
        raise faults.invalid(f"order_by is one of {names}, and perhaps a blank with asc or desc.")
    textual = by.column.type.python_type is str
    terms = [func.lower(by.column), by.column, last] if textual else [by.column, last]
    return [term.desc() if down else term.asc() for term in terms]
