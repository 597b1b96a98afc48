"""Count the usage of accounts, and enforce budgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs.dependencies import reload_account
from labext.sandbox.jobs.names import quote_value
from labext.sandbox.jobs.schemas import bad_request, forbidden
from labext.sandbox.jobs.tables import Account, Organization, Usage

STATISTIC_NAMES = ("weighted_hours", "jobs")
SCOPE_NAMES = ("user", "organization")
_TABLE = Usage.metadata.tables[Usage.__tablename__]
_DIGITS = 9  # of an hour, as a job's WeightedHours


def count_submitted(session: Session, account_id: int, tool: str, jobs: int) -> None:
    """Count jobs of a tool that were submitted."""
    _add_usage(session, account_id, tool, jobs=jobs)


def charge_hours(session: Session, account_id: int, tool: str, hours: float) -> None:
    """Add the weighted hours of an ended job, unless its account was removed."""
    _add_usage(session, account_id, tool, hours=hours)


def usage_statistics(site: Site, caller: Account, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the response of GET /usage-statistics.

    With the scope `organization`, for owners only (else 403), `byUser` has all accounts of it.
    Unused tools are not in `byTool`. `budgetLeft` is what the caller may still use, if it or its
    organization has a budget.
    """
    statistic = _query_choice(query, "statistic", STATISTIC_NAMES)
    scope = _query_choice(query, "scope", SCOPE_NAMES)
    if scope == "organization" and not caller.owner:
        raise forbidden("scope: only an owner of the organization sees what all have used.")
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
    left = min((budget - used for _, used, budget in budgets), default=None)
    return {
        "statistic": statistic,
        "scope": scope,
        "total": _round_hours(sum(by_user.values())),
        "byTool": {tool: _round_hours(used) for tool, used in sorted(by_tool.items())},
        "byUser": {email: _round_hours(used) for email, used in by_user.items()},
        **({} if left is None else {"budgetLeft": max(_round_hours(left), 0.0)}),
    }


def total_hours(session: Session, condition: ColumnElement[bool]) -> float:
    """Return the total weighted hours of the accounts that match a condition."""
    total = session.scalar(
        select(func.coalesce(func.sum(Usage.weighted_hours), 0.0))
        .join(Account, Account.id == Usage.account_id)
        .where(condition)
    )
    return _round_hours(float(total or 0.0))


def _add_usage(
    session: Session, account_id: int, tool: str, jobs: int = 0, hours: float = 0.0
) -> None:
    if _increase_usage(session, account_id, tool, jobs, hours):
        return
    account = select(Account.id, literal(tool), literal(jobs), literal(hours)).where(
        Account.id == account_id  # it may have been removed while its job ran
    )
    columns = ["account_id", "tool", "jobs", "weighted_hours"]
    try:
        with session.begin_nested():
            session.execute(insert(Usage).from_select(columns, account))
    except IntegrityError:  # another process was first
        _increase_usage(session, account_id, tool, jobs, hours)


_INCREASE_USAGE = (
    update(_TABLE)
    .where(_TABLE.c.account_id == bindparam("of"), _TABLE.c.tool == bindparam("by"))
    .values(
        jobs=_TABLE.c.jobs + bindparam("more"),
        weighted_hours=_TABLE.c.weighted_hours + bindparam("longer"),
    )
)
"""Built once, since it is executed at the end of every job."""


def _increase_usage(session: Session, account_id: int, tool: str, jobs: int, hours: float) -> bool:
    """Add to the row; return False if there is none."""
    values = {"of": account_id, "by": tool, "more": jobs, "longer": hours}
    result = session.connection().execute(_INCREASE_USAGE, values)
    return result.rowcount > 0


def _query_choice(query: Mapping[str, str], field: str, values: tuple[str, ...]) -> str:
    """Return a query parameter that is one of `values`; the first one if it is absent."""
    value = query.get(field, values[0])
    if value not in values:
        raise bad_request(f"{field} is none of {', '.join(values)}: {quote_value(value)}.")
    return value


def _round_hours(value: float) -> float:
    return value if isinstance(value, int) else round(value, _DIGITS)


def check_budgets_left(session: Session, account: Account) -> None:
    """Refuse a submission once the account or its organization has used its budget (403).

    Only ended jobs count; running ones may finish. Both budgets are reloaded, so a change takes
    effect with the next submission.
    """
    for owner, used, budget in _budgets(session, reload_account(session, account)):
        if used >= budget:
            raise forbidden(
                f"The budget {owner} is used up: {used:g} of {budget:g} weighted hours."
            )


def _budgets(session: Session, account: Account) -> list[tuple[str, float, float]]:
    """Return the budgets of an account and its organization: owner, used and budgeted hours."""
    budgets = []
    if account.budget is not None:
        used = total_hours(session, Account.id == account.id)
        budgets.append((f"of {account.email}", used, account.budget))
    organization = session.get_one(Organization, account.organization_id)
    if organization.budget is not None:
        used = total_hours(session, Account.organization_id == organization.id)
        budgets.append((f"of the organization {organization.name}", used, organization.budget))
    return budgets
