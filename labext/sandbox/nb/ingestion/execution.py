"""Process one source, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files, settings
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import fetch, readers, reading, tasks
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile, clean_text
from labext.sandbox.nb.settings import get_limit
from labext.sandbox.nb.speech import transcription
from labext.sandbox.nb.tables import Source
from labext.sandbox.nb.task_process import ProgressWriter, open_site
from labext.sandbox.nb.text import segmentation
from labext.sandbox.nb.text.segmentation import PassageText
from labext.sandbox.nb.transformations import service

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_READING_SHARE = 0.9
"""How much of its time a source may take until models have made what they make of it."""

_BATCH_SIZE = 256
"""Passages that are embedded at once."""


@dataclass(frozen=True)
class _SourceJob:
    """What is to be processed, and within which limits."""

    kind: str
    file: SourceFile
    text: str | None
    url: str | None
    terms: fetch.FetchLimits


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Process a source: leaves its text, passages, vectors and insights in the folder `work`.

    Args:
        work: the working folder; what is made of the source is put there.
        payload: `source`, its identifier.

    Raises:
        TaskError: it has no text that can be read.
    """
    began, tell = time.monotonic(), ProgressWriter(work).set_stage
    with open_site(work) as site:
        until = began + _time_limit(site)
        found = _read_source(_load_job(site, payload["source"]), work, tell)
        tell("cutting into passages")
        pieces = segmentation.split_passages(found.pages)
        space, vectors = _embed_passages(site, pieces, tell)
        insights, remark = service.create_insights(site, found.text, tell, until)
    result = tasks.IngestionResult(
        found.text, found.title, pieces, insights, remark, vectors, space
    )
    tasks.write_result(work, result)
    return {"passages": len(pieces)}


def _time_limit(site: Site) -> float:
    """How long the process may be at it, with a rest to hand over what it has made."""
    with site.database.read() as session:
        return _READING_SHARE * get_limit(session, "source_seconds")


def _load_job(site: Site, identifier: str) -> _SourceJob:
    with site.database.read() as session:
        source = session.get(Source, identifier)
        if source is None:
            raise TaskError("The source was deleted.")
        most = get_limit(session, "text_bytes")
        terms = fetch.FetchLimits(
            get_limit(session, "page_seconds"),
            get_limit(session, "page_bytes"),
            settings.allows_private_fetches(session),
        )
        hear = partial(transcription.transcribe_by_default, site)
        file = SourceFile(
            files.original_path(site, identifier), source.file_name or "", most=most, hear=hear
        )
        return _SourceJob(source.kind, file, source.full_text, source.url, terms)


def _read_source(order: _SourceJob, work: Path, tell: OnStage) -> Document:
    """The source's text.

    Raises:
        UnreadableError: it has none.
    """
    try:
        if order.kind == "text":
            text = clean_text(order.text or "")
            return reading.check_text_length(
                Document([(None, text)], readers.find_heading(text)), order.file.most
            )
        if order.kind == "link":
            return _read_page(order, work, tell)
        return reading.read_file(order.file, tell)
    except UnreadableError:
        raise
    except FileNotFoundError:
        raise UnreadableError("Its file is gone; add it again.") from None
    except (MemoryError, RecursionError):
        raise UnreadableError(
            "It is too big or too deeply nested to be read; add it in parts."
        ) from None


def _read_page(order: _SourceJob, work: Path, tell: OnStage) -> Document:
    tell("fetching the page")
    page = fetch.fetch_page(order.url or "", work / "page", order.terms)
    file = replace(
        order.file, path=page.file, name=page.name, media_type=page.media_type, charset=page.charset
    )
    return reading.read_file(file, tell)


def _embed_passages(
    site: Site, pieces: Sequence[PassageText], tell: OnStage
) -> tuple[str | None, NDArray[np.float32] | None]:
    """The passages' vectors, and the space that they are in.

    None where none can be made now, because there is no model or its server fails: the source is
    found by its words.
    """
    from starlette.exceptions import HTTPException

    from labext.sandbox.nb.embedding.embedder import default_embedder

    tell("embedding")
    with site.database.read() as session:
        embedder = default_embedder(session, site)
    if embedder is None or not pieces:
        return None, None
    import numpy as np

    made = []
    try:
        for start in range(0, len(pieces), _BATCH_SIZE):
            tell(f"embedding, passage {start + 1} of {len(pieces)}")
            made.append(embedder.embed([each.text for each in pieces[start : start + _BATCH_SIZE]]))
    except HTTPException as error:
        print(f"The passages have no vectors yet: {error.detail}")
        return None, None
    return embedder.id, np.concatenate(made)
