"""A text as it is read out: units, genes and numbers in words, and nothing that can't be said.

The transcript keeps the words as they were written; this is for the voice alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from labext.sandbox.nb.speech import languages, terms

LONGEST = 600
"""Characters that are spoken at once; a longer text is parted, between sentences if it can be."""

_UNSPOKEN = {"Cc", "Cf", "Cs", "Co", "Cn", "So", "Sk"}
"""Categories of characters that nobody says: controls, private ones, emoji."""

_ADDRESS = re.compile(r"\b(?:https?://|www\.)(?:www\.)?([\w.-]+)\S*", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\([^)\s]{1,2000}\)")
_CITATION = re.compile(r"(?:(?<!\s)\s+)?\[\d{1,4}(?:\s*[,–-]\s*\d{1,4}){0,20}\]")
_MARKUP = re.compile(r"(?m)^\s{0,3}(?:#{1,6}\s+|>\s?|[-*+]\s+|```.*$)|\*{1,3}|_{2,3}|`+|~~")
_BASES = re.compile(
    r"(?<![\w-])(?:[53]['′’]\s?-?\s?)?(?:[ACGTUN]{9,}|[acgtun]{12,}"
    r"|(?:[ACGTUN]{3,}[ -]){3,}[ACGTUN]{1,})"
    r"(?:\s?-?\s?[53]['′’])?(?![\w-])"
)
_RESIDUES = re.compile(r"(?<!\w)[ACDEFGHIKLMNPQRSTVWYX*]{16,}(?!\w)")
_UNREADABLE = re.compile(r"\S{41,}")
_LETTERS = re.compile(r"[^ACGTUNacgtun]")
_BLANKS = re.compile(r"\s+")
_SAYABLE = re.compile(r"[^\W_]")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+")


def pieces(text: str, language: str | None = None) -> Iterator[str]:
    """What is said of a text, in pieces of bounded length; none where nothing can be said.

    Args:
        text: as it stands in the dialogue.
        language: of the text: `de`; None is English, whose units and signs are put into words.
    """
    for part in _parted(spoken(text, language)):
        if _SAYABLE.search(part):
            yield part


def spoken(text: str, language: str | None = None) -> str:
    """A text as it is read out, in one line."""
    text = _LINK.sub(r"\1", text)
    text = _CITATION.sub("", text)
    text = _MARKUP.sub(" ", text)
    english = languages.is_english(language)
    if english:
        text = _ADDRESS.sub(r"the page at \1", text)
        text = _BASES.sub(_bases, text)
        text = _RESIDUES.sub(lambda found: f"a sequence of {len(found[0])} residues", text)
    else:
        text = _ADDRESS.sub(r"\1", text)
    text = "".join(
        each if unicodedata.category(each) not in _UNSPOKEN or each in terms.SIGNS else " "
        for each in text
    )
    if english:
        text = terms.in_words(text)
    text = _UNREADABLE.sub(_shortened, text)
    return _BLANKS.sub(" ", text).strip()


def _bases(found: re.Match[str]) -> str:
    count = len(_LETTERS.sub("", found[0].strip("53'′’ -")))
    return f"a sequence of {count} bases"


def _shortened(found: re.Match[str]) -> str:
    """Of what is written without a blank and too long to be a word, its beginning."""
    words = re.findall(r"[^\W_]{2,12}", found[0])[:3]
    return " ".join(words)


def _parted(text: str) -> Iterator[str]:
    """The text in parts of at most `LONGEST` characters: of sentences, or else of words."""
    part = ""
    for sentence in _SENTENCE.split(text):
        for words in _cut(sentence):
            if part and len(part) + 1 + len(words) > LONGEST:
                yield part
                part = ""
            part = f"{part} {words}" if part else words
    if part:
        yield part


def _cut(sentence: str) -> Iterator[str]:
    while len(sentence) > LONGEST:
        comma = max(sentence.rfind(sign, LONGEST // 2, LONGEST) for sign in (", ", "; ", ": "))
        place = comma + 1 if comma > 0 else sentence.rfind(" ", 1, LONGEST)
        place = place if place > 0 else LONGEST
        yield sentence[:place].strip()
        sentence = sentence[place:].strip()
    if sentence:
        yield sentence
