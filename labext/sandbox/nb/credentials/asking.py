"""A credential's server asked: whether it answers, and which models it has."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException

from labext import wording
from labext.sandbox.nb.credentials import keeping
from labext.sandbox.nb.models import discovery
from labext.sandbox.nb.store import Credential
from labext.sandbox.service import Site


def tested(site: Site, identifier: str) -> dict[str, Any]:
    """What came of asking a credential's server for its models; a failure is told so too.

    Raises:
        HTTPException: 404, there is no such credential.
    """
    credential = _found(site, identifier)
    try:
        names = [row["name"] for row in discovery.of_credential(site, credential)]
    except HTTPException as error:
        success, message = False, str(error.detail)
    else:
        which = f": {wording.listed(names, 3)}" if names else ""
        success, message = True, f"It answers, and has {wording.count(len(names), 'model')}{which}."
    return {"provider": credential.provider, "success": success, "message": message}


def discovered(site: Site, identifier: str) -> dict[str, Any]:
    """The models that a credential's server says it has.

    Raises:
        HTTPException: 404, there is no such credential; 422, its server can't be asked; 502, that
            failed.
    """
    credential = _found(site, identifier)
    return {
        "credential_id": credential.id,
        "provider": credential.provider,
        "discovered": discovery.of_credential(site, credential),
    }


def _found(site: Site, identifier: str) -> Credential:
    with site.database.read() as session:
        return keeping.found(session, identifier)
