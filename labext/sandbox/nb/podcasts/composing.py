"""Outline and dialogue by the built-in model: the sources' own sentences, and turns between them.

Whatever is said of the matter stands in a source word for word. The rest only asks, hands over and
names what comes next. The same notebook gives the same dialogue, and another one another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from labext.sandbox.nb import faults
from labext.sandbox.nb.podcasts.conversation import Conversation
from labext.sandbox.nb.podcasts.facts import Fact, facts, told
from labext.sandbox.nb.podcasts.phrases import Phrases
from labext.sandbox.nb.podcasts.planning import SIZES, Part, matching, parts
from labext.sandbox.nb.podcasts.roles import roles
from labext.sandbox.nb.podcasts.script import Material, Segment, Speaker, Turn
from labext.sandbox.nb.podcasts.topics import Names
from labext.sandbox.nb.transformations.asks import topics

_ENOUGH = 8
"""Facts of an episode from which on one is kept for its end."""


def outline(material: Material, briefing: str, count: int) -> list[Segment]:  # noqa: ARG001
    """The parts that the material falls into, at most `count`.

    Raises:
        HTTPException: 422, nothing of the material can be said.
    """
    return [each.segment for each in parts(material, _facts(material), count)]


def dialogue(
    material: Material,
    briefing: str,
    segments: Sequence[Segment],
    speakers: Sequence[Speaker],
    tell: Callable[[int, int], None],
) -> list[Turn]:
    """What is said: each segment's most telling facts, rather those that the briefing is about.

    Raises:
        HTTPException: 422, nothing of the material can be said.
    """
    found = _facts(material)
    about = topics(briefing)
    chosen = [
        Part(each.segment, told(each.facts, SIZES.get(each.segment.size, 6), about))
        for each in matching(material, found, segments)
    ]
    chosen, last = _kept(chosen, about)
    names = Names([fact.text for text in found for fact in text])
    talk = Conversation(material, roles(speakers), Phrases(_seed(material)), names)
    talk.open(speakers)
    for number, part in enumerate(chosen):
        tell(number, len(chosen))
        if part.facts:
            talk.segment(part)
    talk.close(last)
    tell(len(chosen), len(chosen))
    return talk.turns


def _facts(material: Material) -> list[list[Fact]]:
    found = facts(material)
    if not any(found):
        raise faults.unconfigured(
            f"The notebook {material.notebook} has no sentence that can be spoken. Add a source or "
            "a note with some text, or choose another model for the episode."
        )
    return found


def _kept(chosen: Sequence[Part], about: frozenset[str]) -> tuple[list[Part], Fact | None]:
    """The parts without the fact that says most, and that fact; it is for the end."""
    every = [fact for part in chosen for fact in part.facts]
    if len(every) < _ENOUGH:
        return list(chosen), None
    last = told(every, 1, about)[0]
    rest = [Part(each.segment, [f for f in each.facts if f != last]) for each in chosen]
    return rest, last


def _seed(material: Material) -> str:
    told = "\0".join([material.notebook, *(each.title + each.text for each in material.texts)])
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()
