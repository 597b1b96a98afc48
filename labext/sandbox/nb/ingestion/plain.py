"""Reads plain text and Markdown; its title is its first heading."""

from __future__ import annotations

import re

from labext.sandbox.nb.ingestion import texts
from labext.sandbox.nb.ingestion.reading import File, Reading, Tell

_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_TITLE = re.compile(r"""(?m)^title:[ \t]*(["']?)(.+?)\1[ \t]*$""")
_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_HEADING = re.compile(r"(?m)^#{1,3}[ \t]+(.+?)[ \t#]*$|^(\S[^\n]*)\n(?:={3,}|-{3,})[ \t]*$")


def read(file: File, _tell: Tell) -> Reading:
    """Read a text."""
    text = texts.clean(texts.decoded(file.content(), file.charset))
    return Reading([(None, text)], heading(text))


def heading(text: str) -> str | None:
    """The title that a text gives itself in Markdown: in its front matter, or its first heading."""
    beginning = text[:100_000]
    matter = _MATTER.match(beginning)
    if matter is not None:
        named = _TITLE.search(matter[1])
        if named is not None:
            return named[2]
        beginning = beginning[matter.end() :]
    found = _HEADING.search(_FENCE.sub("", beginning))
    return None if found is None else found[1] or found[2]
