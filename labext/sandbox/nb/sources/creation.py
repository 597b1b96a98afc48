"""Makes a source: its row, its place in a notebook and the task that processes it, all at once."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from labext.sandbox.nb import identifiers
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.notebooks.finding import notebook
from labext.sandbox.nb.sources import folders, forms, records, titles
from labext.sandbox.nb.sources.bodies import NewSource
from labext.sandbox.nb.sources.forms import Sent
from labext.sandbox.nb.store import Link, Source
from labext.sandbox.service import Site

_SHORTEST, _LONGEST = 0.02, 0.5
"""Seconds between two looks at whether a source is processed: a tenth of those waited already."""


async def make(site: Site, sent: Sent, request: Request) -> dict[str, Any]:
    """Make a source and return its record; without `process_async` once it is processed.

    Whether it is waited for or not, the same task processes it: it goes on if nobody waits any
    more, and after a kill of the service.

    Raises:
        HTTPException: 404, there is no such notebook.
    """
    try:
        identifier = await run_in_threadpool(_store, site, sent)
    finally:
        await run_in_threadpool(sent.form.discard)
    if not sent.told.process_async:
        await _processed(site, identifier, request)
    return await run_in_threadpool(records.one, site, identifier)


def _store(site: Site, sent: Sent) -> str:
    source = _source(site, sent)
    original = folders.original(site, source.id)
    try:
        with site.database.write() as session:
            session.add(source)
            session.flush()
            _link(session, source, sent.told.notebook_id)
            awaited = not sent.told.process_async
            tasks.put(session, site, source, titled=bool(sent.told.title), awaited=awaited)
            if sent.form.file is not None:
                sent.form.file.path.replace(original)
    except BaseException:
        original.unlink(missing_ok=True)
        raise
    return source.id


def _source(site: Site, sent: Sent) -> Source:
    told, file = sent.told, sent.form.file
    source = Source(id=identifiers.new("source"), topic=told.topic or "", title=told.title or "")
    if file is not None:
        source.kind, source.file_name = "upload", forms.file_name(file.name)
        source.media_type, source.size = file.media_type, file.size
    elif told.url is not None:
        source.kind, source.url = "link", told.url.strip()
    else:
        text = told.text or ""
        source.kind, source.full_text, source.size = "text", text, len(text.encode())
    source.title = source.title or _title(site, source, told)
    return source


def _title(site: Site, source: Source, told: NewSource) -> str:
    return titles.provisional(source) if told.text is None else titles.of_text(site, told.text)


def _link(session: Session, source: Source, notebook_id: str | None) -> None:
    if notebook_id is not None:
        notebook(session, notebook_id)
        session.add(Link(notebook_id=notebook_id, source_id=source.id))


async def _processed(site: Site, identifier: str, request: Request) -> None:
    """Wait until a source's task has ended, as long as somebody waits for the answer.

    No thread waits: there are few, and every service needs them.
    """
    began = time.monotonic()
    while await run_in_threadpool(_is_living, site, identifier):
        if await request.is_disconnected():
            return
        await asyncio.sleep(min(max(_SHORTEST, (time.monotonic() - began) / 10), _LONGEST))


def _is_living(site: Site, identifier: str) -> bool:
    with site.database.read() as session:
        return site.queue.find(session, tasks.key(identifier)) is not None
