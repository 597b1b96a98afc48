"""`%nb models providers`, and what a provider has: `discover`, `sync`, `count`, `by-provider`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import wording
from labext.errors import InputError
from labext_magics import kinds, nb_model_slots, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd


def known(call: Call, typed: str) -> str:
    """Return a provider as the service calls it.

    Raises InputError, with the nearest one, where the service has no such provider.
    """
    names = [str(each) for each in call.nb.models.providers()["provider"]]
    found = next((each for each in names if _folded(each) == _folded(typed)), None)
    if found is not None:
        return found
    raise InputError(
        f"There is no provider {wording.shown(typed)}{wording.did_you_mean(typed, names)}.",
        "`%nb models providers` lists them.",
    )


def _folded(name: str) -> str:
    return name.strip().casefold().replace("-", "_")


def providers(call: Call) -> pd.DataFrame:
    """Return a row for each provider: whether it can be used, and for which types of models."""
    return call.nb.models.providers()


def discover(call: Call, *, provider: str) -> pd.DataFrame:
    """Return a row for each model that a provider offers."""
    with nb_scope.reply_awaited("Run this line again."):
        return call.nb.models.discover(known(call, provider))


def sync(call: Call, *, provider: str | None) -> pd.DataFrame:
    """Add what a provider, or every one, offers; return a row for each provider."""
    asked = None if provider is None else known(call, provider)
    with nb_scope.reply_awaited("Run this line again: what is there already stays as it is."):
        found = call.nb.models.sync(asked)
    failed = found[found["error"].notna()]
    for name, reason in failed[["provider", "error"]].to_numpy():
        output.say(f"{name} could not be asked: {reason}")
    added = int(found["new"].fillna(0).sum())
    output.say(f"{wording.count(added, 'model')} {'is' if added == 1 else 'are'} new.")
    return found


def count(call: Call, *, provider: str) -> pd.DataFrame:
    """Return how many models of each type there are of a provider."""
    from labext.frames import Column, frame
    from labext.rowviews import ROWS

    told = call.nb.models.count(known(call, provider))
    rows = [{"type": kind, "models": number} for kind, number in (told["counts"] or {}).items()]
    return ROWS.show(
        frame(
            [*rows, {"type": "all", "models": told["total"]}],
            [Column("type", "text"), Column("models", "integer")],
        )
    )


def by_provider(call: Call, *, provider: str) -> pd.DataFrame:
    """Return a row for each model that there is of a provider."""
    return nb_model_slots.shown(call, call.nb.models.by_provider(known(call, provider)))


ONE = Parameter(
    "PROVIDER",
    kinds.PROVIDER,
    "a provider of models; `%nb models providers` lists them",
    required=True,
)

COMMANDS = (
    Command("models providers", "List the providers of models.", providers, options=[OUT]),
    Command("models discover", "Show what a provider offers.", discover, [ONE], [OUT]),
    Command(
        "models sync",
        "Add the models that a provider offers, or that every one does.",
        sync,
        [Parameter("PROVIDER", kinds.PROVIDER, "only this one")],
        [OUT],
    ),
    Command("models count", "Count a provider's models by their types.", count, [ONE], [OUT]),
    Command("models by-provider", "List the models of a provider.", by_provider, [ONE], [OUT]),
)
