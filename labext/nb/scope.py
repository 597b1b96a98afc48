"""What a search, a question or a chat may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Scope:
    """Sources and notes by identifier, None for every one; and whether either kind counts at all.

    Where only sources or only notes are named, nothing of the other kind counts.
    """

    sources: tuple[str, ...] | None = None
    notes: tuple[str, ...] | None = None
    include_sources: bool = True
    include_notes: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at."""
        return not (self.includes("source") or self.includes("note"))

    def holds(self, kind: str, identifier: str) -> bool:
        """Say whether something of a kind is in it; of another kind nobody knows."""
        if kind not in ("source", "note"):
            return True
        named = self.sources if kind == "source" else self.notes
        return self.includes(kind) and (named is None or identifier in named)

    def includes(self, kind: str) -> bool:
        """Say whether anything of a kind, `source` or `note`, counts."""
        own, other = self.sources, self.notes
        included = self.include_sources
        if kind == "note":
            own, other, included = other, own, self.include_notes
        if own is not None:
            return included and bool(own)
        return included and other is None


@dataclass(frozen=True)
class Question:
    """A question, what it is answered from, and by which models (identifiers)."""

    text: str
    scope: Scope
    limit: int | None = None
    min_similarity: float | None = None
    model_override: str | None = None
    strategy_model: str | None = None
    answer_model: str | None = None
    final_answer_model: str | None = None


@dataclass(frozen=True)
class Prepared:
    """What goes with a message of a chat.

    Attributes:
        context: as the service wants it.
        tokens: how large that is for a model; None where the service gathers it by itself.
    """

    context: Mapping[str, Any]
    tokens: int | None = None
