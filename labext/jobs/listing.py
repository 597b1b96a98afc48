"""Lists of jobs: page by page as records, or whole as a typed DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, NotFoundError
from labext.jobs import names, rows
from labext.jobs.parts import Parts
from labext.jobs.rows import Page
from labext.jobs.service import Service

if TYPE_CHECKING:
    import pandas as pd

Found = tuple[str | None, Page]
"""A page, and the batch of the service that it is of."""


@dataclass(frozen=True)
class Query:
    """What is listed: the query of `GET /jobs` (job service contract).

    Attributes:
        batch: the jobs of this batch; None for the account's jobs.
        limit: rows wanted in all; None for every one.
        organization: the organization's jobs.
        subjobs: batches' jobs too.
        email: a teammate's jobs.
        start_key: where an earlier list ended.
    """

    batch: str | None = None
    limit: int | None = None
    organization: bool = False
    subjobs: bool = False
    email: str | None = None
    start_key: str | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and (isinstance(self.limit, bool) or self.limit < 1):
            raise InputError(f"A list can't have {self.limit} rows.", "Give a limit of 1 or more.")
        if self.batch is not None:
            names.check(self.batch, "batch")

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that do not change from page to page."""
        return {
            "organization": self.organization or None,
            "includeSubjobs": self.subjobs or None,
            "jobEmail": self.email,
        }


class Lister:
    """Lists jobs of one service."""

    def __init__(self, service: Service, parts: Parts) -> None:
        self._service = service
        self._parts = parts

    def pages(self, query: Query) -> Iterator[Found]:
        """Yield the pages of a list.

        Raises:
            NotFoundError: the batch is not there.
            InputError: it is a single job.
        """
        if query.batch is None:
            yield from self._of(query, (None,))
            return
        parts = self._parts.of(query.batch, query.email) or (query.batch,)
        empty = True
        for found in self._of(query, parts):
            empty = empty and not found[1].rows
            yield found
        if empty:
            yield from self._of(query, self._elsewhere(query, parts))

    def frame(
        self,
        query: Query,
        *,
        scores: bool = False,
        input_rows: pd.DataFrame | None = None,
        name_column: str | None = None,
    ) -> pd.DataFrame:
        """Return a list as a typed DataFrame; see `JobsClient.jobs`."""
        from labext import frames

        records: list[dict[str, Any]] = []
        own: list[str] = []
        statuses: dict[str, int] = {}
        start_key = ""
        by_part: dict[str | None, dict[str, int]] = {}
        for part, page in self.pages(query):
            records += page.rows
            if part is not None:
                own += [names.own(str(row.get("JobName")), part) for row in page.rows]
            by_part[part] = page.statuses or by_part.get(part, {})
            start_key = page.start_key
        for tally in by_part.values():
            for state, count in tally.items():
                statuses[state] = statuses.get(state, 0) + count
        table = frames.frame(records, rows.columns())
        table = table.drop(columns=["resultUrl", "statuses"], errors="ignore")
        if scores:
            table = frames.spread(table, "Score", "score")
        if query.batch is not None:
            table.insert(0, "Name", own)
            table["Name"] = table["Name"].astype(table["JobName"].dtype)
        table = self._joined(table, query, input_rows, name_column)
        table.attrs = {"statuses": statuses, "start_key": start_key}
        return table

    def _of(self, query: Query, batches: tuple[str | None, ...]) -> Iterator[Found]:
        left = query.limit
        for batch in batches:
            pages = self._service.pages(
                limit=left, start_key=query.start_key, batch=batch, **query.params
            )
            try:
                for page in pages:
                    left = None if left is None else left - len(page.rows)
                    yield batch, page
            except NotFoundError:
                if batch is None:
                    raise
                continue  # not there: whether any part is shows when all were asked

    def _elsewhere(self, query: Query, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Say where else the jobs of a batch are, that were not where they were looked for."""
        batch = str(query.batch)
        row = self._service.find(batch, query.email)
        if row is not None and not rows.is_batch(row):
            raise InputError(f"{batch} is a single job.", f"See `%jobs show {batch}`.")
        self._parts.forget(batch)
        if row is not None:
            return () if asked == (batch,) else (batch,)
        found = self._parts.search(batch, query.email)
        return () if found == asked else found

    def _joined(
        self,
        table: pd.DataFrame,
        query: Query,
        input_rows: pd.DataFrame | None,
        name_column: str | None,
    ) -> pd.DataFrame:
        from labext.jobs import joining

        key = "JobName" if query.batch is None else "Name"
        whole = query.limit is None and not query.start_key
        local = query.batch is not None and query.email is None
        entry = self._parts.entry(str(query.batch)) if local else None
        plan = None if entry is None else entry.plan
        if input_rows is not None:
            column = name_column or (plan.name_column if plan else None)
            if column is None:
                raise InputError(
                    "It is not said which column of the rows holds the jobs' names.",
                    "Give it as name_column.",
                )
            order, others = joining.names_and_rows(input_rows, column)
            return joining.join(table, key, order, others, missing=whole)
        if plan is None or set(table[key]).isdisjoint(plan.jobs):
            return table
        beside = plan.rows
        if beside is not None and plan.name_column is not None:
            beside = beside.drop(columns=plan.name_column)
        return joining.join(table, key, list(plan.jobs), beside, missing=whole)
