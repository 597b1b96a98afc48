"""`%nb models`: the models of the service, and what each is used for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labext import wording
from labext_magics import kinds, nb_model_slots, nb_providers, nb_trying, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def list_(call: Call, *, type: str | None) -> pd.DataFrame:
    """Return a row for each model, with the default slots that have it."""
    return nb_model_slots.shown(call, call.nb.models.list(type))


def new(call: Call, *, name: str, type: str, provider: str, credential: str | None) -> pd.DataFrame:
    """Add a model of a provider; the same again is kept."""
    provider = nb_providers.known(call, provider)
    by = None if credential is None else call.nb.credentials.find(credential)
    wanted = {"name": name, "type": type, "provider": provider}
    if by is not None:
        wanted["credential"] = by
    for record in call.nb.models.iter(type):
        if all(record[key] == value for key, value in wanted.items()):
            output.say(f"The model {name} of {provider} is there already, and was kept.")
            return _row(call, record)
    record = call.nb.models.create(name, type, provider, by)
    output.say(
        f"The model {record['name']} of {record['provider']} is new; `%nb models test "
        f"{quote(str(record['name']))}` tries it."
    )
    return _row(call, record)


def delete(call: Call, *, models: list[str], yes: bool, preview: bool) -> None:
    """Delete models, once all of them are known to be there and in no default slot.

    Raises:
        ConflictError: one is in a default slot.
    """
    records = [_record(call, each) for each in dict.fromkeys(models)]
    taken = nb_model_slots.by_model(call)
    would_go = [_called(record) for record in records]
    nb_model_slots.check_free(records, taken)
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return
    for record in records:
        call.nb.models.delete(record["id"])
        output.say(f"{wording.sentence(_called(record))} is deleted.")


def test(call: Call, *, model: str) -> None:
    """Have a model do a little of what it is for, and say how long it took.

    Raises:
        ServiceError: it can't.
    """
    record = _record(call, model)
    nb_trying.tried(
        _called(record), lambda: call.nb.models.test(record["id"]), lambda: _step(call, record)
    )


def _row(call: Call, record: Record) -> pd.DataFrame:
    from labext.nb.modelviews import models

    return nb_model_slots.shown(call, models([record]))


def _record(call: Call, named: str) -> Record:
    found = call.nb.models.find(named)
    return next((each for each in call.nb.models.iter() if each["id"] == found), _gone(found))


def _gone(identifier: str) -> Record:
    """Return what is known of a model that no list has: the service's own error will say so."""
    return {"id": identifier, "name": identifier, "provider": None, "credential": None}


def _called(record: Record) -> str:
    name, provider = record["name"], record["provider"]
    if provider == "built-in":
        return f"the built-in model {name}"
    return f"the model {name} of {provider}" if provider else f"the model {name}"


def _step(call: Call, record: Record) -> str:
    """Return what to do about a model that does not work."""
    if record["credential"] is None:
        return "`%nb credentials status` shows which providers have a key."
    name = str(call.nb.credentials.get(record["credential"])["name"])
    return f"`%nb credentials test {quote(name)}` tries its server and its key."


_ONE = Parameter("MODEL", kinds.MODEL, "a model, by its name or its id", required=True)
_TYPE = Parameter("type", kinds.MODEL_TYPE, "what it does")

COMMANDS = (
    Command(
        "models",
        "List the models, and the default slots that have them.",
        list_,
        options=[replace(_TYPE, help="only those of this type"), OUT],
    ),
    Command(
        "models new",
        "Add a model of a provider.",
        new,
        [Parameter("NAME", kinds.text("NAME"), "as the provider calls it", required=True)],
        [
            replace(_TYPE, required=True),
            Parameter("provider", kinds.PROVIDER, "whose it is", required=True),
            Parameter("credential", kinds.CREDENTIAL, "by which the provider is asked"),
            OUT,
        ],
        details="The same model again is kept. `%nb credentials register` adds several at once.",
        examples=["%nb models new gpt-4o-mini --type llm --provider openai --credential lab"],
    ),
    Command(
        "models delete",
        "Delete models that are in no default slot.",
        delete,
        [replace(_ONE, many=True, dest="models")],
        [YES, PREVIEW],
    ),
    Command("models test", "Try a model, and see how long it takes.", test, [_ONE]),
    *nb_model_slots.COMMANDS,
    *nb_providers.COMMANDS,
)
