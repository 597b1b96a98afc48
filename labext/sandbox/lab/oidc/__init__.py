"""An OpenID provider for the users of `campus`, and the platform's verification of ID tokens.

`provider` serves discovery, keys and the authorization, token and userinfo endpoints; `sign_in`
checks a user's secret; `issuing` creates ID tokens; `keys` stores the signing keys. `verifier` is
the platform's side: it knows a provider by its configuration URL only, as it would a remote one.
"""

from __future__ import annotations

from labext.sandbox.lab.oidc.issuing import issue
from labext.sandbox.lab.oidc.provider import app
from labext.sandbox.lab.oidc.verifier import VerificationError, Verifier

__all__ = ["VerificationError", "Verifier", "app", "issue"]
