"""Process one source in its own process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy.orm import undefer
from starlette.exceptions import HTTPException

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files, settings
from labext.sandbox.nb.background_tasks import ProgressWriter, open_site
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.embedding.embedder import PassageEmbeddings, default_embedder
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import fetch, readers, reading, tasks
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile, clean_text
from labext.sandbox.nb.limits import get_limit
from labext.sandbox.nb.speech import transcription
from labext.sandbox.nb.tables import Source
from labext.sandbox.nb.text import passages
from labext.sandbox.nb.text.passages import PassageText
from labext.sandbox.nb.transformations.service import create_insights

_READING_SHARE = 0.9
"""Share of the time limit after which no more insights are created."""

_BATCH_SIZE = 16
"""Passages per embedding batch."""


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Process a source: write its text, passages, vectors and insights to the folder `work`."""
    started, on_stage = time.monotonic(), ProgressWriter(work).set_stage
    with open_site(work) as site:
        with site.database.read() as session:
            source = session.get(Source, payload["source"], options=[undefer(Source.full_text)])
            if source is None:
                raise TaskError("The source was deleted.")
            deadline = started + _READING_SHARE * get_limit(session, "source_seconds")
            file = SourceFile(
                site.files.local(files.original_name(source.id)),
                source.file_name or "",
                max_bytes=get_limit(session, "text_bytes"),
                hear=partial(transcription.transcribe_by_default, site),
            )
            fetch_limits = fetch.FetchLimits(
                get_limit(session, "page_seconds"),
                get_limit(session, "page_bytes"),
                settings.allows_private_fetches(session),
            )
        document = _read_source(source, file, fetch_limits, work, on_stage)
        on_stage("cutting into passages")
        pieces = passages.split_passages(document.pages)
        if document.transcript is not None:
            pieces = passages.with_confidence(pieces, document.transcript.confidences)
        keeps_title = payload.get("titled") or not tasks.has_provisional_title(source)
        title = source.title if keeps_title else document.title or source.title
        embeddings = _embed_passages(site, title, pieces, on_stage)
        insights, remark = create_insights(site, document.text, on_stage, deadline)
    result = tasks.IngestionResult(
        document.text,
        document.title,
        pieces,
        insights,
        " ".join(filter(None, [document.remark, remark])) or None,
        embeddings,
        None if document.transcript is None else document.transcript.model,
    )
    tasks.write_result(work, result)
    return {"passages": len(pieces)}


def _read_source(
    source: Source, file: SourceFile, limits: fetch.FetchLimits, work: Path, on_stage: OnStage
) -> Document:
    """Return the source's text; raise UnreadableError if it has none."""
    try:
        if source.kind == "text":
            text = clean_text(source.full_text or "")
            document = Document([(None, text)], readers.find_heading(text))
            return reading.check_text_length(document, file.max_bytes)
        if source.kind == "link":
            on_stage("fetching the page")
            page = fetch.fetch_page(source.url or "", work / "page", limits)
            file = replace(file, **vars(page))
        return reading.read_file(file, on_stage)
    except reading.NoTextError:
        if source.kind != "link":
            raise
        raise UnreadableError(
            "The page contains no text; it may need a sign-in or JavaScript: save it in a browser, "
            "such as in PDF, and add the file."
        ) from None
    except FileNotFoundError:
        raise UnreadableError("The file no longer exists; add it again.") from None
    except (MemoryError, RecursionError):
        raise UnreadableError(
            "It is too big or too deeply nested to be read; add it in parts."
        ) from None


def _embed_passages(
    site: Site, title: str, pieces: Sequence[PassageText], on_stage: OnStage
) -> PassageEmbeddings | None:
    """Return the embeddings of the passages.

    None if there is no model, its server fails, or a task in the background embeds them as they are
    many; the source can be found by its words.
    """
    if not 0 < len(pieces) <= passage_vectors.MAX_FOREGROUND_PASSAGES:
        return None
    on_stage("embedding")
    with site.database.read() as session:
        embedder = default_embedder(session, site)
    if embedder is None:
        return None
    import numpy as np

    batches = []
    try:
        for start in range(0, len(pieces), _BATCH_SIZE):
            on_stage(f"embedding, passage {start + 1} of {len(pieces)}")
            batch = pieces[start : start + _BATCH_SIZE]
            contexts = [passage_vectors.passage_context(title, piece.heading) for piece in batch]
            batches.append(embedder.embed_passages([piece.text for piece in batch], contexts))
    except HTTPException as error:
        print(f"The passages have no vectors yet: {error.detail}")
        return None
    return PassageEmbeddings(
        embedder.id,
        np.concatenate([batch.vectors for batch in batches]),
        [signs for batch in batches for signs in batch.token_signs],
    )
