"""What an administrator names: names that will do, and what is said of one that is not there."""

from __future__ import annotations

from collections.abc import Iterable

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError

LONGEST = 200


def absent(noun: str, name: str, known: Iterable[str]) -> NotFoundError:
    """The error for a name that is not there, with the near one or all."""
    names = sorted(known)
    near = wording.near(name, names)
    if near is not None:
        hint = f"Did you mean {near}?"
    else:
        hint = f"There are: {wording.listed(names, 10)}." if names else "There is none yet."
    return NotFoundError(f"There is no {noun} {wording.shown(name)}.", hint)


def taken(noun: str, name: str) -> ConflictError:
    """The error for a name that is there already."""
    return ConflictError(f"There is {noun} {wording.shown(name)} already.", "Choose another name.")


def check_yes(yes: bool, would: str) -> None:
    """See that what destroys something is meant.

    Args:
        yes: whether it is.
        would: what it would do, a sentence.

    Raises:
        InputError: it is not.
    """
    if not yes:
        raise InputError(would, "Add `--yes` to do it.")


def checked_name(noun: str, name: str, longest: int = LONGEST) -> str:
    """A name that can be shown and typed again.

    Raises:
        InputError: it is empty or too long, holds a control character, or ends in a blank.
    """
    if not name or name != name.strip() or not name.isprintable() or len(name) > longest:
        raise InputError(
            f"{wording.shown(name)} can't be the name of {noun}.",
            f"Use 1 to {longest} characters that can be printed, without blanks around them.",
        )
    return name


def free_name(wanted: str | None, stem: str, there: Iterable[str]) -> str:
    """The name that was asked for, or the next free one of `stem1`, `stem2` and so on.

    Raises:
        ConflictError: the name that was asked for is there.
        InputError: it can't be a name.
    """
    known = set(there)
    if wanted is None:
        return next(n for i in range(1, len(known) + 2) if (n := f"{stem}{i}") not in known)
    if checked_name(f"a {stem}", wanted, 100) in known:
        raise taken(f"a {stem}", wanted)
    return wanted


def checked_email(email: str) -> str:
    """An address that tells an account from the others.

    Raises:
        InputError: it has not the form of one.
    """
    head, at, tail = email.partition("@")
    plain = email.isprintable() and " " not in email and len(email) <= LONGEST
    if not (head and at and tail and "@" not in tail and plain):
        raise InputError(
            f"{wording.shown(email)} is no e-mail address.",
            f"Give one such as student2@course.example, of at most {LONGEST} characters.",
        )
    return email
