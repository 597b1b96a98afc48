"""Outline and dialogue by a language model: first a plan, then segment after segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from starlette.exceptions import HTTPException

from labext.sandbox.nb import faults
from labext.sandbox.nb.models import chatting
from labext.sandbox.nb.models.provider import quoted
from labext.sandbox.nb.podcasts import parsing, prompts
from labext.sandbox.nb.podcasts.excerpts import Excerpts
from labext.sandbox.nb.podcasts.script import Material, Segment, Speaker, Turn
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

_REMEMBERED = 6
"""Turns before a segment that the model is told again."""

T = TypeVar("T")


class Prompted:
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
            prompts.system(briefing, speakers, self._language, self._max_tokens),
            prompts.outline(material.notebook, told, count),
            lambda reply: parsing.segments(reply, count),
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
        system = prompts.system(briefing, speakers, self._language, self._max_tokens)
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
                prompts.dialogue(
                    excerpts.about(segment), segments, number, said[-_REMEMBERED:], names
                ),
                partial(_complete, speakers, missing),
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
            reply = chatting.reply(self._site, self._model, messages, max_tokens=self._max_tokens)
            found = list(parsed(reply))
            if found:
                return found
            messages += [
                {"role": "assistant", "content": reply},
                {"role": "user", "content": prompts.again(what)},
            ]
        raise _nonsense(self._model, reply, what)


def _complete(speakers: Sequence[Speaker], missing: Sequence[Speaker], reply: str) -> list[Turn]:
    """The turns of a reply; none where somebody says nothing who should."""
    found = parsing.turns(reply, speakers)
    heard = {each.speaker for each in found}
    return found if all(each.name in heard for each in missing) else []


def _nonsense(model: Model, reply: str, what: str) -> HTTPException:
    return faults.external(
        f"The model {model.name} answered “{quoted(reply)}”, which is {what}. Try again, or choose "
        "another model."
    )
