"""`%nb connect`, `login`, `logout`, `status` and `settings`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.config import Connection
from labext.errors import NotFoundError, SetupError
from labext.messages import join_words
from labext_magics.core import output, value_types
from labext_magics.core.cell_body import as_text, merge_pairs
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import CA_BUNDLE, KEEP, OUT, SAVE, WHERE, YES_KEYRING
from labext_magics.core.sign_in import SignIn, SignInMethod

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def status(call: Call) -> pd.DataFrame:
    """Return the state of the service and the notebook in use, without secrets."""
    from labext.frames.views import properties_frame

    target, nb = call.session.connected("nb")
    notebook = call.session.notebook
    server = nb.status()
    rows = {
        "profile": target.profile or "none (environment or address)",
        "address": target.base_url,
        "backend": server["backend"],
        "version": server["version"] or "unknown",
        "database": _database_state(server),
        "password needed": _password_state(server),
        "notebooks": "unknown" if server["notebooks"] is None else f"{server['notebooks']:,}",
        "notebook in use": "none" if notebook is None else f"{notebook.name} ({notebook.id})",
    }
    return properties_frame(rows, "nb")


def _database_state(server: Record) -> str:
    """Return the database's state, with the next step unless it is online."""
    if server["database"] in (None, "online"):
        return server["database"] or "unknown"
    return f"{server['database']}: the service cannot read data now; contact its operator"


def _password_state(server: Record) -> str:
    if not server["password_needed"]:
        return "no"
    suffixes = {True: ", and it is accepted", False: ": `%nb login`", None: ""}
    return f"yes{suffixes[server['signed_in']]}"


def _check_password(target: Connection) -> str:
    """Return the number of notebooks available with this password."""
    from labext.nb import NotebookClient

    with NotebookClient.from_connection(target) as client:
        try:
            return messages.pluralize(len(client.notebooks.list()), "notebook")
        except NotFoundError as error:
            raise SetupError(
                f"The server at {target.base_url} is not a notebook service: {error.message}",
                "Check the host and the port: Open Notebook's API is usually on port 5055, its "
                "web page on 8502.",
            ) from None


def _find_api(url: str, verify: bool | str) -> str:
    from labext.nb.backends.detect import find_api

    return find_api(url, verify)


_METHODS = (SignInMethod("nb", "password", "password", {"password": "password"}),)
SIGN_IN = SignIn("nb", _METHODS, _check_password, _find_api)

COMMANDS = (
    Command(
        "connect",
        "Connect to a notebook service by address, profile name, or `sandbox`.",
        SIGN_IN.connect,
        [WHERE],
        [
            SAVE,
            KEEP,
            CA_BUNDLE,
            Parameter(
                "backend",
                value_types.choice("contract", "open-notebook"),
                "the kind of server; detected if omitted",
            ),
        ],
        guarded=True,
        details="The password is read from LABEXT_NB_PASSWORD or the keyring, or entered at a "
        "prompt if the service requires one; it is never typed on a line. The address may be "
        "that of the API or of the web page (`http://localhost:8502`). Open Notebook "
        "is detected; `--backend` sets the kind of server if a proxy hides it, and "
        "`--save` stores it in the profile.",
        examples=["%nb connect http://localhost:5055/api --save work --keep"],
    ),
    Command(
        "login",
        "Check the password of the service in use, and ask for a new one if it is not accepted.",
        SIGN_IN.login,
        options=[KEEP],
        guarded=True,
    ),
    Command("logout", "Sign out for this session.", SIGN_IN.logout, options=[YES_KEYRING]),
    Command(
        "status",
        "Show the service and notebook in use, and the kind of server.",
        status,
        options=[OUT],
    ),
)


def settings(call: Call, *, set: list[dict[str, Any]]) -> pd.DataFrame:
    """Return one row per setting, after changing the settings in `set`."""
    from labext.nb.views import format_setting, settings_frame

    requested = as_text(merge_pairs(set))
    before = call.nb.settings.get()
    if not requested:
        return settings_frame(before)
    after = call.nb.settings.update(requested)
    changed = [name for name in after if after[name] != before.get(name)]
    if changed:
        values = join_words([f"{name} to {format_setting(after[name])}" for name in changed], 7)
        output.print_message(f"Set {values}.")
    else:
        output.print_message("The settings already have these values.")
    return settings_frame(after)


SETTINGS_COMMANDS = (
    Command(
        "settings",
        "Show or change how the service processes sources.",
        settings,
        options=[
            Parameter(
                "set",
                replace(value_types.SETTING, metavar="NAME=VALUE", names="service_settings"),
                "a setting to change",
                many=True,
            ),
            OUT,
        ],
        details="Lists are comma-separated: `youtube_preferred_languages=en,de`.",
        examples=["%nb settings --set docling_ocr=no"],
    ),
)
