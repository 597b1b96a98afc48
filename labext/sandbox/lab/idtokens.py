"""ID tokens, at the tenant that takes them: verified against its provider (Authentication 3)."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.lab.faults import unauthenticated
from labext.sandbox.lab.oidc.verifying import Unverified, Verifier
from labext.sandbox.lab.store import Tenant


class IdTokens:
    """Verifies a tenant's ID tokens.

    The provider is that of the tenant's configuration now; its keys are kept from one token to the
    next. Safe to use from threads.
    """

    def __init__(self, tenant_id: int, authorities: Path) -> None:
        self._tenant_id = tenant_id
        self._authorities = authorities
        self._lock = threading.Lock()
        self._verifiers: dict[tuple[str, str], Verifier] = {}

    def email(self, session: Session, token: str) -> str:
        """The email claim of a token that holds.

        Raises:
            HTTPException: 401, it doesn't; or the tenant has no provider.
        """
        url, audience = session.execute(
            select(Tenant.configuration_url, Tenant.audience).where(Tenant.id == self._tenant_id)
        ).one()
        if url is None or audience is None:
            raise unauthenticated("This account takes no ID tokens: it has no identity provider.")
        with self._lock:
            verifier = self._verifiers.get((url, audience))
            if verifier is None:
                verifier = Verifier(url, audience, self._authorities)
                self._verifiers = {(url, audience): verifier}
        try:
            return verifier.email(token)
        except Unverified as fault:
            raise unauthenticated(str(fault)) from None
