"""What stands before every route: the password, the flood, the size of a body.

It answers before a byte of the body is read, whatever the path: who may not ask is not told which
paths there are.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.nb import faults, limits, settings
from labext.sandbox.nb.passwords import Verifier
from labext.sandbox.service import Site
from labext.sandbox.web import BodyLimit, BoundsBodies, FloodGuard

ASSETS = "/docs/assets"
"""Where the pages of `/docs` and `/redoc` have their scripts."""

OPEN = {"/", "/health", "/docs", "/openapi.json", "/redoc", "/api/auth/status", "/api/config"}
"""The routes that need no authentication (contract, Authentication)."""

UPLOADS = "/api/sources"
"""Where files are sent to."""

OPEN_BODY = 1 << 20
"""Bytes of a body that a route takes that needs none."""

AROUND = 1 << 20
"""Bytes that a body may have besides its text or file: other fields, the form's boundaries."""


class Gate(BoundsBodies):
    """Lets a request pass to `app`, with a bound on its body, or refuses it: 401, 413, 429."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site
        self._guard = FloodGuard(None)
        self._verifier = Verifier()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = OPEN_BODY
        if not _is_open(scope["path"]):
            try:
                most = await run_in_threadpool(self._passed, Request(scope))
            except HTTPException as error:
                content = faults.body(error.status_code, error.detail)
                refusal = JSONResponse(content, error.status_code, headers=error.headers)
                await refusal(scope, receive, send)
                return
        await BodyLimit(self._app, most, faults.body)(scope, receive, send)

    def _passed(self, request: Request) -> int:
        """See that a request may pass; returns the bytes that its body may have."""
        with self._site.database.read() as session:
            password = settings.value(session, settings.PASSWORD)
            named = self._site.rate == "named"
            self._guard.requests = limits.limit(session, "requests") if named else None
            text = limits.limit(session, "text_bytes")
            file = limits.limit(session, "upload_bytes")
        if password is not None:
            self._check(request.headers, password)
        self._guard.check("all")
        form = request.headers.get("content-type", "").startswith("multipart/")
        # A text's JSON is longer than the text by what has to be escaped.
        return AROUND + (max(file, 2 * text) if form and request.url.path == UPLOADS else 2 * text)

    def _check(self, headers: Headers, kept: str) -> None:
        """See that the password is right; guesses have a flood of their own."""
        sent = headers.getlist("authorization")
        if not sent:
            raise faults.unauthenticated("The service's password is missing.")
        scheme, _, password = sent[0].partition(" ")
        if len(sent) > 1 or scheme.lower() != "bearer":
            raise faults.unauthenticated("Send the password as `Authorization: Bearer …`.")
        if not self._verifier.is_right(password.strip(), kept):
            self._guard.check("guesses")
            raise faults.unauthenticated("The password is wrong.")


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(f"{ASSETS}/")
