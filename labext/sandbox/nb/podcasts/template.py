"""Outline and script of an episode without a language model: a plain template of quotations.

An introduction, per source its key sentences read by alternating speakers with the source's name,
and an end. Everything but the template's own few sentences stands in a source word for word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby

from labext.sandbox.nb import faults
from labext.sandbox.nb.podcasts.script import Material, Segment, Speaker, Turn
from labext.sandbox.nb.podcasts.speakable import speakable, title
from labext.sandbox.nb.text import key_sentences
from labext.sandbox.nb.text.key_sentences import Sentence

SENTENCES = {"short": 3, "medium": 6, "long": 10}
"""Sentences that a segment of each size quotes at most."""

MAX_CHARACTERS = 400_000
"""Characters of a source that are read."""

_MIN_SENTENCES = 4
"""Sentences of a segment; where there are fewer, there are fewer segments."""

_MIN_WORDS, _MAX_WORDS = 4, 45
_MAX_TITLES = 3
"""Titles in the introduction."""

_NOT_FOR_LISTENING = re.compile(
    r"[=_@\\{}<>|^$`→⇒⇌]|->|://|\bwww\.|\]\(|\bet al\b|\bpp?\. ?\d|\bISSN\b|\bISBN\b|[ACGTUN]{9,}"
    r"|:$"
)


@dataclass(frozen=True)
class _Quote:
    """A sentence of a source.

    Attributes:
        source: the source's number in the material.
        sentence: as it stands in the source.
        spoken: as it is read aloud.
    """

    source: int
    sentence: Sentence
    spoken: str


def outline(material: Material, count: int) -> list[Segment]:
    """Return at most `count` segments: the material's sections in order, neighbours together.

    Raises:
        HTTPException: 422 if no sentence of the material can be read aloud.
    """
    segments: list[Segment] = []
    for group in _groups(material, count):
        name = _name(material, group)
        number = sum(1 for each in segments if each.name.partition(", part ")[0] == name)
        size = next((size for size, most in SENTENCES.items() if len(group) <= most), "long")
        sources = dict.fromkeys(title(material.texts[quote.source].title) for quote in group)
        description = "Quotations from " + ", ".join(filter(None, sources))
        segments.append(
            Segment(f"{name}, part {number + 1}" if number else name, description, size)
        )
    return segments


def script(
    material: Material,
    briefing: str,
    segments: Sequence[Segment],
    speakers: Sequence[Speaker],
    on_progress: Callable[[int, int], None],
) -> list[Turn]:
    """Return the turns: an introduction, the key sentences of each segment, and an end.

    Args:
        material: the notebook's texts.
        briefing: sentences with its words are preferred.
        segments: the outline; the material's sections are assigned to them in order.
        speakers: they read in turn, the first one also the introduction and the end.
        on_progress: called with the number of segments done and their total.

    Raises:
        HTTPException: 422 if no sentence of the material can be read aloud.
    """
    groups = _groups(material, len(segments))
    turns = _introduction(material, speakers)
    readers = cycle(speakers)
    for number, (segment, group) in enumerate(zip(segments, groups, strict=False)):
        on_progress(number, len(segments))
        turns += _read(material, _select(group, segment, briefing), readers)
    on_progress(len(segments), len(segments))
    return [*turns, Turn(speakers[0].name, "That is the end. Thank you for listening.", opens=True)]


def _introduction(material: Material, speakers: Sequence[Speaker]) -> list[Turn]:
    first, *others = speakers
    subject = title(material.notebook) or "a notebook"
    titles = list(dict.fromkeys(filter(None, (title(text.title) for text in material.texts))))
    text = f"Welcome. This episode quotes the sources of the notebook “{subject}”."
    if titles:
        named = [f"“{each}”" for each in titles[:_MAX_TITLES]]
        more = len(titles) - len(named)
        rest = [f"{more} more"] if more else []
        text += f" They are {_join([*named, *rest])}." if more or len(named) > 1 else ""
        text += f" It is {named[0]}." if not more and len(named) == 1 else ""
    turns = [Turn(first.name, text)]
    return turns + [Turn(each.name, f"{each.name.strip()} reads, too.") for each in others]


def _read(material: Material, quotes: Sequence[_Quote], readers: cycle[Speaker]) -> list[Turn]:
    """Return the turns in which quotations are read, each source named before its first one."""
    turns: list[Turn] = []
    for source, group in groupby(quotes, key=lambda quote: quote.source):
        name = title(material.texts[source].title)
        for number, quote in enumerate(group):
            introduction = f"From “{name}”: " if name and not number else ""
            text = f"{introduction}“{quote.spoken}”"
            turns.append(Turn(next(readers).name, text, opens=not turns))
    return turns


def _select(group: Sequence[_Quote], segment: Segment, briefing: str) -> list[_Quote]:
    by_sentence = {quote.sentence: quote for quote in group}
    count = SENTENCES.get(segment.size, SENTENCES["medium"])
    selected = key_sentences.select(list(by_sentence), count, briefing)
    return [by_sentence[sentence] for sentence in selected]


def _groups(material: Material, count: int) -> list[list[_Quote]]:
    """Return the quotations in at most `count` groups of neighbours of about the same size.

    Raises:
        HTTPException: 422 if there are none.
    """
    quotes = _quotes(material)
    if not quotes:
        raise faults.unconfigured(
            f"The notebook {material.notebook} has no sentence that can be spoken. Add a source or "
            "a note with some text, or choose another model for the episode."
        )
    sources = len({quote.source for quote in quotes})
    count = max(1, min(count, max(sources, len(quotes) // _MIN_SENTENCES)))
    groups: dict[int, list[_Quote]] = {}
    position = 0
    for _, section in groupby(quotes, key=lambda quote: (quote.source, quote.sentence.heading)):
        members = list(section)
        middle = position + len(members) / 2
        groups.setdefault(int(middle * count / len(quotes)), []).extend(members)
        position += len(members)
    return list(groups.values())


def _quotes(material: Material) -> list[_Quote]:
    """Return what can be read aloud of each source, each sentence once."""
    found: dict[str, _Quote] = {}
    for number, text in enumerate(material.texts):
        sentences = key_sentences.split(text.text[:MAX_CHARACTERS])
        spoken = [(each, speakable(each.text)) for each in sentences]
        listenable = [
            (each, said) for each, said in spoken if each.complete and _is_listenable(each, said)
        ]
        # Notes of a few words have no whole sentences.
        for sentence, said in listenable or [pair for pair in spoken if pair[1]]:
            found.setdefault(said.casefold(), _Quote(number, sentence, said))
    return list(found.values())


def _is_listenable(sentence: Sentence, spoken: str) -> bool:
    """Return whether a sentence makes sense to a listener: no formula, address or question."""
    words = spoken.split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS or spoken.endswith("?"):
        return False
    letters = sum(char.isalpha() for char in spoken)
    return letters >= 0.6 * sum(map(len, words)) and not _NOT_FOR_LISTENING.search(sentence.text)


def _name(material: Material, group: Sequence[_Quote]) -> str:
    """Return the name of a segment: its first heading, or its first source's title."""
    heading = title(group[0].sentence.heading)
    name = heading or title(material.texts[group[0].source].title) or "Notes"
    return name[:1].upper() + name[1:]


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
