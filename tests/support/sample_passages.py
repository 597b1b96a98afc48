"""Passages of sample sources, as a search returns them, and a model with scripted replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from labext.sandbox.nb.search.ranking import Hit


def hit(
    parent: str, number: int, text: str, page: int | None = None, similarity: float | None = None
) -> Hit:
    return Hit(parent, f"Title of {parent}", number, text, page, similarity, 1.0)


PAPER = hit(
    "source:paper",
    1,
    "# Control\n\nGlucose lowers the level of cyclic AMP, so that CAP no longer binds. For this "
    "reason glucose is added to the\nuninduced culture at 0.2 %. Cells grew at 37 °C. "
    "Is that warm?",
    3,
)
METHODS = hit(
    "source:paper",
    2,
    "- Cells were induced with 0.2 % arabinose for four hours.\n- Fluorescence was read every 15 "
    "minutes.",
)
NOTE = hit("note:plan", 3, "Ask Dana before the freezer is defrosted. Vary arabinose first.")
PASSAGES = [PAPER, METHODS, NOTE]
HEADER = "Run | Ethanol (g/L) | OD600"
TABLE = replace(
    hit("source:runs", 4, "R25 | 11.22 | 4.2\nR26 | 11.35 | 4.4"), heading=f"Runs › {HEADER}"
)


class Model:
    """A language model with scripted replies that records the messages."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.sent: list[list[Mapping[str, str]]] = []

    def __call__(self, messages: Sequence[Mapping[str, str]]) -> str:
        self.sent.append(list(messages))
        return self.replies.pop(0)
