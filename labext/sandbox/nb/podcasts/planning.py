"""The parts of an episode by the built-in model: the material's own, in its own order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from labext.sandbox.nb.models import words
from labext.sandbox.nb.podcasts.facts import Fact
from labext.sandbox.nb.podcasts.script import Material, Segment
from labext.sandbox.nb.podcasts.speakable import title
from labext.sandbox.nb.podcasts.topics import Names

SIZES = {"short": 3, "medium": 6, "long": 10}
"""Facts of a segment of each size, at most."""

MOST = 20
"""Segments of an episode (episode profiles, `num_segments`)."""

_FEWEST = 4
"""Facts of a segment; where there are fewer, there are fewer segments."""

_LONGEST_NAME = 40
"""Characters of a segment's name that is made of several headings."""


@dataclass(frozen=True)
class Part:
    """A segment with all that could be said in it."""

    segment: Segment
    facts: Sequence[Fact]


def parts(material: Material, found: Sequence[Sequence[Fact]], count: int) -> list[Part]:
    """At most `count` parts: every text has some if there are enough, and else they share them."""
    texts = [each for each in found if each]
    count = max(1, min(count, sum(map(len, texts)) // _FEWEST))
    if not texts:
        return []
    if len(texts) > count:
        groups = _grouped([list(each) for each in texts], count)
    else:
        shares = _shares([len(each) for each in texts], count)
        groups = [
            group
            for each, share in zip(texts, shares, strict=True)
            for group in _grouped(list(_sections(each, share)), share)
        ]
    made: list[Part] = []
    for group in groups:
        made.append(
            Part(_segment(material, group, {each.segment.name.lower() for each in made}), group)
        )
    return made


def matching(
    material: Material, found: Sequence[Sequence[Fact]], segments: Sequence[Segment]
) -> list[Part]:
    """The parts of an outline, whoever has made it."""
    for count in range(len(segments), MOST + 1):
        own = parts(material, found, count)
        if [each.segment for each in own] == list(segments):
            return own
        if len(own) > len(segments):
            break
    every = [fact for text in found for fact in text]
    about = [frozenset(words.terms(f"{each.name} {each.description}")) for each in segments]
    kept: list[list[Fact]] = [[] for _ in segments]
    for place, fact in enumerate(every):
        by_order, terms = place * len(segments) // len(every), fact.terms
        shared = [(len(each & terms), number == by_order) for number, each in enumerate(about)]
        kept[shared.index(max(shared))].append(fact)
    return [Part(each, inside) for each, inside in zip(segments, kept, strict=True)]


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """How many segments each text has: one, and of the rest by how much it says."""
    shares = [1] * len(sizes)
    for _ in range(count - len(sizes)):
        most = max(range(len(sizes)), key=lambda n: sizes[n] / shares[n])
        shares[most] += 1
    return shares


def _sections(found: Sequence[Fact], count: int) -> Iterator[list[Fact]]:
    """What stands under one heading; a long section falls into several."""
    most = max(2, -(-len(found) // count))
    for _, each in groupby(found, key=lambda fact: fact.under):
        section = list(each)
        pieces = -(-len(section) // most)
        for piece in range(pieces):
            some = section[piece * len(section) // pieces : (piece + 1) * len(section) // pieces]
            if some:
                yield some


def _grouped(sections: Sequence[list[Fact]], count: int) -> list[list[Fact]]:
    """Neighbours together, in at most `count` groups of much the same size."""
    total = sum(map(len, sections))
    groups: dict[int, list[Fact]] = {}
    before = 0
    for section in sections:
        middle = before + len(section) / 2
        groups.setdefault(min(int(middle * count / total), count - 1), []).extend(section)
        before += len(section)
    return list(groups.values())


def _together(headings: Sequence[str]) -> list[str]:
    """The name of a segment that begins under one heading and goes on under others; or none."""
    if len(headings) < 2:
        return []
    rest = f" and {headings[1]}" if len(headings) == 2 else f", {headings[1]} and more"
    name = headings[0] + rest
    return [name] if len(name) <= _LONGEST_NAME else [headings[0]]


def _segment(material: Material, group: Sequence[Fact], taken: set[str]) -> Segment:
    source = title(material.texts[group[0].source].title)
    about = Names([fact.text for fact in group]).most()
    own = [fact.under for fact in group if fact.source == group[0].source]
    headings = Counter(under for under in own if under not in ("", source))
    together = _together(list(headings)) if own[0] in headings else [source]
    names = [*together, *(name for name, _ in headings.most_common()), source or "Notes"]
    names = [each for each in names if each]
    names += sorted(about, key=lambda each: " " not in each)  # of several words they say more
    free = (each for each in names if each.lower() not in taken)
    name = next(free, f"{names[0]}, part {len(taken) + 1}")
    told = ", ".join(about[:3])
    sources = dict.fromkeys(title(material.texts[fact.source].title) for fact in group)
    of = " and ".join([each for each in sources if each][:2])
    description = ": ".join(filter(None, [of, told]))
    size = next((size for size, most in SIZES.items() if len(group) <= most), "long")
    return Segment(name[:1].upper() + name[1:], description, size)
