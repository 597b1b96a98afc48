"""Check Open Notebook's database when a record seems to be missing."""

from __future__ import annotations

from typing import Any, TypeVar

from labext.actions import Action
from labext.errors import LabextError, NotFoundError, ServiceError
from labext.nb import records
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import GET_CONFIG

ONLINE = "online"

T = TypeVar("T")


def check_database() -> Steps[None]:
    """Check that the database is online.

    Raises:
        ServiceError: the database is not online.
    """
    config: Any = records.require_mapping((yield Request(GET_CONFIG)), "its configuration")
    state = config.get("dbStatus")
    if isinstance(state, str) and state.casefold() != ONLINE:
        raise ServiceError(
            f"The notebook service is running, but its database is {state}.",
            "Start the database, or ask the administrator of the service; see {action}.",
            action=Action.show_service(),
        )


def check_database_on_failure(steps: Steps[T]) -> Steps[T]:
    """Run `steps`; if a record is missing or the server fails, check the database.

    Raises:
        ServiceError: the database is not online.
        LabextError: the error of `steps`.
    """
    try:
        return (yield from steps)
    except LabextError as error:
        if isinstance(error, NotFoundError) or _is_server_error(error):
            yield from check_database()
        raise


def _is_server_error(error: LabextError) -> bool:
    return isinstance(error, ServiceError) and error.status is not None and error.status >= 500
