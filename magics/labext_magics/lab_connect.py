"""`%lab connect`, `login` and `logout`: which tenant, and the three ways to sign in."""

from __future__ import annotations

from pathlib import Path

from labext.config import Connection
from labext.errors import InputError, SignInError
from labext_magics import kinds
from labext_magics.connecting import SignIn
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.lab_look import described
from labext_magics.methods import Method
from labext_magics.options import CA_BUNDLE, KEEP, SAVE, WHERE, YES_KEYRING


def _gets_id_tokens(target: Connection) -> bool:
    from labext.lab.auth.choosing import gets_id_tokens

    return gets_id_tokens(target)


METHODS = (
    Method("lab", "key", "key", {"api_key": "API key"}, option="--method key"),
    Method(
        "lab",
        "oauth",
        "client secret",
        {"client_id": "client ID", "client_secret": "client secret"},
        option="--method oauth",
    ),
    Method(
        "lab",
        "oidc",
        "ID token",
        {"id_token": "ID token"},
        lasting=False,
        option="--method oidc",
        source="The sandbox's are made by `labext sandbox lab id-token EMAIL`.",
        obtained=_gets_id_tokens,
    ),
)


def connect(
    call: Call,  # noqa: ARG001 - every command gets a call
    *,
    where: str,
    save: str | None,
    keep: bool,
    ca_bundle: Path | None,
    method: str | None,
) -> None:
    """Use a tenant for this session, once it has accepted what signs in."""
    SIGN_IN.connect(where, save=save, keep=keep, ca_bundle=ca_bundle, method=method)


def login(call: Call, *, method: str | None, keep: bool, user: str | None) -> None:  # noqa: ARG001
    """Sign in to the tenant in use by what is known; ask for it where it isn't accepted."""
    if user is not None and method != "oauth":
        raise InputError(
            "`--user` names the person for whom an app acts, and no app was asked for.",
            f"Write `%lab login --method oauth --user {user}`.",
        )
    SIGN_IN.login(keep=keep, method=method, user=user)


def logout(call: Call, *, yes: bool) -> None:
    """Forget what signs in, and the tokens that were got with it."""
    call.session.forget("lab")
    SIGN_IN.logout(kept=yes)


def _accepts(target: Connection) -> str:
    """Return who the tenant takes the caller for; a 404 is one it gives no name to."""
    from labext.lab import LabClient

    if target.secrets:
        with LabClient.reached(target) as client:
            return described(client.whoami())
    with LabClient(target.base_url, None, verify=target.options.get("ca_bundle", True)) as client:
        client.whoami()  # says that nobody is there, or asks who it is
    raise SignInError(f"The platform at {target.base_url} has to know who asks.", "Sign in.")


SIGN_IN = SignIn("lab", METHODS, _accepts)

_METHOD = Parameter(
    "method", kinds.choice(*(m.name for m in METHODS)), "API key, an app's, or an ID token"
)

COMMANDS = (
    Command(
        "connect",
        "Use a tenant of the platform: by its address, a profile's name, or the sandbox.",
        connect,
        [WHERE],
        [SAVE, KEEP, CA_BUNDLE, _METHOD],
        guarded=True,
        details="What signs in is taken from the environment (LABEXT_LAB_API_KEY, "
        "LABEXT_LAB_CLIENT_ID and LABEXT_LAB_CLIENT_SECRET, LABEXT_LAB_ID_TOKEN) or the keyring, "
        "or asked for: on a line it has no place.",
        examples=["%lab connect https://lab.example.org --save work --keep"],
    ),
    Command(
        "login",
        "Sign in to the tenant in use, by an API key, as an app, or with an ID token.",
        login,
        options=[
            _METHOD,
            KEEP,
            Parameter("user", kinds.text("EMAIL"), "the person for whom the app acts"),
        ],
        guarded=True,
        details="What is known and accepted is taken as it is; else it is asked for.",
        examples=["%lab login --method oauth"],
    ),
    Command(
        "logout",
        "Forget what signs in, for this session.",
        logout,
        options=[YES_KEYRING],
    ),
)
