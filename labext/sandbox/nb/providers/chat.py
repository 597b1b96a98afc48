"""Ask any language model for a reply, for a title, or about a long text in parts."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, limits
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.usage import Monitor
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import extractive, passages, segmentation


def generate_reply(
    site: Site,
    model: Model,
    messages: Sequence[Mapping[str, str]],
    cancel_token: CancelToken | None = None,
    max_tokens: int | None = None,
    monitor: Monitor | None = None,
) -> str:
    """Return a model's reply to a conversation; the monitor receives its words as they arrive.

    The built-in model is not a language model: it returns key sentences of the last message.
    """
    if registry.is_built_in(model):
        return extractive.summarize(messages[-1]["content"])
    from labext.sandbox.nb.providers import calls  # imports requests, which is slow

    return calls.chat(site, model, messages, cancel_token, max_tokens, monitor)


_MAX_VALUES = 2000


def parse_json(reply: str, opening: str) -> Iterator[Any]:
    """Yield the JSON values in a reply that begin with `{` or `[`, ignoring text around them.

    Of a truncated value, those within it are yielded.
    """
    decoder = json.JSONDecoder(strict=False)
    start = 0
    for _ in range(_MAX_VALUES):
        start = reply.find(opening, start)
        if start < 0:
            return
        try:
            value, start = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        yield value


MAX_TITLE_LENGTH = 80
"""Maximum characters of a generated title."""

UNTITLED = "Untitled"

_TITLE_PROMPT = "Give this text a title of at most eight words. Answer with the title alone."
_MAX_PROMPT_LENGTH = 8000
"""Characters of the text sent to a model."""

_MAX_TEXT_LENGTH = 200_000
"""Characters of the text considered by the built-in model."""


def generate_title(site: Site, content: str) -> str:
    """Return a title of at most `MAX_TITLE_LENGTH` characters for a text.

    Uses the model of the slot `summary`, which may be slow: do not call within a transaction. If
    that is the built-in model or it fails, the title is taken from the text.
    """
    with site.database.read() as session:
        model = registry.get_default_model(session, "summary")
    if model is not None and not registry.is_built_in(model):
        with contextlib.suppress(HTTPException):
            prompt = f"{_TITLE_PROMPT}\n\n{content[:_MAX_PROMPT_LENGTH]}"
            reply = generate_reply(site, model, [{"role": "user", "content": prompt}])
            return shorten_title(reply.strip("\"'“”*# \n"))
    return shorten_title(_extract_title(content[:_MAX_TEXT_LENGTH]))


def shorten_title(text: str) -> str:
    """Return the beginning of a text as a title: one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= MAX_TITLE_LENGTH:
        return line.rstrip(".:;,") or UNTITLED
    head = line[: MAX_TITLE_LENGTH - 1]
    return f"{(head.rpartition(' ')[0] or head).rstrip('.:;, ')}…"


def _extract_title(content: str) -> str:
    """Return a text's own heading, or else its key sentence, if it is no row, or its first line."""
    first = next(iter(segmentation.split_sentences(content)), "")
    if first.startswith("#"):
        return first.lstrip("#")
    line = first.partition("\n")[0].strip("| ")
    sentence = extractive.summarize(content, 1)
    is_row = passages.CELL_SEPARATOR in f" {sentence} "
    return line.removeprefix("- ").replace("**", "") if is_row or not sentence else sentence


AskModel = Callable[[str, str], str]
"""Takes a prompt and a text, and returns a model's reply."""


def ask_in_parts(
    site: Site, ask: AskModel, prompt: str, text: str, ask_last: AskModel | None = None
) -> str:
    """Return a model's reply about a text of any length.

    `ask_last` is used instead of `ask` for the call whose reply is returned.
    """
    with site.database.read() as session:
        max_length = limits.get_limit(session, "model_characters")
        longest = max_length * limits.get_limit(session, "model_parts")
    if len(text) <= max_length:
        return (ask_last or ask)(prompt, text)
    if len(text) > longest:
        raise errors.too_large(
            f"The text has {len(text):,} characters; a model's server is given at most "
            f"{longest:,}. Take a shorter text or the built-in model, or allow more: "
            f"{admin_command('nb limits set model_parts VALUE')}."
        )
    pieces = segmentation.split_text(text, max_length)
    replies = [
        ask(f"{prompt}\n\nThis is part {number} of {len(pieces)} of a longer text.", piece)
        for number, piece in enumerate(pieces, 1)
    ]
    together = "\n\n".join(replies)
    if len(together) > max_length:
        return together
    merge_prompt = (
        f"{prompt}\n\nThis was done with each part of a long text, and this is what came out. Make "
        "one answer of it, as if the text had been read at once; add nothing."
    )
    return (ask_last or ask)(merge_prompt, together)
