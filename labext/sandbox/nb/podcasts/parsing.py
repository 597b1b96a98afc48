"""An outline and turns out of a model's reply, however it is wrapped.

Models put JSON between fences and words, break it off, name its fields as they like, or write
lines. What is there is taken; what it can't be is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labext.sandbox.nb.podcasts.script import Segment, Speaker, Turn
from labext.sandbox.nb.podcasts.speakable import speakable, title
from labext.sandbox.nb.text import tokens

LONGEST = 400_000
"""Characters of a reply that are looked at."""

_TRIES = 2000
_LONGEST_NAME = 200
_LONGEST_TEXT = 5000
_NAMES = ("name", "title", "heading", "segment", "topic")
_DESCRIPTIONS = ("description", "summary", "content", "details", "text")
_SPEAKERS = ("speaker", "name", "role", "character", "who")
_DIALOGUES = ("dialogue", "text", "line", "content", "says", "utterance")
_SIZES = ("short", "medium", "long")

_LISTED = re.compile(r"^\s*(?:#{1,6}|[-*•]|\(?\d{1,2}[.):]|segment \d{1,2}[.:)]?)\s+(.+)$", re.I)
_SPOKEN = re.compile(r"^\s*(?:[-*•]\s+)?\W{0,3}([\w .'’-]{1,60}?)\W{0,3}?\s*[:：]\W{0,2}\s*(.+)$")


def segments(reply: str, most: int) -> list[Segment]:
    """The segments that a reply names, at most so many; none where there are none."""
    found = [_segment(each) for each in _objects(reply)]
    if not any(found) and "{" not in reply:
        found = [_listed(line) for line in reply.splitlines()]
    return [each for each in found if each is not None][:most]


def turns(reply: str, speakers: Sequence[Speaker]) -> list[Turn]:
    """What the speakers say in a reply, as it can be spoken; what others say is left out."""
    said = [(_text(each, _SPEAKERS), _text(each, _DIALOGUES)) for each in _objects(reply)]
    if not any(who and text for who, text in said) and "{" not in reply:
        lines = (_SPOKEN.match(line) for line in reply[:LONGEST].splitlines())
        said = [(line.group(1), line.group(2)[:_LONGEST_TEXT]) for line in lines if line]
    found: list[Turn] = []
    for who, text in said:
        speaker = _known(who, speakers)
        spoken = speakable(text)
        if speaker is None or not spoken:
            continue
        if found and found[-1].speaker == speaker.name:
            found[-1] = Turn(speaker.name, f"{found[-1].dialogue} {spoken}")
        else:
            found.append(Turn(speaker.name, spoken))
    return found


def _objects(reply: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in a reply, also those within others and those of one that breaks off."""
    reply = reply[:LONGEST]
    decoder = json.JSONDecoder(strict=False)
    start = 0
    for _ in range(_TRIES):
        start = reply.find("{", start)
        if start < 0:
            return
        try:
            found, start = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        yield from _within(found)


def _within(value: Any) -> Iterator[Mapping[str, Any]]:
    waiting = [value]  # the next one last
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(reversed(each.values()))
        elif isinstance(each, list):
            waiting.extend(reversed(each))


def _segment(found: Mapping[str, Any]) -> Segment | None:
    if any(
        isinstance(each, list) and each and isinstance(each[0], dict) for each in found.values()
    ):
        return None  # it is what holds them
    name, description = title(_text(found, _NAMES)), speakable(_text(found, _DESCRIPTIONS))
    if not name or any(key in found for key in ("speaker", "dialogue")):
        return None
    size = _text(found, ("size", "length")).lower()
    return Segment(name[:_LONGEST_NAME], description, size if size in _SIZES else "medium")


def _listed(line: str) -> Segment | None:
    found = _LISTED.match(line)
    if found is None:
        return None
    name, _, description = re.sub(r"[*_`]", "", found.group(1)).partition(": ")
    name = title(name.strip(" :-–—"))
    return Segment(name[:_LONGEST_NAME], speakable(description[:_LONGEST_TEXT])) if name else None


def _text(found: Mapping[str, Any], names: Sequence[str]) -> str:
    """The text of the first of some fields that has one, whatever its capitals."""
    known = {str(name).lower(): value for name, value in found.items()}
    texts = (known.get(name) for name in names)
    said = next((each for each in texts if isinstance(each, str) and each.strip()), "")
    return tokens.encodable(said[:_LONGEST_TEXT])


def _known(name: str, speakers: Sequence[Speaker]) -> Speaker | None:
    """The speaker who is meant: by the name, its first word, or `Speaker 1`."""
    wanted = _plain(name)
    if not wanted:
        return None
    whole = [each for each in speakers if _plain(each.name) == wanted]
    first = [each for each in speakers if _plain(each.name).split()[:1] == wanted.split()[:1]]
    for found in (whole, first):
        if len(found) == 1:
            return found[0]
    number = re.fullmatch(r"speaker (\d)", wanted)
    if number and 0 < int(number.group(1)) <= len(speakers):
        return speakers[int(number.group(1)) - 1]
    return None


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[^\w\s'-]", " ", name.casefold()).split())
