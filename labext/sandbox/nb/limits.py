"""The service's limits, which its contract leaves open; the database has the changed ones."""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.limits import Bounds, Limits
from labext.sandbox.nb import faults
from labext.sandbox.nb.store import Limit

LIMITS = Limits(
    Limit,
    {
        "requests": Bounds(
            "requests in 10 seconds, after which 429, with the sandbox's `--rate named`",
            1000,
            1,
            10**9,
        ),
        "upload_bytes": Bounds("bytes of one uploaded file", 2 << 30, 1, 1 << 50, size=True),
        "text_bytes": Bounds("bytes of one text or note", 64 << 20, 1, 1 << 40, size=True),
        "page_bytes": Bounds("bytes of one fetched page", 32 << 20, 1, 1 << 40, size=True),
        "page_seconds": Bounds("seconds that fetching a page may take", 30, 1, 3600),
        "model_seconds": Bounds("seconds that a model's server may take to answer", 300, 1, 86400),
        "model_characters": Bounds(
            "characters of a text that a model's server is given at once; longer ones in parts",
            24_000,
            1000,
            10**9,
        ),
        "model_parts": Bounds("parts of a text that a model's server is given", 20, 1, 10_000),
        "source_seconds": Bounds("seconds that processing a source may take", 900, 1, 86400),
        "source_memory": Bounds(
            "bytes of memory that processing a source may take",
            3 << 29,
            128 << 20,
            1 << 50,
            size=True,
        ),
        "podcast_seconds": Bounds("seconds that making an episode may take", 3600, 1, 86400),
        "podcast_memory": Bounds(
            "bytes of memory that making an episode may take",
            2 << 30,
            128 << 20,
            1 << 50,
            size=True,
        ),
        "embedding_memory": Bounds(
            "bytes of memory that embedding all passages anew may take",
            4 << 30,
            128 << 20,
            1 << 50,
            size=True,
        ),
    },
)

limit = LIMITS.value


def check_text(session: Session, *texts: str | None) -> None:
    """See that each of some texts is within the limit `text_bytes`; None is none.

    Raises:
        HTTPException: 413.
    """
    most = limit(session, "text_bytes")
    for text in texts:
        size = len((text or "").encode())
        if size > most:
            raise faults.too_large(f"The text has {size:,} bytes; at most {most:,} are taken.")
