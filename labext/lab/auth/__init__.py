"""Sign-in methods of the lab platform."""

from __future__ import annotations

from collections.abc import Mapping

from labext import messages
from labext.actions import Action
from labext.config import Connection
from labext.errors import InputError, SignInError
from labext.lab.auth.client_credentials import ClientCredentials
from labext.lab.auth.http_auth import ApiKey
from labext.lab.auth.id_token import IdToken, ProviderSignIn

__all__ = ["ApiKey", "ClientCredentials", "IdToken"]


SignIn = ApiKey | ClientCredentials | IdToken

REQUIRED_SECRETS: Mapping[str, tuple[str, ...]] = {
    "key": ("api_key",),
    "oauth": ("client_id", "client_secret"),
    "oidc": ("id_token",),
}
"""Required secrets per sign-in method, in order of preference."""

_PROVIDER_OPTIONS = ("oidc_configuration_url", "oidc_client_id", "oidc_user")


def can_fetch_id_tokens(connection: Connection) -> bool:
    """Return True if the connection has the credentials of an OpenID Connect provider."""
    configured = all(name in connection.options for name in _PROVIDER_OPTIONS)
    return configured and "oidc_secret" in connection.secrets


def choose_sign_in(connection: Connection) -> SignIn:
    """Choose the sign-in method of a connection: the configured one, or the first with secrets."""
    configured = connection.options.get("method")
    if configured is not None and configured not in REQUIRED_SECRETS:
        raise InputError(
            f'Unknown sign-in method "{configured}"'
            f"{messages.did_you_mean(configured, REQUIRED_SECRETS)}.",
            f"The methods are {', '.join(REQUIRED_SECRETS)}.",
        )
    secrets = connection.secrets
    for method in REQUIRED_SECRETS if configured is None else (configured,):
        complete = all(secrets.get(name) for name in REQUIRED_SECRETS[method])
        if complete or (method == "oidc" and can_fetch_id_tokens(connection)):
            return _create_sign_in(method, connection)
    if configured is None:
        raise SignInError(
            "No credentials for the lab platform are configured.",
            "Run {action}, or set LABEXT_LAB_API_KEY.",
            action=Action.sign_in("lab", "api_key"),
        )
    missing = [name for name in REQUIRED_SECRETS[configured] if not secrets.get(name)]
    variables = messages.join_all((f"LABEXT_LAB_{name.upper()}" for name in missing), "and")
    raise SignInError(
        f"Sign-in to the lab platform by {configured} needs {messages.join_all(missing, 'and')}.",
        f"Run {{action}}, or set {variables}.",
        action=Action.sign_in("lab", missing[0], configured),
    )


def _create_sign_in(method: str, connection: Connection) -> SignIn:
    secrets, options = connection.secrets, connection.options
    if method == "key":
        return ApiKey(secrets["api_key"])
    if method == "oauth":
        user = options.get("user")
        return ClientCredentials(secrets["client_id"], secrets["client_secret"], user)
    if "id_token" in secrets:
        return IdToken(secrets["id_token"])
    url, client_id, user = (options[name] for name in _PROVIDER_OPTIONS)
    verify = options.get("ca_bundle", True)
    return IdToken(ProviderSignIn(url, client_id, user, secrets["oidc_secret"], verify=verify))
