"""Script of an episode: segments, turns, and text without markup."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
class SpokenTurn:
    """A turn as it is heard, from `start` to `end`: seconds from the episode's beginning."""

    speaker: str
    dialogue: str
    start: float
    end: float


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
_DROPS = [re.compile(each) for each in _DROPPED]
_UNWRAPS = [(re.compile(pattern), with_what) for pattern, with_what in _UNWRAPPED]
_SILENT_CATEGORIES = {"So", "Sk", "Cs", "Co", "Cn", "Cf", "Cc"}
_KEPT = "°\n\t"
_MAX_TITLE_LENGTH = 500
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")


def strip_markup(text: str) -> str:
    """A text as one line to be spoken; empty where nothing of it can be."""
    text = _LINK.sub(r"\1", html.unescape(text))
    for pattern in _DROPS:
        text = pattern.sub(" ", text)
    text = "".join(
        each
        for each in text
        if each in _KEPT or unicodedata.category(each) not in _SILENT_CATEGORIES
    )
    for pattern, with_what in _UNWRAPS:
        text = pattern.sub(with_what, text)
    text = text.strip(" ,;:-–—")
    if not any(letter.isalnum() for letter in text):
        return ""
    return text if _SENTENCE_END.search(text) else f"{text}."


@lru_cache(maxsize=1000)
def spoken_title(text: str) -> str:
    """A title as it is said: of a file's name without its ending."""
    text = text[:_MAX_TITLE_LENGTH]
    name = re.sub(
        r"(?i)\.(?:pdf|docx?|html?|txt|md|csv|mp3|wav|mp4|pptx?|xlsx?)$", "", text.strip()
    )
    return strip_markup(re.sub(r"_+", " ", name)).removesuffix(".")
