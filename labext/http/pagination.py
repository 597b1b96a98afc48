"""Stop reading a paginated list that does not end."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from labext.errors import ResponseLimitError

MAX_PAGES = 10_000
"""Pages of one list."""

MAX_REPEATED = 3
"""Pages in a row with known items only. One is normal if items are added meanwhile."""

MAX_EMPTY = 100
"""Pages in a row without any item. Some are normal if a service filters after paging."""


class PageGuard:
    """Check after every page that the list advances.

    Args:
        what: name of the list for errors: `The job service's list of jobs`.
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
        count = items = 0
        for identifier in ids:
            items += 1
            if identifier is None or identifier not in self._seen:
                count += 1
                self._seen.add(identifier)
        self._pages += 1
        self._empty = 0 if items else self._empty + 1
        self._repeated = 0 if count or not items else self._repeated + 1
        return count

    def check_next(self, cursor: str | None = None) -> None:
        """Check that another page may be requested.

        Args:
            cursor: the cursor of that page; None if the caller counts pages.

        Raises:
            ResponseLimitError: the list does not end.
        """
        if cursor is not None and cursor in self._cursors:
            why = "repeats a page"
        elif self._repeated >= MAX_REPEATED or self._empty >= MAX_EMPTY:
            why = "goes on without anything new"
        elif self._pages >= MAX_PAGES:
            why = f"has more than {MAX_PAGES:,} pages"
        else:
            if cursor is not None:
                self._cursors.add(cursor)
            return
        raise ResponseLimitError(
            f"{self._name} does not end: it {why}.",
            "Give a limit or a filter, or tell the administrator of the service.",
        )
