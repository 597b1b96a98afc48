"""Lists of sequences: pages that are asked for one by one, filtered again, and no more of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labext.errors import InputError, ServiceError
from labext.lab.operations import SEQUENCES
from labext.lab.sequences import paging
from labext.lab.sequences.columns import Columns
from labext.lab.sequences.filters import Filters
from labext.lab.sequences.paging import Page, Record
from labext.steering import json_steers, tamed
from labext.transport import Transport
from labext.wording import shown

PAGE = 100
"""Sequences in a page, at most (real services, lab)."""


class Lister:
    """Lists the sequences of a tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def pages(
        self, limit: int | None, columns: Columns, filters: Filters
    ) -> Iterator[list[Record]]:
        """Yield the records that pass the filters, page by page, `limit` of them at most.

        Raises:
            InputError: the limit is no number, or a column is not there.
        """
        if limit is not None and not (type(limit) is int and limit >= 0):
            raise InputError(f"{shown(limit)} is no limit.", "Give a number of sequences.")
        return self._pages(limit, columns, filters)

    def _pages(
        self, limit: int | None, columns: Columns, filters: Filters
    ) -> Iterator[list[Record]]:
        queries, seen, left, checked = list(filters.queries()), set[str](), limit, False
        size = PAGE
        if limit is not None and not filters.local and len(queries) == 1:
            size = _size(limit)  # all that comes is wanted
        for query in queries:
            if left == 0:
                return
            asked = _Asked(self._transport, query, columns, size)
            for found in self._passing(asked, filters, seen):
                if found and not checked:
                    columns.check(found)
                    checked = True
                page = found[:left]
                yield [columns.taken(record) for record in page]
                if left is not None:
                    left -= len(page)
                if left == 0:
                    return
        if not checked:
            columns.check([])

    def _passing(self, asked: _Asked, filters: Filters, seen: set[str]) -> Iterator[list[Record]]:
        for found in paging.pages(asked, seen):
            passing = [record for record in found if filters.passes(record)] if filters else found
            yield passing
            if len(passing) < len(found) and asked.size < PAGE and all(map(paging.id_of, found)):
                # The server overlooks a filter, and small pages would take for ever. Begun anew,
                # since a token may count pages of one size; what came before is left out.
                yield from self._passing(asked.whole(), filters, seen)
                return


class _Asked:
    """One question for a list; called with a token it returns that page."""

    def __init__(
        self, transport: Transport, query: Mapping[str, str], columns: Columns, size: int
    ) -> None:
        self.size = size
        self._transport = transport
        self._query = query
        self._columns = columns
        fields = columns.fields
        self._returning = [] if fields is None else [f"dnaSequences.{field}" for field in fields]

    def whole(self) -> _Asked:
        """Return the same question for pages of the greatest size."""
        return _Asked(self._transport, self._query, self._columns, PAGE)

    def __call__(self, token: str) -> Page:
        found = self._answer(token)
        if found.told or len(found.records) < self.size or not self._returning:
            return found
        # Of a list that is not at its end the token may be a field that has to be named, too.
        named, self._returning = self._returning, [*self._returning, "nextToken"]
        try:
            return self._answer(token)
        except InputError:
            self._returning = named
            return found

    def _answer(self, token: str) -> Page:
        params: dict[str, Any] = {**self._query, "pageSize": self.size, "nextToken": token or None}
        params["returning"] = ",".join(self._returning) or None
        reply = self._transport.send(SEQUENCES, params=params)
        answer = reply.json()
        # One search of the whole document: visiting every record takes as long as parsing them.
        return paging.page(_tamed(answer) if json_steers(reply.content) else answer)


def _tamed(answer: Any) -> Any:
    """Return an answer without terminal control characters: records are printed as they are."""
    try:
        return tamed(answer)
    except RecursionError:
        raise ServiceError("The lab platform's list of sequences makes no sense.") from None


def _size(limit: int) -> int:
    """Return the size of equal pages, so that as few as can be hold `limit` and little more."""
    pages = max(1, -(-limit // PAGE))
    return max(1, -(-limit // pages))
