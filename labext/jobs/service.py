"""One method for each request that the client makes of the job service.

Here an answer's many forms become one; nothing is decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from labext.errors import (
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    UnreachableError,
)
from labext.jobs import operations, rows
from labext.jobs.answers import address_of, not_served, said
from labext.jobs.file_service import Files
from labext.jobs.rows import Page, Row
from labext.transport import Transport
from labext.transport.paging import PageGuard

PAGE = 1000
"""Rows asked for in one page of a list (job service contract, Limits)."""


class Service(Files):
    """The job service at one address, over one transport."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.address = transport.base_url.rstrip("/")

    def tools(self) -> list[dict[str, Any]]:
        """Return every tool's record."""
        answer = self.transport.send(operations.TOOLS).json()
        if isinstance(answer, Mapping) and isinstance(answer.get("tools"), list):
            answer = answer["tools"]
        if not isinstance(answer, list):
            raise ServiceError("The service's list of tools makes no sense.")
        return [tool for tool in answer if isinstance(tool, dict) and tool.get("name")]

    def row(self, name: str, email: str | None = None) -> Row:
        """Return one job's row, with the tally of its jobs as `statuses` if it is a batch.

        Raises:
            NotFoundError: no job has the name.
        """
        params = {"jobName": name, "jobEmail": email}
        return rows.record(self.transport.send(operations.JOB, params=params).json(), name)

    def find(self, name: str, email: str | None = None) -> Row | None:
        """Return one job's row; None where no job has the name, or it was deleted."""
        try:
            row = self.row(name, email)
        except NotFoundError:
            return None
        return None if rows.phase(row) == "Deleted" else row

    def pages(
        self, *, limit: int | None = None, start_key: str | None = None, **params: Any
    ) -> Iterator[Page]:
        """Yield the pages of a list, of at most `limit` rows in all.

        Raises:
            ResponseLimitError: the list does not end.
        """
        left, key, guard = limit, start_key, page_guard(start_key)
        while left is None or left > 0:
            page = self.page(PAGE if left is None else min(left, PAGE), key, **params)
            if left is not None:
                page = page._replace(rows=page.rows[:left])
                left -= len(page.rows)
            yield page
            key = page.start_key
            if not key:
                return
            guard.new(names_of(page.rows))
            guard.go_on(key)

    def page(self, limit: int, start_key: str | None = None, **params: Any) -> Page:
        """Return one page of a list."""
        query = {**params, "limit": limit, "startKey": start_key or None}
        return rows.page(self.transport.send(operations.JOBS, params=query).json())

    def validate(self, body: Mapping[str, Any]) -> tuple[bool, str] | None:
        """Ask whether a submission would be accepted; None where the service can't be asked.

        Returns:
            Whether it would, and the service's words if not.
        """
        try:
            answer = self.transport.send(operations.VALIDATE, json=body).json()
        except LabextError as error:
            if not_served(error):
                return None
            raise
        if not isinstance(answer, Mapping) or not isinstance(answer.get("valid"), bool):
            return None
        return answer["valid"], str(answer.get("error") or "")

    def validate_rows(self, body: Mapping[str, Any]) -> dict[int, str] | None:
        """Ask which rows of a batch would be refused: the service's words by position.

        None where no rows are judged: by a service that checks one job at a time, or one that
        refuses the request as a whole, which the submission will tell.

        Args:
            body: `type`, `settings` (an array) and `jobNames`.
        """
        try:
            answer = self.transport.send(operations.VALIDATE, json=body).json()
        except (InputError, ServiceError) as error:
            if isinstance(error, UnreachableError):
                raise
            return None
        results = answer.get("results") if isinstance(answer, Mapping) else None
        if not isinstance(results, list) or not all(isinstance(row, Mapping) for row in results):
            return None
        judged = {
            row["index"]: row["valid"]
            for row in results
            if isinstance(row.get("index"), int) and isinstance(row.get("valid"), bool)
        }
        if judged.keys() != set(range(len(body["settings"]))):
            return None
        return {
            row["index"]: str(row.get("error") or "it is not valid")
            for row in results
            if not row["valid"]
        }

    def submit_job(self, body: Mapping[str, Any]) -> str:
        """Submit a job; return the service's words."""
        return said(self.transport.send(operations.SUBMIT, json=body))

    def submit_batch(self, body: Mapping[str, Any]) -> str:
        """Submit a batch of at most 100 jobs; return the service's words."""
        return said(self.transport.send(operations.SUBMIT_BATCH, json=body))

    def submit_pipeline(self, body: Mapping[str, Any]) -> str:
        """Submit a pipeline with its stages; return the service's words."""
        return said(self.transport.send(operations.SUBMIT_PIPELINE, json=body))

    def run_pipeline(self, body: Mapping[str, Any]) -> str:
        """Run a pipeline that is saved on the service; return the service's words."""
        return said(self.transport.send(operations.RUN_PIPELINE, json=body))

    def result_url(
        self,
        name: str,
        *,
        file: str | None = None,
        pdbs_only: bool = False,
        email: str | None = None,
    ) -> str:
        """Return a fresh presigned address of a job's results."""
        body: dict[str, Any] = {"jobName": name}
        if file is not None:
            body["fileName"] = file
        if pdbs_only:
            body["pdbsOnly"] = True
        if email is not None:
            body["jobEmail"] = email
        return address_of(self.transport.send(operations.RESULT, json=body), name)

    def stop(self, name: str, *, batch: bool = False) -> str:
        """Stop a job, a pipeline or a batch; return the service's words.

        A service without `/stop-job` has `cancelJob` and, for a batch, `cancelBatch`.
        """
        try:
            return said(self.transport.send(operations.STOP, json={"jobName": name}))
        except LabextError as error:
            if not not_served(error) or _names(error.server, name):
                raise  # what it says of this job is no word about the address
            refused = error
        cancel = operations.CANCEL_BATCH if batch else operations.CANCEL_JOB
        try:
            return said(
                self.transport.send(cancel, json={"batchName" if batch else "jobName": name})
            )
        except LabextError as error:
            if not not_served(error):
                raise
        raise refused

    def delete(self, name: str) -> str:
        """Delete a job or a batch with its data; return the service's words."""
        return said(self.transport.send(operations.DELETE, json={"jobName": name}))

    def usage(self, statistic: str, scope: str) -> Any:
        """Return the service's usage statistics as it gives them."""
        params = {"statistic": statistic, "scope": scope}
        return self.transport.send(operations.USAGE, params=params).json()


def _names(words: str | None, name: str) -> bool:
    """Say whether the service's words name a job, and not only hold its letters."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words or "") is not None


def page_guard(start_key: str | None) -> PageGuard:
    """Return a check that a list of jobs ends."""
    return PageGuard("The job service's list of jobs", start_key or "")


def names_of(found: Iterable[Row]) -> list[str | None]:
    """Return what tells job rows apart; None where a row has no name."""
    return [str(row["JobName"]) if row.get("JobName") else None for row in found]
