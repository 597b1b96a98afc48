"""The transformations that are there from the start; what was deleted stays away."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from labext.sandbox.nb import identifiers
from labext.sandbox.nb.store import Seeded, Transformation
from labext.sandbox.seeding import once


@dataclass(frozen=True)
class _Seed:
    name: str
    description: str
    prompt: str
    by_default: bool = False


SEEDS = (
    _Seed(
        "Key findings",
        "What a text says above all; made of every new source.",
        "List the key findings of the text: its five most important sentences.",
        by_default=True,
    ),
    _Seed(
        "Summary",
        "A text in short.",
        "Summarise the text in one paragraph of at most six sentences.",
    ),
    _Seed(
        "Methods and materials",
        "What was used and done, with amounts and conditions.",
        "List every reagent, device and step of the methods, with concentrations, amounts, "
        "temperatures and times.",
    ),
    _Seed(
        "Open questions",
        "What a text asks, or leaves open.",
        "List the open questions: what the text asks, and what it says is unknown, unclear or to "
        "be tested.",
    ),
)


def seed(session: Session) -> None:
    """Make those that were never made."""
    for each in SEEDS:
        if once(session, Seeded, f"transformation {each.name}"):
            session.add(
                Transformation(
                    id=identifiers.new("transformation"),
                    name=each.name,
                    title=each.name,
                    description=each.description,
                    prompt=each.prompt,
                    by_default=each.by_default,
                )
            )
