"""Write outline and dialogue: by a template of quotations, or by a language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby

from labext.messages import join_all
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.podcasts.llm_writer import LlmScriptWriter
from labext.sandbox.nb.podcasts.script import (
    EpisodePlan,
    Material,
    Segment,
    Speaker,
    Turn,
    spoken_title,
    strip_markup,
)
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech import voices
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import extractive
from labext.sandbox.nb.text.extractive import Sentence

SEGMENT_SENTENCES = {"short": 3, "medium": 6, "long": 10}
"""Maximum number of quoted sentences, by segment size."""

MAX_CHARACTERS = 400_000
"""Characters of a source that are considered."""

_MIN_SENTENCES = 4
"""Sentences per segment; fewer sentences give fewer segments."""

_MIN_WORDS, _MAX_WORDS = 4, 45
_MAX_NUMBERS = 8
"""Numbers of a sentence; one with more is a table or a list of data."""
_MAX_LENGTH = 2000
_MAX_TITLES = 3
"""Titles in the introduction."""

_NUMBER = re.compile(r"\d[\d.,]*")
_NOT_FOR_LISTENING = re.compile(
    r"[=_@\\{}<>|^$`→⇒⇌]|->|://|\bwww\.|\]\(|\bet al\b|\bpp?\. ?\d|\bISSN\b|\bISBN\b|[ACGTUN]{9,}"
    r"|:$"
)


@dataclass(frozen=True)
class _Quote:
    """A sentence of a source, given by its number, and the text as it is read aloud."""

    source: int
    sentence: Sentence
    spoken: str


def template_outline(material: Material, count: int) -> list[Segment]:
    """Return at most `count` segments: the material's sections in order, neighbours together."""
    segments: list[Segment] = []
    for group in _group_quotes(material, count):
        title = material.texts[group[0].source].title
        name = spoken_title(group[0].sentence.heading) or spoken_title(title) or "Notes"
        name = name[:1].upper() + name[1:]
        number = sum(1 for segment in segments if segment.name.partition(", part ")[0] == name)
        size = next(
            (size for size, max_quotes in SEGMENT_SENTENCES.items() if len(group) <= max_quotes),
            "long",
        )
        sources = dict.fromkeys(spoken_title(material.texts[quote.source].title) for quote in group)
        description = "Quotations from " + ", ".join(filter(None, sources))
        segments.append(
            Segment(f"{name}, part {number + 1}" if number else name, description, size)
        )
    return segments


def template_script(
    material: Material,
    briefing: str,
    segments: Sequence[Segment],
    speakers: Sequence[Speaker],
    on_progress: Callable[[int, int], None],
) -> list[Turn]:
    """Return the turns: an introduction, the key sentences of each segment, and an end."""
    groups = _group_quotes(material, len(segments))
    turns = _introduction_turns(material, speakers)
    readers = cycle(speakers)
    for number, (segment, group) in enumerate(zip(segments, groups, strict=False)):
        on_progress(number, len(segments))
        by_sentence = {quote.sentence: quote for quote in group}
        count = SEGMENT_SENTENCES.get(segment.size, SEGMENT_SENTENCES["medium"])
        selected = extractive.select_sentences(list(by_sentence), count, briefing)
        turns += _quote_turns(material, [by_sentence[item] for item in selected], readers)
    on_progress(len(segments), len(segments))
    return [*turns, Turn(speakers[0].name, "That is the end. Thank you for listening.", opens=True)]


def _introduction_turns(material: Material, speakers: Sequence[Speaker]) -> list[Turn]:
    first, *others = speakers
    titles = list(
        dict.fromkeys(filter(None, (spoken_title(text.title) for text in material.texts)))
    )
    text = "Welcome. In this episode you hear passages from the sources of a notebook."
    named = [f"“{title}”" for title in titles[:_MAX_TITLES]]
    if titles[_MAX_TITLES:]:
        named.append(f"{len(titles) - _MAX_TITLES} more")
    if named:
        text += f" They are {join_all(named, 'and')}." if named[1:] else f" It is {named[0]}."
    turns = [Turn(first.name, text)]
    return turns + [Turn(other.name, f"{other.name.strip()} reads, too.") for other in others]


def _quote_turns(
    material: Material, quotes: Sequence[_Quote], readers: cycle[Speaker]
) -> list[Turn]:
    """Return the turns in which quotations are read, each source named before its first one."""
    turns: list[Turn] = []
    for source, group in groupby(quotes, key=lambda quote: quote.source):
        name = spoken_title(material.texts[source].title)
        for number, quote in enumerate(group):
            introduction = f"From “{name}”: " if name and not number else ""
            text = f"{introduction}“{quote.spoken}”"
            title = material.texts[source].title
            sources = (title,) if title else ()
            turns.append(Turn(next(readers).name, text, opens=not turns, sources=sources))
    return turns


def _group_quotes(material: Material, count: int) -> list[list[_Quote]]:
    """Return the quotations in at most `count` groups of neighbours of about the same size."""
    quotes = _collect_quotes(material)
    if not quotes:
        raise errors.not_configured(
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


def _collect_quotes(material: Material) -> list[_Quote]:
    """Return the speakable sentences of all sources, without duplicates."""
    quotes: dict[str, _Quote] = {}
    for number, text in enumerate(material.texts):
        sentences = extractive.parse_sentences(text.text[:MAX_CHARACTERS])
        spoken = [
            (sentence, strip_markup(sentence.text))
            for sentence in sentences
            if len(sentence.text) <= _MAX_LENGTH  # data in one line are not for listening
        ]
        listenable = [pair for pair in spoken if pair[0].complete and _is_listenable(*pair)]
        # Notes of a few words have no whole sentences.
        for sentence, spoken_text in listenable or [pair for pair in spoken if pair[1]]:
            quotes.setdefault(spoken_text.casefold(), _Quote(number, sentence, spoken_text))
    return list(quotes.values())


def _is_listenable(sentence: Sentence, spoken: str) -> bool:
    """Return whether a listener can follow: no formula, table, address or question."""
    words = spoken.split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS or spoken.endswith("?"):
        return False
    if len(_NUMBER.findall(spoken)) > _MAX_NUMBERS:
        return False
    letters = sum(char.isalpha() for char in spoken)
    return letters >= 0.6 * sum(map(len, words)) and not _NOT_FOR_LISTENING.search(sentence.text)


def check_language(model: Model, language: str | None) -> None:
    """Check that a model can write in a language; None is the language of the sources."""
    if registry.is_built_in(model) and not voices.is_english(language):
        raise errors.not_configured(
            f"The model {model.name} only writes English, not {language}. Choose another "
            "model for the episode, or take the language out of its profile."
        )


def write_outline(site: Site, model: Model, plan: EpisodePlan) -> list[Segment]:
    """Return the segments of an episode: at least one, at most `plan.count`."""
    check_language(model, plan.language)
    if registry.is_built_in(model):
        return template_outline(plan.material, plan.count)
    return LlmScriptWriter(site, model, plan).outline()


def write_dialogue(
    site: Site,
    model: Model,
    plan: EpisodePlan,
    segments: Sequence[Segment],
    on_progress: Callable[[int, int], None],
) -> list[Turn]:
    """Return the turns of all segments as speakable text without markup.

    Every speaker has at least one turn, and there are no other speakers. `on_progress` is called
    with the number of segments written and their total, from 0 on.
    """
    check_language(model, plan.language)
    if registry.is_built_in(model):
        return template_script(plan.material, plan.briefing, segments, plan.speakers, on_progress)
    return LlmScriptWriter(site, model, plan).dialogue(segments, on_progress)
