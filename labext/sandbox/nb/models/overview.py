"""What there is of each provider."""

from __future__ import annotations

from collections import Counter
from typing import Any

from labext.sandbox.nb.models import keeping, reaching
from labext.sandbox.nb.models.providers import NAMES, PROVIDERS, checked
from labext.sandbox.nb.models.registry import BUILT_IN, KINDS, built_in
from labext.sandbox.service import Site


def providers(site: Site) -> dict[str, Any]:
    """The providers that can be asked and those that can't yet, and the types that each has."""
    with site.database.read() as session:
        ready = reaching.configured(site, session) | {BUILT_IN}
    here = {kind for _, kind in built_in().values()}
    types = {name: list(known.kinds) for name, known in PROVIDERS.items()}
    return {
        "available": [name for name in NAMES if name in ready],
        "unavailable": [name for name in NAMES if name not in ready],
        "supported_types": types | {BUILT_IN: [kind for kind in KINDS if kind in here]},
    }


def count(site: Site, provider: str) -> dict[str, Any]:
    """How many models of a provider there are, by their types.

    Raises:
        HTTPException: 400, there is no such provider.
    """
    with site.database.read() as session:
        found = Counter(each.kind for each in keeping.listed(session, provider=checked(provider)))
    counts = {kind: found[kind] for kind in KINDS}
    return {"provider": provider, "counts": counts, "total": found.total()}
