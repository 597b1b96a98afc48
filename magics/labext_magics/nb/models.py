"""`%nb models`: models, default slots and providers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from labext import messages
from labext.actions import Action
from labext.errors import ConflictError, InputError, NotFoundError, ServiceError
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


def run_test(label: str, test: Callable[[], Record], fallback: Callable[[], str]) -> None:
    """Run a test, and print the response time; raise ServiceError if it failed.

    `fallback` returns the next step if the service does not suggest one.
    """
    from labext.nb.error_messages import split_message

    started = time.monotonic()
    with scope.interrupted_as_error("Run this line again."):
        result = test()
    seconds = time.monotonic() - started
    label, message = messages.capitalize_first(label), str(result["message"] or "")
    if result["success"]:
        output.print_message(f"{label} works ({seconds:.2f} s). {message}".rstrip())
        return
    reason, suggestion = split_message(message or "no reason given", "")
    next_step = suggestion if "`" in suggestion else f"{suggestion} {fallback()}".strip()
    raise ServiceError(f"{label} does not work: {reason.rstrip('.')}.", next_step)


def slots_by_model(call: Call) -> dict[str, list[str]]:
    """Return the default slots of each model, by model ID."""
    slots: dict[str, list[str]] = {}
    for slot, model in call.nb.models.defaults().items():
        if model is not None:
            slots.setdefault(str(model["id"]), []).append(slot)
    return slots


def models_frame(call: Call, models: pd.DataFrame) -> pd.DataFrame:
    """Add the slots and the names of the credentials to a DataFrame of models."""
    from labext.frames.conversion import to_array

    slots = slots_by_model(call)
    slot_lists = [", ".join(slots.get(identifier, [])) for identifier in models["id"]]
    models.insert(len(models.columns), "slots", to_array("text", slot_lists))
    if models["credential"].notna().any():
        names = {credential["id"]: credential["name"] for credential in call.nb.credentials.iter()}
        credentials = [names.get(key, key) for key in models["credential"]]
        models["credential"] = to_array("text", credentials)
    return models


def check_not_in_slot(models: Sequence[Record], slots: Mapping[str, list[str]]) -> None:
    """Check that no model is in a default slot, else raise ConflictError."""
    used = {
        str(model["name"]): names for model in models if (names := slots.get(str(model["id"]), []))
    }
    if used:
        conflicts = messages.join_words(
            f"{name} is the default of {_slot_list(names)}" for name, names in used.items()
        )
        all_slots = [slot for names in used.values() for slot in names]
        raise ConflictError(
            f"{conflicts}.",
            f"Set another model first, `%nb models defaults --set {all_slots[0]}=MODEL`, or clear "
            f"it: `%nb models defaults {' '.join(f'--clear {slot}' for slot in all_slots)}`.",
        )


def defaults(call: Call, *, set: list[dict[str, str]], clear: list[str]) -> pd.DataFrame:
    """Return one row per default slot, after the changes of `set` and `clear`."""
    from labext.nb.models import validate_slot

    assigned = merge_pairs(
        [{validate_slot(slot): model for slot, model in pairs.items()} for pairs in set]
    )
    requested: dict[str, str | None] = {**assigned}
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
    """Return the IDs of the models of slots; raise InputError if the type of one is wrong."""
    from labext.nb.records import SLOTS

    types = {record["id"]: record["type"] for record in call.nb.models.iter()}
    identifiers: dict[str, str | None] = {}
    for slot, name in requested.items():
        required = SLOTS[slot]
        model = identifiers[slot] = None if name is None else call.nb.models.find(name, required)
        if model is not None and types.get(model, required) != required:
            raise InputError(
                f"{name} has type {types[model]}, but the slot {slot} needs type {required}.",
                f"`%nb models --type {required}` lists the models of that type.",
            )
    return identifiers


def auto_assign(call: Call) -> pd.DataFrame:
    """Fill the empty slots by the service's ranking of providers, and return one row per slot.

    The next step for slots that remain empty is printed.
    """
    before = call.nb.models.defaults()
    call.nb.models.auto_assign()
    after = call.nb.models.defaults()
    frame = report_changes(before, after)
    empty = [slot for slot, model in after.items() if model is None]
    if not empty:
        if after == before:
            output.print_message("Every slot already has a model.")
        return frame
    available = setup_hints.candidates(call, empty)
    if available:
        output.print_message(
            f"The service does not fill the {_slot_list(list(available))} automatically; to set "
            f"it, run {setup_hints.set_line(call, available)}."
        )
    if unavailable := [slot for slot in empty if slot not in available]:
        verb = "remains" if len(unavailable) == 1 else "remain"
        output.print_message(
            f"The {_slot_list(unavailable)} {verb} empty. "
            f"{setup_hints.next_step(call, unavailable)}"
        )
    return frame


def report_changes(
    before: Mapping[str, Record | None], after: Mapping[str, Record | None]
) -> pd.DataFrame:
    """Print the changed slots, and return one row per slot."""
    changed = [slot for slot in after if _model_id(after[slot]) != _model_id(before.get(slot))]
    slots_by_name: dict[str, list[str]] = {}
    for slot in changed:
        model = after[slot]
        slots_by_name.setdefault(_model_name(model) or "", []).append(slot)
    for name, slots in slots_by_name.items():
        slots_text = f"the {_slot_list(slots)}"
        output.print_message(f"Set {slots_text} to {name}." if name else f"Cleared {slots_text}.")
    return _slots_frame(after)


def _slot_list(names: Sequence[str]) -> str:
    return f"{'slot' if len(names) == 1 else 'slots'} {messages.join_words(names, 7)}"


def _model_name(model: Record | None) -> str | None:
    return None if model is None else str(model["name"] or model["id"])


def _model_id(model: Record | None) -> str | None:
    return None if model is None else str(model["id"])


def _slots_frame(slots: Mapping[str, Record | None]) -> pd.DataFrame:
    from labext.frames.conversion import make_columns, records_to_frame
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
    columns = make_columns(slot="text", model="text", type="category", provider="category")
    return ROWS.show(records_to_frame(rows, columns))


def find_provider(call: Call, typed: str) -> str:
    """Return the service's name of a provider; raise InputError if the provider is unknown."""
    names = [str(provider) for provider in call.nb.models.providers()["provider"]]
    match = next((name for name in names if _folded(name) == _folded(typed)), None)
    if match is not None:
        return match
    raise InputError(
        f"Unknown provider {messages.quote_value(typed)}{messages.did_you_mean(typed, names)}.",
        "`%nb models providers` lists them.",
    )


def _folded(name: str) -> str:
    return name.strip().casefold().replace("-", "_")


def providers(call: Call) -> pd.DataFrame:
    """Return one row per provider with its availability and its types of models."""
    return call.nb.models.providers()


def discover(call: Call, *, provider: str) -> pd.DataFrame:
    """Return one row per model that a provider offers."""
    with scope.interrupted_as_error("Run this line again."):
        return call.nb.models.discover(find_provider(call, provider))


def sync(call: Call, *, provider: str | None) -> pd.DataFrame:
    """Add the models of one provider or of all providers, and return one row per provider."""
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
    from labext.frames.conversion import make_columns, records_to_frame
    from labext.frames.views import ROWS

    summary = call.nb.models.count(find_provider(call, provider))
    rows = [{"type": kind, "models": number} for kind, number in (summary["counts"] or {}).items()]
    rows.append({"type": "all", "models": summary["total"]})
    return ROWS.show(records_to_frame(rows, make_columns(type="text", models="integer")))


def by_provider(call: Call, *, provider: str) -> pd.DataFrame:
    """Return one row per registered model of a provider."""
    return models_frame(call, call.nb.models.by_provider(find_provider(call, provider)))


ONE_PROVIDER = Parameter(
    "PROVIDER",
    value_types.PROVIDER,
    "a model provider; `%nb models providers` lists them",
    required=True,
)


def list_(call: Call, *, type: str | None) -> pd.DataFrame:
    """Return one row per model with its default slots."""
    return models_frame(call, call.nb.models.list(type))


def new(call: Call, *, name: str, type: str, provider: str, credential: str | None) -> pd.DataFrame:
    """Add a model of a provider; an identical model is kept."""
    provider = find_provider(call, provider)
    credential_id = None if credential is None else call.nb.credentials.find(credential)
    identity = {"name": name, "type": type, "provider": provider}
    if credential_id is not None:
        identity["credential"] = credential_id
    with scope.creation_lock(call, "model", provider, type, name):
        for record in call.nb.models.iter(type):
            if all(record[key] == value for key, value in identity.items()):
                output.print_message(f"The model {name} of {provider} already exists and was kept.")
                return _row(call, record)
        record = call.nb.models.create(name, type, provider, credential_id)
    output.print_message(
        f"Added the model {record['name']} of {record['provider']}; `%nb models test "
        f"{quote(str(record['name']))}` tests it."
    )
    return _row(call, record)


def delete(call: Call, *, models: list[str], yes: bool, preview: bool) -> None:
    """Delete models after checking that all of them exist."""
    records = [_record(call, model) for model in dict.fromkeys(models)]
    check_not_in_slot(records, slots_by_model(call))
    labels = {record["id"]: _model_label(record) for record in records}
    output.delete_each(labels, call.nb.models.delete, yes=yes, preview=preview)


def test(call: Call, *, model: str) -> None:
    """Let the service test a model, and print the response time."""
    record = _record(call, model)
    run_test(
        _model_label(record),
        lambda: call.nb.models.test(record["id"]),
        lambda: _test_hint(call, record),
    )


def _row(call: Call, record: Record) -> pd.DataFrame:
    from labext.nb.views import model_frame

    return models_frame(call, model_frame([record]))


def _record(call: Call, model: str) -> Record:
    identifier = call.nb.models.find(model)
    for record in call.nb.models.iter():
        if record["id"] == identifier:
            return record
    raise NotFoundError(f"There is no model {identifier}.", action=Action.list_models())


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
