"""The filters of a list: what is sent, and the same applied again to what comes.

A server may overlook a filter that it doesn't know, and then answers with everything. So each is
checked again here; some are applied here alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from labext import wording
from labext.errors import InputError
from labext.lab.sequences.filterkinds import MAKERS, Filter, text
from labext.lab.sequences.paging import Record

MOST = 100
"""Values of one filter in a request; more are asked for in several."""

NAMES = ("folder", *MAKERS, "sort")
"""The filters that there are; `LabClient` turns `folder` into `folder_id`."""

_SORTS = ("createdAt", "modifiedAt", "name")


class Filters:
    """The filters of one list.

    Args:
        given: as `LabClient.sequences` takes them, but for `folder`; None is no filter.

    Raises:
        InputError: one that there isn't, or a value that it can't have.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._filters: list[Filter] = []
        self._sort: str | None = None
        for name, value in given.items():
            if name not in MAKERS and name != "sort":
                raise InputError(
                    f'There is no filter "{name}"{wording.did_you_mean(name, NAMES)}.',
                    f"Filters are {', '.join(NAMES)}.",
                )
            if name == "sort" and value is not None:
                self._sort = _sort(value)
            elif value is not None:
                self._filters.append(MAKERS[name](name, value))
        shortest, longest = given.get("min_length"), given.get("max_length")
        if shortest is not None and longest is not None and shortest > longest:
            raise InputError(
                "No sequence is that long.", "Give a least length below the greatest one."
            )

    @property
    def reads(self) -> list[str]:
        """The fields of a record that the filters look at."""
        return list(dict.fromkeys(name for each in self._filters for name in each.reads))

    @property
    def local(self) -> bool:
        """Whether some filter is not sent, so that a page may have records that don't pass."""
        many = sum(len(each.values) > MOST for each in self._filters)
        return many > 1 or any(not each.sent and not each.values for each in self._filters)

    def queries(self) -> Iterable[dict[str, str]]:
        """Return what to send: one query, or one for each hundred values of a filter."""
        query = {} if self._sort is None else {"sort": self._sort}
        for each in self._filters:
            query |= each.sent
        several = [each for each in self._filters if each.values]
        # Of two filters with many values one is enough; the other is applied here.
        longest = max(several, key=lambda each: len(each.values), default=None)
        for each in several:
            if each is not longest and len(each.values) <= MOST:
                query[each.listed] = ",".join(each.values)
        if longest is None:
            return [query]
        return [
            {**query, longest.listed: ",".join(longest.values[start : start + MOST])}
            for start in range(0, len(longest.values), MOST)
        ]

    def passes(self, record: Record) -> bool:
        """Say whether a record passes every filter."""
        return all(each.check(record) for each in self._filters)

    def __bool__(self) -> bool:
        return bool(self._filters)


def _sort(value: Any) -> str:
    order = text("sort", value)
    field, _, direction = order.partition(":")
    if field not in _SORTS or (":" in order and direction not in ("asc", "desc")):
        raise InputError(
            f'A list can\'t be sorted by "{order}"{wording.did_you_mean(field, _SORTS)}.',
            f"Sort by {', '.join(_SORTS)}, each with :asc or :desc after it where you like.",
        )
    return order
