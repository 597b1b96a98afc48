"""Titles of what was given none."""

from __future__ import annotations

from labext.sandbox.nb.models import extractive, words
from labext.sandbox.service import Site

LONGEST = 80
"""Characters of a title that is made."""

UNTITLED = "Untitled"


def title_of(site: Site, content: str) -> str:
    """A title of at most `LONGEST` characters, made from what a text says."""
    del site
    return shortened(_words_of(content))


def shortened(text: str) -> str:
    """The beginning of a text as a title: one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= LONGEST:
        return line.rstrip(".:;,") or UNTITLED
    head = line[: LONGEST - 1]
    return f"{(head.rpartition(' ')[0] or head).rstrip('.:;, ')}…"


def _words_of(content: str) -> str:
    """A text's own heading, or else the sentence that says most of it."""
    first = next(iter(words.sentences(content)), "")
    if first.startswith("#"):
        return first.lstrip("#")
    return extractive.summary(content, 1)
