"""Validate the names, e-mail addresses and limits that an administrator sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import parameter
from labext.errors import ConflictError, InputError, NotFoundError

if TYPE_CHECKING:
    from sqlalchemy.orm import DeclarativeBase, Session

MAX_NAME_LENGTH = 200


def not_found_error(noun: str, name: str, existing: Iterable[str]) -> NotFoundError:
    """Return the error for an unknown name, suggesting the closest match or all names."""
    names = sorted(existing)
    listed = f"There are: {messages.join_words(names, 10)}." if names else "There is none yet."
    return NotFoundError(
        f"There is no {noun} {messages.quote_value(name)}.", messages.suggest(name, names, listed)
    )


def already_exists_error(noun: str, name: str, kind: str = "name") -> ConflictError:
    """Return the error for a name, or an identifier of another `kind`, that already exists."""
    return ConflictError(
        f"There is {noun} {messages.quote_value(name)} already.", f"Choose another {kind}."
    )


def require_confirmation(yes: bool, would: str) -> None:
    """Require confirmation of a destructive operation, else raise InputError."""
    if not yes:
        raise InputError(would, f"Add {parameter('yes')} to do it.")


def validate_name(noun: str, name: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Check that a name can be displayed and typed.

    Raises:
        InputError: it is empty or too long, or has control characters or outer blanks.
    """
    if not name or name != name.strip() or not name.isprintable() or len(name) > longest:
        raise InputError(
            f"{messages.quote_value(name)} can't be the name of {noun}.",
            f"Use 1 to {longest} characters that can be printed, without blanks around them.",
        )
    return name


def next_free_name(requested: str | None, stem: str, existing: Iterable[str]) -> str:
    """Return the requested name, or the first unused one of `stem1`, `stem2` and so on.

    Raises:
        ConflictError: the requested name already exists.
        InputError: the requested name is invalid.
    """
    used_names = set(existing)
    if requested is None:
        return next(
            n for i in range(1, len(used_names) + 2) if (n := f"{stem}{i}") not in used_names
        )
    if validate_name(f"a {stem}", requested, 100) in used_names:
        raise already_exists_error(f"a {stem}", requested)
    return requested


def validate_email(email: str) -> str:
    """Return an e-mail address, which identifies an account, in lower case.

    Raises:
        InputError: it is not an e-mail address.
    """
    head, at, tail = email.partition("@")
    plain = email.isprintable() and " " not in email and len(email) <= MAX_NAME_LENGTH
    if not (head and at and tail and "@" not in tail and plain):
        raise InputError(
            f"{messages.quote_value(email)} is not an e-mail address.",
            f"Give one such as student2@course.example, of at most {MAX_NAME_LENGTH} characters.",
        )
    return email.lower()


YEAR_SECONDS = 366 * 24 * 3600
"""Seconds in a leap year, the upper bound of time limits."""


@dataclass(frozen=True)
class LimitDefinition:
    """Definition of a limit: its description, default and bounds.

    Attributes:
        size: whether it is a number of bytes, which may have a unit.
    """

    about: str
    default: int
    minimum: int
    maximum: int
    size: bool = False


class Limits(dict[str, LimitDefinition]):
    """The limits of a service by name; a table keeps the `value` of each changed `name`."""

    def __init__(
        self, table: type[DeclarativeBase], definitions: Mapping[str, LimitDefinition]
    ) -> None:
        super().__init__(definitions)
        self._table = table

    def value(self, session: Session, name: str) -> int:
        """Return the current value of a limit."""
        changed: Any = session.get(self._table, name)
        return self[name].default if changed is None else int(changed.value)

    def change(self, session: Session, name: str, value: int | None) -> None:
        """Set a limit without checking its bounds; None restores the default."""
        if value is not None:
            session.merge(self._table(name=name, value=value))
        elif (changed := session.get(self._table, name)) is not None:
            session.delete(changed)

    def records(self, session: Session) -> list[dict[str, Any]]:
        """Return all limits with their value, default and description."""
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
        """Set a limit within its bounds; return its name and value.

        Raises:
            NotFoundError: there is no such limit.
            InputError: the value is out of bounds.
        """
        new_value = self.check(name, self._checked(name).default if value is None else value)
        self.change(session, name, value)
        return {"name": name, "value": new_value}

    def check(self, name: str, new_value: int) -> int:
        """Return the value of a limit if it is within its bounds.

        Raises:
            NotFoundError: there is no such limit.
            InputError: the value is out of bounds.
        """
        bounds = self._checked(name)
        if not bounds.minimum <= new_value <= bounds.maximum:
            raise InputError(
                f"The limit {name} can't be {new_value:,}.",
                f"Give a whole number, {bounds.minimum:,} to {bounds.maximum:,}.",
            )
        return new_value

    def parse(self, name: str, text: str) -> int:
        """Parse the value of a limit: a size with an optional unit, or a count.

        Raises:
            NotFoundError: there is no such limit.
            InputError: the text is not a valid value.
        """
        bounds = self._checked(name)
        if bounds.size:
            return messages.parse_size(text)
        try:
            return int(text.replace(",", ""))
        except ValueError:
            raise InputError(
                f"{messages.quote_value(text)} is not a whole number.",
                f"Give a whole number, {bounds.minimum:,} to {bounds.maximum:,}: {bounds.about}.",
            ) from None

    def _checked(self, name: str) -> LimitDefinition:
        if name not in self:
            raise not_found_error("limit", name, self)
        return self[name]
