"""`%jobs usage`: what was used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext_magics import kinds
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = ("weighted_hours", "jobs")
SCOPES = ("user", "organization")


def usage(call: Call, *, statistic: str | None, scope: str | None) -> pd.DataFrame:
    """Return what was used: a row for the total, for each tool and for each user."""
    return call.jobs.usage(statistic or STATISTICS[0], scope or SCOPES[0])


USAGE = Command(
    "usage",
    "Show what was used: in all, by tool and by user.",
    usage,
    options=[
        Parameter("statistic", kinds.choice(*STATISTICS), "what is counted; else weighted hours"),
        Parameter("scope", kinds.choice(*SCOPES), "whose, where you may see it; else your own"),
        OUT,
    ],
    examples=["hours = %jobs usage --statistic weighted_hours --scope user"],
)
