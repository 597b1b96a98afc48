"""A real OpenID provider beside the laboratory platform, for the people of `campus`.

`provider` serves discovery, keys, and signing in by authorization code with PKCE or by the user's
secret; `sign_in` checks that secret; `issuing` makes ID tokens; `keys` keeps what they are signed
with. `verifying` is the platform's side: it knows a
provider by its configuration URL alone, as it would know one elsewhere.
"""

from __future__ import annotations

from labext.sandbox.lab.oidc.issuing import issue
from labext.sandbox.lab.oidc.provider import app
from labext.sandbox.lab.oidc.verifying import Unverified, Verifier

__all__ = ["Unverified", "Verifier", "app", "issue"]
