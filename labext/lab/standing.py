"""How one stands with the platform: how much one may see, and what is left of the limit."""

from __future__ import annotations

from dataclasses import dataclass

from labext.lab.operations import SEQUENCES
from labext.transport import Transport
from labext.transport.rate_headers import RateWord, number


@dataclass(frozen=True)
class Standing:
    """What the platform tells beside its answers.

    Attributes:
        sequences: how many the caller may see; None where it doesn't say.
        rate: what it says of its rate limit; None where it doesn't.
    """

    sequences: int | None
    rate: RateWord | None


def standing(transport: Transport) -> Standing:
    """Ask for one sequence, and read the headers (real services, lab: `Result-Count`).

    Raises:
        LabextError: the platform refuses the list.
    """
    query: dict[str, str | int] = {"pageSize": 1, "returning": "dnaSequences.id"}
    headers = transport.send(SEQUENCES, params=query).headers
    found = number(headers.get("Result-Count"))
    return Standing(None if found is None else int(found), RateWord.of(headers))
