"""What can be said about the material: its own sentences, each in its place.

Every fact is one sentence or two that stand in a source word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labext.sandbox.nb.models import prose, words
from labext.sandbox.nb.models.prose import Statement
from labext.sandbox.nb.podcasts.script import Material
from labext.sandbox.nb.podcasts.speakable import speakable, title

LOOKED_AT = 400_000
"""Characters of a text."""

_SAME = 0.6
"""Two sentences that have so many of their words in common say the same."""

_MARK = re.compile(r"\w*\d[\w.,]*\w|\d|\w+[A-Z]\w*|\b[B-HJ-Z]\b")
"""A figure, or a name such as BL21 or araC: results of the same kind differ by them alone."""

_Known = tuple[frozenset[str], frozenset[str]]
"""The stems of a sentence's words, and its figures and names."""

_COMMON = 100
"""Sentences that have a word, from which on it tells nothing about what they say."""

_FEWEST, _MOST = 4, 45
"""Words of a sentence that can be said."""

_LONGEST = 800
"""Characters of a sentence that is looked at."""

_BEHIND = re.compile(
    r"(?i)^(?:\d+\.?\s*)?(?:references|bibliography|literature(?: cited)?|works cited|footnotes|"
    r"acknowledge?ments?|funding|author contributions|competing interests|see also|"
    r"external links|contents|further reading)$"
)
"""Headings of what nobody reads aloud."""

_UNSAYABLE = re.compile(
    r"[=_@\\{}<>|]|\bet al\b|\bpp?\. ?\d|\bISSN\b|\bISBN\b|[ACGTUN]{9,}|:$|^.{0,40} in it "
)

_FOR_THE_EYE = re.compile(r"[\^$\\`→⇒⇌]|->| \+ .* \+ |://|\bwww\.|\]\(")
"""Formulas, code and addresses: a sentence is not heard with them, and has a hole without."""


@dataclass(frozen=True)
class Fact:
    """What is said at once, as it is spoken.

    Attributes:
        source: the number of its text among the material's, from 0.
        under: the heading that it stands under; empty for none.
        place: its number among the statements of its text.
        text: a sentence, with the one before it where it points back to that.
    """

    source: int
    under: str
    place: int
    text: str

    @property
    def terms(self) -> frozenset[str]:
        """The stems of its words."""
        return frozenset(words.terms(self.text))


def facts(material: Material) -> list[list[Fact]]:
    """What each text says that can be spoken, in its order; nothing that an earlier one says."""
    seen: dict[str, list[_Known]] = {}
    return [
        [fact for fact in _of(number, each.text[:LOOKED_AT]) if _is_new(fact, seen)]
        for number, each in enumerate(material.texts)
    ]


def told(found: Sequence[Fact], most: int, about: frozenset[str]) -> list[Fact]:
    """Those that say most, at most so many, in their order."""
    if len(found) <= most:
        return list(found)
    stated = [Statement(f.text, prose.SENTENCE, f.under, n) for n, f in enumerate(found)]
    return [found[each.place] for each in prose.telling(stated, most, about)]


def _of(number: int, text: str) -> Iterator[Fact]:
    there = [
        each
        for each in prose.statements(text)
        if len(each.text) <= _LONGEST and not _BEHIND.match(each.under[:_LONGEST].strip(" :"))
    ]
    said = {each.place: speakable(each.text) for each in there if each.kind != prose.ROW}
    whole = [s for s in there if s.kind == prose.SENTENCE and _is_heard(s.text, said[s.place])]
    if not whole:  # notes in a few words are all there is
        whole = [s for s in there if s.kind in (prose.ITEM, prose.SENTENCE) and said[s.place]]
        whole = whole or [s for s in there if s.kind == prose.HEADING and said[s.place]]
        yield from (_fact(number, s, said[s.place]) for s in whole)
        return
    known = {each.place: each for each in whole}
    used: set[int] = set()
    for each in whole:
        if each.place in used:
            continue
        after = known.get(each.place + 1)
        if prose.POINTS_BACK.match(each.text) and len(whole) > _FEWEST:
            continue  # what it points to is not said
        if after is not None and prose.POINTS_BACK.match(after.text) and after.under == each.under:
            used.add(after.place)
            yield _fact(number, each, said[each.place], said[after.place])
        else:
            yield _fact(number, each, said[each.place])


def _fact(number: int, first: Statement, *said: str) -> Fact:
    return Fact(number, title(first.under), first.place, " ".join(said))


def _is_heard(written: str, said: str) -> bool:
    """Whether a sentence makes sense to somebody who only hears it."""
    parts = said.split()
    if (
        _FOR_THE_EYE.search(written)
        or not _FEWEST <= len(parts) <= _MOST
        or prose.ABOUT_ITSELF.search(said)
    ):
        return False
    if _UNSAYABLE.search(said) or said.endswith("?") or (said[0].islower() and parts[0].islower()):
        return False
    letters = sum(letter.isalpha() for letter in said)
    named = sum(any(letter.isdigit() for letter in part) for part in parts)
    return letters >= 0.6 * sum(map(len, parts)) and named <= len(parts) / 2


def _is_new(fact: Fact, seen: dict[str, list[_Known]]) -> bool:
    """Whether nothing said so far is the same; what has no word in common is not compared."""
    known = fact.terms, frozenset(_MARK.findall(fact.text))
    rare = (term for term in known[0] if len(seen.get(term, ())) < _COMMON)
    alike = {id(each): each for term in rare for each in seen.get(term, ())}
    if any(_says_the_same(known, each) for each in alike.values()):
        return False
    for term in known[0]:
        seen.setdefault(term, []).append(known)
    return True


def _says_the_same(one: _Known, other: _Known) -> bool:
    """Whether two sentences have most of their words in common, and one the figures of both."""
    (terms, marks), (known, known_marks) = one, other
    alike = len(terms & known) > _SAME * len(terms | known)
    return alike and (marks <= known_marks or known_marks <= marks)
