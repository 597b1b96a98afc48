"""What the lab platform means by a refusal (contract, Errors)."""

from __future__ import annotations

from collections.abc import Callable

from labext.errors import (
    AccessError,
    BusyError,
    InputError,
    LabextError,
    NotFoundError,
    SignInError,
)
from labext.lab.operations import FOLDERS, SEQUENCES, WHO
from labext.transport import Failure

_CAUSES = (
    "access was not granted to the organization or project, or what was asked for does not exist, "
    "or it is not visible"
)
"""What a 403 may mean (contract, Errors): the platform's own words seldom tell them apart."""

_REFUSED = {
    "key": (
        "does not accept the API key",
        "Make a new key in the profile settings, then `%lab login --method key`.",
    ),
    "oauth": (
        "does not accept the app's token",
        "Check the app in the developer console, then `%lab login --method oauth`.",
    ),
    "oidc": (
        "does not accept the ID token",
        "Get a new one from your identity provider: `%lab login --method oidc`.",
    ),
}
_UNKNOWN_WAY = "does not accept how you sign in", "Sign in again: `%lab login`."
_NO_WAY = "asks who you are", "Sign in: `%lab login`."

_WHOM = {
    "key": "an administrator of the platform to grant you access",
    "oauth": "an administrator to grant the app access",
    "oidc": "an administrator of the platform to grant you access",
}


def explainer(method: str | None) -> Callable[[Failure], LabextError | None]:
    """Return the reading of refusals for one way to sign in; None is for none at all."""

    def explain(failure: Failure) -> LabextError | None:
        match failure.status:
            case 401:
                way = _NO_WAY if method is None else _REFUSED.get(method, _UNKNOWN_WAY)
                return SignInError(_said(failure, f"The lab platform {way[0]}"), way[1])
            case 403:
                whom = _WHOM.get(method or "", "an administrator of the platform for access")
                return AccessError(
                    _said(failure, f"The lab platform refuses to {_asked(failure)}"),
                    f"Ask {whom}: {_CAUSES}, or API access is restricted to certain IP addresses.",
                )
            case 404 if failure.op.name == SEQUENCES.name:
                return NotFoundError(
                    _said(failure, "The list of sequences is not there"),
                    "Check the tenant's address: the API is at its `/api/v2`.",
                )
            case 404 | 405 if failure.op.name == FOLDERS.name:
                return NotFoundError(
                    _said(failure, "The lab platform does not list its folders"),
                    "Give the ID of the folder in place of its name.",
                )
            case 400:
                return InputError(
                    _said(failure, f"The lab platform can't {_asked(failure)}"),
                    "Change what it objects to.",
                )
            case 429:
                return BusyError(
                    _said(failure, "The lab platform's limit of requests is used up"),
                    "Wait half a minute; somebody else may be using the same account.",
                )
        return None

    return explain


def _asked(failure: Failure) -> str:
    return "tell who you are" if failure.op.name == WHO.name else failure.op.name


def _said(failure: Failure, what: str) -> str:
    """Return what a refusal means, and the platform's own words."""
    words = failure.words.strip().rstrip(".")
    return f"{what} (“{words}”)." if words else f"{what}."
