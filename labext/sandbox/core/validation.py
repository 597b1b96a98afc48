"""Validate the names, e-mail addresses and limits that an administrator sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import DeclarativeBase, Session

from labext import messages
from labext.errors import ConflictError, InputError, NotFoundError

MAX_NAME_LENGTH = 200


def not_found_error(noun: str, name: str, known: Iterable[str]) -> NotFoundError:
    """The error for a name that is not there, with the near one or all."""
    names = sorted(known)
    near = messages.closest_match(name, names)
    if near is not None:
        hint = f"Did you mean {near}?"
    else:
        hint = f"There are: {messages.join_words(names, 10)}." if names else "There is none yet."
    return NotFoundError(f"There is no {noun} {messages.quote_value(name)}.", hint)


def already_exists_error(noun: str, name: str) -> ConflictError:
    """The error for a name that is there already."""
    return ConflictError(
        f"There is {noun} {messages.quote_value(name)} already.", "Choose another name."
    )


def require_confirmation(yes: bool, would: str) -> None:
    """See that what destroys something is meant.

    Args:
        yes: whether it is.
        would: what it would do, a sentence.

    Raises:
        InputError: it is not.
    """
    if not yes:
        raise InputError(would, "Add `--yes` to do it.")


def validate_name(noun: str, name: str, longest: int = MAX_NAME_LENGTH) -> str:
    """A name that can be shown and typed again.

    Raises:
        InputError: it is empty or too long, holds a control character, or ends in a blank.
    """
    if not name or name != name.strip() or not name.isprintable() or len(name) > longest:
        raise InputError(
            f"{messages.quote_value(name)} can't be the name of {noun}.",
            f"Use 1 to {longest} characters that can be printed, without blanks around them.",
        )
    return name


def next_free_name(wanted: str | None, stem: str, there: Iterable[str]) -> str:
    """The name that was asked for, or the next free one of `stem1`, `stem2` and so on.

    Raises:
        ConflictError: the name that was asked for is there.
        InputError: it can't be a name.
    """
    known = set(there)
    if wanted is None:
        return next(n for i in range(1, len(known) + 2) if (n := f"{stem}{i}") not in known)
    if validate_name(f"a {stem}", wanted, 100) in known:
        raise already_exists_error(f"a {stem}", wanted)
    return wanted


def validate_email(email: str) -> str:
    """An address that tells an account from the others.

    Raises:
        InputError: it has not the form of one.
    """
    head, at, tail = email.partition("@")
    plain = email.isprintable() and " " not in email and len(email) <= MAX_NAME_LENGTH
    if not (head and at and tail and "@" not in tail and plain):
        raise InputError(
            f"{messages.quote_value(email)} is no e-mail address.",
            f"Give one such as student2@course.example, of at most {MAX_NAME_LENGTH} characters.",
        )
    return email


YEAR_SECONDS = 366 * 24 * 3600
"""Seconds, for limits of time that need an end."""


@dataclass(frozen=True)
class LimitDefinition:
    """What a limit is about, its value unless it is changed, and the least and most it may be.

    Attributes:
        size: whether it counts bytes, and may be given with a unit.
    """

    about: str
    default: int
    least: int
    most: int
    size: bool = False


class Limits(Mapping[str, LimitDefinition]):
    """A service's limits by their names.

    Args:
        table: has the changed ones, in the columns `name` and `value`.
        known: every limit.
    """

    def __init__(self, table: type[DeclarativeBase], known: Mapping[str, LimitDefinition]) -> None:
        self._table = table
        self._known = known

    def __getitem__(self, name: str) -> LimitDefinition:
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
            return messages.parse_size(text)
        try:
            return int(text.replace(",", ""))
        except ValueError:
            raise InputError(
                f"{messages.quote_value(text)} is no whole number.",
                f"Give a whole number, {bounds.least:,} to {bounds.most:,}: {bounds.about}.",
            ) from None

    def _checked(self, name: str) -> LimitDefinition:
        if name not in self:
            raise not_found_error("limit", name, self)
        return self[name]
