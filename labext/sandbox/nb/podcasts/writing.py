"""What is said in an episode: its outline and its dialogue, by whichever model.

Without a language model both follow a template of quotations (`template`). A language model is
prompted (`prompting`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labext.sandbox.nb import faults
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.podcasts import template
from labext.sandbox.nb.podcasts.script import Material, Segment, Speaker, Turn
from labext.sandbox.nb.speech import languages
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

Tell = Callable[[int, int], None]
"""Takes how many segments are written, and of how many."""


def check(model: Model, language: str | None) -> None:
    """See that a model can write in a language; None is the sources' own.

    Raises:
        HTTPException: 422, it is the built-in one, whose template is in English.
    """
    if registry.is_built_in(model) and not languages.is_english(language):
        raise faults.unconfigured(
            f"The model {model.name} writes in English alone, not in {language}. Choose another "
            "model for the episode, or take the language out of its profile."
        )


def outline(
    site: Site,
    model: Model,
    material: Material,
    briefing: str,
    count: int,
    speakers: Sequence[Speaker],
    *,
    language: str | None = None,
    max_tokens: int | None = None,
) -> list[Segment]:
    """The segments of an episode: one at least, `count` at most.

    Args:
        site: where the service lives.
        model: of type `llm`.
        material: what it is about; has a text at least.
        briefing: what the episode is to be like; perhaps empty.
        count: how many segments are wanted.
        speakers: one to four.
        language: of the episode; None is the material's.
        max_tokens: of an answer of the model; None leaves it to its server.

    Raises:
        HTTPException: 502, the model's server failed or answered no outline; 422, the model can't
            be asked, or nothing of the material can be said.
    """
    check(model, language)
    if registry.is_built_in(model):
        return template.outline(material, count)
    from labext.sandbox.nb.podcasts import prompting

    writer = prompting.Prompted(site, model, language, max_tokens)
    return writer.outline(material, briefing, count, speakers)


def dialogue(
    site: Site,
    model: Model,
    material: Material,
    briefing: str,
    segments: Sequence[Segment],
    speakers: Sequence[Speaker],
    tell: Tell,
    *,
    language: str | None = None,
    max_tokens: int | None = None,
) -> list[Turn]:
    """What is said, segment after segment: text to be spoken, without any markup.

    Every speaker says something, and nobody else does.

    Args:
        site: where the service lives.
        model: of type `llm`.
        material: what it is about; has a text at least.
        briefing: what the episode is to be like; perhaps empty.
        segments: the outline, whoever made it.
        speakers: one to four.
        tell: called with how many segments are written and how many there are, from 0 on.
        language: of the episode; None is the material's.
        max_tokens: of an answer of the model; None leaves it to its server.

    Raises:
        HTTPException: as `outline`.
    """
    check(model, language)
    if registry.is_built_in(model):
        return template.script(material, briefing, segments, speakers, tell)
    from labext.sandbox.nb.podcasts import prompting

    writer = prompting.Prompted(site, model, language, max_tokens)
    return writer.dialogue(material, briefing, segments, speakers, tell)
