"""`%lab whoami` and `status`: who asks, and what the tenant says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext.errors import SignInError
from labext_magics import output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd


def whoami(call: Call) -> pd.DataFrame:
    """Say who the tenant takes the caller for, and return it as a row."""
    import pandas as pd

    found, lab = call.session.connected("lab")
    who = lab.whoami()
    output.say(f"{who}, at {found.base_url}.")
    row = {
        "name": who.name,
        "email": who.email,
        "method": who.method,
        "address": found.base_url,
        "app": who.client_id,
    }
    return pd.DataFrame([row], dtype="string")


def status(call: Call) -> pd.DataFrame:
    """Return which tenant is in use, as whom, and what is left of the limit: never a secret."""
    import pandas as pd

    from labext import config

    found = config.connection("lab")
    rows = {
        "profile": found.profile or "none (environment, or connected by address)",
        "address": found.base_url,
        **_answer(call),
    }
    return pd.DataFrame({"value": list(rows.values())}, index=pd.Index(list(rows), name="lab"))


def _answer(call: Call) -> dict[str, str]:
    """Return what the tenant says; one that takes nobody still answers."""
    try:
        who = call.lab.whoami()
    except SignInError as error:
        return {"signed in as": f"nobody: {error.what} {error.next_step}"}
    return {"signed in as": str(who)}


COMMANDS = (
    Command("whoami", "Say who you are to the platform.", whoami, options=[OUT]),
    Command("status", "Show which tenant is in use, and as whom.", status, options=[OUT]),
)
