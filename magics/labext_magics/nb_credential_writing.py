"""`%nb credentials new` and `edit`: how a provider is reached, and the key that opens it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext.errors import ConflictError, InputError
from labext_magics import kinds, nb_keys, nb_providers, nb_scope, output, secrets
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.nb_credential_one import ONE, called, row
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def new(
    call: Call, *, provider: str, name: str, base_url: str | None, no_key: bool
) -> pd.DataFrame:
    """Store a credential; one of the same provider and name is kept, and no key is asked for.

    Raises:
        ConflictError: there is one with another address.
        SetupError: there is no key, and nobody to ask for it.
    """
    for text in (provider, name):
        secrets.refuse_name(text, "nb", "credentials")
    if base_url is not None:
        secrets.refuse_value(base_url, "nb", "credentials")
    provider = nb_providers.known(call, provider)
    for record in call.nb.credentials.iter(provider):
        if record["name"] == name:
            return _kept(record, base_url)
    nb_keys.check_address(provider, base_url)
    key = nb_keys.Key(None) if no_key else nb_keys.key_for(provider)
    record = call.nb.credentials.create(provider, name, key.value, base_url)
    output.say(
        f"{called(record)} is stored{key.told}; `%nb credentials test {quote(name)}` tries it, "
        f"`%nb credentials register {quote(name)} --all` adds its models."
    )
    return row(record)


def edit(
    call: Call,
    *,
    credential: str,
    name: str | None,
    base_url: str | None,
    no_base_url: bool,
    new_key: bool,
    no_key: bool,
) -> pd.DataFrame:
    """Change a credential's name or address, or give it another key or none.

    Raises:
        InputError: nothing is to be changed, or its key would go to another server.
    """
    for what, both in (("key", new_key and no_key), ("base-url", base_url and no_base_url)):
        if both:
            raise InputError(
                f"The line gives another {what} and takes it away.", "Keep one of the two."
            )
    given = {
        "name": name,
        "base_url": "" if no_base_url else base_url,
        "new_key": new_key or None,
        "no_key": no_key or None,
    }
    changes: dict[str, Any] = nb_scope.changes(given, "%nb credentials edit")
    if name is not None:
        secrets.refuse_name(name, "nb", "credentials")
    if base_url is not None:
        secrets.refuse_value(base_url, "nb", "credentials")
    told = ""
    if changes.pop("no_key", False):
        changes["api_key"] = ""
    if changes.pop("new_key", False):
        key = nb_keys.key_for(str(call.nb.credentials.get(credential)["provider"]), must=True)
        changes["api_key"], told = key.value, key.told
    record = call.nb.credentials.update(credential, **changes)
    output.say(f"{called(record)} is changed{told}.")
    return row(record)


def _kept(record: Record, base_url: str | None) -> pd.DataFrame:
    name, there = quote(str(record["name"])), record["base_url"]
    if base_url is not None and base_url.rstrip("/") != (there or "").rstrip("/"):
        raise ConflictError(
            f"{called(record)} is there already, with another address.",
            f"`%nb credentials edit {name} --base-url …` changes it; another name keeps both.",
        )
    output.say(
        f"{called(record)} is there already, and was kept; `%nb credentials edit {name} "
        "--new-key` gives it another key."
    )
    return row(record)


_BASE_URL = Parameter("base-url", kinds.text("URL"), "the server's address, not the provider's own")
_NO_KEY = Parameter("no-key", None, "without a key")
_DETAILS = (
    "The key is taken from LABEXT_NB_<PROVIDER>_KEY (LABEXT_NB_OPENAI_KEY), or asked for: on a "
    "line it has no place."
)

COMMANDS = (
    Command(
        "credentials new",
        "Store the key of a provider, or the address of a server.",
        new,
        [nb_providers.ONE],
        [
            Parameter("name", kinds.text("NAME"), "what it is called", required=True),
            _BASE_URL,
            _NO_KEY,
            OUT,
        ],
        guarded=True,
        details=f"{_DETAILS} A credential of the same provider and name is kept.",
        examples=[
            "%nb credentials new openai --name lab",
            "%nb credentials new ollama --name bench --base-url http://localhost:11434/v1",
        ],
    ),
    Command(
        "credentials edit",
        "Change a credential's name, address or key.",
        edit,
        [ONE],
        [
            Parameter("name", kinds.text("NAME"), "its new name"),
            _BASE_URL,
            Parameter("no-base-url", None, "the provider's own address again"),
            Parameter("new-key", None, "give it another key"),
            replace(_NO_KEY, help="take its key away"),
            OUT,
        ],
        guarded=True,
        details=f"{_DETAILS} Another server's address takes `--new-key` or `--no-key` with it: a "
        "stored key goes to no server but the one that it was given for.",
        examples=["%nb credentials edit lab --base-url https://proxy.example/v1 --new-key"],
    ),
)
