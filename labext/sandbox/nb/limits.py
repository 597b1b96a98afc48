"""Limits of the notebook service that an administrator may change."""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.validation import LimitDefinition, Limits
from labext.sandbox.nb import errors
from labext.sandbox.nb.tables import Limit


def _memory_limit(work: str, default: int) -> LimitDefinition:
    text = f"bytes of memory that {work} may take"
    return LimitDefinition(text, default, 128 << 20, 1 << 50, size=True)


LIMITS = Limits(
    Limit,
    {
        "requests": LimitDefinition(
            "requests in 10 seconds, after which 429, if the sandbox limits rates", 1000, 1, 10**9
        ),
        "upload_bytes": LimitDefinition(
            "bytes of one uploaded file", 2 << 30, 1, 1 << 50, size=True
        ),
        "text_bytes": LimitDefinition("bytes of one text or note", 64 << 20, 1, 1 << 40, size=True),
        "page_bytes": LimitDefinition("bytes of one fetched page", 32 << 20, 1, 1 << 40, size=True),
        "page_seconds": LimitDefinition("seconds that fetching a page may take", 30, 1, 3600),
        "model_seconds": LimitDefinition(
            "seconds that a model's server may take to answer", 300, 1, 86400
        ),
        "model_characters": LimitDefinition(
            "characters of a text per request to a model's server; longer texts are sent in parts",
            24_000,
            1000,
            10**9,
        ),
        "model_parts": LimitDefinition(
            "parts of a text that a model's server is given", 20, 1, 10_000
        ),
        "source_seconds": LimitDefinition(
            "seconds that processing a source may take", 900, 1, 86400
        ),
        "source_memory": _memory_limit("processing a source", 3 << 29),
        "podcast_seconds": LimitDefinition(
            "seconds that making an episode may take", 3600, 1, 86400
        ),
        "podcast_memory": _memory_limit("making an episode", 2 << 30),
        "embedding_memory": _memory_limit("embedding all passages again", 4 << 30),
    },
)

get_limit = LIMITS.value


def check_text_size(session: Session, *texts: str | None) -> None:
    """Check that texts are within the limit `text_bytes`; None counts as empty."""
    limit = get_limit(session, "text_bytes")
    for text in texts:
        size = len((text or "").encode())
        if size > limit:
            raise errors.too_large(
                f"The text has {size:,} bytes; the limit is {limit:,}. Shorten it, or allow more: "
                f"{admin_command('nb limits set text_bytes VALUE')}."
            )
