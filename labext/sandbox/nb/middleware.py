"""Check the password, the request rate and the body size before every route."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.web import BodyLimitedApp, BodyLimitMiddleware, SlidingWindowLimiter
from labext.sandbox.nb import errors, settings
from labext.sandbox.nb.settings import get_limit

_SALT_BYTES = 16
_COST = 1 << 14


def hash_password(password: str) -> str:
    """What is kept of a password: `scrypt$salt$hash`, in hexadecimal."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


class PasswordVerifier:
    """Says whether a password is the one that was hashed. Safe to use from threads."""

    def __init__(self) -> None:
        self._right: tuple[str, bytes] | None = None

    def verify(self, password: str, kept: str) -> bool:
        """Whether `kept` was made of `password`."""
        quick = hashlib.sha256(password.encode()).digest()
        right = self._right
        if right is not None and right[0] == kept and hmac.compare_digest(right[1], quick):
            return True
        _, salt, slow = kept.split("$")
        if not hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(slow)):
            return False
        self._right = kept, quick
        return True


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=8, p=1)


ASSETS_PATH = "/docs/assets"
"""Where the pages of `/docs` and `/redoc` have their scripts."""

OPEN_PATHS = {"/", "/health", "/docs", "/openapi.json", "/redoc", "/api/auth/status", "/api/config"}
"""The routes that need no authentication (contract, Authentication)."""

UPLOAD_PATH = "/api/sources"
"""Where files are sent to."""

MAX_OPEN_BODY = 1 << 20
"""Bytes of a body that a route takes that needs none."""

BODY_OVERHEAD = 1 << 20
"""Bytes that a body may have besides its text or file: other fields, the form's boundaries."""


class RequestGuard(BodyLimitedApp):
    """Lets a request pass to `app`, with a bound on its body, or refuses it: 401, 413, 429."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site
        self._guard = SlidingWindowLimiter(None)
        self._verifier = PasswordVerifier()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = MAX_OPEN_BODY
        if not _is_open(scope["path"]):
            try:
                most = await run_in_threadpool(self._passed, Request(scope))
            except HTTPException as error:
                content = errors.error_body(error.status_code, error.detail)
                refusal = JSONResponse(content, error.status_code, headers=error.headers)
                await refusal(scope, receive, send)
                return
        await BodyLimitMiddleware(self._app, most, errors.error_body)(scope, receive, send)

    def _passed(self, request: Request) -> int:
        """See that a request may pass; returns the bytes that its body may have."""
        with self._site.database.read() as session:
            password = settings.get_setting(session, settings.PASSWORD)
            named = self._site.rate == "named"
            self._guard.requests = get_limit(session, "requests") if named else None
            text = get_limit(session, "text_bytes")
            file = get_limit(session, "upload_bytes")
        if password is not None:
            self._check(request.headers, password)
        self._guard.check("all")
        form = request.headers.get("content-type", "").startswith("multipart/")
        # A text's JSON is longer than the text by what has to be escaped.
        return BODY_OVERHEAD + (
            max(file, 2 * text) if form and request.url.path == UPLOAD_PATH else 2 * text
        )

    def _check(self, headers: Headers, kept: str) -> None:
        """See that the password is right; guesses have a flood of their own."""
        sent = headers.getlist("authorization")
        if not sent:
            raise errors.unauthorized("The service's password is missing.")
        scheme, _, password = sent[0].partition(" ")
        if len(sent) > 1 or scheme.lower() != "bearer":
            raise errors.unauthorized("Send the password as `Authorization: Bearer …`.")
        if not self._verifier.verify(password.strip(), kept):
            self._guard.check("guesses")
            raise errors.unauthorized("The password is wrong.")


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(f"{ASSETS_PATH}/")
