"""The built-in model: no language model, it quotes key sentences of the text that it is given."""

from __future__ import annotations

from labext.sandbox.nb.text import tokens
from labext.sandbox.nb.text.key_sentences import key_sentences

NAME = "extractive"

SENTENCES = 5
"""Sentences that are quoted."""

_INSTRUCTION_WORDS = """
    above add answer article brief bullet concise condition content describe document exactly
    extract fact find finding five four give idea important key line list main name note number one
    open order paragraph piece point question section sentence seven short six source state step
    summarise summarize summary ten text three title topic two unclear unknown word write
"""
_INSTRUCTION_STEMS = frozenset(tokens.stems(_INSTRUCTION_WORDS))
"""Stems of a prompt that say how to answer, not what about."""

NO_SENTENCES = "The text has no sentence that can be quoted."


def summary(text: str, count: int = SENTENCES) -> str:
    """Return the key sentences of a text, at most `count`, in the text's order."""
    return " ".join(key_sentences(text, count))


def quotations(text: str, prompt: str) -> str:
    """Return key sentences as a Markdown list of quotations; those with words of a prompt first."""
    topic = " ".join(stem for stem in tokens.stems(prompt) if stem not in _INSTRUCTION_STEMS)
    quotes = [f"- “{sentence}”" for sentence in key_sentences(text, SENTENCES, topic)]
    return "\n".join(quotes) or NO_SENTENCES
