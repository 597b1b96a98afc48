"""Sentences of a text, and the words in them that say what they are about.

A sentence is a part of the text as it stands: `sentence in text` is always true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEFORE_NAMES = frozenset({"dr", "mr", "mrs", "ms", "prof", "st", "cf", "vs", "e.g", "i.e"})
"""What a full stop behind it never ends a sentence."""

_BEFORE_NUMBERS = frozenset(
    {"al", "approx", "ca", "eq", "eqs", "fig", "figs", "no", "nr", "p", "pp", "ref", "refs"}
    | {"sec", "tab", "vol"}
)
"""What a full stop behind it ends no sentence before a number."""

_COMMON = """
    a about above after again all also although am an and another any are as at be became because
    become been before being below between both but by came can cannot come could did do does doing
    done down during each either else even ever every few for from further get give given go had has
    have having he her here hers him his how however i if in instead into is it its itself just let
    like made make many may me might mine more most much must my neither no nor not now of off often
    on once one only onto or other our out over own per please quite rather really same say says
    shall she should show since so some such take tell than that the their them then there therefore
    these they this those though through thus to too under until up upon us use used uses using very
    via was we well were what when where whether which while who whom whose why will with within
    without would yes yet you your explain describe does happen happens know mean means
"""
_STOPS = frozenset(_COMMON.split())
"""Words that say nothing of what a text is about."""

_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•][ \t]|\d{1,3}[.)][ \t]))")
_HEADING = re.compile(r"(?m)^[ \t]*#{1,6}[ \t].*$")
# Each begins at the first of its signs and gives none back: a million full stops cost no more.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|(?<![。！？])[。！？]++[」』”’）]*+")
_WORD = re.compile(r"\w[\w'’\-]*")
_ENDINGS = (
    *("ization", "isation", "ations", "ation", "ings", "ing", "ions", "ion", "ments", "ment"),
    *("edly", "ally", "ies", "ied", "ly", "es", "ed", "s"),
)
_SHORTEST_STEM = 3

_NEAR = 60
"""Characters around a full stop that tell whether it ends a sentence."""


def encodable(text: str) -> str:
    """A text without halves of surrogate pairs and NUL, which nothing can keep or send."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def sentences(text: str) -> list[str]:
    """The sentences of a text in their order, headings and items of lists among them."""
    return [sentence for block in _blocks(text) for sentence in _sentences(block)]


def words(text: str) -> list[str]:
    """The words of a text, in small letters, numbers among them."""
    return [found.group().lower().replace("’", "'") for found in _WORD.finditer(text)]


def terms(text: str) -> list[str]:
    """The stems of the words that say what a text is about, in their order.

    Two forms of a word have mostly one stem: `induced`, `induces` and `induction` are `induc`.
    """
    return [stem(word) for word in words(text) if word not in _STOPS]


def stem(word: str) -> str:
    """A word in small letters without its ending."""
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            if ending == "s" and word.endswith(("ss", "us", "is")):
                break
            word = word.removesuffix(ending)
            word += "y" if ending in ("ies", "ied") else ""
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > _SHORTEST_STEM + 1 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST_STEM + 1 and word.endswith("ct") else word


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, headings and items of lists; a line's end within one is a blank."""
    for block in _BLOCK.split(text):
        start = 0
        for heading in _HEADING.finditer(block):
            yield block[start : heading.start()]
            yield heading.group()
            start = heading.end()
        yield block[start:]


def _sentences(block: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(block):
        if _ends(block, start, end):
            yield from _whole(block[start : end.end()])
            start = end.end()
    yield from _whole(block[start:])


def _whole(piece: str) -> Iterator[str]:
    piece = piece.strip()
    if any(letter.isalnum() for letter in piece):
        yield piece


def _ends(block: str, start: int, end: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence: `Fig. 2` and `E. coli` are within one."""
    after = block[end.end() : end.end() + _NEAR].lstrip()
    if not after or end.group()[0] != ".":
        return True
    before = block[max(start, end.start() - _NEAR) : end.start()].split()
    last = before[-1].lstrip("([\"'“‘").lower() if before else ""
    if last in _BEFORE_NAMES or (len(last) == 1 and last.isalpha()) or after[0].islower():
        return False
    if after[0].isdigit() and last in _BEFORE_NUMBERS:
        return False
    return not (len(before) == 1 and last.isdigit())  # the number of an item
