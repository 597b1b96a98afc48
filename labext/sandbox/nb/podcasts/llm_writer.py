"""Write outline and dialogue with a language model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.podcasts.inputs import fair_share
from labext.sandbox.nb.podcasts.script import (
    Material,
    Segment,
    Speaker,
    Text,
    Turn,
    spoken_title,
    strip_markup,
)
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.providers.servers import quote_reply
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import extractive, segmentation

_SEGMENT_TURNS = {"short": "3 to 5", "medium": "6 to 10", "long": "10 to 16"}
"""Turns of a segment of each size."""

SUMMARY_PROMPT = (
    "Summarise this material for somebody who will plan a podcast about it. Keep every finding, "
    "number, name and condition that matters; invent nothing."
)

_SPEECH_RULES = (
    "Write as people speak: whole sentences, and no markup, lists, headings, stage directions, "
    "citations or addresses of pages. Every fact must be in the material."
)


def system_prompt(
    briefing: str, speakers: Sequence[Speaker], language: str | None, max_tokens: int | None
) -> str:
    """What is so for the whole episode."""
    told = [
        "You write a podcast about the material of a researcher's notebook.",
        f"Briefing: {briefing.strip()}" if briefing.strip() else "",
        "Speakers:\n" + "\n".join(_describe_speaker(each) for each in speakers),
        f"Write in {language}." if language else "Write in the language of the material.",
        f"Keep each answer within {max_tokens} tokens." if max_tokens else "",
    ]
    return "\n\n".join(filter(None, told))


def outline_prompt(notebook: str, material: str, count: int) -> str:
    """Plan the episode."""
    return (
        f"# The material of the notebook {notebook}\n\n{material}\n\n# Your task\n\n"
        f"Plan an episode of {count} segment{'s' if count > 1 else ''}. Answer with a JSON object "
        "alone; a size is short, medium or long:\n"
        '{"segments": [{"name": "…", "description": "what is talked about", "size": "medium"}]}'
    )


def dialogue_prompt(
    material: str, segments: Sequence[Segment], number: int, said: Sequence[Turn], names: str
) -> str:
    """Write one segment.

    Args:
        material: what it is about.
        segments: the whole outline.
        number: of the segment, from 0.
        said: the last turns before it.
        names: the speakers' names.
    """
    segment = segments[number]
    plan = "\n".join(f"{n}. {each.name}: {each.description}" for n, each in enumerate(segments, 1))
    before = "\n".join(f"{each.speaker}: {each.dialogue}" for each in said)
    place = (
        "It opens the episode: greet the listeners."
        if number == 0
        else f"What was said last:\n{before}\n\nGo on from there; don't greet again."
    )
    end = " It is the last one: close the episode." if number == len(segments) - 1 else ""
    return (
        f"# The material\n\n{material}\n\n# The outline\n\n{plan}\n\n# Your task\n\n"
        f"Write segment {number + 1}, “{segment.name}”, in {_SEGMENT_TURNS[segment.size]} "
        f"turns. {place}"
        f"{end}\n\nEverybody speaks: {names}. Nobody else does. {_SPEECH_RULES} Answer with a JSON "
        'object alone:\n{"transcript": [{"speaker": "…", "dialogue": "…"}]}'
    )


def retry_prompt(what: str) -> str:
    """Ask again after an answer that won't do."""
    return f"That was {what}. Answer again, with the JSON object that was asked for and no more."


def _describe_speaker(each: Speaker) -> str:
    about = " ".join(filter(None, (each.backstory.strip(), each.personality.strip())))
    return f"- {each.name}: {about}" if about else f"- {each.name}"


MAX_REPLY_LENGTH = 400_000
"""Characters of a reply that are looked at."""

_MAX_OBJECTS = 2000
_MAX_NAME_LENGTH = 200
_MAX_TEXT_LENGTH = 5000
_NAME_FIELDS = ("name", "title", "heading", "segment", "topic")
_DESCRIPTION_FIELDS = ("description", "summary", "content", "details", "text")
_SPEAKER_FIELDS = ("speaker", "name", "role", "character", "who")
_DIALOGUE_FIELDS = ("dialogue", "text", "line", "content", "says", "utterance")
_SIZES = ("short", "medium", "long")

_LIST_ITEM = re.compile(r"^\s*(?:#{1,6}|[-*•]|\(?\d{1,2}[.):]|segment \d{1,2}[.:)]?)\s+(.+)$", re.I)
_SPEAKER_LINE = re.compile(
    r"^\s*(?:[-*•]\s+)?\W{0,3}([\w .'’-]{1,60}?)\W{0,3}?\s*[:：]\W{0,2}\s*(.+)$"
)


def parse_segments(reply: str, most: int) -> list[Segment]:
    """The segments that a reply names, at most so many; none where there are none."""
    found = [_parse_segment(each) for each in _json_objects(reply)]
    if not any(found) and "{" not in reply:
        found = [_parse_list_item(line) for line in reply.splitlines()]
    return [each for each in found if each is not None][:most]


def parse_turns(reply: str, speakers: Sequence[Speaker]) -> list[Turn]:
    """What the speakers say in a reply, as it can be spoken; what others say is left out."""
    said = [
        (_first_text(each, _SPEAKER_FIELDS), _first_text(each, _DIALOGUE_FIELDS))
        for each in _json_objects(reply)
    ]
    if not any(who and text for who, text in said) and "{" not in reply:
        lines = (_SPEAKER_LINE.match(line) for line in reply[:MAX_REPLY_LENGTH].splitlines())
        said = [(line.group(1), line.group(2)[:_MAX_TEXT_LENGTH]) for line in lines if line]
    found: list[Turn] = []
    for who, text in said:
        speaker = _match_speaker(who, speakers)
        spoken = strip_markup(text)
        if speaker is None or not spoken:
            continue
        if found and found[-1].speaker == speaker.name:
            found[-1] = Turn(speaker.name, f"{found[-1].dialogue} {spoken}")
        else:
            found.append(Turn(speaker.name, spoken))
    return found


def _json_objects(reply: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in a reply, also those within others and those of one that breaks off."""
    reply = reply[:MAX_REPLY_LENGTH]
    decoder = json.JSONDecoder(strict=False)
    start = 0
    for _ in range(_MAX_OBJECTS):
        start = reply.find("{", start)
        if start < 0:
            return
        try:
            found, start = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        yield from _nested_objects(found)


def _nested_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    waiting = [value]  # the next one last
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(reversed(each.values()))
        elif isinstance(each, list):
            waiting.extend(reversed(each))


def _parse_segment(found: Mapping[str, Any]) -> Segment | None:
    if any(
        isinstance(each, list) and each and isinstance(each[0], dict) for each in found.values()
    ):
        return None  # it is what holds them
    name, description = (
        spoken_title(_first_text(found, _NAME_FIELDS)),
        strip_markup(_first_text(found, _DESCRIPTION_FIELDS)),
    )
    if not name or any(key in found for key in ("speaker", "dialogue")):
        return None
    size = _first_text(found, ("size", "length")).lower()
    return Segment(name[:_MAX_NAME_LENGTH], description, size if size in _SIZES else "medium")


def _parse_list_item(line: str) -> Segment | None:
    found = _LIST_ITEM.match(line)
    if found is None:
        return None
    name, _, description = re.sub(r"[*_`]", "", found.group(1)).partition(": ")
    name = spoken_title(name.strip(" :-–—"))
    return (
        Segment(name[:_MAX_NAME_LENGTH], strip_markup(description[:_MAX_TEXT_LENGTH]))
        if name
        else None
    )


def _first_text(found: Mapping[str, Any], names: Sequence[str]) -> str:
    """The text of the first of some fields that has one, whatever its capitals."""
    known = {str(name).lower(): value for name, value in found.items()}
    texts = (known.get(name) for name in names)
    said = next((each for each in texts if isinstance(each, str) and each.strip()), "")
    return segmentation.encodable(said[:_MAX_TEXT_LENGTH])


def _match_speaker(name: str, speakers: Sequence[Speaker]) -> Speaker | None:
    """The speaker who is meant: by the name, its first word, or `Speaker 1`."""
    wanted = _normalize_name(name)
    if not wanted:
        return None
    whole = [each for each in speakers if _normalize_name(each.name) == wanted]
    first = [
        each for each in speakers if _normalize_name(each.name).split()[:1] == wanted.split()[:1]
    ]
    for found in (whole, first):
        if len(found) == 1:
            return found[0]
    number = re.fullmatch(r"speaker (\d)", wanted)
    if number and 0 < int(number.group(1)) <= len(speakers):
        return speakers[int(number.group(1)) - 1]
    return None


def _normalize_name(name: str) -> str:
    return " ".join(re.sub(r"[^\w\s'-]", " ", name.casefold()).split())


_PIECE_LENGTH = 1200
"""Characters of what is chosen or left out."""

_MAX_CHARACTERS = 1_000_000
_SENTENCE_LENGTH = 150
"""Characters of a usual sentence."""

_MIN_SUMMARY_LENGTH = 500
"""Characters of a short version that a model is asked for: of many notes it would be many times."""


@dataclass(frozen=True)
class _TextPiece:
    """A piece of a text: which text's, its place there, and the stems of its words."""

    source: int
    place: int
    text: str
    terms: frozenset[str]


class Excerpts:
    """The material of an episode, as much of it as a model can be given.

    Args:
        site: where the service lives.
        material: all of it.
    """

    def __init__(self, site: Site, material: Material) -> None:
        self._site, self._texts = site, material.texts
        with site.database.read() as session:
            self._terms = chat.part_limits(session)

    def whole(self) -> str:
        """All of the material, its long texts in short where there is too much of it."""
        with self._site.database.read() as session:
            model = registry.get_default_model(session, "summary")
        most = fair_share([len(each.text) for each in self._texts], self._terms.characters)
        return _format_texts(
            Text(each.title, _shorten(self._site, model, each.text, most, self._terms))
            for each in self._texts
        )

    def about(self, segment: Segment) -> str:
        """The pieces of the material that have most to do with a segment, in their order."""
        most = self._terms.characters
        if sum(len(each.text) for each in self._texts) <= most:
            return _format_texts(self._texts)
        wanted = frozenset(segmentation.stem_words(f"{segment.name} {segment.description}"))
        ranked = sorted(
            self._pieces, key=lambda each: (-len(wanted & each.terms), each.place, each.source)
        )
        best = sorted(
            ranked[: max(1, most // _PIECE_LENGTH)], key=lambda each: (each.source, each.place)
        )
        return _format_texts(
            Text(self._texts[source].title, "\n…\n".join(each.text for each in pieces))
            for source, pieces in groupby(best, key=lambda each: each.source)
        )

    @cached_property
    def _pieces(self) -> list[_TextPiece]:
        return [
            _TextPiece(source, place, piece, frozenset(segmentation.stem_words(piece)))
            for source, each in enumerate(self._texts)
            for place, piece in enumerate(
                chat.split_text(each.text[:_MAX_CHARACTERS], _PIECE_LENGTH)
            )
        ]


def _shorten(site: Site, model: Model | None, text: str, most: int, terms: chat.PartLimits) -> str:
    """A text in at most so many characters."""
    if len(text) <= most:
        return text
    if most >= _MIN_SUMMARY_LENGTH and model is not None and not registry.is_built_in(model):

        def ask(prompt: str, piece: str) -> str:
            said = f"{prompt}\n\n{piece}"
            return chat.generate_reply(site, model, [{"role": "user", "content": said}])

        try:
            return chat.ask_in_parts(ask, SUMMARY_PROMPT, text, terms)[:most]
        except HTTPException as error:
            print(f"A text is shortened by the built-in model: {error.detail}")
    return extractive.summarize(text[:_MAX_CHARACTERS], max(3, most // _SENTENCE_LENGTH))[:most]


def _format_texts(texts: Iterable[Text]) -> str:
    return "\n\n".join(f"## {each.title}\n\n{each.text}" for each in texts)


_CONTEXT_TURNS = 6
"""Turns before a segment that the model is told again."""

T = TypeVar("T")


class LlmScriptWriter:
    """A language model as a writer.

    Args:
        site: where the service lives.
        model: of type `llm`, not the built-in one.
        language: of the episode; None is the material's.
        max_tokens: of each answer; None leaves it to the server.
    """

    def __init__(
        self, site: Site, model: Model, language: str | None, max_tokens: int | None
    ) -> None:
        self._site, self._model = site, model
        self._language, self._max_tokens = language, max_tokens

    def outline(
        self, material: Material, briefing: str, count: int, speakers: Sequence[Speaker]
    ) -> list[Segment]:
        """The segments that the model plans; raises as `writing.outline`."""
        told = Excerpts(self._site, material).whole()
        return self._asked(
            system_prompt(briefing, speakers, self._language, self._max_tokens),
            outline_prompt(material.notebook, told, count),
            lambda reply: parse_segments(reply, count),
            "no outline",
        )

    def dialogue(
        self,
        material: Material,
        briefing: str,
        segments: Sequence[Segment],
        speakers: Sequence[Speaker],
        tell: Callable[[int, int], None],
    ) -> list[Turn]:
        """What the model has the speakers say; raises as `writing.dialogue`."""
        system = system_prompt(briefing, speakers, self._language, self._max_tokens)
        excerpts = Excerpts(self._site, material)
        names = ", ".join(each.name for each in speakers)
        said: list[Turn] = []
        for number, segment in enumerate(segments):
            tell(number, len(segments))
            last = number == len(segments) - 1
            heard = {each.speaker for each in said}
            missing = [each for each in speakers if last and each.name not in heard]
            turns = self._asked(
                system,
                dialogue_prompt(
                    excerpts.about(segment), segments, number, said[-_CONTEXT_TURNS:], names
                ),
                partial(_complete_turns, speakers, missing),
                f"no dialogue of {names}",
            )
            said += [replace(turns[0], opens=True), *turns[1:]]
        tell(len(segments), len(segments))
        return said

    def _asked(
        self, system: str, prompt: str, parsed: Callable[[str], Sequence[T]], what: str
    ) -> list[T]:
        """What is made of the model's answer; of a second one, where the first won't do.

        Raises:
            HTTPException: 502, neither will; or as `chatting.reply`.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        for _ in range(2):
            reply = chat.generate_reply(
                self._site, self._model, messages, max_tokens=self._max_tokens
            )
            found = list(parsed(reply))
            if found:
                return found
            messages += [
                {"role": "assistant", "content": reply},
                {"role": "user", "content": retry_prompt(what)},
            ]
        raise _invalid_reply(self._model, reply, what)


def _complete_turns(
    speakers: Sequence[Speaker], missing: Sequence[Speaker], reply: str
) -> list[Turn]:
    """The turns of a reply; none where somebody says nothing who should."""
    found = parse_turns(reply, speakers)
    heard = {each.speaker for each in found}
    return found if all(each.name in heard for each in missing) else []


def _invalid_reply(model: Model, reply: str, what: str) -> HTTPException:
    return errors.bad_gateway(
        f"The model {model.name} answered “{quote_reply(reply)}”, which is {what}. Try again, "
        "or choose "
        "another model."
    )
