"""What a language model is told that writes an episode."""

from __future__ import annotations

from collections.abc import Sequence

from labext.sandbox.nb.podcasts.script import Segment, Speaker, Turn

_LENGTHS = {"short": "3 to 5", "medium": "6 to 10", "long": "10 to 16"}
"""Turns of a segment of each size."""

SUMMARY = (
    "Summarise this material for somebody who will plan a podcast about it. Keep every finding, "
    "number, name and condition that matters; invent nothing."
)

_SPOKEN = (
    "Write as people speak: whole sentences, and no markup, lists, headings, stage directions, "
    "citations or addresses of pages. Every fact must be in the material."
)


def system(
    briefing: str, speakers: Sequence[Speaker], language: str | None, max_tokens: int | None
) -> str:
    """What is so for the whole episode."""
    told = [
        "You write a podcast about the material of a researcher's notebook.",
        f"Briefing: {briefing.strip()}" if briefing.strip() else "",
        "Speakers:\n" + "\n".join(_speaker(each) for each in speakers),
        f"Write in {language}." if language else "Write in the language of the material.",
        f"Keep each answer within {max_tokens} tokens." if max_tokens else "",
    ]
    return "\n\n".join(filter(None, told))


def outline(notebook: str, material: str, count: int) -> str:
    """Plan the episode."""
    return (
        f"# The material of the notebook {notebook}\n\n{material}\n\n# Your task\n\n"
        f"Plan an episode of {count} segment{'s' if count > 1 else ''}. Answer with a JSON object "
        "alone; a size is short, medium or long:\n"
        '{"segments": [{"name": "…", "description": "what is talked about", "size": "medium"}]}'
    )


def dialogue(
    material: str, segments: Sequence[Segment], number: int, said: Sequence[Turn], names: str
) -> str:
    """Write one segment.

    Args:
        material: what it is about.
        segments: the whole outline.
        number: of the segment, from 0.
        said: the last turns before it.
        names: the speakers' names.
    """
    segment = segments[number]
    plan = "\n".join(f"{n}. {each.name}: {each.description}" for n, each in enumerate(segments, 1))
    before = "\n".join(f"{each.speaker}: {each.dialogue}" for each in said)
    place = (
        "It opens the episode: greet the listeners."
        if number == 0
        else f"What was said last:\n{before}\n\nGo on from there; don't greet again."
    )
    end = " It is the last one: close the episode." if number == len(segments) - 1 else ""
    return (
        f"# The material\n\n{material}\n\n# The outline\n\n{plan}\n\n# Your task\n\n"
        f"Write segment {number + 1}, “{segment.name}”, in {_LENGTHS[segment.size]} turns. {place}"
        f"{end}\n\nEverybody speaks: {names}. Nobody else does. {_SPOKEN} Answer with a JSON "
        'object alone:\n{"transcript": [{"speaker": "…", "dialogue": "…"}]}'
    )


def again(what: str) -> str:
    """Ask again after an answer that won't do."""
    return f"That was {what}. Answer again, with the JSON object that was asked for and no more."


def _speaker(each: Speaker) -> str:
    about = " ".join(filter(None, (each.backstory.strip(), each.personality.strip())))
    return f"- {each.name}: {about}" if about else f"- {each.name}"
