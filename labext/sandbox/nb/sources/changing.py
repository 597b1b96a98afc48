"""Changes a source's title and topic, and has it processed again."""

from __future__ import annotations

import time
from typing import Any

from labext.sandbox.nb import faults
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.search import index
from labext.sandbox.nb.sources import records, titles
from labext.sandbox.nb.sources.bodies import SourceChange
from labext.sandbox.nb.store import FAILED, NEW
from labext.sandbox.service import Site


def change(site: Site, identifier: str, body: SourceChange) -> dict[str, Any]:
    """Change what is named; the source is found by its new title at once.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        source = records.found(session, identifier)
        if body.title is not None and body.title != source.title:
            source.title = body.title
            index.retitle(session, source.id, source.title)
        if body.topic is not None:
            source.topic = body.topic
        if body.model_dump(exclude_none=True):
            source.updated = time.time()
    return records.one(site, identifier)


def retry(site: Site, identifier: str) -> dict[str, Any]:
    """Have a failed source processed again (contract, States and transitions).

    Raises:
        HTTPException: 400, it has not failed; 404.
    """
    with site.database.write() as session:
        source = records.found(session, identifier)
        if source.status != FAILED and not source.remark:
            raise faults.invalid(f"Only a failed source is retried; this one is {source.status}.")
        source.status, source.stage, source.reason = NEW, "", None
        source.started = source.ended = None
        source.changed = source.updated = time.time()
        tasks.put(session, site, source, titled=not titles.is_provisional(source))
        session.flush()
        return records.record(session, site, source.id)
