"""Next steps for an empty default slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import LabextError
from labext_magics.core.dispatch import Call
from labext_magics.core.line import quote

if TYPE_CHECKING:
    from labext.nb.records import Record

_ADD_PROVIDER = (
    "`%nb credentials new openai --name openai` adds a provider, and `%nb credentials new "
    "ollama --name ollama --base-url http://localhost:11434` a local one; `%nb models "
    "providers` lists all providers."
)


def add_model_hint(call: Call, error: LabextError) -> LabextError:
    """Replace the next step of an error about an empty slot by a line to run."""
    from labext.nb.records import SLOTS

    action = error.action
    slot = action.arguments.get("slot", "") if action and action.kind == "set_model" else ""
    if slot not in SLOTS:
        return error
    try:
        if call.nb.models.defaults().get(slot) is not None:
            return error
        return error.with_next_step(next_step(call, [slot]))
    except LabextError:  # keep the general next step
        return error


def next_step(call: Call, slots: Sequence[str]) -> str:
    """Return the next step for filling slots: set a model, register models or add a provider."""
    from labext.nb.records import SLOTS

    models = candidates(call, slots)
    if models:
        types = messages.join_words(
            f"`%nb models --type {model_type}`"
            for model_type in dict.fromkeys(SLOTS[slot] for slot in models)
        )
        return f"Set it with {set_line(call, models)}; {types} lists the models."
    unused = _without_models(call)
    if unused is not None:
        name = quote(str(unused["name"]))
        return f"Add the models of {name}: `%nb credentials register {name} --all`."
    kinds = messages.join_words(dict.fromkeys(SLOTS[slot] for slot in slots))
    return f"There is no model of type {kinds}. {_ADD_PROVIDER}"


def set_line(call: Call, models: Mapping[str, Record]) -> str:
    """Return the line that assigns models to slots."""
    pairs = (quote(f"{slot}={name_of(call, model)}") for slot, model in models.items())
    return "`%nb models defaults " + " ".join(f"--set {pair}" for pair in pairs) + "`"


def candidates(call: Call, slots: Sequence[str]) -> dict[str, Record]:
    """Return one model of the required type per slot, preferring models of other slots."""
    from labext.nb.records import SLOTS

    used = [model["id"] for model in call.nb.models.defaults().values() if model is not None]
    models = sorted(call.nb.models.iter(), key=lambda model: model["id"] not in used)
    choices = {slot: _first(models, SLOTS[slot]) for slot in slots}
    return {slot: model for slot, model in choices.items() if model is not None}


def name_of(call: Call, model: Record) -> str:
    """Return the name of a model, with its credential if the name is ambiguous."""
    same = [other for other in call.nb.models.iter(model["type"]) if other["name"] == model["name"]]
    if len(same) < 2 or model["credential"] is None:
        return str(model["name"])
    return f"{call.nb.credentials.get(model['credential'])['name']}/{model['name']}"


def _first(models: Sequence[Record], type: str) -> Record | None:
    return next((model for model in models if model["type"] == type), None)


def _without_models(call: Call) -> Record | None:
    """Return the first credential without models."""
    used = {model["credential"] for model in call.nb.models.iter()}
    return next(
        (credential for credential in call.nb.credentials.iter() if credential["id"] not in used),
        None,
    )
