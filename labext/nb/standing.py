"""Where the service is, what it says of itself, and whether it lets the caller in."""

from __future__ import annotations

from labext.errors import ServiceError, SignInError
from labext.nb.dialects.contract import Contract
from labext.nb.records import Record
from labext.nb.wire import Wire

_ONLINE = "online"
"""Of the database, in the service's word; with any other it can't tell what it has."""


def standing(wire: Wire, dialect: Contract) -> Record:
    """Return what `NotebookClient.status` tells."""
    told = wire.run(dialect.status())
    count: int | None = None
    signed_in: bool | None = None
    try:
        count, signed_in = len(wire.run(dialect.notebooks())), True
    except SignInError:
        signed_in = False
    except ServiceError:
        if told["database"] in (None, _ONLINE):
            raise
    return {
        "address": wire.transport.base_url.rstrip("/"),
        "dialect": dialect.name,
        **told,
        "signed_in": signed_in,
        "notebooks": count,
    }
