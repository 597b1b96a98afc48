"""`%nb models defaults`: which model is used for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labext import wording
from labext.errors import ConflictError, InputError
from labext_magics import kinds, nb_model_setup, output
from labext_magics.casting import merged
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def by_model(call: Call) -> dict[str, list[str]]:
    """Return the default slots that a model has, by its identifier."""
    found: dict[str, list[str]] = {}
    for slot, model in call.nb.models.defaults().items():
        if model is not None:
            found.setdefault(str(model["id"]), []).append(slot)
    return found


def shown(call: Call, models: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of models with the slots that have them, and their credentials' names."""
    slots = by_model(call)
    told = [", ".join(slots.get(each, [])) for each in models["id"]]
    models.insert(len(models.columns), "slots", told)
    if models["credential"].notna().any():
        names = {each["id"]: each["name"] for each in call.nb.credentials.iter()}
        models["credential"] = [names.get(each, each) for each in models["credential"]]
    return models


def check_free(models: Sequence[Record], slots: Mapping[str, list[str]]) -> None:
    """Raise ConflictError, which tells what to do, where a model that is to go has a slot."""
    taken = {str(each["name"]): own for each in models if (own := slots.get(str(each["id"]), []))}
    if taken:
        told = wording.listed(
            f"{name} is in the default {_slots(own)}" for name, own in taken.items()
        )
        every = [slot for own in taken.values() for slot in own]
        raise ConflictError(
            f"{told}.",
            f"Put another one there first, `%nb models defaults --set {every[0]}=MODEL`, or "
            f"none: `%nb models defaults {' '.join(f'--clear {each}' for each in every)}`.",
        )


def defaults(call: Call, *, set: list[dict[str, str]], clear: list[str]) -> pd.DataFrame:
    """Return a row for each default slot; with `set` and `clear` after they are changed."""
    from labext.nb.models import checked_slot

    named = merged([{checked_slot(slot): model for slot, model in each.items()} for each in set])
    wanted: dict[str, str | None] = {**named}
    for each in map(checked_slot, clear):
        if wanted.get(each) is not None:
            raise InputError(f"`{each}` is set and cleared at once.", "Keep one of the two.")
        wanted[each] = None
    before = call.nb.models.defaults()
    if wanted:
        call.nb.models.set_defaults(_checked(call, wanted))
        return _told(before, call.nb.models.defaults())
    return _frame(before)


def _checked(call: Call, wanted: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the identifiers of the models that go into slots.

    Raises InputError for a model of another type than its slot takes.
    """
    from labext.nb.records import SLOTS

    types = {each["id"]: each["type"] for each in call.nb.models.iter()}
    found: dict[str, str | None] = {}
    for slot, named in wanted.items():
        takes = SLOTS[slot]
        model = found[slot] = None if named is None else call.nb.models.find(named, takes)
        if model is not None and types.get(model, takes) != takes:
            raise InputError(
                f"{named} is of type {types[model]}, and the slot {slot} takes {takes}.",
                f"`%nb models --type {takes}` lists those that go there.",
            )
    return found


def auto_assign(call: Call) -> pd.DataFrame:
    """Fill the empty slots by the service's ranking of providers; return a row for each slot.

    Slots that stay empty are named with the reason.
    """
    before = call.nb.models.defaults()
    call.nb.models.auto_assign()
    now = call.nb.models.defaults()
    frame = _told(before, now)
    empty = [slot for slot, model in now.items() if model is None]
    if not empty:
        if now == before:
            output.say("Every slot has a model already.")
        return frame
    fitting = nb_model_setup.candidates(call, empty)
    if fitting:
        output.say(
            f"The service does not fill the {_slots(list(fitting))} by itself: "
            f"{nb_model_setup.set_line(call, fitting)} does."
        )
    if without := [slot for slot in empty if slot not in fitting]:
        output.say(
            f"The {_slots(without)} {'stays' if len(without) == 1 else 'stay'} empty. "
            f"{nb_model_setup.next_step(call, without)}"
        )
    return frame


def _told(before: Mapping[str, Record | None], now: Mapping[str, Record | None]) -> pd.DataFrame:
    """Say what is another than before, and return what is there now."""
    changed = [slot for slot in now if _id(now[slot]) != _id(before.get(slot))]
    given: dict[str, list[str]] = {}
    for slot in changed:
        model = now[slot]
        given.setdefault(_name(model) or "", []).append(slot)
    for name, slots in given.items():
        of = f"the {_slots(slots)}"
        output.say(f"{name} is in {of} now." if name else f"Nothing is in {of} now.")
    return _frame(now)


def _slots(names: Sequence[str]) -> str:
    return f"{'slot' if len(names) == 1 else 'slots'} {wording.listed(names, 7)}"


def _name(model: Record | None) -> str | None:
    return None if model is None else str(model["name"] or model["id"])


def _id(model: Record | None) -> str | None:
    return None if model is None else str(model["id"])


def _frame(slots: Mapping[str, Record | None]) -> pd.DataFrame:
    from labext.frames import Column, frame
    from labext.nb.records import SLOTS
    from labext.rowviews import ROWS

    rows = [
        {
            "slot": slot,
            "model": _name(model),
            "type": SLOTS[slot],
            "provider": None if model is None else model["provider"],
        }
        for slot, model in slots.items()
    ]
    texts = [Column(name, "text") for name in ("slot", "model")]
    words = [Column(name, "category") for name in ("type", "provider")]
    return ROWS.show(frame(rows, [*texts, *words]))


COMMANDS = (
    Command(
        "models defaults",
        "Show or set which model is used for what.",
        defaults,
        options=[
            Parameter("set", kinds.SLOT_MODEL, "put a model into a slot", many=True),
            Parameter("clear", kinds.SLOT, "empty a slot", many=True),
            OUT,
        ],
        details="The slots are chat, transformation, podcast and summary, which take a model of "
        "type llm; and embedding, speech-to-text and text-to-speech.",
        examples=["%nb models defaults --set chat=extractive"],
    ),
    Command(
        "models auto-assign",
        "Fill the default slots that are empty, by the service's ranking of providers.",
        auto_assign,
        options=[OUT],
    ),
)
