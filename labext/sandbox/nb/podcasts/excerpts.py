"""As much of the material as a model is given at once.

To plan an episode it is given all of it, what is too long in short, by the model of the slot
`summary`; to write a segment, the pieces that have most to do with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.exceptions import HTTPException

from labext.sandbox.nb import limits
from labext.sandbox.nb.models import chatting, prose, registry, words
from labext.sandbox.nb.podcasts import prompts
from labext.sandbox.nb.podcasts.script import Material, Segment, Text
from labext.sandbox.nb.store import Model
from labext.sandbox.nb.transformations import parts
from labext.sandbox.service import Site

_PIECE = 1200
"""Characters of what is chosen or left out."""

_LOOKED_AT = 1_000_000
_SENTENCE = 150
"""Characters of a usual sentence."""


def whole(site: Site, material: Material) -> str:
    """All of the material, its long texts in short where there is too much of it."""
    with site.database.read() as session:
        most = limits.limit(session, "model_characters")
        terms = parts.Terms(most, limits.limit(session, "model_parts"))
        model = registry.default(session, "summary")
    share = _share([len(each.text) for each in material.texts], most)
    return _told(
        Text(each.title, _short(site, model, each.text, share, terms)) for each in material.texts
    )


def about(site: Site, material: Material, segment: Segment) -> str:
    """The pieces of the material that have most to do with a segment, in their order."""
    with site.database.read() as session:
        most = limits.limit(session, "model_characters")
    if sum(len(each.text) for each in material.texts) <= most:
        return _told(material.texts)
    wanted = frozenset(words.terms(f"{segment.name} {segment.description}"))
    pieces = [
        (number, place, piece, len(wanted.intersection(words.terms(piece))))
        for number, each in enumerate(material.texts)
        for place, piece in enumerate(parts.cut(each.text[:_LOOKED_AT], _PIECE))
    ]
    best = sorted(pieces, key=lambda each: (-each[3], each[1], each[0]))[: max(1, most // _PIECE)]
    return _told(
        Text(each.title, "\n…\n".join(piece for n, _, piece, _ in sorted(best) if n == number))
        for number, each in enumerate(material.texts)
        if any(n == number for n, *_ in best)
    )


def _short(site: Site, model: Model | None, text: str, most: int, terms: parts.Terms) -> str:
    """A text in at most so many characters."""
    if len(text) <= most:
        return text
    if model is not None and not registry.is_built_in(model):

        def ask(prompt: str, piece: str) -> str:
            said = f"{prompt}\n\n{piece}"
            return chatting.reply(site, model, [{"role": "user", "content": said}])

        try:
            return parts.joined(ask, prompts.SUMMARY, text, terms)[:most]
        except HTTPException as error:
            print(f"A text is shortened by the built-in model: {error.detail}")
    told = prose.telling(prose.statements(text[:_LOOKED_AT]), max(3, most // _SENTENCE))
    return " ".join(each.text for each in told)[:most]


def _share(lengths: Sequence[int], most: int) -> int:
    """How many characters a text may have so that all together have at most so many."""
    left, waiting = most, sorted(lengths)
    for place, length in enumerate(waiting):
        share = left // (len(waiting) - place)
        if length > share:
            return max(share, 1)
        left -= length
    return most


def _told(texts: Iterable[Text]) -> str:
    return "\n\n".join(f"## {each.title}\n\n{each.text}" for each in texts)
