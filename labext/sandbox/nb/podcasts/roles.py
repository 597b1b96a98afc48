"""Who asks and who tells, by what is known of the speakers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from labext.sandbox.nb.podcasts.script import Speaker

_ASKS = re.compile(
    r"(?i)\b(?:host|moderat\w*|interview\w*|presenter|student|learn\w*|curious|novice|beginner|"
    r"asks?|asking|eager|begins|newcomer|layperson|question\w*)\b"
)
_TELLS = re.compile(
    r"(?i)\b(?:guest|expert|professor|scientist|specialist|researcher|teacher|explain\w*|lecturer)"
)
_CALLED = frozenset(
    ("host", "guest", "expert", "student", "moderator", "speaker", "narrator", "presenter")
)


@dataclass(frozen=True)
class Roles:
    """Who asks, and who tells; one who speaks alone does the telling, and the others share it.

    Attributes:
        askers: the first one leads.
        tellers: one at least.
    """

    askers: Sequence[Speaker]
    tellers: Sequence[Speaker]

    @property
    def lead(self) -> Speaker:
        """Who opens and closes."""
        return (*self.askers, *self.tellers)[0]


def roles(speakers: Sequence[Speaker]) -> Roles:
    """The parts of one to four speakers."""
    if len(speakers) == 1:
        return Roles((), speakers)
    asking = [each for each in speakers if _leaning(each) > 0] or [speakers[0]]
    telling = [each for each in speakers if each not in asking]
    if not telling:
        asking, telling = asking[:1], asking[1:]
    return Roles(asking, telling)


def called(speaker: Speaker) -> str:
    """A speaker's name as others say it: `our guest` for one who is called by a role."""
    name = speaker.name.strip()
    return f"our {name.lower()}" if is_role(speaker) else name


def is_role(speaker: Speaker) -> bool:
    """Whether a speaker is called by what he does there, and by no name of his own."""
    return speaker.name.strip().lower() in _CALLED


def _leaning(speaker: Speaker) -> int:
    """More than 0 where a speaker rather asks."""
    text = f"{speaker.name} {speaker.personality} {speaker.backstory}"
    name = speaker.name.lower()
    named = 3 * (name in ("host", "student", "moderator")) - 3 * (name in ("guest", "expert"))
    return named + len(_ASKS.findall(text)) - len(_TELLS.findall(text))
