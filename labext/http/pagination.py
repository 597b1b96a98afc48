"""Check the limits of lists, and detect paginated lists that do not end."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any

from labext.errors import InputError, ResponseLimitError

MAX_PAGES = 10_000
"""Maximum number of pages of one list."""

MAX_REPEATED = 3
"""Maximum number of consecutive pages without a new item; one is normal if items were added."""

MAX_EMPTY = 100
"""Maximum number of consecutive empty pages; some are normal if a service filters its pages."""


def check_count(name: str, value: Any, minimum: int = 1) -> None:
    """Raise InputError if a limit or an offset is neither None nor an integer from `minimum`."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if value is not None and not (is_integer and value >= minimum):
        raise InputError(f"The {name} is {value!r}.", f"Give a whole number, {minimum} or more.")


class PageGuard:
    """Check after every page that the list advances.

    Args:
        name: name of the list for errors, such as `The job service's list of jobs`.
        cursor: the cursor of the first page.
    """

    def __init__(self, name: str, cursor: str = "") -> None:
        self._name = name
        self._cursors = {cursor}
        self._seen: set[Hashable] = set()
        self._pages = self._repeated = self._empty = 0

    def add_page(self, ids: Iterable[Hashable]) -> int:
        """Record the identifiers of a page's items, and return how many are new.

        An item without an identifier (None) counts as new.
        """
        new = total = 0
        for identifier in ids:
            total += 1
            if identifier is None or identifier not in self._seen:
                new += 1
                self._seen.add(identifier)
        self._pages += 1
        self._empty = 0 if total else self._empty + 1
        self._repeated = 0 if new or not total else self._repeated + 1
        return new

    def check_next(self, cursor: str | None = None) -> None:
        """Check that the next page may be requested, by its cursor or (None) by its number.

        Raises:
            ResponseLimitError: the list repeats pages, or exceeds a limit.
        """
        if cursor is not None and cursor in self._cursors:
            reason = "repeats a page"
        elif self._repeated >= MAX_REPEATED or self._empty >= MAX_EMPTY:
            reason = "continues without new items"
        elif self._pages >= MAX_PAGES:
            reason = f"has more than {MAX_PAGES:,} pages"
        else:
            if cursor is not None:
                self._cursors.add(cursor)
            return
        raise ResponseLimitError(
            f"{self._name} does not end: it {reason}.",
            "Set a limit or a filter, or tell the administrator of the service.",
        )
