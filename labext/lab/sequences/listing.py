"""List sequences page by page and look one up by name or ID."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import ConflictError, InputError, LabextError, NotFoundError
from labext.http import HttpClient
from labext.http.headers import header_number
from labext.http.pagination import check_count
from labext.lab import api
from labext.lab.api import SEQUENCES, Page, Record
from labext.lab.sequences.filters import Filters
from labext.lab.sequences.frames import ColumnSelection
from labext.sanitize import contains_control, strip_control_json

PAGE_SIZE = 100
"""Maximum number of sequences per page."""

OnPage = Callable[[int, int | None], None]
"""Called after each page but the last: with the number of records received, and of all of them;
None if the platform does not state it."""


class SequenceLister:
    """Iterator over the sequences of a tenant."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def pages(
        self,
        limit: int | None,
        columns: ColumnSelection,
        filters: Filters,
        on_page: OnPage | None = None,
    ) -> Iterator[list[Record]]:
        """Yield pages of records that pass the filters, at most `limit` records in total."""
        check_count("limit", limit)
        return self._pages(limit, columns, filters, on_page)

    def _pages(
        self, limit: int | None, columns: ColumnSelection, filters: Filters, on_page: OnPage | None
    ) -> Iterator[list[Record]]:
        queries, seen_ids, remaining = list(filters.queries()), set[str](), limit
        checked = False
        received = 0

        def count_page(records: int, total: int | None) -> None:
            nonlocal received
            received += records
            if len(queries) > 1:
                total = None
            if limit is not None and not filters.local and not filters.sorts:
                total = min(limit, total or limit)
            if on_page is not None:
                on_page(received, total)

        size = PAGE_SIZE
        if limit is not None and not filters.local and len(queries) == 1:
            size = _page_size(limit)
        pages: Iterable[list[Record]] = (
            page
            for query in queries
            for page in self._matching(
                _PageFetcher(self._http, query, columns, size, count_page), filters, seen_ids
            )
        )
        if filters.sorts:
            pages = [filters.sort(record for page in pages for record in page)]
        for records in pages:
            if records and not checked:
                columns.check(records)
                checked = True
            page = records[:remaining]
            yield [columns.select(record) for record in page]
            if remaining is not None:
                remaining -= len(page)
            if remaining == 0:
                return
        if not checked:
            columns.check([])

    def _matching(
        self, fetch_page: _PageFetcher, filters: Filters, seen_ids: set[str]
    ) -> Iterator[list[Record]]:
        for records in api.iter_pages(fetch_page, seen_ids):
            matching = (
                [record for record in records if filters.matches(record)] if filters else records
            )
            yield matching
            if (
                len(matching) < len(records)
                and fetch_page.size < PAGE_SIZE
                and all(map(api.record_id, records))
            ):
                # The server ignores a filter, so small pages would need many requests. Restart with
                # full pages, since a token may depend on the page size; seen records are skipped.
                yield from self._matching(fetch_page.with_full_pages(), filters, seen_ids)
                return


class _PageFetcher:
    """Callable that requests one page of a list by its token."""

    def __init__(
        self,
        http: HttpClient,
        query: Mapping[str, str],
        columns: ColumnSelection,
        size: int,
        on_page: OnPage,
    ) -> None:
        self.size = size
        self._http = http
        self._query = query
        self._columns = columns
        self._on_page = on_page
        fields = columns.fields
        self._returning = [] if fields is None else [f"dnaSequences.{field}" for field in fields]

    def with_full_pages(self) -> _PageFetcher:
        """Return a fetcher of the same list with pages of the maximum size."""
        return _PageFetcher(self._http, self._query, self._columns, PAGE_SIZE, self._on_page)

    def __call__(self, token: str) -> Page:
        page = self._fetch(token)
        if page.has_token_field or not self._returning:
            return page
        # Some servers return the token only if it is requested like a field. A short page may not
        # be the last one, since servers filter pages and limit their size.
        previous, self._returning = self._returning, [*self._returning, "nextToken"]
        try:
            return self._fetch(token)
        except InputError:
            self._returning = previous
            return page

    def _fetch(self, token: str) -> Page:
        params: dict[str, Any] = {**self._query, "pageSize": self.size, "nextToken": token or None}
        params["returning"] = ",".join(self._returning) or None
        response = self._http.send(SEQUENCES, params=params)
        document = response.json()
        # Callers may print the records. Searching the text once is faster than visiting them all.
        if contains_control(response.text()):
            document = strip_control_json(document)
        page = api.parse_page(document)
        if page.token:
            total = header_number(response.headers.get("Result-Count"))
            self._on_page(len(page.records), None if total is None else int(total))
        return page


def _page_size(limit: int) -> int:
    """Return the page size that reaches `limit` with the fewest pages and little excess."""
    pages = -(-limit // PAGE_SIZE)
    return -(-limit // pages)


_ID_PREFIX = "seq_"

_MAX_SUGGESTION_NAMES = 1000
"""Maximum number of names to fetch for the suggestion of a close match."""


def find_sequence(lister: SequenceLister, name: str) -> Record:
    """Return the record of a sequence."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"{messages.quote_value(name)} is not a sequence name.",
            "Give the sequence's name or ID.",
        )
    name = name.strip()
    is_id = name.startswith(_ID_PREFIX)
    finders = (_by_id, _by_name) if is_id else (_by_name, _by_id)
    for find in (*finders, _by_archived_name):
        matches: list[Record] = find(lister, name)
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = messages.join_words(str(record.get("id")) for record in matches)
            raise ConflictError(
                f'There are {len(matches)} sequences named "{name}": {ids}.',
                f"Give one of the IDs instead, such as `{matches[0].get('id')}`.",
            )
    suggestion = messages.did_you_mean(name, _suggestion_names(lister))
    raise NotFoundError(
        f'No accessible sequence is named "{name}"{suggestion}.', action=Action.list_sequences()
    )


def sequence_names(lister: SequenceLister, limit: int | None) -> list[str]:
    """Return the distinct names of sequences, most recently modified first."""
    pages = lister.pages(limit, ColumnSelection(["name"]), Filters({}))
    names = (record["name"] for page in pages for record in page)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


_WITH_ARCHIVED = {"archive_reason": "ANY_ARCHIVED_OR_NOT_ARCHIVED"}
"""Filter of a list that includes archived sequences, which the platform omits by default."""


def _by_name(lister: SequenceLister, name: str, **filters: Any) -> list[Record]:
    matches = _list_all(lister, name=name, **filters)
    exact = [record for record in matches if record.get("name") == name]
    # An exact name takes precedence over an alias and over case-insensitive matches.
    return exact or matches


def _by_id(lister: SequenceLister, name: str) -> list[Record]:
    if "," in name:
        return []
    try:
        matches = _list_all(lister, ids=name, **_WITH_ARCHIVED)
    except InputError as error:
        if error.status not in (400, 404):  # the platform's response to an unknown ID
            raise
        return []
    return [record for record in matches if record.get("id") == name]


def _by_archived_name(lister: SequenceLister, name: str) -> list[Record]:
    try:
        return _by_name(lister, name, **_WITH_ARCHIVED)
    except InputError as error:
        if error.status != 400:  # the platform does not list archived sequences
            raise
        return []


def _list_all(lister: SequenceLister, **filters: Any) -> list[Record]:
    pages = lister.pages(None, ColumnSelection(None), Filters(filters))
    return [record for page in pages for record in page]


def _suggestion_names(lister: SequenceLister) -> list[str]:
    try:
        return sequence_names(lister, _MAX_SUGGESTION_NAMES)
    except LabextError:
        return []  # the unknown name is the error to report
