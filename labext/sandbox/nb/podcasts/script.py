"""Script of an episode: segments, turns, and text without markup."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

STAGES = OUTLINE, DIALOGUE, SPEECH, ENCODING = "outline", "dialogue", "speech", "encoding"
"""The stages of making an episode, in order."""


@dataclass(frozen=True)
class Text:
    """The title and text of a source or a note."""

    title: str
    text: str


@dataclass(frozen=True)
class Material:
    """The material of an episode: a notebook's name and texts."""

    notebook: str
    texts: Sequence[Text]


@dataclass(frozen=True)
class Speaker:
    """A speaker; names are unique within an episode."""

    name: str
    backstory: str = ""
    personality: str = ""


@dataclass(frozen=True)
class EpisodePlan:
    """The input of an episode.

    Attributes:
        material: the notebook's texts, at least one.
        count: the requested number of segments.
        language: the language of the episode; None for that of the material.
        max_tokens: the limit of a model's reply; None for the server's default.
    """

    material: Material
    speakers: Sequence[Speaker]
    briefing: str = ""
    count: int = 1
    language: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True)
class Segment:
    """A part of an episode; its size is `short`, `medium` or `long`."""

    name: str
    description: str
    size: str = "medium"


@dataclass(frozen=True)
class Turn:
    """An uninterrupted utterance of a speaker.

    Attributes:
        opens: whether it is the first turn of a segment.
        sources: the titles of the texts that state its facts.
    """

    speaker: str
    dialogue: str
    opens: bool = False
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpokenTurn:
    """A turn with its `start` and `end` in seconds from the episode's beginning."""

    speaker: str
    dialogue: str
    start: float
    end: float
    sources: tuple[str, ...] = ()


_DROPPED = (
    r"(?s)```.*?(?:```|\Z)",
    r"!\[[^\]\n]*\]\([^)\n]*\)",
    r"(?m)^[ \t]*\|.*$|^.* \| .* \| .*$|^[ \t]*[-=_*]{3,}[ \t]*$",
    r"\[\^?\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3})*\]",
    r"\[{1,2}\s*(?:source|note)\s*:[^\]\n]*\]{1,2}",
    r"(?i)[\[(*]{1,2}(?:\w+ )?(?:laugh|chuckl|sigh|paus|smil|music|applau|clears|intro\b|outro\b|"
    r"gasp|whisper|excited|nod)[^\])*\n]{0,40}[\])*]{1,2}",
    r"\((?:see |cf\. |e\.g\.,? |reviewed (?:in|by) )?[A-Z][^()\n]{1,120}?,? (?:19|20)\d\d[a-z]?"
    r"(?:[;,][^()\n]{0,200})?\)",
    r"(?i)\((?:see (?:also )?)?(?:fig(?:ure|s)?|tab(?:le)?|eq(?:uation)?s?|supp\w*|section|chapter|"
    r"appendix|ref)s?\.? ?[^()\n]{0,30}\)",
    r"(?i)\(?(?:\b(?:https?|ftp)://|\bwww\.)[^\s)>\]]+\)?|\bdoi:\s?\S+|\b10\.\d{4,}/\S+",
    r"\b[\w.+-]+@[\w-]+\.[\w.]+\b",
    r"</?[A-Za-z][^<>\n]{0,200}>",
)
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\([^)\n]*\)")
_UNWRAPPED = (
    (r"(?m)^[ \t]*(?:#{1,6}|[-*+•]|\d{1,2}[.)])[ \t]+(.*[\w)])[ \t]*$", r"\1."),
    (r"(?m)^[ \t]*(?:#{1,6}|>+|[-*+•]|\d{1,2}[.)])[ \t]+", ""),
    (r"(\*{1,3}|~~|`+)(?=\S)(.+?)(?<=\S)\1", r"\2"),
    (r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2"),
    (r"\$([^$\n]{1,80})\$", r"\1"),
    (r"\\(?:text|mathrm|mathbf|emph)\{([^{}]*)\}", r"\1"),
    (r"\\([A-Za-z]+)", r"\1"),
    (r"[`|~{}\\]+|\*{2,}|(?<!\S)\*(?=\S)|(?<=\S)\*(?!\S)", " "),
    (r"\s*(?:→|⇒|➔|=>|->)\s*", ", "),
    (r"\(\s*[,;.]*\s*\)|\[\s*[,;.]*\s*\]", " "),
    (r"\s+", " "),
    (r" ([,;:.!?)\]])(?!\d)", r"\1"),
    (r"([,;:])(?:\s*[,;:])+", r"\1"),
    (r"([(\[]) ", r"\1"),
    (r"[,;:]\.", "."),
)
_DROPS = [re.compile(pattern) for pattern in _DROPPED]
_UNWRAPS = [(re.compile(pattern), replacement) for pattern, replacement in _UNWRAPPED]
_SILENT_CATEGORIES = {"So", "Sk", "Cs", "Co", "Cn", "Cf", "Cc"}
_KEPT = "°\n\t"
_MAX_TITLE_LENGTH = 500
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")


def strip_markup(text: str) -> str:
    """Return a text as a single speakable line; empty if nothing of it can be spoken."""
    text = _LINK.sub(r"\1", html.unescape(text))
    for pattern in _DROPS:
        text = pattern.sub(" ", text)
    text = "".join(
        char
        for char in text
        if char in _KEPT or unicodedata.category(char) not in _SILENT_CATEGORIES
    )
    for pattern, replacement in _UNWRAPS:
        text = pattern.sub(replacement, text)
    text = text.strip(" ,;:-–—")
    if not any(letter.isalnum() for letter in text):
        return ""
    return text if _SENTENCE_END.search(text) else f"{text}."


@lru_cache(maxsize=1000)
def spoken_title(text: str) -> str:
    """Return a title as it is spoken: without file suffix, underscores and markup."""
    text = text[:_MAX_TITLE_LENGTH]
    name = re.sub(
        r"(?i)\.(?:pdf|docx?|html?|txt|md|csv|mp3|wav|mp4|pptx?|xlsx?)$", "", text.strip()
    )
    return strip_markup(re.sub(r"_+", " ", name)).removesuffix(".")
