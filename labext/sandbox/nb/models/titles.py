"""Titles of what was given none."""

from __future__ import annotations

import contextlib

from starlette.exceptions import HTTPException

from labext.sandbox.nb.models import chatting, extractive, registry
from labext.sandbox.nb.text import tokens
from labext.sandbox.service import Site

LONGEST = 80
"""Characters of a title that is made."""

UNTITLED = "Untitled"

_ASK = "Give this text a title of at most eight words. Answer with the title alone."
_READ = 8000
"""Characters that a model is given."""

_LOOKED_AT = 200_000
"""Characters of a text that the built-in model looks at."""


def title_of(site: Site, content: str) -> str:
    """A title of at most `LONGEST` characters, made from what a text says.

    By the model of the slot `summary`, which may take its time: not within a transaction. Where it
    is the built-in one, or fails, by the text's own words.
    """
    with site.database.read() as session:
        model = registry.default(session, "summary")
    if model is not None and not registry.is_built_in(model):
        with contextlib.suppress(HTTPException):
            asked = f"{_ASK}\n\n{content[:_READ]}"
            said = chatting.reply(site, model, [{"role": "user", "content": asked}])
            return shortened(said.strip("\"'“”*# \n"))
    return shortened(_words_of(content[:_LOOKED_AT]))


def shortened(text: str) -> str:
    """The beginning of a text as a title: one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= LONGEST:
        return line.rstrip(".:;,") or UNTITLED
    head = line[: LONGEST - 1]
    return f"{(head.rpartition(' ')[0] or head).rstrip('.:;, ')}…"


def _words_of(content: str) -> str:
    """A text's own heading, or else the sentence that says most of it."""
    first = next(iter(tokens.sentences(content)), "")
    if first.startswith("#"):
        return first.lstrip("#")
    return extractive.summary(content, 1)
