"""Processes one source, in the source's own process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.sandbox.nb import limits, settings
from labext.sandbox.nb.ingestion import fetching, plain, reading, results, texts
from labext.sandbox.nb.ingestion.reading import File, Reading, Tell
from labext.sandbox.nb.ingestion.reasons import Unreadable
from labext.sandbox.nb.processes import opened
from labext.sandbox.nb.search import passages
from labext.sandbox.nb.search.passages import Piece
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.speech import hearing
from labext.sandbox.nb.stages import Stages
from labext.sandbox.nb.store import Source
from labext.sandbox.nb.transformations import ingesting
from labext.sandbox.runner import TaskError
from labext.sandbox.service import Site

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REST = 0.9
"""How much of its time a source may take until models have made what they make of it."""

_BATCH = 256
"""Passages that are embedded at once."""


@dataclass(frozen=True)
class _Order:
    """What is to be processed, and within which limits."""

    kind: str
    file: File
    text: str | None
    url: str | None
    terms: fetching.Terms


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Process a source: leaves its text, passages, vectors and insights in the folder `work`.

    Args:
        work: the working folder; what is made of the source is put there.
        payload: `source`, its identifier.

    Raises:
        TaskError: it has no text that can be read.
    """
    began, tell = time.monotonic(), Stages(work).tell
    with opened(work) as site:
        until = began + _seconds(site)
        found = _read(_order(site, payload["source"]), work, tell)
        tell("cutting into passages")
        pieces = passages.pieces(found.pages)
        space, vectors = _embedded(site, pieces, tell)
        insights, remark = ingesting.insights(site, found.text, tell, until)
    result = results.Result(found.text, found.title, pieces, insights, remark, vectors, space)
    results.write(work, result)
    return {"passages": len(pieces)}


def _seconds(site: Site) -> float:
    """How long the process may be at it, with a rest to hand over what it has made."""
    with site.database.read() as session:
        return _REST * limits.limit(session, "source_seconds")


def _order(site: Site, identifier: str) -> _Order:
    with site.database.read() as session:
        source = session.get(Source, identifier)
        if source is None:
            raise TaskError("The source was deleted.")
        most = limits.limit(session, "text_bytes")
        terms = fetching.Terms(
            limits.limit(session, "page_seconds"),
            limits.limit(session, "page_bytes"),
            settings.private_fetches(session),
        )
        hear = partial(hearing.by_slot, site)
        file = File(
            folders.original(site, identifier), source.file_name or "", most=most, hear=hear
        )
        return _Order(source.kind, file, source.full_text, source.url, terms)


def _read(order: _Order, work: Path, tell: Tell) -> Reading:
    """The source's text.

    Raises:
        Unreadable: it has none.
    """
    try:
        if order.kind == "text":
            text = texts.clean(order.text or "")
            return reading.checked(Reading([(None, text)], plain.heading(text)), order.file.most)
        if order.kind == "link":
            return _read_page(order, work, tell)
        return reading.read(order.file, tell)
    except Unreadable:
        raise
    except FileNotFoundError:
        raise Unreadable("Its file is gone; add it again.") from None
    except (MemoryError, RecursionError):
        raise Unreadable(
            "It is too big or too deeply nested to be read; add it in parts."
        ) from None


def _read_page(order: _Order, work: Path, tell: Tell) -> Reading:
    tell("fetching the page")
    page = fetching.fetch(order.url or "", work / "page", order.terms)
    file = replace(
        order.file, path=page.file, name=page.name, media_type=page.media_type, charset=page.charset
    )
    return reading.read(file, tell)


def _embedded(
    site: Site, pieces: Sequence[Piece], tell: Tell
) -> tuple[str | None, NDArray[np.float32] | None]:
    """The passages' vectors, and the space that they are in.

    None where none can be made now, because there is no model or its server fails: the source is
    found by its words.
    """
    from starlette.exceptions import HTTPException

    from labext.sandbox.nb.search.embedding import embedder_of

    tell("embedding")
    with site.database.read() as session:
        embedder = embedder_of(session, site)
    if embedder is None or not pieces:
        return None, None
    import numpy as np

    made = []
    try:
        for start in range(0, len(pieces), _BATCH):
            tell(f"embedding, passage {start + 1} of {len(pieces)}")
            made.append(embedder.embed([each.text for each in pieces[start : start + _BATCH]]))
    except HTTPException as error:
        print(f"The passages have no vectors yet: {error.detail}")
        return None, None
    return embedder.id, np.concatenate(made)
