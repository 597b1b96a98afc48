"""List, show, stop and delete jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import ColumnElement, delete, func, literal, select, union_all
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import InvalidSignatureError
from labext.sandbox.jobs import parent_jobs, schemas, tasks
from labext.sandbox.jobs.dependencies import find_teammate, require_job, teammate_ids
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.files.job_files import create_archive_url
from labext.sandbox.jobs.names import quote_value
from labext.sandbox.jobs.scheduling import queue_reason
from labext.sandbox.jobs.schemas import bad_request, forbidden, not_found
from labext.sandbox.jobs.tables import (
    ACTIVE_STATES,
    AGGREGATING,
    COMPLETE,
    Account,
    Job,
    count_by_state,
    job_record,
    tally,
)

MAX_PAGE_SIZE = 1000
"""The default page size, and the maximum of `limit`."""

Query = Mapping[str, str]


@dataclass(frozen=True)
class JobSelection:
    """The filters and the order of a job list.

    Attributes:
        oldest_first: True to list the oldest job first, as for the jobs of a batch.
        scope: identifier of the list; a `startKey` is valid for this list only.
    """

    where: tuple[ColumnElement[bool], ...]
    oldest_first: bool
    scope: list[Any]
    with_email: bool = False


def list_jobs(site: Site, caller: Account, query: Query) -> bytes:
    """Return the response of GET /jobs as JSON: one row, or a page of rows."""
    # A page is one statement, and needs no transaction for a consistent state.
    with site.database.read(snapshot="jobName" in query) as session:
        organization = schemas.query_flag(query, "organization")
        if organization and not caller.owner:
            raise forbidden("organization: only an owner of the organization may see all its jobs.")
        account = find_teammate(session, caller, query.get("jobEmail") or None)
        name = query.get("jobName")
        if name is not None:
            return orjson.dumps(_job_by_name(session, site, account, name, organization))
        selection = _build_selection(session, account, query, organization)
        limit = schemas.query_count(query, "limit", MAX_PAGE_SIZE)
        after = _cursor_position(site, selection, query.get("startKey"))
        return _job_page(session, site, selection, limit, after)


def _job_by_name(
    session: Session, site: Site, account: Account, name: str, organization: bool
) -> dict[str, Any]:
    job = require_job(session, account, name, organization=organization)
    record = job_record(job)
    if job.is_batch and job.batch_status == COMPLETE:
        record["resultUrl"] = create_archive_url(session, site, job)
    if (reason := queue_reason(session, site, job)) is not None:
        record["QueueReason"] = reason
    condition = Job.parent_id == job.id if job.is_parent else Job.id == job.id
    return record | {"statuses": count_by_state(session, condition)}


def _build_selection(
    session: Session, account: Account, query: Query, organization: bool
) -> JobSelection:
    subjobs = schemas.query_flag(query, "includeSubjobs")
    batch = query.get("batch")
    if batch is not None:
        parent = require_job(session, account, batch, organization=organization)
        if not parent.is_parent:
            raise bad_request(f"batch: job {batch} is neither a batch nor a pipeline.")
        return JobSelection((Job.parent_id == parent.id,), True, ["batch", parent.id])
    top_level = () if subjobs else (Job.parent_id.is_(None),)
    if organization:
        where = (Job.account_id.in_(teammate_ids(account)), *top_level)
        return JobSelection(where, False, ["all", account.organization_id, subjobs], True)
    where = (Job.account_id == account.id, *top_level)
    return JobSelection(where, False, ["own", account.id, subjobs])


def _cursor_position(site: Site, selection: JobSelection, start_key: str | None) -> int | None:
    if not start_key:
        return None
    try:
        number, scope = site.signer.unseal(start_key, "jobs.startKey")
    except InvalidSignatureError:
        raise bad_request("startKey was not issued by this service.") from None
    if scope != selection.scope:
        raise bad_request("startKey belongs to another list.")
    return int(number)


def _job_page(
    session: Session, site: Site, selection: JobSelection, limit: int, after: int | None
) -> bytes:
    where = list(selection.where)
    if after is not None:
        where.append(Job.id > after if selection.oldest_first else Job.id < after)
    order = Job.id if selection.oldest_first else Job.id.desc()
    emails = Account.email if selection.with_email else literal("")
    page = select(Job.id, Job.record, emails.label("email")).where(*where)
    if selection.with_email:
        page = page.join(Account, Account.id == Job.account_id)
    page_rows = page.order_by(order).limit(limit + 1).subquery()
    counts = select(literal(0), Job.status, literal("")).add_columns(func.count())
    statement = union_all(
        select(page_rows, literal(0)), counts.where(*selection.where).group_by(Job.status)
    )
    # Plain columns are much faster than ORM objects for a thousand rows.
    results: Sequence[Any] = session.connection().execute(statement).all()
    found = [row for row in results if row[0]]
    found.sort(key=itemgetter(0), reverse=not selection.oldest_first)
    rows, has_more = found[:limit], len(found) > limit
    start_key = ""
    if has_more:
        start_key = site.signer.seal([rows[-1][0], selection.scope], "jobs.startKey")
    if selection.with_email:
        records: list[Any] = [{**orjson.loads(row[1]), "Email": row[2]} for row in rows]
    else:
        records = [orjson.Fragment(row[1]) for row in rows]
    statuses = tally({row[1]: row[3] for row in results if not row[0]})
    return orjson.dumps({"jobs": records, "startKey": start_key, "statuses": statuses})


STOPPED_BY_USER = "Stopped by hand."


def stop_job(site: Site, account: Account, body: bytes, *, batch: bool | None = None) -> str:
    """Stop a job, or a parent with its unfinished jobs; return the confirmation.

    With `batch` a job of the other kind is 404 (JOBS-104).
    """
    name = schemas.require_text(schemas.parse_body(body), "jobName")
    return _stop_named(site, account, name, batch=batch)


def cancel_batch(site: Site, account: Account, body: bytes) -> str:
    """Stop the batch named by `batchName` or `jobName`; 404 if it is not a batch."""
    content = schemas.parse_body(body)
    batch = (
        schemas.optional_text_field(content, "batchName") is not None or "jobName" not in content
    )
    name = schemas.require_text(content, "batchName" if batch else "jobName")
    return _stop_named(site, account, name, batch=True)


def _stop_named(site: Site, account: Account, name: str, *, batch: bool | None) -> str:
    with site.database.write() as session:
        job = require_job(session, account, name)
        if batch is not None and batch != job.is_batch:
            raise not_found(f"{quote_value(name)} is {'not a batch' if batch else 'a batch'}.")
        state = job.state
        if state not in (*ACTIVE_STATES, AGGREGATING):
            return f"{job.name} is already {state}."
        if job.is_parent:
            parent_jobs.stop_parent(job, STOPPED_BY_USER)
            stopped = parent_jobs.stop_parts(session, site, job, STOPPED_BY_USER)
        else:
            parent_jobs.mark_stopped(job, STOPPED_BY_USER)
            stopped = []
        stopped += parent_jobs.cancel_tasks(session, site, [job.id], STOPPED_BY_USER)
    site.queue.wait(site.database, stopped)
    return f"{job.name} is stopped."


def delete_job(site: Site, account: Account, body: bytes, name: str | None) -> str:
    """Delete a job, or a parent with all its jobs; running jobs are stopped first."""
    if body or name is None:
        name = schemas.require_text(schemas.parse_body(body or b"{}"), "jobName")
    with site.database.write() as session:
        job = require_job(session, account, name)
        parent = job.parent
        numbers = [job.id, *session.scalars(select(Job.id).where(Job.parent_id == job.id))]
        session.execute(delete(Job).where(Job.parent_id == job.id))
        session.delete(job)
        session.flush()
        job_files.forget_jobs(session, site, numbers)
        stopped = parent_jobs.cancel_tasks(session, site, numbers, "Deleted.")
        message = f"{name} is deleted."
        if parent is not None:
            tasks.settle_parent(session, site, parent, job, deleted=True)
            if parent_jobs.is_aggregating(session, site, parent):
                message += f" The archive of {parent.name} is rebuilt without it."
    site.queue.wait(site.database, stopped)
    job_files.remove_jobs(site, numbers)
    return message
