"""What accounts have used: counted when jobs are submitted and end, kept when they are deleted.

Source: job service contract, GET /usage-statistics; the answer's form is that of real services,
jobs. Counting is one statement that adds in the database, inside the transaction that stores or
ends the job, so that no number is lost or counted twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from labext.sandbox.jobs.faults import denied, invalid
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.store import Account, Usage
from labext.sandbox.service import Site

STATISTICS = ("weighted_hours", "jobs")
SCOPES = ("user", "organization")
_TABLE = Usage.metadata.tables[Usage.__tablename__]
_DIGITS = 9  # of an hour, as a job's WeightedHours


def submitted(session: Session, account_id: int, tool: str, jobs: int) -> None:
    """Count jobs of a tool that were submitted."""
    _add(session, account_id, tool, jobs=jobs)


def ended(session: Session, account_id: int, tool: str, hours: float) -> None:
    """Count the weighted hours of a job that has ended; nothing for an account that is gone."""
    _add(session, account_id, tool, hours=hours)


def statistics(site: Site, caller: Account, query: Mapping[str, str]) -> dict[str, Any]:
    """The answer to GET /usage-statistics.

    With the scope `organization`, which an owner alone may ask for (403), `byUser` has everybody
    in it; tools that nobody has used are not in `byTool`.
    """
    statistic = _one_of(query, "statistic", STATISTICS)
    scope = _one_of(query, "scope", SCOPES)
    if scope == "organization" and not caller.owner:
        raise denied("scope: only an owner of the organization sees what all have used.")
    mine = (
        Account.organization_id == caller.organization_id
        if scope == "organization"
        else Account.id == caller.id
    )
    value = Usage.jobs if statistic == "jobs" else Usage.weighted_hours
    by_tool: dict[str, float] = defaultdict(int)
    by_user: dict[str, float] = defaultdict(int)
    with site.database.read() as session:
        rows = session.execute(
            select(Account.email, Usage.tool, value)
            .outerjoin(Usage, Usage.account_id == Account.id)
            .where(mine)
            .order_by(Account.id, Usage.tool)
        )
        for email, tool, used in rows:
            by_user[email] += used or 0
            if used:
                by_tool[tool] += used
    return {
        "statistic": statistic,
        "scope": scope,
        "total": _rounded(sum(by_user.values())),
        "byTool": {tool: _rounded(used) for tool, used in sorted(by_tool.items())},
        "byUser": {email: _rounded(used) for email, used in by_user.items()},
    }


def hours(session: Session, whose: ColumnElement[bool]) -> float:
    """The weighted hours that the accounts of a condition on `Account` have used together."""
    total = session.scalar(
        select(func.coalesce(func.sum(Usage.weighted_hours), 0.0))
        .join(Account, Account.id == Usage.account_id)
        .where(whose)
    )
    return _rounded(float(total or 0.0))


def _add(session: Session, account_id: int, tool: str, jobs: int = 0, hours: float = 0.0) -> None:
    if _increase(session, account_id, tool, jobs, hours):
        return
    account = select(Account.id, literal(tool), literal(jobs), literal(hours)).where(
        Account.id == account_id  # it may have been removed while its job ran
    )
    columns = ["account_id", "tool", "jobs", "weighted_hours"]
    try:
        with session.begin_nested():
            session.execute(insert(Usage).from_select(columns, account))
    except IntegrityError:  # another process was first
        _increase(session, account_id, tool, jobs, hours)


_INCREASE = (
    update(_TABLE)
    .where(_TABLE.c.account_id == bindparam("of"), _TABLE.c.tool == bindparam("by"))
    .values(
        jobs=_TABLE.c.jobs + bindparam("more"),
        weighted_hours=_TABLE.c.weighted_hours + bindparam("longer"),
    )
)
"""Made once: every end of a job adds with it."""


def _increase(session: Session, account_id: int, tool: str, jobs: int, hours: float) -> bool:
    """Add to the row; False where there is none."""
    values = {"of": account_id, "by": tool, "more": jobs, "longer": hours}
    done = session.connection().execute(_INCREASE, values)
    return done.rowcount > 0


def _one_of(query: Mapping[str, str], field: str, values: tuple[str, ...]) -> str:
    """A word of the query; the first of `values` where it is absent."""
    value = query.get(field, values[0])
    if value not in values:
        raise invalid(f"{field} is none of {', '.join(values)}: {shown(value)}.")
    return value


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else round(value, _DIGITS)
