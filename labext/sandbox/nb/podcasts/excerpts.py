"""As much of the material as a model is given at once.

To plan an episode it is given all of it, what is too long in short, by the model of the slot
`summary`; to write a segment, the pieces that have most to do with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from starlette.exceptions import HTTPException

from labext.sandbox.nb.models import chatting, extractive, registry
from labext.sandbox.nb.podcasts import prompts
from labext.sandbox.nb.podcasts.material import share
from labext.sandbox.nb.podcasts.script import Material, Segment, Text
from labext.sandbox.nb.store import Model
from labext.sandbox.nb.text import tokens
from labext.sandbox.nb.transformations import parts
from labext.sandbox.service import Site

_PIECE = 1200
"""Characters of what is chosen or left out."""

_LOOKED_AT = 1_000_000
_SENTENCE = 150
"""Characters of a usual sentence."""

_FEWEST = 500
"""Characters of a short version that a model is asked for: of many notes it would be many times."""


@dataclass(frozen=True)
class _Piece:
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
            self._terms = parts.terms(session)

    def whole(self) -> str:
        """All of the material, its long texts in short where there is too much of it."""
        with self._site.database.read() as session:
            model = registry.default(session, "summary")
        most = share([len(each.text) for each in self._texts], self._terms.characters)
        return _told(
            Text(each.title, _short(self._site, model, each.text, most, self._terms))
            for each in self._texts
        )

    def about(self, segment: Segment) -> str:
        """The pieces of the material that have most to do with a segment, in their order."""
        most = self._terms.characters
        if sum(len(each.text) for each in self._texts) <= most:
            return _told(self._texts)
        wanted = frozenset(tokens.stems(f"{segment.name} {segment.description}"))
        ranked = sorted(
            self._pieces, key=lambda each: (-len(wanted & each.terms), each.place, each.source)
        )
        best = sorted(ranked[: max(1, most // _PIECE)], key=lambda each: (each.source, each.place))
        return _told(
            Text(self._texts[source].title, "\n…\n".join(each.text for each in pieces))
            for source, pieces in groupby(best, key=lambda each: each.source)
        )

    @cached_property
    def _pieces(self) -> list[_Piece]:
        return [
            _Piece(source, place, piece, frozenset(tokens.stems(piece)))
            for source, each in enumerate(self._texts)
            for place, piece in enumerate(parts.cut(each.text[:_LOOKED_AT], _PIECE))
        ]


def _short(site: Site, model: Model | None, text: str, most: int, terms: parts.Terms) -> str:
    """A text in at most so many characters."""
    if len(text) <= most:
        return text
    if most >= _FEWEST and model is not None and not registry.is_built_in(model):

        def ask(prompt: str, piece: str) -> str:
            said = f"{prompt}\n\n{piece}"
            return chatting.reply(site, model, [{"role": "user", "content": said}])

        try:
            return parts.joined(ask, prompts.SUMMARY, text, terms)[:most]
        except HTTPException as error:
            print(f"A text is shortened by the built-in model: {error.detail}")
    return extractive.summary(text[:_LOOKED_AT], max(3, most // _SENTENCE))[:most]


def _told(texts: Iterable[Text]) -> str:
    return "\n\n".join(f"## {each.title}\n\n{each.text}" for each in texts)
