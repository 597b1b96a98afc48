"""Split text into sentences, words and stems."""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

import snowballstemmer  # type: ignore[import-untyped]

from labext.cjk import UNSPACED

_ABBREVIATIONS = frozenset(
    {"dr", "mr", "mrs", "ms", "prof", "st", "cf", "vs", "e.g", "i.e", "str", "substr"}
)
_NUMBERED_ABBREVIATIONS = frozenset(
    {"al", "approx", "ca", "eq", "eqs", "fig", "figs", "no", "nr", "p", "pp", "ref", "refs"}
    | {"sec", "tab", "vol"}
)
"""Abbreviations that end no sentence before a number: `Fig. 2`, `et al. [3]`."""

_STOPWORD_LIST = """
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
_STOPWORDS = frozenset(_STOPWORD_LIST.split())
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•][ \t]|\d{1,3}[.)][ \t]))")
_HEADING_LINE = re.compile(r"(?m)^[ \t]*#{1,6}[ \t].*$")
# Possessive quantifiers: a million full stops take linear time.
_SENTENCE_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?:\[\d[\d, –-]*+\])?(?=\s)"
    r"|(?<![。！？])[。！？]++[」』”’）]*+"
)
_WORD = re.compile(r"\w[\w'’\-]*")
_ELISION = re.compile(
    r"(?i)^(?:[cdjlmnst]|(?:jus|lors|puis)?qu|un|(?:a|da|de|ne|su|que)l?l)['’](?=[^\W\d_])"
)
"""An elided word of French or Italian before another one, such as `l’` and `dell’`."""

_UNSPACED_RUN = re.compile(f"([{UNSPACED}]+)")
_CONTEXT = 60
"""Characters around a full stop that decide whether it ends a sentence."""

_stemmers = {name: snowballstemmer.stemmer(name) for name in ("english", "porter")}
_stemmer_lock = threading.Lock()


def encodable(text: str) -> str:
    """Return a text without lone surrogates and NUL, which no database or server accepts."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, including headings and list items."""
    pieces = (piece.strip() for block in _blocks(text) for piece in _split_block(block))
    return [piece for piece in pieces if any(char.isalnum() for char in piece)]


def unify_delta(text: str) -> str:
    """Return a text with the letter delta for the increment sign, so that ΔlacZ is the same word.

    Fonts and keyboards have either.
    """
    return text.replace("\N{INCREMENT}", "\N{GREEK CAPITAL LETTER DELTA}")


_VOICED_KANA = "\u3099\u309a"
_TRADEMARKS = str.maketrans("™℠", "  ")


def fold(text: str) -> str:
    """Return a text without the differences between characters that searches ignore.

    These are case (`Straße` and `STRASSE`), accents (`naïve`) except those of Japanese, and forms
    of a character (`CO₂`, the micro sign and the letter mu). Trademark signs are removed.
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", unify_delta(text).translate(_TRADEMARKS))
    plain = "".join(
        char for char in decomposed if char in _VOICED_KANA or not unicodedata.combining(char)
    )
    return unicodedata.normalize("NFKC", plain.casefold())


def split_words(text: str) -> list[str]:
    """Return the words and numbers of a text, folded."""
    return [
        part.replace("’", "'")
        for word in _WORD.findall(fold(text))
        for part in split_unspaced(without_elision(word))
    ]


def without_elision(word: str) -> str:
    """Return a word without an elided one before it: `ADN` of `l’ADN`."""
    return _ELISION.sub("", word)


def split_unspaced(word: str) -> list[str]:
    """Return the pairs of adjacent `UNSPACED` characters in a word, and its other parts."""
    parts: list[str] = []
    for place, part in enumerate(_UNSPACED_RUN.split(word)):
        is_run = place % 2 == 1
        parts += map("".join, pairwise(part)) if is_run and len(part) > 1 else filter(None, [part])
    return parts


def stem_words(text: str) -> list[str]:
    """Return the stems of the words of a text in order, without stop words."""
    return [stem(word) for word in split_words(text) if word not in _STOPWORDS]


@functools.lru_cache(maxsize=100_000)
def stem(word: str, algorithm: str = "english") -> str:
    """Return the stem of a folded word."""
    with _stemmer_lock:  # a stemmer is not thread-safe
        return str(_stemmers[algorithm].stemWord(word))


_SEAMS = ("\n\n", "\n", ". ", " ")
"""Preferred places to cut a text, the best first."""


def split_text(text: str, max_length: int, seams: Sequence[str] = _SEAMS) -> list[str]:
    """Split a text into parts of at most `max_length` characters at paragraphs, lines or sentences.

    Each cut is at the best kind of seam that leaves the part at least half full.
    """
    parts = []
    while len(text) > max_length:
        ends = (text.rfind(seam, max_length // 2, max_length) + len(seam) for seam in seams)
        end = next(
            (end for seam, end in zip(seams, ends, strict=True) if end >= len(seam)), max_length
        )
        parts.append(text[:end].strip())
        text = text[end:]
    return [part for part in [*parts, text.strip()] if part]


def _blocks(text: str) -> Iterator[str]:
    """Yield paragraphs, headings and list items."""
    for block in _BLOCK.split(text):
        start = 0
        for heading in _HEADING_LINE.finditer(block):
            yield block[start : heading.start()]
            yield heading.group()
            start = heading.end()
        yield block[start:]


def _split_block(block: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(block):
        if _ends_sentence(block, start, end):
            yield block[start : end.end()]
            start = end.end()
    yield block[start:]


def _ends_sentence(block: str, start: int, end: re.Match[str]) -> bool:
    """Return whether punctuation ends a sentence: `Fig. 2` and `E. coli` do not."""
    after = block[end.end() : end.end() + _CONTEXT].lstrip()
    if not after or end.group()[0] != ".":
        return True
    before = block[max(start, end.start() - _CONTEXT) : end.start()].split()
    last = before[-1].lstrip("([\"'“‘").lower() if before else ""
    if last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha()) or after[0].islower():
        return False
    if after.lstrip("([")[:1].isdigit() and last in _NUMBERED_ABBREVIATIONS:
        return False
    return not (len(before) == 1 and last.isdigit())  # the number of a list item
