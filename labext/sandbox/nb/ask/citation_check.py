"""Check the citations of a model's reply against the passages that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from labext.cjk import UNSPACED
from labext.sandbox.nb.ask.answers import (
    MARK,
    MAX_QUOTE_LENGTH,
    Answer,
    Citation,
    citation_mark,
    cite,
    quotable_sentences,
)
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text import numbers, segmentation

NOT_FOUND = "(not found in the sources)"
"""Appended to a sentence that is supported by none of the passages that it cites."""

MIN_SUPPORT = 0.4
"""Minimum share of a sentence's word stems in a passage that it cites without quoted words."""

_MIN_QUOTED_WORDS, _MIN_QUOTED_CHARACTERS = 2, 4
"""Minimum words of a quotation that proves a sentence, or characters of Chinese and the like."""

_UNSPACED = f"[{UNSPACED}]"
_WORD_START = rf"(?:(?<!\w)|(?<={_UNSPACED})|(?={_UNSPACED}))"
_WORD_END = rf"(?:(?!\w)|(?={_UNSPACED})|(?<={_UNSPACED}))"

_GROUP = re.compile(rf"{MARK.pattern}(?:[ \t,;]{{0,4}}{MARK.pattern})*")
_CUT_MARK = re.compile(r"(?m)[ \t]{0,4}[\[【]{1,2}\s*(?:[Ss]ource|note)\s*:[^\[\]【】\n]*$")
_NUMBER_NAME = r"(?:(?:passage|answer)s? )?\d{1,2}"
_NUMBERS = rf"[\[【]{{1,2}}{_NUMBER_NAME}(?: ?(?:[-–,;&]|and) ?{_NUMBER_NAME})*[\]】]{{1,2}}"
_NUMBER_RANGE = re.compile(r"(\d+)(?: ?[-–] ?(\d+))?")
_CODE = r"```.*?```|`[^`\n]*`"
_UNSEPARATED = rf"(?:(?<=[.,;:!?”%。，、；：！？」）{UNSPACED}])|(?<=\s\()|(?<=\S)(?=【))"
"""A place at which a number may follow without a space."""

_NUMBERED = re.compile(
    rf"(?is){MARK.pattern}|{_CODE}|“[^“”\n]*”|\"[^\"\n]*\"|"
    rf"(?P<numbers>(?:(?<=[\w.,;:!?”\x22’»)%*\]`$°|]) |{_UNSEPARATED}){_NUMBERS}(?: ?{_NUMBERS})*"
    r"(?!\())"
)
"""The numbers of passages: `[2]`, `[1, 3]`, `[1-3]`, `[1][3]`, `[Passage 2]`; or a mark, code or a
quotation, whose numbers mean something else."""

_STRAY_NUMBERS = re.compile(
    rf"(?is){_CODE}|"
    rf"(?P<numbers>(?m:^){_NUMBERS}[: \t]*|(?:[ \t]|{_UNSEPARATED}){_NUMBERS}(?!\())"
)
"""Numbers that look like those of citations, or code."""

_NAME = re.compile(
    r"([Ss]ource|note)\s*:\s*(?!source:|note:)(\w+)(?:#(\d{1,18}))?"
    r"(?:\s*[“\"„«]([^“”\"„«»]{1,500})[”\"“»])?"
)
_QUOTED = re.compile(r"[“\"„«]([^“”\"„«»]{1,500})[”\"“»]")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.|\[…\])\s*")
_MAX_LEAD_IN_WORDS = 4
"""Maximum words before a mark in “According to [1], …”, which belongs to the words after it."""

_SAME = {
    **dict.fromkeys("-‐‑‒–—−", "[-‐‑‒–—−]"),
    **dict.fromkeys("'‘’", "['‘’]"),
    **dict.fromkeys('"“”„«»', '["“”„«»]'),
}
"""Characters that count as equal, as a character class."""


def name_passages(reply: str, marks: Sequence[str]) -> str:
    """Return a reply with marks in place of the numbers by which it cites.

    `marks` are those of number 1, number 2, and so on; a number with an empty one is removed.
    """
    return _replace_numbers(_NUMBERED, reply, marks)


def _replace_numbers(pattern: re.Pattern[str], text: str, marks: Sequence[str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        ranges = _NUMBER_RANGE.findall(match["numbers"] or "")
        places = [
            place for first, last in ranges for place in range(int(first), int(last or first) + 1)
        ]
        if not places or not set(places) <= set(range(1, len(marks) + 1)):
            return match.group()
        named = "".join(marks[place - 1] for place in places)
        return f" {named}" if named and match.group().startswith(" ") else named

    return pattern.sub(replacement, text)


def parse_citations(reply: str, hits: Iterable[Hit]) -> Answer:
    """Return the answer in a model's reply, with the citations that its marks name.

    A citation is kept if the passage contains the words quoted in its mark and in the sentence;
    without quoted words, if the passage contains enough words of the sentence. The cited passages
    must contain the numbers of the sentence. A sentence of which no citation is kept is marked by
    `NOT_FOUND`. Numbers that could be mistaken for those of the citations are removed.
    """
    passages: dict[str, list[Hit]] = {}
    for hit in hits:
        passages.setdefault(hit.parent_id, []).append(hit)
    citations: list[Citation] = []
    text = ""
    start = 0
    for group in _GROUP.finditer(reply):
        text += reply[start : group.start()]
        start = group.end()
        claim = _last_sentence(text)
        supported = _supporting_passages(group.group(), passages, claim)
        continues = reply[start : start + 1] in (" ", ",")
        if not supported and continues and len(claim.split()) <= _MAX_LEAD_IN_WORDS:
            claim = f"{claim} {_first_sentence(reply[start:])}"
            supported = _supporting_passages(group.group(), passages, claim)
        cited = [cite(hit, quote) for hit, quote in supported]
        citations += cited
        marks = "".join(citation_mark(id) for id in dict.fromkeys(item.id for item in cited))
        if not marks:
            text = text.rstrip(" ")
            marks = f" {NOT_FOUND}" if segmentation.stem_words(claim) else ""
        text += marks
    text += _CUT_MARK.sub("", reply[start:])
    kept = tuple(dict.fromkeys(citations))
    text = _replace_numbers(_STRAY_NUMBERS, text, [""] * len(kept))
    return Answer(text.strip(), kept)


def _supporting_passages(
    marks: str, passages: Mapping[str, Sequence[Hit]], claim: str
) -> list[tuple[Hit, str]]:
    """Return the passages named in marks, each with its words that support the claim.

    None if they lack a number of the claim.
    """
    found: list[tuple[Hit, str]] = []
    for name in _NAME.finditer(marks):
        available = passages.get(f"{name[1].lower()}:{name[2]}", ())
        exact = [hit for hit in available if str(hit.passage_id) == name[3]]
        supported = [
            (hit, quote)
            for hit in exact or available
            if (quote := _supporting_quote(hit, claim, name[4])) is not None
        ]
        if supported:
            found.append(max(supported, key=lambda pair: _word_overlap(pair[1], claim)))
    return found if _has_numbers(claim, [hit for hit, _ in found]) else []


def _supporting_quote(hit: Hit, claim: str, quoted: str | None) -> str | None:
    """Return the words of a passage that support a claim, or None if it does not."""
    passage = hit.text
    if any(find_quote(passage, words) is None for words in _QUOTED.findall(claim)):
        return None
    if quoted is not None and _proves(quoted):
        return find_quote(passage, quoted)
    stems = set(segmentation.stem_words(claim))
    available = set(segmentation.stem_words(f"{hit.heading}\n{passage}"))
    share = len(stems & available) / max(len(stems), 1)
    if not stems or share < MIN_SUPPORT:
        return None
    quotes = quotable_sentences(passage)
    return max(quotes, key=lambda quote: _word_overlap(quote, claim)) if quotes else None


def _proves(quoted: str) -> bool:
    """Return whether a quotation is long enough to prove a sentence."""
    characters = len(re.findall(_UNSPACED, quoted))
    return len(quoted.split()) >= _MIN_QUOTED_WORDS or characters >= _MIN_QUOTED_CHARACTERS


def find_quote(passage: str, quoted: str) -> str | None:
    """Return the substring of a passage that a quotation repeats; None if there is none.

    Case, line breaks, and the kind of dashes and quotation marks may differ. Every part of a
    quotation with an ellipsis must occur; the longest one is returned.
    """
    quotes: list[str] = []
    for part in _ELLIPSIS.split(quoted):
        words = part.strip(" .,;:").split()
        if not words:
            continue
        pattern = r"\s+".join(map(_word_pattern, words))
        match = re.search(f"{_WORD_START}{pattern}{_WORD_END}", passage, re.IGNORECASE)
        if match is None:
            return None
        quotes.append(match.group())
    longest = max(quotes, key=len, default="")
    return longest if 0 < len(longest) <= MAX_QUOTE_LENGTH else None


def _word_pattern(word: str) -> str:
    """Return a pattern for a word; between characters of Chinese and the like lines may break."""
    following = [*word[1:], ""]
    return "".join(
        _SAME.get(character, re.escape(character))
        + (r"\s*" if re.match(_UNSPACED, after) and re.match(_UNSPACED, character) else "")
        for character, after in zip(word, following, strict=True)
    )


def _has_numbers(claim: str, cited: Sequence[Hit]) -> bool:
    """Return whether the cited passages contain the numbers of a claim, except single digits."""
    text = "\n".join(f"{hit.title} {hit.heading} {hit.text}" for hit in cited)
    missing = numbers.missing_numbers(claim, numbers.find_numbers(text))
    return all(len(number) == 1 for number in missing)


def _word_overlap(quote: str, claim: str) -> float:
    """Return the share of common word stems of two sentences, from 0 to 1."""
    one, other = set(segmentation.stem_words(quote)), set(segmentation.stem_words(claim))
    return len(one & other) / max(len(one | other), 1)


def _first_sentence(text: str) -> str:
    sentences = segmentation.split_sentences(MARK.split(text[:2000])[0])
    return sentences[0] if sentences else ""


def _last_sentence(text: str) -> str:
    sentences = segmentation.split_sentences(MARK.sub(" ", text[-2000:]).replace(NOT_FOUND, " "))
    return sentences[-1] if sentences else ""
