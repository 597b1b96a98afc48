"""A conversation that grows turn by turn, out of facts and what is said between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labext.sandbox.nb.podcasts import phrases
from labext.sandbox.nb.podcasts.facts import Fact
from labext.sandbox.nb.podcasts.phrases import Phrases
from labext.sandbox.nb.podcasts.planning import Part
from labext.sandbox.nb.podcasts.roles import Roles, called, is_role
from labext.sandbox.nb.podcasts.script import Material, Speaker, Turn
from labext.sandbox.nb.podcasts.speakable import title
from labext.sandbox.nb.podcasts.topics import Names

_MOST_NAMED = 3
"""Sources that are named at the beginning."""

_LONGEST = 60
"""Words of a turn to which nothing is added."""


class Conversation:
    """What was said so far, and who says what next.

    Args:
        material: what it is about.
        roles: who asks, and who tells.
        between: what is said between facts.
        names: what the facts name.
    """

    def __init__(self, material: Material, roles: Roles, between: Phrases, names: Names) -> None:
        self.turns: list[Turn] = []
        self._material, self._roles, self._between, self._names = material, roles, between, names
        self._source: int | None = None
        self._named: list[str] = []
        self._told = 0
        self._noticed = False
        self._opens = False

    def open(self, speakers: Sequence[Speaker]) -> None:
        """Say what it is about, and who is there."""
        lead = self._roles.lead
        subject = title(self._material.notebook) or "what the sources say"
        self._say(lead, f"Welcome. Today we talk about {subject}.", self._sources())
        others = [each for each in speakers if each != lead]
        if others:
            together = _joined([called(each) for each in others])
            here = f"with me {'are' if len(others) > 1 else 'is'} {together}."
            own = "" if is_role(lead) else f"I am {called(lead)}, and "
            self._say(lead, f"{own}{here}" if own else f"With{here[4:]}")
        greetings = ("Hello, and thank you for having me.", "Hello everyone.", "Good to be here.")
        for each, greeting in zip(others, greetings, strict=False):
            self._say(each, greeting)

    def segment(self, part: Part) -> None:
        """Talk about a segment; whoever begins it begins a turn."""
        self._opens = True
        first = part.facts[0]
        name = title(part.segment.name)
        source = title(self._material.texts[first.source].title)
        starts: Sequence[str] = phrases.BEGUN if self._told == 0 else phrases.CHANGED
        if self._source not in (None, first.source) and source:
            self._say(self._roles.lead, self._between.one(phrases.SOURCED, source))
            starts = phrases.BEGUN if name != source else ()
        if name and starts:
            self._say(self._roles.lead, self._between.one(starts, name))
        self._source = first.source
        before: Fact | None = None
        self._noticed = False
        for fact in part.facts:
            self._source_of(fact)
            self._fact(fact, before)
            before = fact
            self._told += 1

    def close(self, last: Fact | None) -> None:
        """Say what to keep in mind, and goodbye."""
        lead = self._roles.lead
        if last is not None:
            teller = self._teller()
            pool = phrases.LAST if teller != lead else phrases.LAST_ALONE
            self._say(lead, self._between.one(pool))
            self._say(teller, last.text)
        thanks = "Thank you for listening."
        if self._roles.askers:
            thanks = f"Thank you, {called(self._roles.tellers[0])}, and thank you for listening."
        if len(self._roles.askers) + len(self._roles.tellers) > 2:
            thanks = "My thanks to all of you here, and to everyone who listened."
        self._say(lead, thanks)

    def _sources(self) -> str:
        """The sources by their titles."""
        every = [title(each.title) for each in self._material.texts]
        named = [f"“{each}”" for each in dict.fromkeys(every) if each]
        if not named:
            return ""
        if len(named) > _MOST_NAMED:
            more = len(named) - _MOST_NAMED
            named = [*named[:_MOST_NAMED], "one more" if more == 1 else f"{more} more"]
        return f"What we have in front of us is {_joined(named)}."

    def _source_of(self, fact: Fact) -> None:
        source = title(self._material.texts[fact.source].title)
        if fact.source != self._source and source:
            self._say(self._roles.lead, self._between.one(phrases.SOURCED, source))
        self._source = fact.source

    def _fact(self, fact: Fact, before: Fact | None) -> None:
        if not self._roles.askers:
            self._lead_to(fact, before)
        elif self._noticed and before is not None:
            self._noticed = False
            self._say(self._teller(), self._between.one(phrases.ANSWERED), fact.text)
        elif before is not None and fact.place == before.place + 1 and self._goes_on():
            self._say(self._speaker(), fact.text)
        elif before is not None and self._told % 4 == 3:
            self._notice(fact)
        else:
            self._ask(fact, before)

    def _lead_to(self, fact: Fact, before: Fact | None) -> None:
        """By one who speaks alone; of facts that stand side by side mostly nothing is needed."""
        beside = before is not None and fact.place == before.place + 1
        said = "" if beside and self._between.chance(0.6) else self._phrase(phrases.LED, fact)
        self._say(self._roles.lead, said if before is not None else "", fact.text)

    def _ask(self, fact: Fact, before: Fact | None) -> None:
        asker = self._asker()
        teller = self._teller()
        told = self._speaker() in self._roles.tellers  # and not the name of another source
        heard = before is not None and told and self._between.chance(0.4)
        handed = len(self._roles.tellers) > 1 and before is not None and self._speaker() != teller
        question = ""
        if handed and self._between.chance(0.5):
            question = self._between.one(phrases.HANDED, who=called(teller))
        if before is not None or self._told % 2 == 0:
            pool = phrases.ASKED if before is not None else phrases.OPENED
            question = question or self._phrase(pool, fact)
        self._say(asker, self._between.one(phrases.HEARD) if heard else "", question)
        self._say(teller, fact.text)

    def _notice(self, fact: Fact) -> None:
        """Let one who asks tell a fact; what is said next answers it."""
        self._say(self._asker(), self._between.one(phrases.NOTICED), fact.text)
        self._noticed = True

    def _goes_on(self) -> bool:
        """Whether who speaks may say one thing more."""
        last = self.turns[-1]
        asks = any(last.speaker == each.name for each in self._roles.askers)
        return not asks and len(last.dialogue.split()) < _LONGEST and self._between.chance(0.5)

    def _phrase(self, of: dict[str, tuple[str, ...]], fact: Fact) -> str:
        """What leads to a fact: of its kind, or else of any; not of what was just named."""
        new = [each for each in self._names.of(fact.text) if each not in self._named[-4:]]
        topic = new[0] if new else ""
        if topic:
            self._named.append(topic)
        kinds = (phrases.kind(fact.text), phrases.PLAIN)
        said = (self._between.one(of.get(kind, ()), topic) for kind in kinds)
        return next(filter(None, said), "")

    def _speaker(self) -> Speaker:
        name = self.turns[-1].speaker
        every = (*self._roles.tellers, *self._roles.askers)
        return next(each for each in every if each.name == name)

    def _asker(self) -> Speaker:
        return self._least(self._roles.askers)

    def _teller(self) -> Speaker:
        return self._least(self._roles.tellers)

    def _least(self, among: Sequence[Speaker]) -> Speaker:
        """Who of them has said least so far."""
        said = {each.name: 0 for each in among}
        for turn in self.turns:
            if turn.speaker in said:
                said[turn.speaker] += len(turn.dialogue)
        return min(among, key=lambda each: said[each.name])

    def _say(self, speaker: Speaker, *said: str) -> None:
        """Let a speaker say something; in the turn that is his already, if it is."""
        text = " ".join(filter(None, said))
        if not text:
            return
        if self.turns and self.turns[-1].speaker == speaker.name and not self._opens:
            before = self.turns[-1].dialogue
            if len(before.split()) < _LONGEST or self._roles.askers:
                self.turns[-1] = replace(self.turns[-1], dialogue=f"{before} {text}")
                return
        self.turns.append(Turn(speaker.name, text, opens=self._opens))
        self._opens = False


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
