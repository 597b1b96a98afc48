"""Which way to sign in a connection has the secrets for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from labext import wording
from labext.config import Connection
from labext.errors import InputError, SignInError
from labext.lab.auth.apikey import ApiKey
from labext.lab.auth.credentials import ClientCredentials
from labext.lab.auth.idtoken import IdToken

SignIn = ApiKey | ClientCredentials | IdToken

NEEDED: Mapping[str, tuple[str, ...]] = {
    "key": ("api_key",),
    "oauth": ("client_id", "client_secret"),
    "oidc": ("id_token",),
}
"""The secrets that each way needs, the first that a connection has all of being taken."""


def chosen(connection: Connection) -> SignIn:
    """Return the way to sign in that a connection names, or else the first it has secrets for.

    Raises:
        SignInError: it has none, or not those for the way that it names.
        InputError: it names a way that there isn't, or a secret that can't be one.
    """
    named = connection.options.get("method")
    if named is not None and named not in NEEDED:
        raise InputError(
            f'There is no way to sign in called "{named}"{wording.did_you_mean(named, NEEDED)}.',
            f"The ways are {', '.join(NEEDED)}.",
        )
    secrets = connection.secrets
    for method in NEEDED if named is None else (named,):
        if all(secrets.get(name) for name in NEEDED[method]):
            return _MAKERS[method](connection)
    if named is None:
        raise SignInError(
            "Nothing says how to sign in to the lab platform.",
            "Run `%lab login`, or set LABEXT_LAB_API_KEY.",
        )
    missing = [name for name in NEEDED[named] if not secrets.get(name)]
    raise SignInError(
        f"To sign in to the lab platform by {named} there is no {' and no '.join(missing)}.",
        f"Run `%lab login --method {named}`, or set LABEXT_LAB_{missing[0].upper()}.",
    )


def _app(connection: Connection) -> ClientCredentials:
    secrets, user = connection.secrets, connection.options.get("user")
    return ClientCredentials(secrets["client_id"], secrets["client_secret"], user)


_MAKERS: Mapping[str, Callable[[Connection], SignIn]] = {
    "key": lambda connection: ApiKey(connection.secrets["api_key"]),
    "oauth": _app,
    "oidc": lambda connection: IdToken(connection.secrets["id_token"]),
}
