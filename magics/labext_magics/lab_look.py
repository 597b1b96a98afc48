"""`%lab whoami` and `status`: who asks, and what the tenant says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import wording
from labext.errors import AccessError, SignInError
from labext_magics import output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd

    from labext.lab import LabClient
    from labext.lab.identity import Identity

_BY = {"key": "API key", "oidc": "ID token"}
"""An app says itself how it signed in."""


def described(who: Identity) -> str:
    """Return who somebody is to the platform, and how they signed in."""
    way = _BY.get(who.method or "")
    return f"{who}, by {way}" if way else str(who)


def whoami(call: Call) -> pd.DataFrame:
    """Say who the tenant takes the caller for, and return it as a row."""
    from labext.frames import Column, frame

    found, lab = call.session.connected("lab")
    who = lab.whoami()
    said = described(who)
    output.say(f"{said if who.known else wording.sentence(said)}, at {found.base_url}")
    row = {
        "name": who.name,
        "email": who.email,
        "method": who.method,
        "address": found.base_url,
        "app": who.client_id,
    }
    return frame([row], [Column(name, "text") for name in row])


def status(call: Call) -> pd.DataFrame:
    """Return which tenant is in use, as whom, and what is left of the limit: never a secret.

    A tenant that refuses the caller still answers; one that doesn't is an error.
    """
    from labext.config import connection
    from labext.views import facts

    found = connection("lab")
    rows = {
        "profile": found.profile or "none (environment, or connected by address)",
        "address": found.base_url,
    }
    try:
        lab = call.lab
        rows |= {"answers": "yes, and accepts the caller", "signed in as": described(lab.whoami())}
        rows |= _standing(lab)
    except SignInError as error:
        rows["signed in as"] = "nobody"
        output.say(f"{error.what} {error.next_step}")
    except AccessError as error:  # it may know who asks all the same, as an app without a grant
        rows["answers"] = "yes, and refuses the caller"
        output.say(f"{error.what} {error.next_step}")
    return facts(rows, "lab")


def _standing(lab: LabClient) -> dict[str, str]:
    """Return what the tenant lets the caller see, and how much more it may ask."""
    standing, rows = lab.standing(), {}
    if (seconds := lab.token_expires_in) is not None:
        rows["token expires in"] = f"{int(seconds) // 60} min {int(seconds) % 60} s"
    if (rate := standing.rate) is not None:
        of = "" if rate.limit is None else f" of {rate.limit:,}"
        rows["requests left"] = f"{rate.remaining:,}{of}, more in {rate.resets:.0f} s"
    if standing.sequences is not None:
        rows["sequences"] = f"{standing.sequences:,}"
    return rows


COMMANDS = (
    Command("whoami", "Say who you are to the platform.", whoami, options=[OUT]),
    Command("status", "Show which tenant is in use, and as whom.", status, options=[OUT]),
)
