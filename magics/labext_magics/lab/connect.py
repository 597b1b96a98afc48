"""`%lab connect`, `login`, `logout`, `whoami` and `status`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from labext import messages
from labext.config import Connection
from labext.errors import AccessError, InputError, SignInError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import CA_BUNDLE, KEEP, OUT, SAVE, WHERE, YES_KEYRING
from labext_magics.core.sign_in import SignIn, SignInMethod

if TYPE_CHECKING:
    import pandas as pd

    from labext.lab import LabClient
    from labext.lab.account import Identity

_METHOD_NAMES = {"key": "API key", "oidc": "ID token"}
"""Displayed names of a user's sign-in methods; the description of an app includes its method."""


def describe_user(identity: Identity) -> str:
    """Return a description of the current user, with the sign-in method."""
    method = _METHOD_NAMES.get(identity.method or "")
    return f"{identity}, by {method}" if method else str(identity)


def whoami(call: Call) -> pd.DataFrame:
    """Print the caller as reported by the tenant, and return it as a row."""
    from labext.frames.conversion import Column, records_to_frame
    from labext.frames.views import ROWS

    target, lab = call.session.connected("lab")
    identity = lab.whoami()
    user = describe_user(identity)
    output.print_message(
        f"{user if identity.known else messages.capitalize_first(user)}, at {target.base_url}"
    )
    row = {
        "name": identity.name,
        "email": identity.email,
        "method": identity.method,
        "address": target.base_url,
        "app": identity.client_id,
    }
    return ROWS.show(records_to_frame([row], [Column(name, "text") for name in row]))


def status(call: Call) -> pd.DataFrame:
    """Return the tenant in use, the signed-in user and the rate limit, without secrets.

    Rejected credentials are reported as a row; an unreachable tenant is an error.
    """
    from labext.config import connection
    from labext.frames.views import properties_frame

    target = connection("lab")
    rows = {
        "profile": target.profile or "none (environment or address)",
        "address": target.base_url,
    }
    try:
        lab = call.lab
        rows |= {"sign-in": "accepted", "signed in as": describe_user(lab.whoami())}
        rows |= _access_and_limit(lab)
    except SignInError as error:
        rows["signed in as"] = "nobody"
        output.print_message(f"{error.message} {error.next_step}")
    except AccessError as error:  # the user may be known, as for an app without a grant
        rows["sign-in"] = "access denied"
        output.print_message(f"{error.message} {error.next_step}")
    return properties_frame(rows, "lab")


def _access_and_limit(lab: LabClient) -> dict[str, str]:
    """Return the token's lifetime, the rate limit and the number of visible sequences."""
    account, rows = lab.status(), {}
    if (seconds := lab.token_expires_in) is not None:
        rows["token expires in"] = f"{int(seconds) // 60} min {int(seconds) % 60} s"
    if (rate := account.rate) is not None:
        limit = "" if rate.limit is None else f" of {rate.limit:,}"
        rows["requests remaining"] = f"{rate.remaining:,}{limit}, more in {rate.resets:.0f} s"
    if account.sequences is not None:
        rows["sequences"] = f"{account.sequences:,}"
    return rows


def _can_fetch_id_tokens(target: Connection) -> bool:
    from labext.lab.auth import can_fetch_id_tokens

    return can_fetch_id_tokens(target)


METHODS = (
    SignInMethod("lab", "key", "key", {"api_key": "API key"}, option="--method key"),
    SignInMethod(
        "lab",
        "oauth",
        "client secret",
        {"client_id": "client ID", "client_secret": "client secret"},
        option="--method oauth",
    ),
    SignInMethod(
        "lab",
        "oidc",
        "ID token",
        {"id_token": "ID token"},
        is_permanent=False,
        option="--method oidc",
        source="For the sandbox, `labext sandbox lab id-token EMAIL` creates one.",
        can_fetch=_can_fetch_id_tokens,
    ),
)


def login(call: Call, *, method: str | None, keep: bool, user: str | None) -> None:
    """Sign in to the tenant in use with the known credentials; prompt for new ones if rejected."""
    if user is not None and method != "oauth":
        raise InputError(
            "`--user` names the user on whose behalf an app acts, so it needs `--method oauth`.",
            f"Write `%lab login --method oauth --user {user}`.",
        )
    SIGN_IN.login(call, keep=keep, method=method, user=user)


def _current_user(target: Connection) -> str:
    """Return a description of the current user.

    Raises:
        SignInError: no credentials are known, or the platform rejected them.
        NotFoundError: the server is not a lab platform.
    """
    from labext.http.connection_pool import ResponseLimits
    from labext.lab import LabClient

    if target.secrets:
        with LabClient.from_connection(target) as client:
            return describe_user(_identify(client))
    verify = target.options.get("ca_bundle", True)
    limits = ResponseLimits.from_options(target.options)
    with LabClient(target.base_url, None, verify=verify, limits=limits) as client:
        _identify(client)  # raises SignInError if the tenant requires credentials
    raise SignInError(f"The platform at {target.base_url} requires sign-in.", "Sign in first.")


def _identify(client: LabClient) -> Identity:
    """Return the current user; if there is none, check that the address is that of a platform.

    Raises:
        NotFoundError: the server has no list of sequences.
    """
    identity = client.whoami()
    if not identity.known:
        with suppress(AccessError):  # an app without a grant
            client.status()
    return identity


SIGN_IN = SignIn("lab", METHODS, _current_user)

_METHOD = Parameter(
    "method", value_types.choice(*(m.name for m in METHODS)), "API key, app credentials or ID token"
)

COMMANDS = (
    Command(
        "connect",
        "Connect to a tenant of the platform by address, profile name, or `sandbox`.",
        SIGN_IN.connect,
        [WHERE],
        [SAVE, KEEP, CA_BUNDLE, _METHOD],
        guarded=True,
        details="Credentials are read from the environment (LABEXT_LAB_API_KEY, "
        "LABEXT_LAB_CLIENT_ID and LABEXT_LAB_CLIENT_SECRET, LABEXT_LAB_ID_TOKEN) or "
        "the keyring, or entered at a prompt; they are never typed on a line.",
        examples=["%lab connect https://lab.example.org --save work --keep"],
    ),
    Command(
        "login",
        "Sign in to the tenant in use, with an API key, as an app, or with an ID token.",
        login,
        options=[
            _METHOD,
            KEEP,
            Parameter(
                "user", value_types.text_type("EMAIL"), "the user on whose behalf the app acts"
            ),
        ],
        guarded=True,
        details="Valid stored credentials are used; otherwise a prompt asks for new ones.",
        examples=["%lab login --method oauth"],
    ),
    Command("logout", "Sign out for this session.", SIGN_IN.logout, options=[YES_KEYRING]),
    Command("whoami", "Show the signed-in user.", whoami, options=[OUT]),
    Command("status", "Show the tenant and user in use.", status, options=[OUT]),
)
