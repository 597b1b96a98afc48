"""`%nb models setup`: add the models of a credential and set the default models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import messages
from labext.errors import InputError
from labext_magics.core import output
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT
from labext_magics.nb import models, scope
from labext_magics.nb.credentials import ONE_CREDENTIAL, credential_label

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def setup_models(call: Call, *, credential: str, replace: bool) -> pd.DataFrame:
    """Add the models of a credential, set the default slots, and return one row per slot.

    Slots that are empty or have a built-in model are set, with `replace` all slots. Without
    `replace`, the slot `embedding` keeps a built-in model, since another model would have to
    process all texts again.
    """
    from labext.nb.models import likely_types, preferred_model
    from labext.nb.records import SLOTS

    record = call.nb.credentials.get(credential)
    with scope.interrupted_as_error("Run this line again; models added so far are kept."):
        offered = call.nb.credentials.discover(credential)
    if offered["model_type"].notna().any():  # one without a type, as for images, is unusable
        offered = offered[offered["model_type"].notna()]
    typed = {
        str(name): kind if isinstance(kind, str) else likely_types(str(name))[0]
        for name, kind in offered[["name", "model_type"]].itertuples(index=False)
    }
    if not typed:
        raise InputError(
            f"{messages.capitalize_first(credential_label(record))} has no models.",
            "Add one by name: "
            f"`%nb credentials register {quote(str(record['name']))} --model NAME=TYPE`.",
        )
    counts = call.nb.credentials.register_models(record["id"], list(typed.items()))
    output.print_message(_report(record, counts))
    registered = [m for m in call.nb.models.iter() if m["credential"] == record["id"]]
    before = call.nb.models.defaults()
    changes: dict[str, str | None] = {}
    unchanged: list[str] = []
    missing: list[str] = []
    for slot, model in before.items():
        by_name = {str(m["name"]): m for m in registered if m["type"] == SLOTS[slot]}
        if not by_name:
            missing.append(slot)
        elif replace or _is_free(slot, model):
            changes[slot] = str(by_name[preferred_model(by_name, SLOTS[slot])]["id"])
        elif model is not None and model["credential"] != record["id"]:
            unchanged.append(slot)
    if changes:
        call.nb.models.set_defaults(changes)
    frame = models.report_changes(before, call.nb.models.defaults())
    if unchanged:
        output.print_message(
            f"Kept the models of {messages.join_words(unchanged, 7)}; "
            f"`%nb models setup {quote(str(record['name']))} --replace` replaces them."
        )
    if missing:
        output.print_message(
            f"{messages.capitalize_first(credential_label(record))} has no model for "
            f"{messages.join_words(missing, 7)}."
        )
    return frame


def _is_free(slot: str, model: Record | None) -> bool:
    return model is None or (model["provider"] == "built-in" and slot != "embedding")


def _report(record: Record, counts: Record) -> str:
    created, existing = int(counts["created"] or 0), int(counts["existing"] or 0)
    new = f"Added {messages.pluralize(created, 'model')}" if created else "No new models"
    suffix = f"; {existing:,} already existed" if existing else ""
    return f"{new} of {credential_label(record)}{suffix}."


COMMANDS = (
    Command(
        "models setup",
        "Add a credential's models and set the default models.",
        setup_models,
        [ONE_CREDENTIAL],
        [Parameter("replace", None, "also replace the models of other providers"), OUT],
        details="Sets the slots that are empty or have a built-in model. A built-in embedding "
        "model is kept without `--replace`, since another model would process all texts again.",
        examples=["%nb models setup claude"],
    ),
)
