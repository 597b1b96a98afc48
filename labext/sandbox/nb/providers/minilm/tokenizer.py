"""Split texts into the word pieces of all-MiniLM-L6-v2, as its BERT tokenizer does."""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path

MAX_TOKENS = 256
"""Tokens of a text that are considered, with the two special ones; the model was trained on 256."""

_MAX_WORD_LENGTH = 100
_CHARACTERS_PER_TOKEN = 16
"""Characters per token of which a text's beginning is cut off before it is split."""

_UNKNOWN, _START, _END = "[UNK]", "[CLS]", "[SEP]"
_CJK = re.compile("([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f])")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


def split_tokens(text: str) -> list[int]:
    """Return the identifiers of a text's first tokens, with the special ones around them."""
    pieces = vocabulary()
    tokens: list[int] = []
    for word in _words(text[: MAX_TOKENS * _CHARACTERS_PER_TOKEN]):
        tokens += _word_tokens(word)
        if len(tokens) >= MAX_TOKENS - 2:
            break
    return [pieces[_START], *tokens[: MAX_TOKENS - 2], pieces[_END]]


@functools.cache
def vocabulary() -> dict[str, int]:
    """Return the identifiers of the word pieces; common words have low ones."""
    lines = Path(__file__).with_name("vocab.txt").read_text("utf-8").split("\n")
    return {line: number for number, line in enumerate(lines) if line}


def _words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, in lower case and without accents."""
    text = text.lower()
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    text = unicodedata.normalize("NFD", _CJK.sub(r" \1 ", text))
    parts = []
    for char in text:
        category = unicodedata.category(char)
        if category == "Mn" or (category[0] == "C" and not char.isspace()):
            continue
        parts.append(f" {char} " if category[0] == "P" or char in "$+<=>^`|~" else char)
    return "".join(parts).split()


@functools.lru_cache(maxsize=50_000)
def _word_tokens(word: str) -> tuple[int, ...]:
    """Return the identifiers of the longest pieces that a word consists of."""
    pieces = vocabulary()
    unknown = (pieces[_UNKNOWN],)
    if len(word) > _MAX_WORD_LENGTH:
        return unknown
    tokens = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        end = len(word)
        while end > start and prefix + word[start:end] not in pieces:
            end -= 1
        if end == start:
            return unknown
        tokens.append(pieces[prefix + word[start:end]])
        start = end
    return tuple(tokens)
