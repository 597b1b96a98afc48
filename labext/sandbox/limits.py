"""The limits of a service that whoever runs it may change; the database has the changed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import DeclarativeBase, Session

from labext import sizes, wording
from labext.errors import InputError
from labext.sandbox.naming import absent

YEAR = 366 * 24 * 3600
"""Seconds, for limits of time that need an end."""


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


class Limits(Mapping[str, Bounds]):
    """A service's limits by their names.

    Args:
        table: has the changed ones, in the columns `name` and `value`.
        known: every limit.
    """

    def __init__(self, table: type[DeclarativeBase], known: Mapping[str, Bounds]) -> None:
        self._table = table
        self._known = known

    def __getitem__(self, name: str) -> Bounds:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def value(self, session: Session, name: str) -> int:
        """A limit's value now."""
        changed: Any = session.get(self._table, name)
        return self[name].default if changed is None else int(changed.value)

    def change(self, session: Session, name: str, value: int | None) -> None:
        """Give a limit another value; None for its default again, whatever that will be."""
        if value is not None:
            session.merge(self._table(name=name, value=value))
        elif (changed := session.get(self._table, name)) is not None:
            session.delete(changed)

    def records(self, session: Session) -> list[dict[str, Any]]:
        """Every limit with its value, its default and what it is about."""
        return [
            {
                "name": name,
                "value": self.value(session, name),
                "default": bounds.default,
                "about": bounds.about,
            }
            for name, bounds in self.items()
        ]

    def set(self, session: Session, name: str, value: int | None) -> dict[str, Any]:
        """As `change`, with a look at the bounds; returns the limit's name and value.

        Raises:
            NotFoundError: there is no such limit.
            InputError: it can't have that value.
        """
        bounds = self._checked(name)
        wanted = bounds.default if value is None else value
        if not bounds.least <= wanted <= bounds.most:
            raise InputError(
                f"The limit {name} can't be {wanted:,}.",
                f"Give a whole number, {bounds.least:,} to {bounds.most:,}.",
            )
        self.change(session, name, value)
        return {"name": name, "value": wanted}

    def parsed(self, name: str, text: str) -> int:
        """Read the value of a limit: of a number of bytes with a unit or without, else a count.

        Raises:
            NotFoundError: there is no such limit.
            InputError: it is neither.
        """
        bounds = self._checked(name)
        if bounds.size:
            return sizes.parsed(text)
        try:
            return int(text.replace(",", ""))
        except ValueError:
            raise InputError(
                f"{wording.shown(text)} is no whole number.",
                f"Give a whole number, {bounds.least:,} to {bounds.most:,}: {bounds.about}.",
            ) from None

    def _checked(self, name: str) -> Bounds:
        if name not in self:
            raise absent("limit", name, self)
        return self[name]
