"""The tokens and the cost of model calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Usage:
    """The tokens and the cost in US dollars of calls, as far as the provider states them.

    `calls` is the number of these calls.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    calls: int = field(default=0, compare=False)

    def add(self, stated: Mapping[str, Any]) -> None:
        """Add the usage that a provider states for one call."""
        self.calls += 1
        self.input_tokens += int(stated.get("input_tokens", 0))
        self.output_tokens += int(stated.get("output_tokens", 0))
        if "cost" in stated:
            self.cost = (self.cost or 0.0) + float(stated["cost"])

    def record(self) -> dict[str, Any] | None:
        """Return the record used in responses; None if no provider stated anything."""
        if self == Usage():
            return None
        return {name: value for name, value in vars(self).items() if name != "calls"}


@dataclass
class Monitor:
    """Observes model calls.

    Attributes:
        usage: the sum over the calls.
        on_words: called with the words of a reply as they arrive; None for replies in one piece.
        is_truncated: whether the last reply reached the limit of its length.
    """

    usage: Usage
    on_words: Callable[[str], None] | None = None
    is_truncated: bool = False
