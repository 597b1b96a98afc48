"""What every route asks for, and how it answers: the site, the caller, the body, JSON."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Depends, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from labext.sandbox.jobs import limits
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.identity import account_of
from labext.sandbox.jobs.store import Account
from labext.sandbox.service import Site
from labext.sandbox.web import FloodGuard

LARGEST_BODY = 64 << 20
"""Bytes of a JSON body."""

JSON = "application/json"


async def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteOf = Annotated[Site, Depends(_site)]


def _caller(site: SiteOf, request: Request) -> Account:
    """The account that asks: 401 without a valid key, 429 in a flood."""
    with site.database.read() as session:
        account = account_of(session, request.headers.get("x-api-key"))
        flood: FloodGuard = request.app.state.flood
        if site.rate == "named":
            flood.requests = limits.limit(session, "flood_requests")
    flood.check(str(account.id))
    return account


Caller = Annotated[Account, Depends(_caller)]


async def _content(request: Request, _caller: Caller) -> bytes:
    """The body of a request that holds JSON; 400 for one that is too big."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > LARGEST_BODY:
                raise invalid(f"The body is bigger than {LARGEST_BODY:,} bytes.")
            parts.append(part)
    except ClientDisconnect:
        raise invalid("The body broke off.") from None  # nobody hears it
    return b"".join(parts)


Content = Annotated[bytes, Depends(_content)]


def json_answer(value: Any) -> Response:
    """A value as JSON; bytes are JSON already."""
    return Response(value if isinstance(value, bytes) else orjson.dumps(value), media_type=JSON)


def message_answer(text: str) -> Response:
    """What was done, in one sentence."""
    return json_answer({"message": text})
