"""Episodes that go: their rows, their sounds, and what is being done for them."""

from __future__ import annotations

from labext.sandbox.nb.podcasts import files, records, tasks
from labext.sandbox.service import Site

KILL_SECONDS = 5.0
"""How long an answer waits for the process to be gone."""


def remove(site: Site, identifier: str) -> dict[str, str]:
    """Remove an episode; one that is being made is stopped. Says so.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        episode = records.found(session, identifier)
        session.delete(episode)
        session.flush()
        files.remove_after_commit(session, site, identifier)
        stopped = site.queue.cancel_all(session, [tasks.key(identifier)], "Deleted.")
    site.queue.wait_all(site.database, stopped, KILL_SECONDS)
    return {"message": f"The episode {episode.name} is deleted.", "episode_id": identifier}
