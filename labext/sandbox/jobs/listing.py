"""Lists jobs page by page, and shows one by its name (job service contract, GET /jobs).

Pages are newest first; the jobs of a batch or a pipeline come in the order in which they were
submitted. `statuses` counts the whole selection, not the page. `startKey` is empty on the last
page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from labext.sandbox.jobs import fields
from labext.sandbox.jobs.faults import absent, invalid
from labext.sandbox.jobs.files.results import archive_address
from labext.sandbox.jobs.identity import check_organization, teammate
from labext.sandbox.jobs.names import is_name, shown
from labext.sandbox.jobs.store import COMPLETE, Account, Job, job_named, row, tally
from labext.sandbox.service import Site
from labext.sandbox.signing import Forged

PAGE = 1000
"""The page size without `limit`; a bigger `limit` counts as this one."""

Query = Mapping[str, str]


@dataclass(frozen=True)
class Selection:
    """Which jobs a list is about.

    Attributes:
        where: the conditions.
        oldest_first: the order of a batch's jobs.
        scope: what a `startKey` is bound to; it reads no other list.
        with_email: whether the rows say whose they are.
    """

    where: tuple[ColumnElement[bool], ...]
    oldest_first: bool
    scope: list[Any]
    with_email: bool = False


def jobs(site: Site, caller: Account, query: Query) -> bytes:
    """The answer to GET /jobs: a row, or a page of rows; JSON."""
    with site.database.read() as session:
        organization = fields.flag(query, "organization")
        if organization:
            check_organization(caller)
        account = teammate(session, caller, query.get("jobEmail") or None)
        name = query.get("jobName")
        if name is not None:
            return orjson.dumps(_by_name(session, site, account, name, organization))
        selection = _selection(session, account, query, organization)
        limit = fields.count(query, "limit", PAGE)
        after = _after(site, selection, query.get("startKey"))
        return _page(session, site, selection, limit, after)


def _by_name(
    session: Session, site: Site, account: Account, name: str, organization: bool
) -> dict[str, Any]:
    job = _find(session, account, name, organization)
    found = row(job)
    if job.is_batch and job.batch_status == COMPLETE:
        found["resultUrl"] = archive_address(session, site, job)
    mine = Job.parent_id == job.id if job.is_parent else Job.id == job.id
    return found | {"statuses": tally(session, mine)}


def _find(session: Session, account: Account, name: str, organization: bool) -> Job:
    """The account's job of that name; with `organization` else the latest of a teammate."""
    job = job_named(session, account.id, name)
    if job is None and organization and is_name(name):
        job = session.scalars(
            select(Job)
            .where(Job.name == name, Job.account_id.in_(_teammates(account)))
            .order_by(Job.id.desc())
            .limit(1)
        ).one_or_none()
    if job is None:
        raise absent(f"There is no job {shown(name)}.")
    return job


def _selection(session: Session, account: Account, query: Query, organization: bool) -> Selection:
    subjobs = fields.flag(query, "includeSubjobs")
    batch = query.get("batch")
    if batch is not None:
        parent = _find(session, account, batch, organization)
        if not parent.is_parent:
            raise invalid(f"batch: job {batch} is neither a batch nor a pipeline.")
        return Selection((Job.parent_id == parent.id,), True, ["batch", parent.id])
    top = () if subjobs else (Job.parent_id.is_(None),)
    if organization:
        where = (Job.account_id.in_(_teammates(account)), *top)
        return Selection(where, False, ["all", account.organization_id, subjobs], True)
    return Selection((Job.account_id == account.id, *top), False, ["own", account.id, subjobs])


def _teammates(account: Account) -> Any:
    return select(Account.id).where(Account.organization_id == account.organization_id)


def _after(site: Site, selection: Selection, start_key: str | None) -> int | None:
    if not start_key:
        return None
    try:
        number, scope = site.signer.unseal(start_key, "jobs.startKey")
    except Forged:
        raise invalid("startKey was not given out by this service.") from None
    if scope != selection.scope:
        raise invalid("startKey belongs to another list.")
    return int(number)


def _page(
    session: Session, site: Site, selection: Selection, limit: int, after: int | None
) -> bytes:
    where = list(selection.where)
    if after is not None:
        where.append(Job.id > after if selection.oldest_first else Job.id < after)
    order = Job.id if selection.oldest_first else Job.id.desc()
    statement = select(Job.id, Job.record).where(*where).order_by(order).limit(limit + 1)
    if selection.with_email:
        statement = statement.add_columns(Account.email).join(Account, Account.id == Job.account_id)
    # Plain columns, of a thousand rows: the session would look at each, and names are slow.
    found: Sequence[Any] = session.connection().execute(statement).all()
    rows, more = found[:limit], len(found) > limit
    start_key = ""
    if more:
        start_key = site.signer.seal([rows[-1][0], selection.scope], "jobs.startKey")
    if selection.with_email:
        records: list[Any] = [{**orjson.loads(row[1]), "Email": row[2]} for row in rows]
    else:
        records = [orjson.Fragment(row[1]) for row in rows]
    statuses = tally(session, *selection.where)
    return orjson.dumps({"jobs": records, "startKey": start_key, "statuses": statuses})
