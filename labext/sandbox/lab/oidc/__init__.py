"""OpenID Connect provider of the sandbox, and verification of ID tokens."""

from __future__ import annotations

from labext.sandbox.lab.oidc.router import create_provider_app
from labext.sandbox.lab.oidc.service import issue_id_token
from labext.sandbox.lab.oidc.verifier import VerificationError, Verifier

__all__ = ["VerificationError", "Verifier", "create_provider_app", "issue_id_token"]
