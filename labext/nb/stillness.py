"""What it usually means that nothing moves, for whoever watches and is told no more.

A server that tells no stages looks the same while it works and after its worker was killed (real
services, section nb): only how long it has been so tells them apart, and only by likelihood. So it
is said, and nothing is ended for it.
"""

from __future__ import annotations

from typing import NamedTuple

QUEUED = frozenset({"new", "queued", "submitted", "pending", "in queue"})
"""The words for what has not been begun."""


class _Standstill(NamedTuple):
    """When something stands still, and what is said of it then."""

    seconds: float
    words: str


_STOP = "Interrupting ends the watching only"
_UNTAKEN = _Standstill(
    60.0,
    "It waits to be begun: usually no worker is running on the server, or it is busy with other "
    f"things. {_STOP}; whoever runs the server can see whether its worker is up.",
)
_SOURCE = _Standstill(
    60.0,
    "A long file may take this long; if its worker was killed or is stuck, it stays like this. "
    f"{_STOP}; `%nb sources retry` has it processed again, `%nb sources delete` takes it away.",
)
_EPISODE = _Standstill(
    900.0,
    "An episode takes its time, and not every server tells how far it is; if its worker was "
    f"killed, it stays like this. {_STOP}; `%nb episodes` shows later what has become of it.",
)


def of_source(status: str, unchanged: float) -> str:
    """Return what it means that a source has been as it is for so many seconds; else nothing."""
    return _said(_UNTAKEN if status.casefold() in QUEUED else _SOURCE, unchanged)


def of_episode(status: str, unchanged: float) -> str:
    """Return what it means that an episode has been as it is for so many seconds; else nothing."""
    return _said(_UNTAKEN if status.casefold() in QUEUED else _EPISODE, unchanged)


def _said(case: _Standstill, unchanged: float) -> str:
    return case.words if unchanged >= case.seconds else ""
