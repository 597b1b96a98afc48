"""What a source is called: as it was told, as it calls itself, or by its file or its address."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from labext.sandbox.nb.ingestion import plain, texts
from labext.sandbox.nb.models import titles
from labext.sandbox.nb.store import Source
from labext.sandbox.service import Site

_NAMED = 10_000
"""Characters of a text among which a title is looked for."""


def of_text(site: Site, text: str) -> str:
    """The title of a text: its heading, or one made from what it says."""
    beginning = text[:_NAMED]
    return texts.title(plain.heading(beginning)) or titles.title_of(site, beginning)


def provisional(source: Source) -> str:
    """The title of an upload or a link until its own is known, or for good."""
    if source.kind == "upload":
        return source.file_name or "file"
    parts = urlsplit(source.url or "")
    path = unquote(parts.path, errors="replace").rstrip("/")
    return texts.title(f"{parts.hostname}{path}") or "page"


def is_provisional(source: Source) -> bool:
    """Whether a source may still be given the title that it calls itself."""
    return source.kind != "text" and source.title == provisional(source)
