"""`%nb credentials`: how the service reaches the providers of models; keys are never shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labext import wording
from labext_magics import (
    kinds,
    nb_credential_models,
    nb_credential_writing,
    nb_model_slots,
    nb_providers,
    nb_trying,
    output,
)
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.nb_credential_one import ONE, called, row
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def list_(call: Call, *, provider: str | None) -> pd.DataFrame:
    """Return a row for each credential; what their keys are is nowhere to be read."""
    return call.nb.credentials.list(provider and nb_providers.known(call, provider))


def show(call: Call, *, credential: str) -> pd.DataFrame:
    """Return what is known of one credential."""
    return row(call.nb.credentials.get(credential))


def by_provider(call: Call, *, provider: str) -> pd.DataFrame:
    """Return a row for each credential of a provider."""
    return call.nb.credentials.by_provider(nb_providers.known(call, provider))


def delete(call: Call, *, credentials: list[str], yes: bool, preview: bool) -> None:
    """Delete credentials with the models that they open, none of which is in a default slot."""
    nb = call.nb
    records = [nb.credentials.get(each) for each in dict.fromkeys(credentials)]
    slots = nb_model_slots.by_model(call)
    models = list(nb.models.iter())
    for record in records:
        own = [each for each in models if each["credential"] == record["id"]]
        nb_model_slots.check_free(own, slots)
    would_go = [_described(record) for record in records]
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return
    for record in records:
        gone = nb.credentials.delete(record["id"])
        number = gone["deleted_models"]
        also = f", with {wording.count(int(number), 'model')}" if number else ""
        output.say(f"{called(record)} is deleted{also}.")


def test(call: Call, *, credential: str) -> None:
    """Have the service ask the provider by a credential, and say how long it took.

    Raises:
        ServiceError: the provider is not reached, or does not accept the key.
    """
    record = call.nb.credentials.get(credential)
    name = quote(str(record["name"]))
    nb_trying.tried(
        called(record),
        lambda: call.nb.credentials.test(record["id"]),
        lambda: (
            f"`%nb credentials edit {name}` changes its address (`--base-url URL`) and its key "
            "(`--new-key`)."
        ),
    )


def status(call: Call) -> pd.DataFrame:
    """Return for each provider whether it can be used, and where its key is from."""
    found = call.nb.credentials.status()
    own = call.nb.credentials.env_status()
    in_environment = [bool(own.get(str(each))) for each in found["provider"]]
    found.insert(len(found.columns), "in_environment", in_environment)
    if found.attrs.get("encryption_configured") is False:
        output.say("The service has nothing to encrypt keys with, and takes none.")
    return found


def _described(record: Record) -> str:
    number = record["model_count"]
    also = f" with {wording.count(int(number), 'model')}" if number else ""
    return f"the credential {record['name']} of {record['provider']}{also}"


COMMANDS = (
    Command(
        "credentials",
        "List the credentials; their keys are never shown.",
        list_,
        options=[Parameter("provider", kinds.PROVIDER, "only those of this provider"), OUT],
    ),
    Command(
        "credentials show",
        "Show a credential, without its key.",
        show,
        [ONE],
        [OUT],
    ),
    *nb_credential_writing.COMMANDS,
    Command(
        "credentials delete",
        "Delete credentials, with the models that they open.",
        delete,
        [replace(ONE, many=True, dest="credentials")],
        [YES, PREVIEW],
    ),
    Command("credentials test", "Try a credential's server and key.", test, [ONE]),
    *nb_credential_models.COMMANDS,
    Command(
        "credentials status",
        "Show which providers can be used, and where their keys are from.",
        status,
        options=[OUT],
    ),
    Command(
        "credentials by-provider",
        "List the credentials of a provider.",
        by_provider,
        [nb_providers.ONE],
        [OUT],
    ),
)
