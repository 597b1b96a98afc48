"""The three ways to sign in to the lab platform (its contract, Authentication).

Each is a `requests` authentication, and signs a request of plain `requests` too. Each has `method`
(`key`, `oauth`, `oidc`) and `identity`, a name for whom its requests count that holds no secret.

- `apikey`: a user's key. `idtoken`: a token of the user's identity provider, with `provider`, which
  signs in there.
- `credentials`: an app's client ID and secret, with `tokens`, which asks for its access tokens.
- `bearer`: what the last two share: a token that is replaced when it is refused.
- `choosing`: which of them a connection has the secrets for.
"""

from labext.lab.auth.apikey import ApiKey
from labext.lab.auth.credentials import ClientCredentials
from labext.lab.auth.idtoken import IdToken

__all__ = ["ApiKey", "ClientCredentials", "IdToken"]
