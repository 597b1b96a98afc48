"""Verification of ID tokens against the identity provider configured for a tenant."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.lab.faults import unauthenticated
from labext.sandbox.lab.oidc.verifier import VerificationError, Verifier
from labext.sandbox.lab.store import Tenant


class IdTokens:
    """Verify the ID tokens of a tenant. Safe to use from several threads.

    The configuration is read for every token; the provider's keys are cached between tokens.
    """

    def __init__(self, tenant_id: int, ca: Path) -> None:
        self._tenant_id = tenant_id
        self._verifier = lru_cache(maxsize=1)(lambda url, audience: Verifier(url, audience, ca))

    def email(self, session: Session, token: str) -> str:
        """Return the email claim of a valid token.

        Raises:
            HTTPException: 401, the token is not valid, or the tenant has no provider.
        """
        url, audience = session.execute(
            select(Tenant.configuration_url, Tenant.audience).where(Tenant.id == self._tenant_id)
        ).one()
        if url is None or audience is None:
            raise unauthenticated("This account takes no ID tokens: it has no identity provider.")
        try:
            return self._verifier(url, audience).email(token)
        except VerificationError as error:
            raise unauthenticated(str(error)) from None
