"""What the service may do for its users beyond what is safe anywhere."""

from __future__ import annotations

from labext.sandbox.nb import settings
from labext.sandbox.nb.administration import Administration, Record


def set_private_fetches(admin: Administration, allowed: bool) -> Record:
    """Say whether pages of this machine and of its own network may be fetched as sources."""
    with admin.database.write() as session:
        settings.change(session, settings.PRIVATE_FETCHES, "yes" if allowed else None)
    return {"private_fetches": allowed}
