"""How much accounts may use, and what they may set: budgets, quotas and gates."""

from __future__ import annotations

import math

from sqlalchemy import select

from labext.errors import InputError
from labext.sandbox.jobs import usage
from labext.sandbox.jobs.administration import Administration, Record
from labext.sandbox.jobs.administration.finding import account_of, organization_of
from labext.sandbox.jobs.catalogue import every_tool
from labext.sandbox.jobs.limits import LIMITS
from labext.sandbox.jobs.store import Account, Organization, storage_used
from labext.sandbox.naming import absent


def budgets(admin: Administration) -> list[Record]:
    """The budget of every organization and account in weighted hours, and what is used of it."""
    with admin.database.read() as session:
        organizations = session.scalars(select(Organization).order_by(Organization.name)).all()
        accounts = session.scalars(select(Account).order_by(Account.email)).all()
        return [
            _budget(o, usage.hours(session, Account.organization_id == o.id)) for o in organizations
        ] + [_budget(a, usage.hours(session, Account.id == a.id)) for a in accounts]


def set_budget(admin: Administration, hours: float | None, kind: str, name: str) -> Record:
    """Set the weighted hours that may be used; None removes the budget.

    Args:
        admin: the job service.
        hours: a number from 0.
        kind: `organization` or `account`.
        name: the organization's name, or the account's address.

    Raises:
        NotFoundError: there is no such organization or account.
        InputError: `hours` is no number from 0.
    """
    if hours is not None and not (math.isfinite(hours) and hours >= 0):
        raise InputError(f"A budget of {hours:g} hours can't be.", "Give a number from 0.")
    with admin.database.write() as session:
        whose: Organization | Account
        if kind == "organization":
            whose = organization_of(session, name)
            used = usage.hours(session, Account.organization_id == whose.id)
        else:
            whose = account_of(session, name)
            used = usage.hours(session, Account.id == whose.id)
        whose.budget = hours
        return _budget(whose, used)


def quotas(admin: Administration) -> list[Record]:
    """Every account's storage in bytes: what it may have, and what it has."""
    with admin.database.read() as session:
        return [
            {
                "account": account.email,
                "quota": account.storage_quota,
                "used": storage_used(session, account.id),
            }
            for account in session.scalars(select(Account).order_by(Account.email))
        ]


def set_quota(admin: Administration, email: str, size: int | None) -> Record:
    """Set the bytes that an account may store; None for what a new account gets.

    Less than it has is allowed: nothing is deleted, and nothing more fits.

    Raises:
        NotFoundError: there is no such account.
    """
    with admin.database.write() as session:
        account = account_of(session, email)
        quota = LIMITS.value(session, "storage_quota") if size is None else size
        account.storage_quota = quota
        return {
            "account": email,
            "quota": quota,
            "used": storage_used(session, account.id),
        }


def gates(admin: Administration) -> list[Record]:
    """The permissions of gated parameters: which parameters, and who has them."""
    known = known_gates()
    holders: dict[str, list[str]] = {gate: [] for gate in known}
    with admin.database.read() as session:
        for account in session.scalars(select(Account).order_by(Account.email)):
            for gate in account.gates:
                holders.setdefault(gate, []).append(account.email)
    return [
        {"gate": gate, "parameters": known.get(gate, []), "accounts": accounts}
        for gate, accounts in sorted(holders.items())
    ]


def set_gate(admin: Administration, email: str, gate: str, has: bool) -> Record:
    """Give an account the permission to set gated parameters, or take it away.

    Raises:
        NotFoundError: there is no such account; no parameter has that gate; or it is to be taken
            from an account that has it not.
    """
    known = known_gates()
    with admin.database.write() as session:
        account = account_of(session, email)
        if has and gate not in known:
            raise absent("gate", gate, known)
        if not has and gate not in account.gates:
            raise absent(f"gate of {email}", gate, account.gates)
        others = [g for g in account.gates if g != gate]
        account.gates = [*others, gate] if has else others
    return {"account": email, "gates": account.gates}


def known_gates() -> dict[str, list[str]]:
    """The gates of the catalogue, each with its parameters as `tool.parameter`."""
    found: dict[str, list[str]] = {}
    for tool in every_tool():
        for parameter in tool.parameters:
            if parameter.gate is not None:
                found.setdefault(parameter.gate, []).append(f"{tool.name}.{parameter.name}")
    return found


def _budget(whose: Organization | Account, used: float) -> Record:
    organization = isinstance(whose, Organization)
    return {
        "of": "organization" if organization else "account",
        "name": whose.name if isinstance(whose, Organization) else whose.email,
        "budget": whose.budget,
        "used": used,
    }
