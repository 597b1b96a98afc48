"""Whether Open Notebook's database is there: without it, it answers as if things were not.

With the database down notebooks are answered with a 500, notes with a 404 (real services, Traps):
a note would seem to be gone, and its deletion to have succeeded.
"""

from __future__ import annotations

from typing import Any, TypeVar

from labext.errors import LabextError, NotFoundError, ServiceError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects.contract import CONFIG

ONLINE = "online"

T = TypeVar("T")


def alive() -> Steps[None]:
    """See that the database is there.

    Raises:
        ServiceError: it is not.
    """
    told: Any = records.mapping((yield Request(CONFIG)), "its configuration")
    state = told.get("dbStatus")
    if isinstance(state, str) and state.casefold() != ONLINE:
        raise ServiceError(
            f"The notebook service runs, but its database is {state}.",
            "Start the database, or ask whoever runs the service; see `%nb status`.",
        )


def asked(request: Request) -> Steps[Any]:
    """Ask one thing; return its answer as it is."""
    return (yield request)


def or_down(steps: Steps[T]) -> Steps[T]:
    """Do `steps`; where something is said not to be there, see that the database is.

    Raises:
        ServiceError: the database is not there.
        LabextError: what `steps` raises.
    """
    try:
        return (yield from steps)
    except LabextError as error:
        if isinstance(error, NotFoundError) or _is_broken(error):
            yield from alive()
        raise


def _is_broken(error: LabextError) -> bool:
    return isinstance(error, ServiceError) and error.status is not None and error.status >= 500
