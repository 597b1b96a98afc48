"""Citations, as the contract's server gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.nb.answers import Citation


def citations(told: Any) -> tuple[Citation, ...]:
    """Return the citations of an answer; none where the server gives none."""
    if not isinstance(told, list):
        return ()
    return tuple(_citation(each) for each in told if isinstance(each, Mapping) and each.get("id"))


def _citation(told: Mapping[str, Any]) -> Citation:
    page = told.get("page")
    return Citation(
        str(told["id"]),
        str(told.get("title") or ""),
        str(told.get("quote") or ""),
        str(told.get("passage") or ""),
        page if isinstance(page, int) else None,
    )
