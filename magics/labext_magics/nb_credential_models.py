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

    from labext.nb.records import Record

TRIED_AT_MOST = 30
"""Models of unknown type that one line tests; each test asks the provider up to four times."""

_AS = {"llm": "a language model", "embedding": "an embedding model", "stt": "stt", "tts": "tts"}
"""By type, what a model works as."""


def discover(call: Call, *, credential: str) -> pd.DataFrame:
    """Return a row for each model that a credential opens."""
    with nb_scope.reply_awaited("Run this line again."):
        return call.nb.credentials.discover(credential)


def register(
    call: Call, *, credential: str, models: list[dict[str, str]], every: bool
) -> pd.DataFrame:
    """Add models that a credential opens; return those there are.

    With `every`, models whose type neither the provider nor the line tells are added as the type
    as which they pass the service's test.
    """
    if not every and not models:
        raise InputError(
            "No model is named.", "Name them, `--model NAME=TYPE`, or take all with `--all`."
        )
    record = call.nb.credentials.get(credential)
    wanted = dict(_named(models))
    unknown: list[str] = []
    if every:
        offered = discover(call, credential=record["id"])
        for name, kind in offered[["name", "model_type"]].itertuples(index=False):
            if name not in wanted and isinstance(kind, str):
                wanted[name] = kind
        unknown = [str(name) for name in offered["name"] if name not in wanted]
    if wanted:
        told = call.nb.credentials.register_models(record["id"], list(wanted.items()))
        output.say(_told(told["created"] or 0, told["existing"] or 0))
    untyped = _try(call, record, unknown)
    there = call.nb.models.list()
    own = there[there["credential"] == record["id"]]
    if untyped:
        output.say(untyped)
    if own.empty:
        raise InputError(
            f"The credential {record['name']} opens no model that could be added.",
            f"Name one with its type: `%nb credentials register {quote(str(record['name']))} "
            "--model NAME=TYPE`.",
        )
    if every and not call.nb.models.defaults().get("chat"):
        output.say("`%nb models auto-assign` chooses default models.")
    return nb_model_slots.shown(call, type(there)(own))


def _try(call: Call, credential: Record, names: Sequence[str]) -> str:
    """Add models of unknown type as what they pass a test as; return what to say of the others."""
    from labext.nb.model_types import try_types

    known = {each["name"] for each in call.nb.models.iter() if _opens(credential, each)}
    untried = [name for name in names if name not in known]
    tried, left = untried[:TRIED_AT_MOST], untried[TRIED_AT_MOST:]
    if tried:
        output.say(
            f"{credential['provider']} does not tell the type of "
            f"{wording.count(len(tried), 'model')}: each is tested."
        )
    failed: dict[str, str] = {}
    with nb_scope.reply_awaited("Run the line again: what is added stays.", "Testing models"):
        for name in tried:
            trial = try_types(call.nb.models, name, credential["provider"], credential["id"])
            if trial.type is None:
                failed[name] = trial.reason
            else:
                output.say(f"{name} is added: it works as {_AS[trial.type]}.")
    line = f"`%nb credentials register {quote(str(credential['name']))} --model"
    parts = []
    if failed:
        reasons = (
            f"{name} ({why.rstrip('.') or 'no reason told'})" for name, why in failed.items()
        )
        parts.append(
            f"Not added, because no test succeeded: {', '.join(reasons)}. "
            f"{line} {quote(next(iter(failed)) + '=llm')}` adds one untested."
        )
    if left:
        parts.append(
            f"Not tested, because there are so many: {', '.join(left)}. "
            f"{line} {quote(left[0] + '=llm')}` adds one."
        )
    return " ".join(parts)


def _opens(credential: Record, model: Record) -> bool:
    return bool(model["credential"] == credential["id"])


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
            Parameter("all", None, "all; those of unknown type are tested", dest="every"),
            OUT,
        ],
        details="What is there already stays as it is. The types are llm, embedding, stt and tts.",
        examples=["%nb credentials register lab --model gpt-4o-mini=llm --model whisper-1=stt"],
    ),
)
