"""Next steps for a default slot that has no model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import LabextError
from labext_magics.core.dispatch import Call
from labext_magics.core.line import quote

if TYPE_CHECKING:
    from labext.nb.records import Record

_SET_SLOT = re.compile(r"`%nb models defaults --set ([\w-]+)=NAME`")
"""A line of a next step that leaves the model open."""

_ADD_PROVIDER = (
    "`%nb credentials new openai --name openai` adds a provider, and `%nb credentials new ollama "
    "--name ollama --base-url http://localhost:11434` one on this machine; `%nb models providers` "
    "lists all."
)


def add_model_hint(call: Call, error: LabextError) -> LabextError:
    """Return an error whose next step is a line that works, if it is about an empty slot."""
    from labext.nb.records import SLOTS

    found = _SET_SLOT.search(error.next_step)
    slot = found[1].replace("-", "_") if found else ""
    if slot not in SLOTS:
        return error
    try:
        if call.nb.models.defaults().get(slot) is not None:
            return error
        return error.with_next_step(next_step(call, [slot]))
    except LabextError:  # the models can't be listed: the general step stays
        return error


def next_step(call: Call, slots: Sequence[str]) -> str:
    """Return what to do so that slots get models: the next line of a chain that leads there."""
    from labext.nb.records import SLOTS

    chosen = candidates(call, slots)
    if chosen:
        types = messages.join_words(
            f"`%nb models --type {each}`" for each in dict.fromkeys(SLOTS[slot] for slot in chosen)
        )
        return f"Set it: {set_line(call, chosen)}; {types} lists the choice."
    unused = _without_models(call)
    if unused is not None:
        name = quote(str(unused["name"]))
        return f"Add the models of {name}: `%nb credentials register {name} --all`."
    kinds = messages.join_words(dict.fromkeys(SLOTS[slot] for slot in slots))
    return f"No model of type {kinds} is there. {_ADD_PROVIDER}"


def set_line(call: Call, models: Mapping[str, Record]) -> str:
    """Return the line that puts models into slots."""
    pairs = (quote(f"{slot}={name_of(call, model)}") for slot, model in models.items())
    return "`%nb models defaults " + " ".join(f"--set {each}" for each in pairs) + "`"


def candidates(call: Call, slots: Sequence[str]) -> dict[str, Record]:
    """Return for each slot a model of its type, if there is one: rather another slot's default."""
    from labext.nb.records import SLOTS

    used = [model["id"] for model in call.nb.models.defaults().values() if model is not None]
    models = sorted(call.nb.models.iter(), key=lambda each: each["id"] not in used)
    found = {slot: _first(models, SLOTS[slot]) for slot in slots}
    return {slot: model for slot, model in found.items() if model is not None}


def name_of(call: Call, model: Record) -> str:
    """Return a name by which a line finds a model: with its credential where that is needed."""
    same = [each for each in call.nb.models.iter(model["type"]) if each["name"] == model["name"]]
    if len(same) < 2 or model["credential"] is None:
        return str(model["name"])
    return f"{call.nb.credentials.get(model['credential'])['name']}/{model['name']}"


def _first(models: Sequence[Record], type: str) -> Record | None:
    return next((each for each in models if each["type"] == type), None)


def _without_models(call: Call) -> Record | None:
    """Return the first credential that has no models yet."""
    used = {each["credential"] for each in call.nb.models.iter()}
    return next((each for each in call.nb.credentials.iter() if each["id"] not in used), None)
