"""Check the password, the request rate and the body size before every route."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from contextlib import nullcontext
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.core.rate_limits import rate_limiter
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.web import BodyLimitedApp, BodyLimitMiddleware, unavailable
from labext.sandbox.nb import errors, settings
from labext.sandbox.nb.limits import get_limit

_SALT_BYTES = 16
_COST = 1 << 14


def hash_password(password: str) -> str:
    """Return the hash of a password: `scrypt$salt$hash`, in hexadecimal."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


class PasswordVerifier:
    """Verify passwords against a hash; thread-safe."""

    def __init__(self) -> None:
        self._verified: tuple[str, bytes] | None = None

    def is_known(self, password: str) -> bool:
        """Return whether a password is the last one that was right."""
        digest = hashlib.sha256(password.encode()).digest()
        return self._verified is not None and hmac.compare_digest(self._verified[1], digest)

    def verify(self, password: str, stored_hash: str) -> bool:
        """Return whether a hash was made from a password."""
        verified = self._verified
        if verified is not None and verified[0] == stored_hash and self.is_known(password):
            return True
        _, salt, stored_digest = stored_hash.split("$")
        if not hmac.compare_digest(
            _scrypt(password, bytes.fromhex(salt)), bytes.fromhex(stored_digest)
        ):
            return False
        self._verified = stored_hash, hashlib.sha256(password.encode()).digest()
        return True


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=8, p=1)


ASSETS_PATH = "/docs/assets"
"""The path of the scripts for `/docs` and `/redoc`."""

OPEN_PATHS = {"/", "/health", "/docs", "/openapi.json", "/redoc", "/api/auth/status", "/api/config"}
"""Paths that need no authentication (NB-1)."""

UPLOAD_PATH = "/api/sources"
"""The path that files are uploaded to."""

MAX_OPEN_BODY = 1 << 20
"""Maximum bytes of a body on open paths."""

BODY_OVERHEAD = 1 << 20
"""Bytes allowed for a body beyond its text or file: other fields, form boundaries."""


class RequestGuard(BodyLimitedApp):
    """Pass requests to `app` with a body limit, or refuse them with 401, 403, 413 or 429."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site
        self._guard = rate_limiter(site.database, "nb")
        self._verifier = PasswordVerifier()
        # Hashing keeps a core busy: one password at a time, and no threads that others need.
        self._guesses = asyncio.Semaphore()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        max_bytes = MAX_OPEN_BODY
        if not scope["path"].startswith(f"{ASSETS_PATH}/") and scope["path"] not in OPEN_PATHS:
            request = Request(scope)
            try:
                async with self._guesses if self._is_guess(request.headers) else nullcontext():
                    max_bytes = await run_in_threadpool(self._passed, request)
            except Exception as failure:
                error = failure if isinstance(failure, HTTPException) else unavailable(failure)
                if error is None:
                    raise
                content = errors.error_body(error.status_code, error.detail)
                refusal = JSONResponse(content, error.status_code, headers=error.headers)
                await refusal(scope, receive, send)
                return
        await BodyLimitMiddleware(self._app, max_bytes, errors.error_body)(scope, receive, send)

    def _passed(self, request: Request) -> int:
        """Check a request, and return the maximum bytes of its body."""
        with self._site.database.read() as session:
            password = settings.get_setting(session, settings.PASSWORD)
            rate_limited = self._site.rate == "named"
            self._guard.requests = get_limit(session, "requests") if rate_limited else None
            text = get_limit(session, "text_bytes")
            file = get_limit(session, "upload_bytes")
        origin = request.headers.get("origin")  # sent by pages in a browser
        if password is not None:
            self._check(request.headers, password)
        elif origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            raise HTTPException(
                403, "Pages of other websites can't use this service, which has no password."
            )
        self._guard.check("all")
        form = request.headers.get("content-type", "").startswith("multipart/")
        # JSON escapes make the body longer than the text.
        return BODY_OVERHEAD + (
            max(file, 2 * text) if form and request.url.path == UPLOAD_PATH else 2 * text
        )

    def _is_guess(self, headers: Headers) -> bool:
        """Return whether a request has a password that must be hashed to be verified."""
        _, _, password = headers.get("authorization", "").partition(" ")
        return bool(password) and not self._verifier.is_known(password.strip())

    def _check(self, headers: Headers, stored_hash: str) -> None:
        """Check the password; wrong guesses have their own rate limit."""
        authorization = headers.getlist("authorization")
        if not authorization:
            raise errors.unauthorized("The service's password is missing.")
        scheme, _, password = authorization[0].partition(" ")
        if len(authorization) > 1 or scheme.lower() != "bearer":
            raise errors.unauthorized("Send the password as `Authorization: Bearer …`.")
        if not self._verifier.verify(password.strip(), stored_hash):
            self._guard.check("guesses")
            raise errors.unauthorized("The password is wrong.")
