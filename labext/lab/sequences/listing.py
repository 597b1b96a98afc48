"""List sequences page by page and look one up by name or ID."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import ConflictError, InputError, LabextError, NotFoundError, ServiceError
from labext.http import HttpClient
from labext.lab import api
from labext.lab.api import SEQUENCES, Page, Record
from labext.lab.sequences.columns import ColumnSelection
from labext.lab.sequences.filters import Filters
from labext.messages import quote_value
from labext.sanitize import json_contains_control, strip_control_json

PAGE_SIZE = 100
"""Sequences in a page, at most."""


class SequenceLister:
    """Lists the sequences of a tenant."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def pages(
        self, limit: int | None, columns: ColumnSelection, filters: Filters
    ) -> Iterator[list[Record]]:
        """Yield the records that pass the filters, page by page, `limit` of them at most.

        Raises:
            InputError: the limit is not a number, or a column does not exist.
        """
        if limit is not None and not (type(limit) is int and limit >= 0):
            raise InputError(f"{quote_value(limit)} is not a limit.", "Give a number of sequences.")
        return self._pages(limit, columns, filters)

    def _pages(
        self, limit: int | None, columns: ColumnSelection, filters: Filters
    ) -> Iterator[list[Record]]:
        queries, seen_ids, left, checked = list(filters.queries()), set[str](), limit, False
        size = PAGE_SIZE
        if limit is not None and not filters.local and len(queries) == 1:
            size = _page_size(limit)  # every record is wanted
        for query in queries:
            if left == 0:
                return
            request = _PageRequest(self._http, query, columns, size)
            for records in self._passing(request, filters, seen_ids):
                if records and not checked:
                    columns.check(records)
                    checked = True
                page = records[:left]
                yield [columns.select(record) for record in page]
                if left is not None:
                    left -= len(page)
                if left == 0:
                    return
        if not checked:
            columns.check([])

    def _passing(
        self, request: _PageRequest, filters: Filters, seen_ids: set[str]
    ) -> Iterator[list[Record]]:
        for records in api.iter_pages(request, seen_ids):
            passing = (
                [record for record in records if filters.passes(record)] if filters else records
            )
            yield passing
            if (
                len(passing) < len(records)
                and request.size < PAGE_SIZE
                and all(map(api.record_id, records))
            ):
                # The server overlooks a filter, and small pages would take for ever. Begun anew,
                # since a token may count pages of one size; earlier records are left out.
                yield from self._passing(request.whole(), filters, seen_ids)
                return


class _PageRequest:
    """One question for a list; called with a token it returns that page."""

    def __init__(
        self, http: HttpClient, query: Mapping[str, str], columns: ColumnSelection, size: int
    ) -> None:
        self.size = size
        self._http = http
        self._query = query
        self._columns = columns
        fields = columns.fields
        self._returning = [] if fields is None else [f"dnaSequences.{field}" for field in fields]

    def whole(self) -> _PageRequest:
        """Return the same question for pages of the greatest size."""
        return _PageRequest(self._http, self._query, self._columns, PAGE_SIZE)

    def __call__(self, token: str) -> Page:
        page = self._answer(token)
        if page.told or len(page.records) < self.size or not self._returning:
            return page
        # Of a list that is not at its end the token may be a field that has to be named, too.
        named, self._returning = self._returning, [*self._returning, "nextToken"]
        try:
            return self._answer(token)
        except InputError:
            self._returning = named
            return page

    def _answer(self, token: str) -> Page:
        params: dict[str, Any] = {**self._query, "pageSize": self.size, "nextToken": token or None}
        params["returning"] = ",".join(self._returning) or None
        reply = self._http.send(SEQUENCES, params=params)
        answer = reply.json()
        # One search of the whole document: visiting every record takes as long as parsing them.
        return api.parse_page(
            _strip_control_if_needed(answer) if json_contains_control(reply.content) else answer
        )


def _strip_control_if_needed(answer: Any) -> Any:
    """Return a response without terminal control characters: records are printed as they are."""
    try:
        return strip_control_json(answer)
    except RecursionError:
        raise ServiceError("The lab platform returned an invalid list of sequences.") from None


def _page_size(limit: int) -> int:
    """Return the size of equal pages, so that as few as can be hold `limit` and little more."""
    pages = max(1, -(-limit // PAGE_SIZE))
    return max(1, -(-limit // pages))


_ID_PREFIX = "seq_"

_MAX_NEARBY = 1000
"""Names among which a near one is looked for."""


def find_sequence(lister: SequenceLister, name: str) -> Record:
    """Return the record of a sequence.

    Raises:
        NotFoundError: no visible sequence has the name; the error names a close match.
        ConflictError: several are.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"{messages.quote_value(name)} is not the name of a sequence.",
            "Give its name or its ID.",
        )
    name = name.strip()
    ways = [_by_id, _by_name] if name.startswith(_ID_PREFIX) else [_by_name, _by_id]
    for way in ways:
        matches = way(lister, name)
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = messages.join_words(str(record.get("id")) for record in matches)
            raise ConflictError(
                f'There are {len(matches)} sequences named "{name}": {ids}.',
                f"Give one of the IDs instead, such as `{matches[0].get('id')}`.",
            )
    suggestion = messages.did_you_mean(name, _nearby_names(lister))
    raise NotFoundError(
        f'No accessible sequence is called "{name}"{suggestion}.',
        action=Action.list_sequences(),
    )


def sequence_names(lister: SequenceLister, limit: int | None) -> list[str]:
    """Return the names of sequences, each once, those that were changed last first."""
    pages = lister.pages(limit, ColumnSelection(["name"]), Filters({}))
    names = (record["name"] for page in pages for record in page)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _by_name(lister: SequenceLister, name: str) -> list[Record]:
    matches = _list_all(lister, name=name)
    same = [record for record in matches if record.get("name") == name]
    # Matches by an alias, or in other case, count only if none has the exact name.
    return same or matches


def _by_id(lister: SequenceLister, name: str) -> list[Record]:
    if "," in name:
        return []
    try:
        return [record for record in _list_all(lister, ids=name) if record.get("id") == name]
    except InputError as error:
        if error.status not in (400, 404):  # the platform's response to an unknown ID
            raise
        return []


def _list_all(lister: SequenceLister, **filters: Any) -> list[Record]:
    pages = lister.pages(None, ColumnSelection(None), Filters(filters))
    return [record for page in pages for record in page]


def _nearby_names(lister: SequenceLister) -> list[str]:
    try:
        return sequence_names(lister, _MAX_NEARBY)
    except LabextError:
        return []  # the error reported is that of the name
