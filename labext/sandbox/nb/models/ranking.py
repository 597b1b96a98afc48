"""Which model a default slot gets that has none: the first of the ranking.

1. A model of a provider that can be asked: one with a credential whose key can be read, or with a
   key in the service's environment.
2. Its provider's place in `providers.PROVIDERS`: servers of many good models, then routers to
   them, then servers of one's own, then the built-in models, which are small.
3. Among the built-in ones, the one that was installed on purpose: flite before espeak-ng.
4. The one that was added first; of those added at once, the first by its name.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from labext.sandbox.nb.models import keeping, reaching, registry
from labext.sandbox.nb.models.providers import NAMES
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site


def assigned(session: Session, site: Site) -> dict[str, Any]:
    """Give every slot that has no model the first of the ranking.

    Args:
        session: a writing one.
        site: has the queue, for the vectors of an embedding model.

    Returns:
        `assigned`, models' identifiers by slots; `skipped`, the slots that had a model; `missing`,
        those for which there is none.
    """
    there = keeping.defaults(session)
    empty = [slot for slot, identifier in there.items() if identifier is None]
    ranked = _ranked(session, site) if empty else []
    best = {slot: _first(ranked, registry.SLOTS[slot]) for slot in empty}
    found = {slot: model.id for slot, model in best.items() if model is not None}
    keeping.set_defaults(session, site, found)
    return {
        "assigned": found,
        "skipped": [slot for slot in there if slot not in empty],
        "missing": [slot for slot in empty if slot not in found],
    }


def _ranked(session: Session, site: Site) -> list[Model]:
    usable = reaching.configured(site, session) | {registry.BUILT_IN}
    models = [model for model in keeping.listed(session) if model.provider in usable]
    return sorted(models, key=_place)


def _place(model: Model) -> tuple[int, bool, float, str]:
    is_fallback = model.id == registry.FALLBACK
    return NAMES.index(model.provider), is_fallback, model.created, model.name


def _first(ranked: list[Model], kind: str) -> Model | None:
    return next((model for model in ranked if model.kind == kind), None)
