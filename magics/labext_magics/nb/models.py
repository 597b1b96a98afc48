"""`%nb models`: models, default slots and providers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import ConflictError, InputError, ServiceError
from labext_magics.core import output, value_types
from labext_magics.core.cell_body import merge_pairs
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import scope, setup_hints

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def run_test(called: str, test: Callable[[], Record], step: Callable[[], str]) -> None:
    """Run a test, and report the time taken.

    Args:
        called: the object tested, such as `the model gpt-4o of openai`.
        test: has the service run the test.
        step: returns the next step if the service does not suggest one.

    Raises:
        ServiceError: the test failed.
    """
    from labext.nb.error_messages import split_message

    started = time.monotonic()
    with scope.interrupted_as_error("Run this line again."):
        result = test()
    seconds = time.monotonic() - started
    called, message = messages.capitalize_first(called), str(result["message"] or "")
    if result["success"]:
        output.print_message(f"{called} works ({seconds:.2f} s). {message}".rstrip())
        return
    why, own = split_message(message or "no reason given", "")
    next_step = own if "`" in own else f"{own} {step()}".strip()
    raise ServiceError(f"{called} does not work: {why.rstrip('.')}.", next_step)


def slots_by_model(call: Call) -> dict[str, list[str]]:
    """Return the default slots of each model, by its identifier."""
    slots: dict[str, list[str]] = {}
    for slot, model in call.nb.models.defaults().items():
        if model is not None:
            slots.setdefault(str(model["id"]), []).append(slot)
    return slots


def models_frame(call: Call, models: pd.DataFrame) -> pd.DataFrame:
    """Add the slots and the names of the credentials to a frame of models."""
    slots = slots_by_model(call)
    slot_lists = [", ".join(slots.get(identifier, [])) for identifier in models["id"]]
    models.insert(len(models.columns), "slots", slot_lists)
    if models["credential"].notna().any():
        names = {credential["id"]: credential["name"] for credential in call.nb.credentials.iter()}
        models["credential"] = [names.get(key, key) for key in models["credential"]]
    return models


def check_not_in_slot(models: Sequence[Record], slots: Mapping[str, list[str]]) -> None:
    """Raise ConflictError if one of the models is in a default slot."""
    used = {str(model["name"]): own for model in models if (own := slots.get(str(model["id"]), []))}
    if used:
        conflicts = messages.join_words(
            f"{name} is the default of {_slot_list(own)}" for name, own in used.items()
        )
        all_slots = [slot for own in used.values() for slot in own]
        raise ConflictError(
            f"{conflicts}.",
            f"Set another model first, `%nb models defaults --set {all_slots[0]}=MODEL`, or none: "
            f"`%nb models defaults {' '.join(f'--clear {slot}' for slot in all_slots)}`.",
        )


def defaults(call: Call, *, set: list[dict[str, str]], clear: list[str]) -> pd.DataFrame:
    """Return a row for each default slot; with `set` and `clear` after changing them."""
    from labext.nb.models import validate_slot

    named = merge_pairs(
        [{validate_slot(slot): model for slot, model in pairs.items()} for pairs in set]
    )
    requested: dict[str, str | None] = {**named}
    for slot in map(validate_slot, clear):
        if requested.get(slot) is not None:
            raise InputError(f"`{slot}` is both set and cleared.", "Keep one of them.")
        requested[slot] = None
    before = call.nb.models.defaults()
    if requested:
        call.nb.models.set_defaults(_resolve_models(call, requested))
        return report_changes(before, call.nb.models.defaults())
    return _slots_frame(before)


def _resolve_models(call: Call, requested: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the identifiers of the models to assign to slots.

    Raises InputError for a model whose type does not match the slot.
    """
    from labext.nb.records import SLOTS

    types = {record["id"]: record["type"] for record in call.nb.models.iter()}
    identifiers: dict[str, str | None] = {}
    for slot, named in requested.items():
        takes = SLOTS[slot]
        model = identifiers[slot] = None if named is None else call.nb.models.find(named, takes)
        if model is not None and types.get(model, takes) != takes:
            raise InputError(
                f"{named} has type {types[model]}, but the slot {slot} needs type {takes}.",
                f"`%nb models --type {takes}` lists the models of that type.",
            )
    return identifiers


def auto_assign(call: Call) -> pd.DataFrame:
    """Fill the empty slots by the service's ranking of providers; return a row for each slot.

    Slots that stay empty are reported with the reason.
    """
    before = call.nb.models.defaults()
    call.nb.models.auto_assign()
    now = call.nb.models.defaults()
    frame = report_changes(before, now)
    empty = [slot for slot, model in now.items() if model is None]
    if not empty:
        if now == before:
            output.print_message("Every slot already has a model.")
        return frame
    available = setup_hints.candidates(call, empty)
    if available:
        output.print_message(
            f"The service does not fill the {_slot_list(list(available))} automatically; to set "
            f"it, run {setup_hints.set_line(call, available)}."
        )
    if without := [slot for slot in empty if slot not in available]:
        output.print_message(
            f"The {_slot_list(without)} {'stays' if len(without) == 1 else 'stay'} empty. "
            f"{setup_hints.next_step(call, without)}"
        )
    return frame


def report_changes(
    before: Mapping[str, Record | None], now: Mapping[str, Record | None]
) -> pd.DataFrame:
    """Report the changed slots, and return a row for each slot."""
    changed = [slot for slot in now if _model_id(now[slot]) != _model_id(before.get(slot))]
    slots_by_name: dict[str, list[str]] = {}
    for slot in changed:
        model = now[slot]
        slots_by_name.setdefault(_model_name(model) or "", []).append(slot)
    for name, slots in slots_by_name.items():
        slots_text = f"the {_slot_list(slots)}"
        output.print_message(f"Set {slots_text} to {name}." if name else f"Cleared {slots_text}.")
    return _slots_frame(now)


def _slot_list(names: Sequence[str]) -> str:
    return f"{'slot' if len(names) == 1 else 'slots'} {messages.join_words(names, 7)}"


def _model_name(model: Record | None) -> str | None:
    return None if model is None else str(model["name"] or model["id"])


def _model_id(model: Record | None) -> str | None:
    return None if model is None else str(model["id"])


def _slots_frame(slots: Mapping[str, Record | None]) -> pd.DataFrame:
    from labext.frames.conversion import Column, records_to_frame
    from labext.frames.views import ROWS
    from labext.nb.records import SLOTS

    rows = [
        {
            "slot": slot,
            "model": _model_name(model),
            "type": SLOTS[slot],
            "provider": None if model is None else model["provider"],
        }
        for slot, model in slots.items()
    ]
    texts = [Column(name, "text") for name in ("slot", "model")]
    words = [Column(name, "category") for name in ("type", "provider")]
    return ROWS.show(records_to_frame(rows, [*texts, *words]))


SLOT_COMMANDS = (
    Command(
        "models defaults",
        "Show or set the default models.",
        defaults,
        options=[
            Parameter("set", value_types.SLOT_MODEL, "set the default model of a slot", many=True),
            Parameter("clear", value_types.SLOT, "clear a slot", many=True),
            OUT,
        ],
        details="The slots are chat, transformation, podcast and summary, for models of type "
        "llm, and embedding, speech-to-text and text-to-speech.",
        examples=["%nb models defaults --set chat=extractive"],
    ),
    Command(
        "models auto-assign",
        "Fill empty default slots, following the service's provider ranking.",
        auto_assign,
        options=[OUT],
    ),
)


def find_provider(call: Call, typed: str) -> str:
    """Return the service's name of a provider.

    Raises InputError, with the closest match, if the service has no such provider.
    """
    names = [str(provider) for provider in call.nb.models.providers()["provider"]]
    match = next((name for name in names if _folded(name) == _folded(typed)), None)
    if match is not None:
        return match
    raise InputError(
        f"There is no provider {messages.quote_value(typed)}{messages.did_you_mean(typed, names)}.",
        "`%nb models providers` lists them.",
    )


def _folded(name: str) -> str:
    return name.strip().casefold().replace("-", "_")


def providers(call: Call) -> pd.DataFrame:
    """Return a row for each provider: whether it can be used, and for which types of models."""
    return call.nb.models.providers()


def discover(call: Call, *, provider: str) -> pd.DataFrame:
    """Return a row for each model that a provider offers."""
    with scope.interrupted_as_error("Run this line again."):
        return call.nb.models.discover(find_provider(call, provider))


def sync(call: Call, *, provider: str | None) -> pd.DataFrame:
    """Add the models that one provider or all of them offer; return a row for each provider."""
    provider_name = None if provider is None else find_provider(call, provider)
    with scope.interrupted_as_error("Run this line again; existing models are kept."):
        results = call.nb.models.sync(provider_name)
    failed = results[results["error"].notna()]
    for name, reason in failed[["provider", "error"]].to_numpy():
        output.print_message(f"{name} did not respond: {reason}")
    added = int(results["new"].fillna(0).sum())
    output.print_message(f"Added {messages.pluralize(added, 'model')}.")
    return results


def count(call: Call, *, provider: str) -> pd.DataFrame:
    """Return the number of a provider's models by type."""
    from labext.frames.conversion import Column, records_to_frame
    from labext.frames.views import ROWS

    summary = call.nb.models.count(find_provider(call, provider))
    rows = [{"type": kind, "models": number} for kind, number in (summary["counts"] or {}).items()]
    return ROWS.show(
        records_to_frame(
            [*rows, {"type": "all", "models": summary["total"]}],
            [Column("type", "text"), Column("models", "integer")],
        )
    )


def by_provider(call: Call, *, provider: str) -> pd.DataFrame:
    """Return a row for each registered model of a provider."""
    return models_frame(call, call.nb.models.by_provider(find_provider(call, provider)))


ONE_PROVIDER = Parameter(
    "PROVIDER",
    value_types.PROVIDER,
    "a model provider; `%nb models providers` lists them",
    required=True,
)

PROVIDER_COMMANDS = (
    Command("models providers", "List the model providers.", providers, options=[OUT]),
    Command(
        "models discover",
        "List the models that a provider offers.",
        discover,
        [ONE_PROVIDER],
        [OUT],
    ),
    Command(
        "models sync",
        "Add the models that a provider, or every provider, offers.",
        sync,
        [Parameter("PROVIDER", value_types.PROVIDER, "only this provider")],
        [OUT],
    ),
    Command(
        "models count", "Count the models of a provider by type.", count, [ONE_PROVIDER], [OUT]
    ),
    Command(
        "models by-provider", "List the models of a provider.", by_provider, [ONE_PROVIDER], [OUT]
    ),
)


def list_(call: Call, *, type: str | None) -> pd.DataFrame:
    """Return a row for each model, with its default slots."""
    return models_frame(call, call.nb.models.list(type))


def new(call: Call, *, name: str, type: str, provider: str, credential: str | None) -> pd.DataFrame:
    """Add a model of a provider; an identical one is kept."""
    provider = find_provider(call, provider)
    by = None if credential is None else call.nb.credentials.find(credential)
    identity = {"name": name, "type": type, "provider": provider}
    if by is not None:
        identity["credential"] = by
    for record in call.nb.models.iter(type):
        if all(record[key] == value for key, value in identity.items()):
            output.print_message(f"The model {name} of {provider} already exists and was kept.")
            return _row(call, record)
    record = call.nb.models.create(name, type, provider, by)
    output.print_message(
        f"Added the model {record['name']} of {record['provider']}; `%nb models test "
        f"{quote(str(record['name']))}` tests it."
    )
    return _row(call, record)


def delete(call: Call, *, models: list[str], yes: bool, preview: bool) -> None:
    """Delete models, after checking that all of them exist and none is in a default slot.

    Raises:
        ConflictError: one is in a default slot.
    """
    records = [_record(call, model) for model in dict.fromkeys(models)]
    used = slots_by_model(call)
    affected = [_model_label(record) for record in records]
    check_not_in_slot(records, used)
    if not output.confirm_destruction("delete", affected, yes=yes, preview=preview):
        return
    for record in records:
        call.nb.models.delete(record["id"])
        output.print_message(f"Deleted {_model_label(record)}.")


def test(call: Call, *, model: str) -> None:
    """Have the service test a model, and report the time taken.

    Raises:
        ServiceError: the test failed.
    """
    record = _record(call, model)
    run_test(
        _model_label(record),
        lambda: call.nb.models.test(record["id"]),
        lambda: _test_hint(call, record),
    )


def _row(call: Call, record: Record) -> pd.DataFrame:
    from labext.nb.views import model_frame

    return models_frame(call, model_frame([record]))


def _record(call: Call, named: str) -> Record:
    identifier = call.nb.models.find(named)
    return next(
        (model for model in call.nb.models.iter() if model["id"] == identifier),
        _missing_model(identifier),
    )


def _missing_model(identifier: str) -> Record:
    """Return a placeholder record for an unlisted model; using it gives the service's error."""
    return {"id": identifier, "name": identifier, "provider": None, "credential": None}


def _model_label(record: Record) -> str:
    name, provider = record["name"], record["provider"]
    if provider == "built-in":
        return f"the built-in model {name}"
    return f"the model {name} of {provider}" if provider else f"the model {name}"


def _test_hint(call: Call, record: Record) -> str:
    """Return the next step for a model whose test failed."""
    if record["credential"] is None:
        return "`%nb credentials status` shows which providers have a key."
    name = quote(str(call.nb.credentials.get(record["credential"])["name"]))
    return (
        f"`%nb credentials test {name}` tests its server and key; "
        f"`%nb credentials edit {name} --new-key` sets another key."
    )


_ONE = Parameter("MODEL", value_types.MODEL, "a model, by its name or id", required=True)
_TYPE = Parameter("type", value_types.MODEL_TYPE, "the model's type")

COMMANDS = (
    Command(
        "models",
        "List the models and the default slots that use them.",
        list_,
        options=[replace(_TYPE, help="list only models of this type"), OUT],
    ),
    Command(
        "models new",
        "Add a model.",
        new,
        [
            Parameter(
                "NAME",
                value_types.text_type("NAME"),
                "the provider's name for the model",
                required=True,
            )
        ],
        [
            replace(_TYPE, required=True),
            Parameter("provider", value_types.PROVIDER, "the provider", required=True),
            Parameter("credential", value_types.CREDENTIAL, "the credential to use"),
            OUT,
        ],
        details="An existing model is kept. `%nb credentials register` adds several models at "
        "once.",
        examples=["%nb models new gpt-4o-mini --type llm --provider openai --credential lab"],
    ),
    Command(
        "models delete",
        "Delete models that no default slot uses.",
        delete,
        [replace(_ONE, many=True, dest="models")],
        [YES, PREVIEW],
    ),
    Command("models test", "Test a model and measure its response time.", test, [_ONE]),
    *SLOT_COMMANDS,
    *PROVIDER_COMMANDS,
)
