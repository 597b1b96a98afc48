"""A language as whoever orders an episode writes it: `de`, `de-DE`, `German`."""

from __future__ import annotations

ENGLISH = "en"


def base(language: str | None) -> str:
    """A language without its country, in small letters: `de`, `german`; None is English, `en`."""
    named = (language or ENGLISH).lower().replace("_", "-")
    found = named.partition("-")[0].partition("(")[0].strip()
    return ENGLISH if found == "english" else found


def is_english(language: str | None) -> bool:
    """Whether a language is English; None is."""
    return base(language) == ENGLISH
