"""The budgets of organizations and accounts, in weighted hours (job service contract, Errors: 403).

A batch's own budget is another matter (see `batches`): it stops what runs,
these refuse what is new.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.jobs import usage
from labext.sandbox.jobs.faults import denied
from labext.sandbox.jobs.identity import current
from labext.sandbox.jobs.store import Account, Organization


def check(session: Session, account: Account) -> None:
    """Refuse a submission once the account or its organization has used its budget (403).

    What counts are the jobs that have ended: those that run are let through to their end. Both
    budgets are read anew, so that a change holds from the next submission on.
    """
    account = current(session, account)
    if account.budget is not None:
        used = usage.hours(session, Account.id == account.id)
        _check(f"of {account.email}", used, account.budget)
    organization = session.get_one(Organization, account.organization_id)
    if organization.budget is not None:
        used = usage.hours(session, Account.organization_id == organization.id)
        _check(f"of the organization {organization.name}", used, organization.budget)


def _check(whose: str, used: float, budget: float) -> None:
    if used >= budget:
        raise denied(f"The budget {whose} is used up: {used:g} of {budget:g} weighted hours.")
