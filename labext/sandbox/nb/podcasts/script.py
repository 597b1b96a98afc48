"""What an episode is made of: what it is about, who speaks, its parts, and what is said when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STAGES = OUTLINE, DIALOGUE, SPEECH, ENCODING = "outline", "dialogue", "speech", "encoding"
"""What is done for an episode, in this order."""


@dataclass(frozen=True)
class Text:
    """A source or a note: its title, and what it says."""

    title: str
    text: str


@dataclass(frozen=True)
class Material:
    """What an episode is about: a notebook, and the texts in it."""

    notebook: str
    texts: Sequence[Text]


@dataclass(frozen=True)
class Speaker:
    """Who speaks; no two of an episode have one name."""

    name: str
    backstory: str = ""
    personality: str = ""


@dataclass(frozen=True)
class Segment:
    """A part of an episode; its size is `short`, `medium` or `long`."""

    name: str
    description: str
    size: str = "medium"


@dataclass(frozen=True)
class Turn:
    """What a speaker, by name, says at once; `opens` where a segment begins with it."""

    speaker: str
    dialogue: str
    opens: bool = False


@dataclass(frozen=True)
class Spoken:
    """A turn as it is heard, from `start` to `end`: seconds from the episode's beginning."""

    speaker: str
    dialogue: str
    start: float
    end: float
