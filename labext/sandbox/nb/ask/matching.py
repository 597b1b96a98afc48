"""Decide whether a passage matches a question, without a language model."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from labext.cjk import UNSPACED
from labext.sandbox.nb.providers.minilm import tokenizer
from labext.sandbox.nb.search.ranking import JOINED, Hit
from labext.sandbox.nb.text import passages, segmentation

_TERM = re.compile(r"[^\W_](?:[\w.+/'’\-]*[^\W_])?")
_UNSPACED = f"[{UNSPACED}]"
_UNSPACED_CHARACTER = re.compile(_UNSPACED)
_CONJUNCTION = re.compile(
    r"(?i),|;|/|\b(?:and|or|than|versus|vs)\b"
    r"|\b(?:(?:differ\w*|distinct) from|(?:similar|compared) (?:to|with))\b"
)
_COMPARED = re.compile(rf"{_CONJUNCTION.pattern}|\b(?:from|to|with)\b")
"""What separates the names after a word such as `compare`."""

_COMPARES = re.compile(r"(?i)\b(?:compare|distinguish)\b")
_POSSESSIVE = re.compile(r"['’]s?$")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z][a-z]{2})")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=\w)")
_GERMAN_NOUN = re.compile("-[A-ZÄÖÜ][a-zäöüß]+$")
"""The noun at the end of a compound with a name, such as `IPTG-Konzentration`."""

_GERMAN_LIST = """
    auf bei dem das der ein eine einem einen einer ist mit nicht sind und warum wann welche welchem
    welcher welches werden wie wird wurde wurden für im zum zur
"""
_GERMAN_WORDS = frozenset(segmentation.split_words(_GERMAN_LIST))
"""Words of German questions, of which at least a quarter of the words are among these."""

_MAX_ACRONYM = 3
"""Letters of acronyms that are common words, such as DNA."""

_MIN_FORM_LENGTH = 5
"""Letters at the beginning that forms of a word have in common."""

SIMILARITY_WEIGHT = 0.6
"""Weight of the similarity; the remaining weight is that of the square of the share of the
question's words.
"""

MIN_SIMILARITY, UNKNOWN_WORDS_SIMILARITY = 0.23, 0.1
"""Similarity of a passage that matches, and the addition to it for unknown words.

Unrelated passages seldom reach the sum. The addition is multiplied by the share of the question's
words that none of the passages found contains: most words of a question on another topic.
"""

MIN_SHARE, MIN_SHARE_WITH_RARE_TERMS = 0.6, 0.3
"""Share of the question's words, or of those of a side of a comparison, in a passage that matches;
a smaller one if the question has rare terms, or if its words have no stems and no stop words here.
"""

MIN_UNCOMMON = 9_000
"""Place of an uncommon word in the vocabulary of the embedding model, which begins with the most
frequent ones; words that it lacks are not judged.
"""

PARAPHRASE_SIMILARITY = 0.8
"""Similarity of a paraphrase of a question for something that no passage mentions, as a share of
the highest one.
"""

RELATED_SCORE, UNRELATED_SCORE = 0.45, 0.6
"""Minimum score of further passages as a share of the best one's.

The first one is for passages of the same source, where a table or a list is often cut off from the
words that introduce it, and of all sources if the question is about several things. The second one
is for other sources, if the best passage has none of the question's words; it rises to 1 if it has
all of them.
"""

CERTAIN_SHARE = 0.2
"""Only the best passage is selected if it has less than this share of the question's words."""


@dataclass(frozen=True)
class Side:
    """One of the things that a question compares.

    Attributes:
        rare: its rare terms.
        stems: the stems of its words; if each side has rare terms, of all words of the question
            but the rare terms of other sides.
    """

    rare: frozenset[str]
    stems: frozenset[str]

    def share_in(self, hit: Hit) -> float:
        """Return the share of its words that a passage contains; a single common word counts 0."""
        return word_share(self.stems, hit) if self.rare or len(self.stems) > 1 else 0.0


@dataclass(frozen=True)
class Question:
    """The terms that a passage has to contain to match a question.

    Attributes:
        stems: the stems of its words.
        rare: groups of rare terms: names, years and codes. A passage needs all terms of one group;
            there are several if the question compares things.
        sides: the things that it compares, if any.
        uncommon: its uncommon English words, of which the passages found have to mention each.
        is_latin: whether its script is Latin, the only one that the built-in model has learned.
    """

    stems: frozenset[str]
    rare: tuple[frozenset[str], ...]
    sides: tuple[Side, ...] = ()
    uncommon: tuple[str, ...] = ()
    is_latin: bool = True

    @classmethod
    def parse(cls, text: str) -> Question:
        """Return the question in a text."""
        text = segmentation.unify_delta(text)
        stems, rare = frozenset(segmentation.stem_words(text)), _rare_terms(text)
        latin = [char < "\u0250" for char in text if char.isalpha()]
        is_latin = 2 * sum(latin) >= len(latin)
        return cls(stems, rare, _sides(text, stems, rare), _uncommon_words(text), is_latin)

    def groups_of(self, hit: Hit) -> tuple[frozenset[str], ...]:
        """Return the groups of rare terms of which a passage contains all."""
        return _groups_of(self.rare, hit)

    def absent_terms(self, hits: Sequence[Hit]) -> list[str]:
        """Return the rare terms that no passage contains, in the order of their groups."""
        found = {group for hit in hits for group in self.groups_of(hit)}
        texts = [*map(_folded_text, hits)]
        terms = (term for group in self.rare if group not in found for term in sorted(group))
        return [term for term in terms if not any(contains_term(text, term) for text in texts)]

    def absent_words(self, hits: Sequence[Hit]) -> list[str]:
        """Return the uncommon words that no passage contains."""
        known = frozenset().union(*map(_stems_of, hits))
        return [
            word
            for word in self.uncommon
            if not all(_has_form(stem, known) for stem in _stems([word]))
        ]


def _has_form(stem: str, known: frozenset[str]) -> bool:
    """Return whether a stem or its beginning is known: `handwritten` mentions `handwriting`."""
    length = max(_MIN_FORM_LENGTH, 3 * len(stem) // 4)
    return stem in known or any(other[:length] == stem[:length] for other in known)


def _folded_text(hit: Hit) -> str:
    return segmentation.fold(f"{hit.context}\n{hit.text}")


@functools.lru_cache(maxsize=1000)
def _groups_of(rare: tuple[frozenset[str], ...], hit: Hit) -> tuple[frozenset[str], ...]:
    text = _folded_text(hit)
    return tuple(group for group in rare if all(contains_term(text, term) for term in group))


def _sides(text: str, stems: frozenset[str], rare: tuple[frozenset[str], ...]) -> tuple[Side, ...]:
    if len(rare) > 1:
        names = [_stems(group) for group in rare]
        return tuple(
            Side(group, stems.difference(*(other for other in names if other != name)))
            for group, name in zip(rare, names, strict=True)
        )
    joined = JOINED.search(text)
    if joined is None:
        return ()
    sides = []
    for part in (text[: joined.start()], text[joined.end() :]):
        own = _stems([part])
        group = next((group for group in rare if _stems(group) <= own), frozenset())
        if own:
            sides.append(Side(group, own))
    return tuple(sides) if len(sides) > 1 else ()


def _rare_terms(text: str) -> tuple[frozenset[str], ...]:
    words = segmentation.split_words(text)
    is_german = 4 * sum(word in _GERMAN_WORDS for word in words) >= len(words)
    conjunction = _COMPARED if _COMPARES.search(text) else _CONJUNCTION
    groups: list[set[str]] = []
    last = 0
    text = _UNSPACED_CHARACTER.sub("·", text)  # which no blank separates from names
    for match in _TERM.finditer(text):
        word = segmentation.without_elision(_POSSESSIVE.sub("", match.group()))
        if is_german:
            word = _GERMAN_NOUN.sub("", word)
        begins = not text[: match.start()].strip(" \"'“‘„«(¿¡") or re.search(
            r"[.?!:]\s+$", text[: match.start()]
        )
        if not is_rare(word, may_be_capitalized=is_german or bool(begins)):
            continue
        if not groups or conjunction.search(text, last, match.start()):
            groups.append(set())
        groups[-1].add(word)
        last = match.end()
    return tuple(map(frozenset, groups))


_PLAIN_WORD = re.compile(r"(?<![\w.'’\-])[A-Za-z]{3,}(?![\w\-])")


def _uncommon_words(text: str) -> tuple[str, ...]:
    """Return the uncommon words of an English text, except names."""
    words = segmentation.split_words(text)
    if 4 * (len(words) - len(segmentation.stem_words(text))) < len(words):  # few stop words
        return ()
    return tuple(
        match.group()
        for match in _PLAIN_WORD.finditer(text)
        if not is_rare(match.group(), may_be_capitalized=match.start() == 0)
        and any(map(_is_uncommon, segmentation.stem_words(match.group())))
    )


@functools.lru_cache(maxsize=10_000)
def _is_uncommon(stem: str) -> bool:
    places = (
        place
        for word, place in tokenizer.vocabulary().items()
        if word.startswith(stem[:3]) and segmentation.stem_words(word) == [stem]
    )
    return min(places, default=0) > MIN_UNCOMMON


def is_rare(word: str, *, may_be_capitalized: bool = False) -> bool:
    """Return whether a word is a name, a year, a number or a code.

    Words at the beginning of a sentence and nouns in German `may_be_capitalized`.
    """
    if any(map(str.isdigit, word)):
        return True
    if word.isupper():
        return len(word) > _MAX_ACRONYM
    inner = word[1:]
    if any(map(str.isupper, inner)):
        return True
    return word[:1].isupper() and not may_be_capitalized


def contains_term(text: str, term: str) -> bool:
    """Return whether a folded text contains a term as a whole word, or its plural.

    A name of more than `_MAX_ACRONYM` letters may be followed by a version, as ChEMBL in ChEMBL33.
    The words of a name in camel case may be separate and apart: HtmlDiff matches `a diff of HTML`.
    A hyphen after a letter may be missing: XML-RPC matches `xmlrpc`.
    """
    parts = _CAMEL_CASE.split(term)
    if len(parts) > 1 and all(contains_term(text, part) for part in parts):
        return True
    has_version = len(term) > _MAX_ACRONYM and term.isalpha()
    ending = r"(?:s|es|'s|’s|\d+)?" if has_version else "(?:s|es|'s|’s)?"
    parts = [piece for part in parts for piece in _HYPHEN.split(part)]
    name = r"[\s_-]?".join(re.escape(segmentation.fold(part)) for part in parts)
    start, end = rf"(?:(?<![\w.])|(?<={_UNSPACED}))", rf"(?:(?![\w]|\.\d)|(?={_UNSPACED}))"
    return re.search(rf"{start}{name}{ending}{end}", text) is not None


def lacks_rare_terms(question: Question, hit: Hit) -> bool:
    """Return whether a passage lacks the rare terms of the question."""
    if not question.rare or question.groups_of(hit):
        return False
    # In a comparison, the other side may have no rare term.
    sides = (side for side in question.sides if not side.rare)
    return all(side.share_in(hit) < MIN_SHARE for side in sides)


def match_scores(
    question: Question, hits: Sequence[Hit], *, uses_similarity: bool
) -> list[tuple[Hit, float]]:
    """Return those of the hits that match, in order, with their scores.

    If no passage mentions an uncommon word of the question, only those without any of its words
    match, as they may paraphrase it, if they are similar, and tables, which abbreviate. The others
    are on its subject, but lack what it asks for.
    """
    uses_similarity = uses_similarity and question.is_latin
    known = question.stems & frozenset().union(*map(_stems_of, hits))
    unknown = 1 - len(known) / len(question.stems) if question.stems else 0.0
    min_similarity = MIN_SIMILARITY + UNKNOWN_WORDS_SIMILARITY * unknown
    is_near_miss = bool(question.absent_words(hits))
    paraphrase = PARAPHRASE_SIMILARITY * max((hit.similarity or 0.0 for hit in hits), default=0.0)
    matches = []
    for hit in hits:
        if not question.stems or lacks_rare_terms(question, hit):
            continue
        is_table = passages.CELL_SEPARATOR in hit.text
        similarity = max(hit.similarity or 0.0, 0.0) if uses_similarity else 0.0
        share = word_share(question.stems, hit)
        if is_near_miss and not is_table and (share or similarity < paraphrase):
            continue
        best_share = max([share, *(side.share_in(hit) for side in question.sides)])
        is_strict = question.is_latin and not question.rare
        min_share = MIN_SHARE if is_strict else MIN_SHARE_WITH_RARE_TERMS
        if max(similarity / min_similarity, best_share / min_share) >= 1:
            weight = SIMILARITY_WEIGHT if uses_similarity else 0.0
            matches.append((hit, weight * similarity + (1 - weight) * share**2))
    return matches


Match = tuple[Hit, str, float]
"""A passage, its quotation and its score."""


def select(question: Question, matches: Sequence[Match], count: int) -> list[Match]:
    """Return at most `count` matches: the best of each side of a comparison, then further ones.

    The more of the question's words the best one has, the closer the scores of the others must be
    to its score.
    """
    if not matches:
        return []
    best = max(matches, key=lambda match: match[2])
    share = word_share(question.stems, best[0])
    if share < CERTAIN_SHARE and not question.sides:
        return [best]
    chosen: list[Match] = []
    groups = [question.groups_of(hit) for hit, _, _ in matches]
    for side in question.sides:
        of_side = [
            match
            for match, found in zip(matches, groups, strict=True)
            if not side.rare or side.rare in found
        ]
        match = max(of_side, key=lambda m: m[2] + side.share_in(m[0]) ** 2, default=None)
        if match is not None and match not in chosen:
            chosen.append(match)
    unrelated_score = UNRELATED_SCORE + (1 - UNRELATED_SCORE) * share
    for match in matches:
        related = bool(question.sides) or match[0].parent_id == best[0].parent_id
        minimum = best[2] * (RELATED_SCORE if related else unrelated_score)
        if match not in chosen and match[2] >= minimum:
            chosen.append(match)
    return chosen[:count]


def word_share(stems: frozenset[str], hit: Hit) -> float:
    """Return the share of stems that a passage contains, with its title and headings."""
    return len(stems & _stems_of(hit)) / len(stems) if stems else 0.0


@functools.lru_cache(maxsize=1000)
def _stems_of(hit: Hit) -> frozenset[str]:
    return _stems([f"{hit.context}\n{hit.text}"])


def _stems(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(segmentation.stem_words(" ".join(texts)))
