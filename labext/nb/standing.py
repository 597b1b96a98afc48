"""Where the service is, what it says of itself, and whether it lets the caller in."""

from __future__ import annotations

from labext.errors import SignInError
from labext.nb.dialects.contract import Contract
from labext.nb.records import Record
from labext.nb.wire import Wire


def standing(wire: Wire, dialect: Contract) -> Record:
    """Return what `NotebookClient.status` tells."""
    told = wire.run(dialect.status())
    try:
        count: int | None = len(wire.run(dialect.notebooks()))
    except SignInError:
        count = None
    return {
        "address": wire.transport.base_url.rstrip("/"),
        "dialect": dialect.name,
        **told,
        "signed_in": count is not None,
        "notebooks": count,
    }
