"""What every route asks for, and how it answers: the site, the password, the body, JSON."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request
from fastapi.responses import Response

from labext.sandbox.keys import key_hash
from labext.sandbox.nb import faults, limits
from labext.sandbox.nb.search.index import Index
from labext.sandbox.nb.store import Setting
from labext.sandbox.service import Site
from labext.sandbox.web import FloodGuard

JSON = "application/json"
PASSWORD = "password"  # noqa: S105 - the setting's name


async def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteOf = Annotated[Site, Depends(_site)]


async def _index(request: Request) -> Index:
    index: Index = request.app.state.index
    return index


IndexOf = Annotated[Index, Depends(_index)]


def check_password(site: SiteOf, request: Request) -> None:
    """401 without the password, where one is configured; 429 in a flood (contract, Errors)."""
    with site.database.read() as session:
        wanted = session.get(Setting, PASSWORD)
        guard: FloodGuard = request.app.state.guard
        guard.requests = limits.limit(session, "requests") if site.rate == "named" else None
    if wanted is not None:
        _check(request.headers.getlist("authorization"), wanted.value)
    guard.check("all")


def _check(headers: list[str], wanted: str) -> None:
    if not headers:
        raise faults.unauthenticated("The service's password is missing.")
    scheme, _, password = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer":
        raise faults.unauthenticated("Send the password as `Authorization: Bearer …`.")
    if not hmac.compare_digest(key_hash(password.strip()), wanted):
        raise faults.unauthenticated("The password is wrong.")


def moment(seconds: float | None) -> str | None:
    """A time since the epoch as ISO 8601 in UTC: `2026-11-20T13:23:23.768Z`."""
    if seconds is None:
        return None
    shown = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return shown.replace("+00:00", "Z")


def json_answer(value: Any, status: int = 200) -> Response:
    """A value as JSON; bytes are JSON already."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    return Response(body, status, media_type=JSON)
