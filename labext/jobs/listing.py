"""List and filter jobs, as pages of records or as a typed DataFrame."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from functools import partial
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from labext import messages
from labext.actions import Action, parameter
from labext.errors import InputError, NotFoundError
from labext.frames import conversion
from labext.http.pagination import check_count
from labext.jobs import frames, identity, records
from labext.jobs.api import PAGE_SIZE, JobsApi, page_guard, row_names
from labext.jobs.batch.merge_parts import PartFinder, PartMerger
from labext.jobs.batch.plan import BatchPlan, max_job_name_length
from labext.jobs.file_versions import parse_time
from labext.jobs.identity import stored_settings, submission_difference
from labext.jobs.records import JobRecord, Page
from labext.sanitize import strip_control

if TYPE_CHECKING:
    import pandas as pd

STATES = (
    "Complete",
    "Running",
    "In Queue",
    "Pending",
    "Stopped",
    "Failed",
    "Aggregating",
    "AggregationFailed",
    "Deleted",
)
"""Known states of jobs and batches; a service may have others."""

_STATE_GROUPS = {
    # A service may report failures and exceeded time limits as Stopped.
    "failed": {"failed", "stopped", "aggregationfailed"},
    "queued": {"inqueue", "pending"},
    "completed": {"complete"},
}
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(min|[smhdw])")
_DURATION = re.compile(rf"(?:{_DURATION_PART.pattern})+", re.IGNORECASE)


@dataclass(frozen=True)
class JobFilter:
    """A filter of job rows; a field of None matches every row.

    Attributes:
        state: state, ignoring case and blanks; `failed` also matches `Stopped` and
            `AggregationFailed`, `queued` matches `In Queue` and `Pending`.
        tool: tool of a job, of the jobs of a batch, or of a stage of a pipeline; or `batch` or
            `pipeline`.
    """

    state: str | None = None
    tool: str | None = None
    since: datetime | None = None

    def __post_init__(self) -> None:
        for noun, value in (("state", self.state), ("name of the tool", self.tool)):
            if value is not None:
                identity.check_text(noun, value)

    @classmethod
    def parse(
        cls,
        state: str | None,
        tool: str | None,
        since: str | date | timedelta | None,
        now: datetime,
    ) -> Self:
        """Return a filter; `since` and `now` are arguments of `parse_since`."""
        return cls(state, tool, None if since is None else parse_since(since, now))

    def __bool__(self) -> bool:
        return self != JobFilter()

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row matches."""
        if self.state is not None:
            state = _normalize_state(self.state)
            if _normalize_state(records.phase(row)) not in _STATE_GROUPS.get(state, {state}):
                return False
        if self.tool is not None and self.tool.casefold() not in row_tools(row):
            return False
        created = None if self.since is None else parse_time(row.get("Created"))
        return self.since is None or (created is not None and created >= self.since)

    def is_past(self, page: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether all rows on later pages are older than `since`.

        False if the page is not sorted from newest to oldest.
        """
        if self.since is None or len(page) < 2:
            return False
        times = [parse_time(row.get("Created")) for row in page]
        known_times = [time for time in times if time is not None]
        is_sorted = all(later >= earlier for later, earlier in pairwise(known_times))
        return len(known_times) == len(times) and is_sorted and known_times[-1] < self.since

    def check_state(self, counts: Mapping[str, int]) -> None:
        """Check that the state exists, after a list without matches, else raise InputError."""
        if self.state is None or _normalize_state(self.state) in _STATE_GROUPS:
            return
        states = [*dict.fromkeys([*STATES, *counts])]
        if _normalize_state(self.state) not in map(_normalize_state, states):
            raise InputError(
                f'There is no state "{self.state}"{messages.did_you_mean(self.state, states)}.',
                f"The states are {messages.join_words(states, len(states))}.",
            )


ALL_JOBS = JobFilter()
"""A filter that matches every row."""


def row_tools(row: Mapping[str, Any]) -> set[str]:
    """Return the type of a row and the tools of its batch or pipeline, in lower case."""
    settings = stored_settings(row) or {}
    names = [row.get("Type")]
    if records.is_batch(row):
        names += [settings.get("type"), settings.get("tool")]
    elif records.is_pipeline(row) and isinstance(settings.get("stages"), list):
        for stage in settings["stages"]:
            tools = stage.get("toolSettings") if isinstance(stage, Mapping) else None
            names += [*tools] if isinstance(tools, Mapping) else []
    return {name.casefold() for name in names if isinstance(name, str)}


def parse_since(value: str | date | timedelta, now: datetime | None = None) -> datetime:
    """Return the time given by a date, a time of day or a duration.

    Args:
        value: `2026-03-01`, `2026-03-01 14:30`, `14:30` (the most recent), `today`, `yesterday`, or
            a duration before now: `2h`, `3d`, `1d12h`. The default time zone is the machine's.
        now: the current time, for tests.
    """
    now = (now or datetime.now(UTC)).astimezone()
    try:
        if isinstance(value, str):
            return _parse_since_text(value.strip(), now)
        if isinstance(value, timedelta):
            return now - value
        # Also converts a Timestamp of pandas.
        return datetime.fromisoformat(value.isoformat()).astimezone()
    except (AttributeError, ValueError, OverflowError):
        raise InputError(
            f"{messages.quote_value(value)} is not a date, time or duration.",
            'Use a format such as 2026-03-01, "2026-03-01 14:30", 14:30, today, 2h or 3d.',
        ) from None


def _parse_since_text(text: str, now: datetime) -> datetime:
    if _DURATION.fullmatch(text):
        parts = _DURATION_PART.findall(text.lower())
        return now - timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    day, days = now.date(), {"today": 0, "yesterday": 1}
    if text.lower() in days:
        return _local_time(day - timedelta(days=days[text.lower()]), clock_time())
    try:
        at = clock_time.fromisoformat(text)
    except ValueError:
        pass
    else:
        if ":" in text and at.tzinfo is None:
            today = _local_time(day, at)
            return today if today <= now else _local_time(day - timedelta(days=1), at)
    return datetime.fromisoformat(text).astimezone()


def _local_time(day: date, at: clock_time) -> datetime:
    """Return a time of a day with its offset from UTC, which a change of the clocks alters."""
    return datetime.combine(day, at).astimezone()


def _normalize_state(state: str) -> str:
    """Return a state in lower case, without separators between its words."""
    return re.sub(r"[\W_]+", "", state).casefold()


BatchPage = tuple[str | None, Page]
"""A page of a list, with the batch that was listed; None for the account's jobs."""


@dataclass(frozen=True)
class ListQuery:
    """The query of `GET /jobs`, and a filter.

    Attributes:
        batch: list the jobs of this batch; None for the account's jobs.
        limit: maximum number of rows; None for all.
        filter: filter of the rows, applied by the client.
    """

    batch: str | None = None
    limit: int | None = None
    organization: bool = False
    subjobs: bool = False
    email: str | None = None
    start_key: str | None = None
    filter: JobFilter = ALL_JOBS

    def __post_init__(self) -> None:
        check_count("limit", self.limit)
        if self.batch is not None:
            identity.check_name(self.batch, "batch")

    @property
    def params(self) -> dict[str, Any]:
        """The query parameters common to all pages."""
        return {
            "organization": self.organization or None,
            "includeSubjobs": self.subjobs or None,
            "jobEmail": self.email,
        }


class JobInputs(NamedTuple):
    """The inputs of a list of jobs.

    Attributes:
        key: column of the table of jobs with the names.
        rows: input row of each job; None if the input was not a frame.
        name_column: column of the input with the original names.
    """

    key: str
    names: list[str]
    rows: pd.DataFrame | None
    name_column: str | None = None


@dataclass
class _ListState:
    """Rows read so far, names of the jobs inside their batch, counts by state, and next key."""

    rows: list[JobRecord] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    start_key: str = ""


class JobLister:
    """Lists the jobs of one service."""

    def __init__(self, service: JobsApi, parts: PartFinder) -> None:
        self._service = service
        self._parts = parts

    def pages(self, query: ListQuery) -> Iterator[BatchPage]:
        """Yield the pages of a list."""
        if query.batch is None:
            yield from self._pages_of(query, (None,))
            return
        first = identity.parse_part_name((query.start_key or "").partition("/")[0])
        if first is not None and first[0] == query.batch:
            parts = identity.part_names(query.batch, first[2])
        else:
            parts = self._parts.parts_of(query.batch, query.email) or (query.batch,)
        empty = True
        try:
            for page in self._pages_of(query, parts):
                empty = empty and not page[1].rows
                yield page
        except InputError:
            self._check_batch(query)
            raise
        if empty:
            yield from self._pages_of(query, self._other_batches(query, parts))

    def frame(
        self,
        query: ListQuery,
        *,
        scores: bool = False,
        input_rows: pd.DataFrame | None = None,
        name_column: str | None = None,
    ) -> pd.DataFrame:
        """Return a list as a typed DataFrame; see `JobsClient.jobs`."""
        table = self.table(query, scores=scores)
        attrs = table.attrs
        inputs = self.inputs(table, query, input_rows, name_column)
        if inputs is not None:
            attrs["name_column"] = inputs.name_column
            complete = query.limit is None and not query.start_key and not query.filter
            table = frames.join_input_rows(
                table,
                inputs.key,
                inputs.names,
                inputs.rows,
                name_column=inputs.name_column,
                missing=complete,
            )
        table.attrs |= attrs
        return (frames.MATCHING_JOBS if query.filter else frames.JOBS).show(table)

    def table(self, query: ListQuery, *, scores: bool = False) -> pd.DataFrame:
        """Return a list as a typed DataFrame, in the service's order, without input columns."""
        merged = query.batch is None and not query.subjobs and not query.organization
        state = self._read_merged(query) if merged else self._read_pages(query)
        table = records.jobs_frame(state.rows)
        if scores:
            table = conversion.spread_column(table, "Score", "score")
        if query.batch is not None:
            table.insert(0, "Name", [strip_control(name) for name in state.names])
            table["Name"] = table["Name"].astype(table["JobName"].dtype)
        table.attrs = {"statuses": state.statuses, "start_key": state.start_key}
        return table

    def inputs(
        self,
        table: pd.DataFrame,
        query: ListQuery,
        input_rows: pd.DataFrame | None,
        name_column: str | None,
    ) -> JobInputs | None:
        """Return the inputs of the jobs in a table, from `input_rows` or from the journal."""
        key = "JobName" if query.batch is None else "Name"
        local = query.batch is not None and query.email is None
        entry = self._parts.entry(str(query.batch)) if local else None
        plan = None if entry is None else entry.plan
        if input_rows is not None:
            if not hasattr(input_rows, "columns"):
                raise InputError(
                    f"The rows are {messages.with_article(type(input_rows).__name__)}.",
                    "Give the DataFrame of the batch's input.",
                )
            column = plan.name_column if plan and name_column is None else name_column
            if column is None:
                raise InputError(
                    "The column with the names of the jobs is unknown.",
                    f"Name it: {parameter('name_column', 'NAME')}.",
                )
            column = str(column)
            originals = plan.originals if plan is not None and _is_from_plan(table, plan) else {}
            if query.batch is None:  # only names of jobs in batches are adapted
                names = frames.original_names(input_rows, column)
                return JobInputs(key, names, frames.drop_equal_names(input_rows, column, names))
            return _inputs_from_rows(input_rows, column, query.batch, originals, set(table[key]))
        if plan is None or not _is_from_plan(table, plan):
            return None
        return JobInputs(key, list(plan.jobs), plan.input_columns, plan.name_column)

    def _read_pages(self, query: ListQuery) -> _ListState:
        """Read the pages of a list, and those of a split batch part by part."""
        list_state = _ListState()
        by_part: dict[str | None, dict[str, int]] = {}
        for part, page in self.pages(query):
            list_state.rows += page.rows
            list_state.names += [
                identity.strip_batch_name(str(row.get("JobName")), str(part)) for row in page.rows
            ]
            by_part[part] = page.statuses or by_part.get(part, {})
            list_state.start_key = page.start_key
        first = next(iter(by_part), None)
        parsed = None if first == query.batch else identity.parse_part_name(str(first))
        if parsed is None or len(by_part) == parsed[2]:  # all parts of a split batch
            counts = Counter[str]()
            for tally in by_part.values():
                counts.update(tally)
            list_state.statuses = dict(counts)
        return list_state

    def _read_merged(self, query: ListQuery) -> _ListState:
        """Read the account's jobs, merging the parts of each split batch into one row."""
        state = _ListState(start_key=query.start_key or "")
        merger, guard = PartMerger(query.filter.matches), page_guard(query.start_key)
        limit = query.limit
        while True:
            guard.add_page(row_names(self._merge_page(query, merger, limit, state)))
            if state.start_key:
                guard.check_next(state.start_key)
            if state.start_key and (limit is None or merger.match_count < limit):
                continue
            self._read_following_parts(query, merger, state)
            truncated = bool(state.start_key or query.start_key)
            state.rows = merger.rows(
                partial(self._service.find, email=query.email) if truncated else None
            )
            # With all parts, more or fewer batches may match than with their listed parts.
            if limit is not None and len(state.rows) > limit:
                merger.restart()
                state = _ListState(start_key=query.start_key or "")
                guard = page_guard(query.start_key)
            elif limit is None or len(state.rows) == limit or not state.start_key:
                return state

    def _read_following_parts(
        self, query: ListQuery, merger: PartMerger, state: _ListState
    ) -> None:
        """Read on while the rows are parts of the last batch, which are no further jobs."""
        while state.start_key and (count := merger.unlisted_count):
            page = self._service.page(min(count, PAGE_SIZE), state.start_key, **query.params)
            if not merger.add_parts(page.rows):
                return
            state.start_key = page.start_key

    def _merge_page(
        self, query: ListQuery, merger: PartMerger, limit: int | None, list_state: _ListState
    ) -> list[JobRecord]:
        """Read one page and add its rows to the merger up to the limit; return these rows."""
        key = list_state.start_key
        remaining = None if limit is None else limit - merger.match_count
        size = PAGE_SIZE if query.filter or remaining is None else min(remaining, PAGE_SIZE)
        page = self._service.page(size, key, **query.params)
        added = merger.add_rows(page.rows, limit)
        list_state.statuses, list_state.start_key = (
            page.statuses or list_state.statuses,
            page.start_key,
        )
        if added is not None:
            # Request the continuation key of the last added row.
            list_state.start_key = self._service.page(added, key, **query.params).start_key
        elif query.filter.is_past(page.rows):
            list_state.start_key = ""
        return page.rows[:added]

    def _pages_of(self, query: ListQuery, batches: tuple[str | None, ...]) -> Iterator[BatchPage]:
        """Yield the pages of lists, one after the other.

        In the list of a split batch, a continuation key is `<part>/<key>`.
        """
        remaining, key, split = query.limit, query.start_key or "", len(batches) > 1
        first, _, rest = key.partition("/")
        if split and first in batches:
            batches, key = batches[batches.index(first) :], rest
        for batch, following in zip_longest(batches, batches[1:]):
            if remaining is not None and remaining <= 0:
                return
            pages = (
                self._matching_pages(query, batch, remaining, key)
                if query.filter
                else self._service.pages(
                    limit=remaining, start_key=key, batch=batch, **query.params
                )
            )
            key, next_list = "", f"{following}/" if following else ""
            try:
                for page in pages:
                    remaining = None if remaining is None else remaining - len(page.rows)
                    if split:
                        next_page = f"{batch}/{page.start_key}" if page.start_key else next_list
                        page = page._replace(start_key=next_page)
                    yield batch, page
            except NotFoundError:
                if batch is None:
                    raise
                # A missing part; `pages` checks the batch if no part has rows.
                yield batch, Page([], next_list, {})

    def _matching_pages(
        self, query: ListQuery, batch: str | None, limit: int | None, key: str
    ) -> Iterator[Page]:
        """Yield the pages of a list from a key with their matching rows, up to a limit."""
        matches, remaining, guard = query.filter.matches, limit, page_guard(key)
        while remaining is None or remaining > 0:
            page = self._service.page(PAGE_SIZE, key, batch=batch, **query.params)
            positions = [position for position, row in enumerate(page.rows) if matches(row)]
            is_past = batch is None and query.filter.is_past(page.rows)
            guard.add_page(row_names(page.rows))
            if remaining is not None and len(positions) >= remaining:
                positions = positions[:remaining]
                end = positions[-1] + 1
                if end < len(page.rows):
                    # Request the continuation key of the last matching row.
                    truncated = self._service.page(end, key, batch=batch, **query.params)
                    page, is_past = page._replace(start_key=truncated.start_key), False
            matching = page._replace(
                rows=[page.rows[position] for position in positions],
                start_key="" if is_past else page.start_key,
            )
            remaining = None if remaining is None else remaining - len(matching.rows)
            yield matching
            key = matching.start_key
            if not key:
                return
            guard.check_next(key)

    def _other_batches(self, query: ListQuery, requested: tuple[str, ...]) -> tuple[str, ...]:
        """Return the batches to list after the requested ones had no jobs."""
        batch = str(query.batch)
        row = self._check_batch(query)
        self._parts.forget(batch)
        if row is not None:
            return () if requested == (batch,) else (batch,)
        parts = self._parts.search(batch, query.email)
        return () if parts == requested else parts

    def _check_batch(self, query: ListQuery) -> JobRecord | None:
        """Return the row of the requested batch or pipeline; None if it does not exist."""
        batch = str(query.batch)
        row = self._service.find(batch, query.email)
        if row is not None and not records.is_parent(row):
            raise InputError(
                f"{batch} is a single job, not a batch.", action=Action.show_job(batch)
            )
        return row


def _inputs_from_rows(
    rows: pd.DataFrame, name_column: str, batch: str, known: Mapping[str, str], existing: set[str]
) -> JobInputs:
    """Return the inputs of the jobs of a batch, from the user's rows.

    `known` has the original names in the journal, by job name; `existing` the names of the jobs on
    the service.
    """
    originals = frames.original_names(rows, name_column)
    jobs = {original: job for job, original in known.items()}
    max_length = max_job_name_length(batch, len(originals))
    others = existing.difference(originals)  # the job of a row's name is not that of another row
    adapted = identity.adapt_names(originals, max_length)
    names = [
        jobs.get(original)
        or (original if original in existing else None)
        or identity.find_adapted_name(original, others, max_length)
        or name
        for original, name in zip(originals, adapted, strict=True)
    ]
    rows = frames.drop_equal_names(rows, name_column, names)
    return JobInputs("Name", names, rows, name_column)


def _is_from_plan(table: pd.DataFrame, plan: BatchPlan) -> bool:
    """Return whether jobs are those of a plan, rather than of another batch of the same name."""
    rows = [
        (name, {"Type": type, "Settings": settings})
        for name, type, settings in zip(
            table["Name"], table["Type"], table["Settings"], strict=True
        )
        if name in plan.jobs
    ]
    return bool(rows) and not any(
        stored_settings(row) is not None and submission_difference(plan.type, plan.jobs[name], row)
        for name, row in rows
    )
