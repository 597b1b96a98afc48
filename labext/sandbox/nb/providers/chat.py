"""Ask any language model for a reply, for a title, or about a long text in parts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, settings
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import extractive, segmentation


def generate_reply(
    site: Site,
    model: Model,
    messages: Sequence[Mapping[str, str]],
    cancel_token: CancelToken | None = None,
    max_tokens: int | None = None,
) -> str:
    """A model's answer to a conversation.

    The built-in model is no language model: it returns key sentences of the last message.

    Args:
        site: the service's site.
        model: of type `llm`.
        messages: `{"role": "system|user|assistant", "content": …}` each, the last one the user's.
        cancel_token: cancels the call.
        max_tokens: of the answer; None leaves it to the server.

    Raises:
        HTTPException: 502, the model's server failed; 422, it can't be asked.
        CallCancelledError: if the call was cancelled.
    """
    if registry.is_built_in(model):
        return extractive.summarize(messages[-1]["content"])
    from labext.sandbox.nb.providers import openai  # and with it requests, which takes its time

    return openai.chat(site, model, messages, cancel_token, max_tokens)


MAX_TITLE_LENGTH = 80
"""Characters of a title that is made."""

UNTITLED = "Untitled"

_TITLE_PROMPT = "Give this text a title of at most eight words. Answer with the title alone."
_MAX_PROMPT_LENGTH = 8000
"""Characters that a model is given."""

_MAX_TEXT_LENGTH = 200_000
"""Characters of a text that the built-in model looks at."""


def generate_title(site: Site, content: str) -> str:
    """A title of at most `LONGEST` characters, made from what a text says.

    By the model of the slot `summary`, which may take its time: not within a transaction. Where it
    is the built-in one, or fails, by the text's own words.
    """
    with site.database.read() as session:
        model = registry.get_default_model(session, "summary")
    if model is not None and not registry.is_built_in(model):
        with contextlib.suppress(HTTPException):
            asked = f"{_TITLE_PROMPT}\n\n{content[:_MAX_PROMPT_LENGTH]}"
            said = generate_reply(site, model, [{"role": "user", "content": asked}])
            return shorten_title(said.strip("\"'“”*# \n"))
    return shorten_title(_extract_title(content[:_MAX_TEXT_LENGTH]))


def shorten_title(text: str) -> str:
    """The beginning of a text as a title: one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= MAX_TITLE_LENGTH:
        return line.rstrip(".:;,") or UNTITLED
    head = line[: MAX_TITLE_LENGTH - 1]
    return f"{(head.rpartition(' ')[0] or head).rstrip('.:;, ')}…"


def _extract_title(content: str) -> str:
    """A text's own heading, or else the sentence that says most of it."""
    first = next(iter(segmentation.split_sentences(content)), "")
    if first.startswith("#"):
        return first.lstrip("#")
    return extractive.summarize(content, 1)


AskModel = Callable[[str, str], str]
"""Takes a prompt and a text, and returns what a model makes of it."""

_SEAMS = ("\n\n", "\n", ". ", " ")
"""Where a text is rather cut, the best first."""


@dataclass(frozen=True)
class PartLimits:
    """How much of a text a model is given at once, in characters, and in how many parts at most."""

    characters: int
    parts: int


def part_limits(session: Session) -> PartLimits:
    """What the limits of the service say."""
    return PartLimits(
        settings.get_limit(session, "model_characters"), settings.get_limit(session, "model_parts")
    )


def ask_in_parts(ask: AskModel, prompt: str, text: str, terms: PartLimits) -> str:
    """What a model makes of a text of any length.

    Raises:
        HTTPException: 413, the text falls into too many parts.
    """
    if len(text) <= terms.characters:
        return ask(prompt, text)
    if len(text) > terms.characters * terms.parts:
        raise errors.too_large(
            f"The text has {len(text):,} characters; a model's server is given at most "
            f"{terms.characters * terms.parts:,}. Take a shorter text or the built-in model, or "
            "allow more: `labext sandbox nb limits set model_parts`."
        )
    pieces = split_text(text, terms.characters)
    made = [
        ask(f"{prompt}\n\nThis is part {number} of {len(pieces)} of a longer text.", piece)
        for number, piece in enumerate(pieces, 1)
    ]
    together = "\n\n".join(made)
    if len(together) > terms.characters:
        return together
    whole = (
        f"{prompt}\n\nThis was done with each part of a long text, and this is what came out. Make "
        "one answer of it, as if the text had been read at once; add nothing."
    )
    return ask(whole, together)


def split_text(text: str, most: int) -> list[str]:
    """A text in parts of at most `most` characters, cut between paragraphs, lines or sentences.

    A cut is at the first such seam from the end that leaves a part at least half full.
    """
    found = []
    while len(text) > most:
        ends = (text.rfind(seam, most // 2, most) + len(seam) for seam in _SEAMS)
        end = next((end for seam, end in zip(_SEAMS, ends, strict=True) if end >= len(seam)), most)
        found.append(text[:end].strip())
        text = text[end:]
    return [each for each in [*found, text.strip()] if each]
