"""Write outline and dialogue with a language model."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, limits
from labext.sandbox.nb.podcasts.inputs import fair_share
from labext.sandbox.nb.podcasts.script import (
    EpisodePlan,
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
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import extractive, numbers, segmentation

_SEGMENT_TURNS = {"short": "3 to 5", "medium": "6 to 10", "long": "10 to 16"}
"""Number of turns to ask for, by segment size."""

SUMMARY_PROMPT = (
    "Summarise this material for somebody who will plan a podcast about it. Keep every finding, "
    "number, name and condition that matters; invent nothing."
)

_SPEECH_RULES = (
    "Write as people speak: whole sentences, and no markup, lists, headings, stage directions, "
    "citations or addresses of pages. Every fact must be in the material."
)


def system_prompt(plan: EpisodePlan) -> str:
    """Return the system prompt, which applies to the whole episode."""
    briefing, language, max_tokens = plan.briefing.strip(), plan.language, plan.max_tokens
    speakers = ["Speakers:"]
    for speaker in plan.speakers:
        about = " ".join(filter(None, (speaker.backstory.strip(), speaker.personality.strip())))
        speakers.append(f"- {speaker.name}: {about}" if about else f"- {speaker.name}")
    sections = [
        "You write a podcast about the material of a researcher's notebook.",
        f"Briefing: {briefing}" if briefing else "",
        "\n".join(speakers),
        f"Write in {language}." if language else "Write in the language of the material.",
        f"Keep each answer within {max_tokens} tokens." if max_tokens else "",
    ]
    return "\n\n".join(filter(None, sections))


def outline_prompt(material: str, count: int) -> str:
    """Return the prompt for the outline."""
    return (
        f"# The material\n\n{material}\n\n# Your task\n\n"
        f"Plan an episode of {count} segment{'s' if count > 1 else ''}. Answer with a JSON object "
        "alone; a size is short, medium or long:\n"
        '{"segments": [{"name": "…", "description": "what is talked about", "size": "medium"}]}'
    )


def dialogue_prompt(
    material: str, segments: Sequence[Segment], number: int, previous: Sequence[Turn], names: str
) -> str:
    """Return the prompt for the dialogue of one segment.

    `previous` are the last turns before this segment.
    """
    segment = segments[number]
    plan = "\n".join(f"{n}. {item.name}: {item.description}" for n, item in enumerate(segments, 1))
    before = "\n".join(f"{turn.speaker}: {turn.dialogue}" for turn in previous)
    place = (
        "It opens the episode: greet the listeners, and tell them in two or three sentences what "
        "the episode is about and why it matters."
        if number == 0
        else f"What was said last:\n{before}\n\nGo on from there; don't greet again."
    )
    end = (
        " It is the last one: sum up the main findings for the listeners, then close the episode."
        if number == len(segments) - 1
        else ""
    )
    return (
        f"# The material\n\n{material}\n\n# The outline\n\n{plan}\n\n# Your task\n\n"
        f"Write segment {number + 1}, “{segment.name}”, in {_SEGMENT_TURNS[segment.size]} "
        f"turns. {place}"
        f"{end}\n\nEverybody speaks: {names}. Nobody else does. {_SPEECH_RULES} `sources` "
        "lists the titles of the texts that state the facts of a turn; it is empty for a turn "
        "without facts. Answer with a JSON object alone:\n"
        '{"transcript": [{"speaker": "…", "dialogue": "…", "sources": ["…"]}]}'
    )


MAX_REPLY_LENGTH = 400_000
"""Characters of a reply that are parsed."""

_MAX_NAME_LENGTH = 200
_MAX_TEXT_LENGTH = 5000
_NAME_FIELDS = ("name", "title", "heading", "segment", "topic")
_DESCRIPTION_FIELDS = ("description", "summary", "content", "details", "text")
_SPEAKER_FIELDS = ("speaker", "name", "role", "character", "who")
_DIALOGUE_FIELDS = ("dialogue", "text", "line", "content", "says", "utterance")

_LIST_ITEM = re.compile(r"^\s*(?:#{1,6}|[-*•]|\(?\d{1,2}[.):]|segment \d{1,2}[.:)]?)\s+(.+)$", re.I)
_SPEAKER_LINE = re.compile(r"(?:[-*•]\s+)?\W{0,3}([\w .'’-]{1,60}?)\W{0,3}?\s*[:：]\W{0,2}\s*(.+)")


def parse_segments(reply: str, limit: int) -> list[Segment]:
    """Return at most `limit` segments of a reply; an empty list if it has none."""
    segments = [_parse_segment(item) for item in _json_objects(reply)]
    if not any(segments) and "{" not in reply:
        segments = [_parse_list_item(line) for line in reply.splitlines()]
    return [segment for segment in segments if segment is not None][:limit]


def parse_turns(reply: str, speakers: Sequence[Speaker], titles: Iterable[str] = ()) -> list[Turn]:
    """Return the turns of a reply as speakable text, ignoring unknown speakers and sources.

    `titles` are those of the material, which the reply names as sources.
    """
    known = {_normalize_name(title): title for title in titles}
    utterances = [
        (
            _first_text(item, _SPEAKER_FIELDS),
            _first_text(item, _DIALOGUE_FIELDS, MAX_REPLY_LENGTH),
            _parse_sources(item, known),
        )
        for item in _json_objects(reply)
    ]
    if not any(who and text for who, text, _ in utterances) and "{" not in reply:
        lines = reply[:MAX_REPLY_LENGTH].splitlines()
        matches = (_SPEAKER_LINE.fullmatch(" ".join(line.split())) for line in lines)
        utterances = [(match.group(1), match.group(2), ()) for match in matches if match]
    turns: list[Turn] = []
    for who, text, sources in utterances:
        speaker = _match_speaker(who, speakers)
        # In parts, since the time that removing markup takes is more than linear.
        parts = segmentation.split_text(text, _MAX_TEXT_LENGTH)
        spoken = " ".join(filter(None, map(strip_markup, parts)))
        if speaker is None or not spoken:
            continue
        if turns and turns[-1].speaker == speaker.name:
            last = turns[-1]
            turns[-1] = Turn(
                speaker.name,
                f"{last.dialogue} {spoken}",
                sources=tuple(dict.fromkeys((*last.sources, *sources))),
            )
        else:
            turns.append(Turn(speaker.name, spoken, sources=sources))
    return turns


def _parse_sources(item: Mapping[str, Any], known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the known titles that a turn names as its sources."""
    names = item.get("sources", item.get("source"))
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list):
        return ()
    keys = [_normalize_name(name[:_MAX_TEXT_LENGTH]) for name in names if isinstance(name, str)]
    return tuple(dict.fromkeys(known[key] for key in keys if key in known))


def unsupported_numbers(text: str, material: set[str]) -> set[str]:
    """Return the numbers over ten of a dialogue that are not among those of the material."""
    missing = numbers.missing_numbers(text, material)
    return {number for number in missing if not (number.isdigit() and int(number) <= 10)}


def remove_numbers(turns: Iterable[Turn], material: set[str]) -> list[Turn]:
    """Return the turns without the sentences whose numbers are not in the material."""
    remaining: list[Turn] = []
    for turn in turns:
        sentences = segmentation.split_sentences(turn.dialogue)
        dialogue = " ".join(
            sentence for sentence in sentences if not unsupported_numbers(sentence, material)
        )
        if dialogue:
            remaining.append(replace(turn, dialogue=dialogue))
    return remaining


def _json_objects(reply: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects in a reply, including nested ones and those in truncated JSON."""
    for value in chat.parse_json(_without_final_commas(reply), "{"):
        yield from _nested_objects(value)


def _without_final_commas(reply: str) -> str:
    """Return a reply without commas after the last element, which JSON does not allow."""
    return re.sub(r",(?=\s*[}\]])", "", reply[:MAX_REPLY_LENGTH])


def _is_broken(reply: str) -> bool:
    """Return whether the JSON of a reply is invalid, such as by a quotation mark in a text."""
    text = _without_final_commas(reply)
    start = text.find("{")
    if start < 0:
        return False
    try:
        json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return True
    return False


def _nested_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    pending = [value]  # a stack: the next value is last
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend(reversed(item.values()))
        elif isinstance(item, list):
            pending.extend(reversed(item))


def _parse_segment(item: Mapping[str, Any]) -> Segment | None:
    if any(
        isinstance(value, list) and value and isinstance(value[0], dict) for value in item.values()
    ):
        return None  # a container of segments
    name = spoken_title(_first_text(item, _NAME_FIELDS))
    description = strip_markup(_first_text(item, _DESCRIPTION_FIELDS))
    if not name or any(key in item for key in ("speaker", "dialogue")):
        return None
    size = _first_text(item, ("size", "length")).lower()
    return Segment(
        name[:_MAX_NAME_LENGTH], description, size if size in _SEGMENT_TURNS else "medium"
    )


def _parse_list_item(line: str) -> Segment | None:
    match = _LIST_ITEM.match(line)
    if match is None:
        return None
    name, _, description = re.sub(r"[*_`]", "", match.group(1)).partition(": ")
    name = spoken_title(name.strip(" :-–—"))[:_MAX_NAME_LENGTH]
    return Segment(name, strip_markup(description[:_MAX_TEXT_LENGTH])) if name else None


def _first_text(
    item: Mapping[str, Any], names: Sequence[str], max_length: int = _MAX_TEXT_LENGTH
) -> str:
    """Return the first non-blank text among several fields, ignoring case in field names."""
    values = {str(name).lower(): value for name, value in item.items()}
    texts = (values.get(name) for name in names)
    selected = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return segmentation.encodable(selected[:max_length])


def _match_speaker(name: str, speakers: Sequence[Speaker]) -> Speaker | None:
    """Return the speaker that a name refers to: by full name, some words of it, or `Speaker 1`."""
    words = _normalize_name(name).split()
    if not words:
        return None
    known = [(speaker, _normalize_name(speaker.name).split()) for speaker in speakers]
    full_matches = [speaker for speaker, names in known if names == words]
    first_word_matches = [speaker for speaker, names in known if names[:1] == words[:1]]
    word_matches = [speaker for speaker, names in known if set(words) <= set(names)]
    for matches in (full_matches, first_word_matches, word_matches):
        if len(matches) == 1:
            return matches[0]
    number = re.fullmatch(r"speaker (\d)", " ".join(words))
    if number and 0 < int(number.group(1)) <= len(speakers):
        return speakers[int(number.group(1)) - 1]
    return None


def _normalize_name(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    plain = "".join(char for char in letters if not unicodedata.combining(char))
    return " ".join(re.sub(r"[^\w\s'-]", " ", plain).split())


_PIECE_LENGTH = 1200
"""Characters of a text piece, the unit of selection."""

_MAX_CHARACTERS = 1_000_000
_SENTENCE_LENGTH = 150
"""Assumed average sentence length."""

_MIN_SUMMARY_LENGTH = 500
"""Shortest summary that is requested of a model, so that many notes don't cause many requests."""


@dataclass(frozen=True)
class _TextPiece:
    """A piece of a text: the text's number, its position, and the stems of its words."""

    source: int
    place: int
    text: str
    terms: frozenset[str]


class Excerpts:
    """Excerpts of an episode's material that fit a model's context."""

    def __init__(self, site: Site, material: Material) -> None:
        self._site, self._texts = site, material.texts
        with site.database.read() as session:
            self._max_length = limits.get_limit(session, "model_characters")

    def whole(self) -> str:
        """Return all of the material, with long texts summarized if it is too long."""
        with self._site.database.read() as session:
            model = registry.get_default_model(session, "summary")
        headings = len(_format_texts(Text(item.title, "") for item in self._texts))
        total = max(self._max_length - headings, self._max_length // 2)
        limit = fair_share([len(item.text) for item in self._texts], total)
        return self._cut(
            Text(item.title, _shorten(self._site, model, item.text, limit)) for item in self._texts
        )

    def _cut(self, texts: Iterable[Text]) -> str:
        """Return texts with their titles, cut at the limit if there are very many."""
        return _format_texts(texts)[: self._max_length]

    def about(self, segment: Segment) -> str:
        """Return the pieces of the material most relevant to a segment, in their original order."""
        limit = self._max_length
        if len(whole := _format_texts(self._texts)) <= limit:
            return whole
        segment_terms = frozenset(segmentation.stem_words(f"{segment.name} {segment.description}"))
        ranked = sorted(
            self._pieces,
            key=lambda piece: (-len(segment_terms & piece.terms), piece.place, piece.source),
        )
        best = sorted(
            ranked[: max(1, limit // _PIECE_LENGTH)], key=lambda piece: (piece.source, piece.place)
        )
        return self._cut(
            Text(self._texts[source].title, "\n…\n".join(piece.text for piece in pieces))
            for source, pieces in groupby(best, key=lambda piece: piece.source)
        )

    @cached_property
    def _pieces(self) -> list[_TextPiece]:
        return [
            _TextPiece(source, place, piece, frozenset(segmentation.stem_words(piece)))
            for source, text in enumerate(self._texts)
            for place, piece in enumerate(
                segmentation.split_text(text.text[:_MAX_CHARACTERS], _PIECE_LENGTH)
            )
        ]


def _shorten(site: Site, model: Model | None, text: str, limit: int) -> str:
    """Return a text shortened to at most `limit` characters."""
    if len(text) <= limit:
        return text
    if limit >= _MIN_SUMMARY_LENGTH and model is not None and not registry.is_built_in(model):

        def ask(prompt: str, piece: str) -> str:
            content = f"{prompt}\n\n{piece}"
            return chat.generate_reply(site, model, [{"role": "user", "content": content}])

        try:
            return chat.ask_in_parts(site, ask, SUMMARY_PROMPT, text)[:limit]
        except HTTPException as error:
            print(f"A text is shortened by the built-in model: {error.detail}")
    return extractive.summarize(text[:_MAX_CHARACTERS], max(3, limit // _SENTENCE_LENGTH))[:limit]


def _format_texts(texts: Iterable[Text]) -> str:
    return "\n\n".join(f"## {item.title}\n\n{item.text}" for item in texts)


_CONTEXT_TURNS = 6
"""Turns of the previous segment that are included in the prompt."""

T = TypeVar("T")


class LlmScriptWriter:
    """Write an episode's script with a language model other than the built-in one."""

    def __init__(self, site: Site, model: Model, plan: EpisodePlan) -> None:
        self._site, self._model, self._plan = site, model, plan
        self._excerpts = Excerpts(site, plan.material)

    def outline(self) -> list[Segment]:
        """Return the segments that the model plans."""
        plan = self._plan
        return self._request(
            outline_prompt(self._excerpts.whole(), plan.count),
            lambda reply: parse_segments(reply, plan.count),
            "no outline",
        )

    def dialogue(
        self, segments: Sequence[Segment], on_progress: Callable[[int, int], None]
    ) -> list[Turn]:
        """Return the turns that the model writes."""
        speakers = self._plan.speakers
        names = ", ".join(speaker.name for speaker in speakers)
        script: list[Turn] = []
        for number, segment in enumerate(segments):
            on_progress(number, len(segments))
            last = number == len(segments) - 1
            speakers_so_far = {turn.speaker for turn in script}
            missing = [
                speaker for speaker in speakers if last and speaker.name not in speakers_so_far
            ]
            excerpts = self._excerpts.about(segment)
            prompt = dialogue_prompt(excerpts, segments, number, script[-_CONTEXT_TURNS:], names)
            turns = self._request_turns(prompt, missing)
            script += [replace(turns[0], opens=True), *turns[1:]]
        on_progress(len(segments), len(segments))
        return script

    def _request_turns(self, prompt: str, missing: Sequence[Speaker]) -> list[Turn]:
        """Return the turns of a segment, whose numbers occur in the material.

        A reply with other numbers is requested once more; sentences of the second one with such
        numbers are removed. `missing` are the speakers who must have a turn.
        """
        plan = self._plan
        titles = [text.title for text in plan.material.texts]
        parse = partial(_complete_turns, plan.speakers, missing, titles)
        problem = f"no dialogue of {', '.join(speaker.name for speaker in plan.speakers)}"
        turns = self._request(prompt, parse, problem)
        dialogue = "\n".join(turn.dialogue for turn in turns)
        if unsupported := sorted(unsupported_numbers(dialogue, self._numbers)):
            addition = (
                f"Don't use these numbers, which are not in the material: {', '.join(unsupported)}."
            )
            turns = self._request(f"{prompt}\n\n{addition}", parse, problem)
            turns = remove_numbers(turns, self._numbers)
            if not turns or not {item.name for item in missing} <= {item.speaker for item in turns}:
                raise errors.bad_gateway(
                    f"The model {self._model.name} wrote numbers that are not in the material: "
                    f"{', '.join(unsupported[:5])}. Try again, or choose another model."
                )
        return turns

    @cached_property
    def _numbers(self) -> set[str]:
        texts = self._plan.material.texts
        return numbers.find_numbers("\n".join(f"{text.title} {text.text}" for text in texts))

    def _request(self, prompt: str, parse: Callable[[str], Sequence[T]], problem: str) -> list[T]:
        """Return the parsed reply of the model.

        One that can't be parsed or is cut off is requested once more. Of a second one that is
        invalid or cut off, what is complete is used.
        """
        messages = [
            {"role": "system", "content": system_prompt(self._plan)},
            {"role": "user", "content": prompt},
        ]
        items: list[T] = []
        for _ in range(2):
            monitor = Monitor(Usage())
            reply = chat.generate_reply(
                self._site, self._model, messages, None, self._plan.max_tokens, monitor
            )
            items = list(parse(reply)) or items
            is_broken = _is_broken(reply)
            if items and not monitor.is_truncated and not is_broken:
                break
            mistake = "no valid JSON" if is_broken else problem
            mistake = _TOO_LONG if monitor.is_truncated else mistake
            followup = (
                f"That was {mistake}. Answer again, with the JSON object that was asked for and no "
                "more."
            )
            messages += [
                {"role": "assistant", "content": reply},
                {"role": "user", "content": followup},
            ]
        if items:
            return items
        if monitor.is_truncated:
            raise errors.bad_gateway(
                f"The reply of the model {self._model.name} was {_TOO_LONG}. Give the episode "
                "profile a greater `max_tokens`, or choose another model."
            )
        raise errors.bad_gateway(
            f"The model {self._model.name} answered “{quote_reply(reply)}”, which is {problem}. "
            "Try again, or choose another model."
        )


_TOO_LONG = "too long, and cut off at the limit of its length"


def _complete_turns(
    speakers: Sequence[Speaker], missing: Sequence[Speaker], titles: Sequence[str], reply: str
) -> list[Turn]:
    """Return the turns of a reply, or an empty list if a missing speaker is still silent."""
    turns = parse_turns(reply, speakers, titles)
    speakers_so_far = {turn.speaker for turn in turns}
    return turns if all(speaker.name in speakers_so_far for speaker in missing) else []
