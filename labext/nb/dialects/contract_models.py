"""Models, as the contract's server is asked for them (contract, Endpoints: Models)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import OutcomeUnknownError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.records import (
    COUNTED,
    DISCOVERED,
    MODEL,
    PROVIDER,
    SLOTS,
    SYNCED,
    TESTED,
    Record,
    made,
)
from labext.transport import Operation, Repeat

_AGAIN = "Do it again: what is there already stays as it is."

LIST = Operation("list models", "GET", "models", Repeat.ALWAYS, answer="json")
NEW = Operation(
    "add a model",
    "POST",
    "models",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb models` before you add it again: it may be there already.",
)
DELETE = Operation("delete a model", "DELETE", "models/{model}", Repeat.DELETE)
TEST = Operation("test a model", "POST", "models/{model}/test", Repeat.ALWAYS, answer="json")
DEFAULTS = Operation(
    "read the default models", "GET", "models/defaults", Repeat.ALWAYS, answer="json"
)
SET_DEFAULTS = Operation(
    "set the default models", "PUT", "models/defaults", Repeat.ALWAYS, answer="json"
)
PROVIDERS = Operation(
    "list models' providers", "GET", "models/providers", Repeat.ALWAYS, answer="json"
)
DISCOVER = Operation(
    "list a provider's models",
    "GET",
    "models/discover/{provider}",
    Repeat.ALWAYS,
    answer="json",
)
SYNC_ONE = Operation(
    "take over a provider's models",
    "POST",
    "models/sync/{provider}",
    Repeat.UNSENT,  # a second time nothing would be new
    answer="json",
    find_out=_AGAIN,
)
SYNC = Operation(
    "take over the providers' models",
    "POST",
    "models/sync",
    Repeat.UNSENT,
    answer="json",
    find_out=_AGAIN,
)
AUTO_ASSIGN = Operation(
    "fill the empty default slots",
    "POST",
    "models/auto-assign",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb models defaults`: they are filled, or not yet.",
)
COUNT = Operation(
    "count a provider's models", "GET", "models/count/{provider}", Repeat.ALWAYS, answer="json"
)
BY_PROVIDER = Operation(
    "list models of a provider",
    "GET",
    "models/by-provider/{provider}",
    Repeat.ALWAYS,
    answer="json",
)


class ModelCalls:
    """The thirteen operations on models."""

    def models(self, type: str | None = None) -> Steps[list[Record]]:
        """List those of a type, or all."""
        answer = yield Request(LIST, params={"model_type": type})
        return records.things(MODEL, answer, "models")

    def new_model(
        self, name: str, type: str, provider: str, credential: str | None
    ) -> Steps[Record]:
        """Add one; there are no two alike, so that a lost answer is settled by looking for it."""
        body = {"name": name, "type": type, "provider": provider}
        if credential is not None:
            body["credential"] = credential
        try:
            answer = yield Request(NEW, json=body)
        except OutcomeUnknownError as unknown:
            listed = records.things(
                MODEL, (yield Request(LIST, params={"model_type": type})), "models"
            )
            wanted = {"credential": None, **body}
            found = [each for each in listed if wanted.items() <= each.items()]
            if len(found) != 1:
                raise unknown from None
            return found[0]
        return records.thing(MODEL, answer, "the model")

    def delete_model(self, model: str) -> Steps[None]:
        """Delete one."""
        yield Request(DELETE, {"model": model})

    def test_model(self, model: str) -> Steps[Record]:
        """Have one do a little of what it is for; a failure is an answer too."""
        answer = yield Request(TEST, {"model": model}, patient=True)
        return made(TESTED, records.mapping(answer, "the model's test"))

    def defaults(self) -> Steps[dict[str, str | None]]:
        """Read which model, by identifier, each of the seven slots has."""
        return _slots((yield Request(DEFAULTS)))

    def set_defaults(self, changes: Mapping[str, str | None]) -> Steps[dict[str, str | None]]:
        """Put models into slots, None empties one; slots that are not named stay."""
        return _slots((yield Request(SET_DEFAULTS, json=dict(changes))))

    def providers(self) -> Steps[list[Record]]:
        """List providers: those that can be used, then the others."""
        told = records.mapping((yield Request(PROVIDERS)), "models' providers")
        supported = records.mapping(told.get("supported_types") or {}, "models' providers")
        return [
            made(PROVIDER, {"provider": name, "available": there, "types": supported.get(name)})
            for there, names in ((True, told.get("available")), (False, told.get("unavailable")))
            for name in records.words(names)
        ]

    def discover(self, provider: str) -> Steps[list[Record]]:
        """List what a provider offers."""
        answer = yield Request(DISCOVER, {"provider": provider}, patient=True)
        return discovered(answer)

    def sync(self, provider: str | None) -> Steps[list[Record]]:
        """Add what providers offer and is not there yet; tell for each how many there were."""
        if provider is not None:
            answer = yield Request(SYNC_ONE, {"provider": provider}, patient=True)
            told = records.mapping(answer, "the provider's models")
            return [made(SYNCED, {"provider": provider, **told})]
        answer = yield Request(SYNC, patient=True)
        every = records.mapping(answer, "the providers' models")
        results = records.mapping(every.get("results"), "the providers' models")
        return [
            made(SYNCED, {**records.mapping(each, "a provider's models"), "provider": name})
            for name, each in results.items()
        ]

    def auto_assign(self) -> Steps[Record]:
        """Fill the slots that are empty, by the service's ranking of providers."""
        told = records.mapping((yield Request(AUTO_ASSIGN)), "the default models")
        assigned = records.mapping(told.get("assigned") or {}, "the default models")
        return {
            "assigned": dict(assigned),
            "skipped": records.words(told.get("skipped")),
            "missing": records.words(told.get("missing")),
        }

    def count_models(self, provider: str) -> Steps[Record]:
        """Count a provider's models by type."""
        answer = yield Request(COUNT, {"provider": provider})
        return made(COUNTED, records.mapping(answer, "the provider's models"))

    def models_of(self, provider: str) -> Steps[list[Record]]:
        """List a provider's models."""
        answer = yield Request(BY_PROVIDER, {"provider": provider})
        return records.things(MODEL, answer, "models")


def discovered(answer: Any) -> list[Record]:
    """Return what a provider offers, of which some may be there already."""
    return [made(DISCOVERED, each) for each in records.several(answer, "models on offer")]


def _slots(answer: Any) -> dict[str, str | None]:
    told = records.mapping(answer, "the default models")
    return {slot: told.get(slot) or None for slot in SLOTS}
