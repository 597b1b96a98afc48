"""Count the usage of accounts, and enforce budgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from labext.messages import format_number
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs.dependencies import reload_account
from labext.sandbox.jobs.names import quote_value
from labext.sandbox.jobs.schemas import bad_request, forbidden
from labext.sandbox.jobs.tables import Account, Organization, Usage

STATISTIC_NAMES = ("weighted_hours", "jobs")
SCOPE_NAMES = ("user", "organization")
_TABLE = Usage.metadata.tables[Usage.__tablename__]
_HOUR_DIGITS = 9  # as in the field WeightedHours of a job


def usage_statistics(site: Site, caller: Account, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the response of GET /usage-statistics.

    The scope `organization` requires an owner (else 403); `byUser` then has all of its accounts.
    `byTool` omits unused tools. `budgetLeft` is present if the caller or its organization has a
    budget, and is the number of weighted hours left to the caller.
    """
    statistic = _query_choice(query, "statistic", STATISTIC_NAMES)
    scope = _query_choice(query, "scope", SCOPE_NAMES)
    if scope == "organization" and not caller.owner:
        raise forbidden("scope: only an owner of the organization may see its usage.")
    condition = (
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
            .where(condition)
            .order_by(Account.id, Usage.tool)
        )
        for email, tool, used in rows:
            by_user[email] += used or 0
            if used:
                by_tool[tool] += used
        budgets = _budgets(session, reload_account(session, caller))
    budget_left = min((budget - used for _, used, budget in budgets), default=None)
    return {
        "statistic": statistic,
        "scope": scope,
        "total": _round_hours(sum(by_user.values())),
        "byTool": {tool: _round_hours(used) for tool, used in sorted(by_tool.items())},
        "byUser": {email: _round_hours(used) for email, used in by_user.items()},
        **({} if budget_left is None else {"budgetLeft": max(_round_hours(budget_left), 0.0)}),
    }


def total_hours(session: Session, condition: ColumnElement[bool]) -> float:
    """Return the total weighted hours of the accounts matching a condition."""
    total = session.scalar(
        select(func.coalesce(func.sum(Usage.weighted_hours), 0.0))
        .join(Account, Account.id == Usage.account_id)
        .where(condition)
    )
    return _round_hours(float(total or 0.0))


def add_usage(
    session: Session, account_id: int, tool: str, *, jobs: int = 0, hours: float = 0.0
) -> None:
    """Add submitted jobs of a tool or hours of an ended one, unless the account was removed."""
    if _increase_usage(session, account_id, tool, jobs, hours):
        return
    account = select(Account.id, literal(tool), literal(jobs), literal(hours)).where(
        Account.id == account_id  # no row if the account was removed while the job ran
    )
    columns = ["account_id", "tool", "jobs", "weighted_hours"]
    try:
        with session.begin_nested():
            session.execute(insert(Usage).from_select(columns, account))
    except IntegrityError:  # another process was faster
        _increase_usage(session, account_id, tool, jobs, hours)


_INCREASE_USAGE = (
    update(_TABLE)
    .where(_TABLE.c.account_id == bindparam("of_account"), _TABLE.c.tool == bindparam("of_tool"))
    .values(
        jobs=_TABLE.c.jobs + bindparam("added_jobs"),
        weighted_hours=_TABLE.c.weighted_hours + bindparam("added_hours"),
    )
)
"""Built once, since it is executed whenever a job is submitted or ends."""


def _increase_usage(session: Session, account_id: int, tool: str, jobs: int, hours: float) -> bool:
    """Add to the existing row; return False if the row is missing."""
    values = {"of_account": account_id, "of_tool": tool, "added_jobs": jobs, "added_hours": hours}
    result = session.connection().execute(_INCREASE_USAGE, values)
    return result.rowcount > 0


def _query_choice(query: Mapping[str, str], field: str, values: tuple[str, ...]) -> str:
    """Return a query parameter, which must be one of `values`; the default is the first."""
    value = query.get(field, values[0])
    if value not in values:
        raise bad_request(f"{field} is not one of {', '.join(values)}: {quote_value(value)}.")
    return value


def _round_hours(value: float) -> float:
    return value if isinstance(value, int) else round(value, _HOUR_DIGITS)


def check_budgets_left(session: Session, account: Account) -> None:
    """Raise 403 if the account or its organization has used up its budget.

    Only ended jobs count, and running jobs may finish. `account` must be loaded in this
    transaction, so that a new budget applies to the next submission.
    """
    for owner, used, budget in _budgets(session, account):
        if used >= budget:
            raise forbidden(
                f"The budget {owner} is used up: {format_number(used)} of "
                f"{format_number(budget)} weighted hours."
            )


def _budgets(session: Session, account: Account) -> list[tuple[str, float, float]]:
    """Return owner, used hours and budgeted hours of each budget that applies to an account."""
    budgets = []
    if account.budget is not None:
        used = total_hours(session, Account.id == account.id)
        budgets.append((f"of {account.email}", used, account.budget))
    organization = session.get_one(Organization, account.organization_id)
    if organization.budget is not None:
        used = total_hours(session, Account.organization_id == organization.id)
        budgets.append((f"of the organization {organization.name}", used, organization.budget))
    return budgets
