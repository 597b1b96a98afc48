"""Proofs of the status of a server."""

from __future__ import annotations

from open_notebook.proof import proof

STATUS = (
    proof(
        "status",
        lambda d: d.status(),
        "meta.config",
        "meta.auth_status",
        result={"version": "1.14.0", "database": "online", "password_needed": False},
    ),
    proof(
        "status",
        lambda d: d.status(),
        "auth.open_api_config",
        "auth.open_api_auth_status",
        result={"version": "1.14.0", "database": "online", "password_needed": True},
    ),
)
