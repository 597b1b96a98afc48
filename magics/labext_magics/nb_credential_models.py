"""`%nb credentials discover` and `register`: the models that a credential opens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labext import wording
from labext.errors import InputError
from labext_magics import kinds, nb_model_slots, nb_scope, output
from labext_magics.casting import merged
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.nb_credential_one import ONE
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd


def discover(call: Call, *, credential: str) -> pd.DataFrame:
    """Return a row for each model that a credential opens."""
    with nb_scope.reply_awaited("Run this line again."):
        return call.nb.credentials.discover(credential)


def register(
    call: Call, *, credential: str, models: list[dict[str, str]], every: bool
) -> pd.DataFrame:
    """Add models that a credential opens, those that are named or all; return those there are."""
    if every == bool(models):
        what = "Models are named, and `--all` is there too." if every else "No model is named."
        raise InputError(what, "Name them, `--model NAME=TYPE`, or take all with `--all`.")
    found = call.nb.credentials.find(credential)
    wanted = _every(call, found, credential) if every else _named(models)
    told = call.nb.credentials.register_models(found, wanted)
    output.say(_told(told["created"] or 0, told["existing"] or 0))
    there = call.nb.models.list()
    return nb_model_slots.shown(call, type(there)(there[there["credential"] == found]))


def _every(call: Call, credential: str, named: str) -> Sequence[tuple[str, str]]:
    """Return the models that a credential opens, of which the type is known."""
    offered = discover(call, credential=credential)
    known = offered[offered["model_type"].notna()]
    others = [str(each) for each in offered.loc[offered["model_type"].isna(), "name"]]
    if others:
        first = f"{others[0]}=llm"
        output.say(
            f"Of {wording.listed(others)} the type is not known, and they were left out; "
            f"`%nb credentials register {quote(named)} --model {quote(first)}` says it."
        )
    if known.empty:
        raise InputError(
            "This credential opens no model of a known type.",
            f"Name them with their types: `%nb credentials register {quote(named)} --model "
            "NAME=TYPE`.",
        )
    return [(str(name), str(of)) for name, of in known[["name", "model_type"]].to_numpy()]


def _named(models: list[dict[str, str]]) -> Sequence[tuple[str, str]]:
    pairs = merged(models)
    types = kinds.MODEL_TYPE.choices
    for name, of in pairs.items():
        if of not in types:
            near = wording.did_you_mean(of, types)
            raise InputError(
                f"`{name}={of}` names no type of models{near}.",
                f"The types are {', '.join(types[:-1])} and {types[-1]}.",
            )
    return list(pairs.items())


def _told(created: int, existing: int) -> str:
    are = "is" if created == 1 else "are"
    new = f"{wording.count(created, 'model')} {are} new" if created else "No model is new"
    if not existing:
        return f"{new}."
    return f"{new}; {existing:,} {'was' if existing == 1 else 'were'} there already, and kept."


COMMANDS = (
    Command(
        "credentials discover", "Show the models that a credential opens.", discover, [ONE], [OUT]
    ),
    Command(
        "credentials register",
        "Add models that a credential opens.",
        register,
        [ONE],
        [
            Parameter("model", kinds.NAME_TYPE, "one of them", many=True, dest="models"),
            Parameter("all", None, "all of which the type is known", dest="every"),
            OUT,
        ],
        details="What is there already stays as it is. The types are llm, embedding, stt and tts.",
        examples=["%nb credentials register lab --model gpt-4o-mini=llm --model whisper-1=stt"],
    ),
)
