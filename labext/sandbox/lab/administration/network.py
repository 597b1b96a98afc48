"""Ranges of IP addresses from which an enterprise account may be asked (Access control rules)."""

from __future__ import annotations

from ipaddress import ip_network

from sqlalchemy import select

from labext import wording
from labext.errors import InputError
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import enterprise, tenant_of
from labext.sandbox.lab.store import IpRange
from labext.sandbox.naming import absent, taken


def ranges(admin: Administration, tenant: str) -> list[Record]:
    """A tenant's ranges; without any it may be asked from everywhere."""
    with admin.database.read() as session:
        mine = IpRange.tenant_id == tenant_of(session, tenant).id
        found = session.scalars(select(IpRange.network).where(mine).order_by(IpRange.id))
        return [{"network": network} for network in found]


def add_range(admin: Administration, tenant: str, network: str) -> Record:
    """Allow a range; from then on what is in none is refused.

    Raises:
        InputError: it is no address and no range, or the tenant is no enterprise account.
        ConflictError: it is there.
    """
    found = _parsed(network)
    with admin.database.write() as session:
        mine = enterprise(session, tenant)
        there = select(IpRange).where(IpRange.tenant_id == mine.id, IpRange.network == found)
        if session.scalars(there).first():
            raise taken(f"a range of {tenant}", found)
        session.add(IpRange(tenant_id=mine.id, network=found))
    return {"network": found}


def remove_range(admin: Administration, tenant: str, network: str) -> Record:
    """Take a range away; without the last one the tenant is open to all.

    Raises:
        InputError: it is no address and no range.
        NotFoundError: it is not there.
    """
    found = _parsed(network)
    with admin.database.write() as session:
        mine = IpRange.tenant_id == tenant_of(session, tenant).id
        there = {each.network: each for each in session.scalars(select(IpRange).where(mine))}
        if found not in there:
            raise absent(f"range of {tenant}", found, there)
        session.delete(there[found])
    return {"removed": found, "left": len(there) - 1}


def _parsed(text: str) -> str:
    """A range as it is kept: `192.0.2.0/24`; an address alone is a range of one."""
    try:
        return str(ip_network(text.strip(), strict=False))
    except ValueError:
        raise InputError(
            f"{wording.shown(text)} is no range of IP addresses.",
            "Give one such as 192.0.2.0/24, 2001:db8::/32 or 127.0.0.1.",
        ) from None
