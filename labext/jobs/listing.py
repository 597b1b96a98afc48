"""List and filter jobs: page by page as records, or at once as a typed DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from labext import messages
from labext.actions import Action, parameter
from labext.errors import InputError, NotFoundError
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
"""The states of jobs and batches that are known; a service may have others."""

_STATE_GROUPS = {
    # A service may say Stopped of a failure, of a time limit and of a stop by hand alike.
    "failed": frozenset({"failed", "stopped", "aggregationfailed"}),
    "queued": frozenset({"inqueue", "pending"}),
    "completed": frozenset({"complete"}),
}
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(min|[smhdw])")
_DURATION = re.compile(rf"(?:{_DURATION_PART.pattern})+", re.IGNORECASE)


@dataclass(frozen=True)
class JobFilter:
    """A filter of job rows; a field that is None matches every row.

    Attributes:
        state: a state, in any case and with or without blanks; `failed` also stands for `Stopped`
            and `AggregationFailed`, `queued` for `In Queue` and `Pending`.
        tool: the tool of a job, of a batch's jobs, or of a stage of a pipeline; or `batch` or
            `pipeline`.
        since: the earliest time of creation.
    """

    state: str | None = None
    tool: str | None = None
    since: datetime | None = None

    @classmethod
    def parse(
        cls, state: str | None, tool: str | None, since: str | datetime | timedelta | None
    ) -> Self:
        """Return a filter whose earliest time is written as for `parse_since`."""
        return cls(state, tool, None if since is None else parse_since(since))

    def __bool__(self) -> bool:
        return self != JobFilter()

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row is to be listed."""
        return (
            (
                self.state is None
                or _normalize_state(records.phase(row)) in _matching_states(self.state)
            )
            and (self.tool is None or self.tool.casefold() in row_tools(row))
            and not self._is_before(row)
        )

    def is_past(self, page: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether a page of a list, newest first, ends before the earliest time.

        A page whose times do not descend says nothing about the next one.
        """
        if self.since is None or len(page) < 2:
            return False
        times = [parse_time(row.get("Created")) for row in page]
        known_times = [time for time in times if time is not None]
        descends = all(later >= earlier for later, earlier in pairwise(known_times))
        return len(known_times) == len(times) and descends and known_times[-1] < self.since

    def check_state(self, counts: Mapping[str, int]) -> None:
        """Check a state that no row is in.

        Raises:
            InputError: it is unknown, and not in the service's tally.
        """
        if self.state is None or _normalize_state(self.state) in _STATE_GROUPS:
            return
        states = [*dict.fromkeys([*STATES, *counts])]
        if _normalize_state(self.state) not in map(_normalize_state, states):
            raise InputError(
                f'No job is "{self.state}"{messages.did_you_mean(self.state, states)}.',
                f"States are {messages.join_words(states, len(states))}.",
            )

    def _is_before(self, row: Mapping[str, Any]) -> bool:
        if self.since is None:
            return False
        created = parse_time(row.get("Created"))
        return created is None or created < self.since


ALL_JOBS = JobFilter()
"""A filter that every row matches."""


def row_tools(row: Mapping[str, Any]) -> set[str]:
    """Return the type of a row and the tools behind it, in lower case."""
    settings = stored_settings(row) or {}
    tools_named = [row.get("Type")]
    if records.is_batch(row):
        tools_named += [settings.get("type"), settings.get("tool")]
    elif records.is_pipeline(row) and isinstance(settings.get("stages"), list):
        for stage in settings["stages"]:
            tools = stage.get("toolSettings") if isinstance(stage, Mapping) else None
            tools_named += [*tools] if isinstance(tools, Mapping) else []
    return {name.casefold() for name in tools_named if isinstance(name, str)}


def parse_since(value: str | datetime | timedelta, now: datetime | None = None) -> datetime:
    """Return the time that a date, a time or a duration names.

    Args:
        value: `2026-03-01`, `2026-03-01 14:30`, `14:30` (the last one), `today`, `yesterday`, or
            how long ago: `2h`, `3d`, `1d12h`. Without a zone it is the machine's.
        now: the present.

    Raises:
        InputError: it is none of these.
    """
    now = (now or datetime.now(UTC)).astimezone()
    if not isinstance(value, str):
        if value != value:  # NaT of pandas
            raise _invalid_time(value)
        if isinstance(value, timedelta):
            return now - value
        return datetime.fromisoformat(value.isoformat()).astimezone()  # also one of pandas
    text = value.strip()
    if _DURATION.fullmatch(text):
        parts = _DURATION_PART.findall(text.lower())
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        try:
            return now - timedelta(seconds=seconds)
        except OverflowError:
            raise _invalid_time(value) from None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text.lower() == "today":
        return midnight
    if text.lower() == "yesterday":
        return midnight - timedelta(days=1)
    try:
        at = clock_time.fromisoformat(text)
    except ValueError:
        pass
    else:
        if ":" in text and at.tzinfo is None:
            last = datetime.combine(now.date(), at).astimezone()
            return last if last <= now else last - timedelta(days=1)
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise _invalid_time(value) from None


def _invalid_time(value: object) -> InputError:
    return InputError(
        f"{messages.quote_value(value)} is not a date, time or duration.",
        'Write 2026-03-01, "2026-03-01 14:30", 14:30, today, 2h or 3d.',
    )


def _matching_states(state: str) -> frozenset[str]:
    plain = _normalize_state(state)
    return _STATE_GROUPS.get(plain, frozenset({plain}))


def _normalize_state(state: str) -> str:
    """Return a state without case and without separators between its words."""
    return re.sub(r"[\W_]+", "", state).casefold()


BatchPage = tuple[str | None, Page]
"""A page, and the batch of the service that it is of."""


@dataclass(frozen=True)
class ListQuery:
    """The query of `GET /jobs`, and a filter.

    Attributes:
        batch: the jobs of this batch; None for the account's jobs.
        limit: maximum number of rows; None for all.
        organization: the organization's jobs.
        subjobs: batches' jobs too.
        email: a teammate's jobs.
        start_key: where an earlier list ended.
        filter: selects from these rows.
    """

    batch: str | None = None
    limit: int | None = None
    organization: bool = False
    subjobs: bool = False
    email: str | None = None
    start_key: str | None = None
    filter: JobFilter = ALL_JOBS

    def __post_init__(self) -> None:
        if self.limit is not None and (isinstance(self.limit, bool) or self.limit < 1):
            raise InputError(f"The limit is {self.limit}.", "Give a limit of 1 or more.")
        if self.batch is not None:
            identity.check_name(self.batch, "batch")

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that do not change from page to page."""
        return {
            "organization": self.organization or None,
            "includeSubjobs": self.subjobs or None,
            "jobEmail": self.email,
        }


class JobInputs(NamedTuple):
    """The inputs of a list of jobs.

    Attributes:
        key: the column of the jobs' table that holds the names.
        names: of the jobs, in the input's order.
        rows: the input's row for each, if there are rows.
        name_column: the column of `rows` with the original names, if some were adapted.
    """

    key: str
    names: list[str]
    rows: pd.DataFrame | None
    name_column: str | None = None


@dataclass
class _ListState:
    """A list in progress: rows, own names of a batch's jobs, tally, key of the next page."""

    rows: list[JobRecord] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    start_key: str = ""


class JobLister:
    """Lists jobs of one service."""

    def __init__(self, service: JobsApi, parts: PartFinder) -> None:
        self._service = service
        self._parts = parts

    def pages(self, query: ListQuery) -> Iterator[BatchPage]:
        """Yield the pages of a list.

        Raises:
            NotFoundError: the batch does not exist.
            InputError: it is a single job.
        """
        if query.batch is None:
            yield from self._of(query, (None,))
            return
        parts = self._parts.parts_of(query.batch, query.email) or (query.batch,)
        empty = True
        try:
            for page in self._of(query, parts):
                empty = empty and not page[1].rows
                yield page
        except InputError:
            self._check_batch(query)
            raise
        if empty:
            yield from self._of(query, self._elsewhere(query, parts))

    def frame(
        self,
        query: ListQuery,
        *,
        scores: bool = False,
        input_rows: pd.DataFrame | None = None,
        name_column: str | None = None,
    ) -> pd.DataFrame:
        """Return a list as a typed DataFrame; see `JobsClient.jobs`."""
        from labext.jobs.views import JOBS, MATCHING_JOBS

        table = self.table(query, scores=scores)
        attrs = table.attrs
        inputs = self.inputs(table, query, input_rows, name_column)
        if inputs is not None:
            whole = query.limit is None and not query.start_key and not query.filter
            table = frames.join_input_rows(
                table,
                inputs.key,
                inputs.names,
                inputs.rows,
                name_column=inputs.name_column,
                missing=whole,
            )
        table.attrs |= attrs
        return (MATCHING_JOBS if query.filter else JOBS).show(table)

    def table(self, query: ListQuery, *, scores: bool = False) -> pd.DataFrame:
        """Return a list as a typed DataFrame, in the service's order and without input rows."""
        from labext.frames import conversion

        state = self._batch(query) if query.batch is not None else self._account(query)
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
        """Return the inputs of the jobs in a table: the given rows, or the journalled ones.

        Raises:
            InputError: rows are given, but not the column that holds the names.
        """
        key = "JobName" if query.batch is None else "Name"
        local = query.batch is not None and query.email is None
        entry = self._parts.entry(str(query.batch)) if local else None
        plan = None if entry is None else entry.plan
        if input_rows is not None:
            column = name_column or (plan.name_column if plan else None)
            if column is None:
                raise InputError(
                    "The column that holds the jobs' names is unknown.",
                    f"Give it: {parameter('name_column', 'NAME')}.",
                )
            originals = plan.originals if plan is not None and _is_from_plan(table, plan) else {}
            if query.batch is None:  # a single job's name is never adapted
                named = frames.original_names(input_rows, column)
                return JobInputs(key, named, frames.drop_name_column(input_rows, column))
            return _inputs_from_rows(input_rows, column, query.batch, originals, set(table[key]))
        if plan is None or not _is_from_plan(table, plan):
            return None
        return JobInputs(key, list(plan.jobs), plan.input_columns, plan.name_column)

    def _batch(self, query: ListQuery) -> _ListState:
        """Read the jobs of a batch; of a split one part by part."""
        list_state = _ListState()
        by_part: dict[str | None, dict[str, int]] = {}
        for part, page in self.pages(query):
            list_state.rows += page.rows
            list_state.names += [
                identity.strip_batch_name(str(row.get("JobName")), str(part)) for row in page.rows
            ]
            by_part[part] = page.statuses or by_part.get(part, {})
            list_state.start_key = page.start_key
        for tally in by_part.values():
            for state, count in tally.items():
                list_state.statuses[state] = list_state.statuses.get(state, 0) + count
        return list_state

    def _account(self, query: ListQuery) -> _ListState:
        """Read the account's jobs, a split batch as one row."""
        if query.subjobs or query.organization:
            return self._as_they_are(query)
        state = _ListState(start_key=query.start_key or "")
        merger, guard = PartMerger(query.filter.matches), page_guard(query.start_key)
        most = query.limit
        while True:
            guard.add_page(row_names(self._fold(query, merger, most, state)))
            if state.start_key:
                guard.check_next(state.start_key)
            if state.start_key and (most is None or merger.match_count < most):
                continue
            cut = bool(state.start_key or query.start_key)
            state.rows = merger.rows(
                partial(self._service.find, email=query.email) if cut else None
            )
            missing = 0 if query.limit is None else query.limit - len(state.rows)
            if missing <= 0 or not state.start_key or most is None:
                return state
            most += missing  # with all its parts a split batch is in another state

    def _fold(
        self, query: ListQuery, merger: PartMerger, most: int | None, list_state: _ListState
    ) -> list[JobRecord]:
        """Read one page, or as much of it as is wanted, and return its rows."""
        key = list_state.start_key
        left = None if most is None else most - merger.match_count
        size = PAGE_SIZE if query.filter or left is None else min(left, PAGE_SIZE)
        page = self._service.page(size, key, **query.params)
        added = merger.add_rows(page.rows, most)
        list_state.statuses, list_state.start_key = (
            page.statuses or list_state.statuses,
            page.start_key,
        )
        if added is not None:
            # The list continues after the last row that was taken, by its key.
            list_state.start_key = self._service.page(added, key, **query.params).start_key
        elif query.filter.is_past(page.rows):
            list_state.start_key = ""
        return page.rows[:added]

    def _as_they_are(self, query: ListQuery) -> _ListState:
        state = _ListState()
        for _, page in self.pages(query):
            state.rows += page.rows
            state.statuses = page.statuses or state.statuses
            state.start_key = page.start_key
        return state

    def _of(self, query: ListQuery, batches: tuple[str | None, ...]) -> Iterator[BatchPage]:
        left = query.limit
        for batch in batches:
            if left is not None and left <= 0:
                return
            pages = (
                self._matching(query, batch, left)
                if query.filter
                else self._service.pages(
                    limit=left, start_key=query.start_key, batch=batch, **query.params
                )
            )
            try:
                for page in pages:
                    left = None if left is None else left - len(page.rows)
                    yield batch, page
            except NotFoundError:
                if batch is None:
                    raise
                continue  # missing: whether any part exists is known after the last

    def _matching(self, query: ListQuery, batch: str | None, most: int | None) -> Iterator[Page]:
        """Yield the pages of a list with the rows that match a filter, up to a limit."""
        matches, left = query.filter.matches, most
        key, guard = query.start_key or "", page_guard(query.start_key)
        while left is None or left > 0:
            page = self._service.page(PAGE_SIZE, key, batch=batch, **query.params)
            places = [place for place, row in enumerate(page.rows) if matches(row)]
            past = batch is None and query.filter.is_past(page.rows)
            guard.add_page(row_names(page.rows))
            if left is not None and len(places) >= left and places[left - 1] + 1 < len(page.rows):
                # The list continues after the last row that is taken, by its key.
                end = places[left - 1] + 1
                cut = self._service.page(end, key, batch=batch, **query.params)
                page, places, past = page._replace(start_key=cut.start_key), places[:left], False
            matching = page._replace(
                rows=[page.rows[place] for place in places],
                start_key="" if past else page.start_key,
            )
            left = None if left is None else left - len(matching.rows)
            yield matching
            key = matching.start_key
            if not key:
                return
            guard.check_next(key)

    def _elsewhere(self, query: ListQuery, requested: tuple[str, ...]) -> tuple[str, ...]:
        """Return the other place of a batch's jobs that were not where expected."""
        batch = str(query.batch)
        row = self._check_batch(query)
        self._parts.forget(batch)
        if row is not None:
            return () if requested == (batch,) else (batch,)
        parts = self._parts.search(batch, query.email)
        return () if parts == requested else parts

    def _check_batch(self, query: ListQuery) -> JobRecord | None:
        """Return the row of the requested batch or pipeline, if it exists.

        Raises:
            InputError: it is a single job.
        """
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
    """Return the inputs of a batch's jobs from rows that the user gives.

    Args:
        rows: the rows.
        name_column: their column with the original names, before some were adapted.
        batch: the batch of the jobs.
        known: the journal's original names, by the jobs' own.
        existing: the jobs' own names.
    """
    originals = frames.original_names(rows, name_column)
    jobs = {original: job for job, original in known.items()}
    space = max_job_name_length(batch, len(originals))
    own = [
        jobs.get(name) or identity.find_adapted_name(name, existing, space) for name in originals
    ]
    if own == originals:
        return JobInputs("Name", own, frames.drop_name_column(rows, name_column))
    return JobInputs("Name", own, rows, name_column)


def _is_from_plan(table: pd.DataFrame, plan: BatchPlan) -> bool:
    """Return whether the journal describes these jobs, not another account's of that name."""
    numbers = [
        (name, {"Type": type, "Settings": settings})
        for name, type, settings in zip(
            table["Name"], table["Type"], table["Settings"], strict=True
        )
        if name in plan.jobs
    ]
    return bool(numbers) and not any(
        stored_settings(row) is not None and submission_difference(plan.type, plan.jobs[name], row)
        for name, row in numbers
    )
