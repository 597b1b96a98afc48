"""Pieces of a message's sentence: near names, quoted values, counts, nouns, lists that are cut."""

from __future__ import annotations

from collections.abc import Iterable

from labext.redaction import mask

QUOTES = "\"'"
"""What groups a text with blanks on a magic's line."""


def near(word: str, among: Iterable[str]) -> str | None:
    """Return what `word` was probably meant to be: what it begins, or what is spelt alike."""
    from difflib import get_close_matches

    words = list(dict.fromkeys(among))
    begun = [w for w in words if len(word) > 2 and w.casefold().startswith(word.casefold())]
    if begun:
        return min(begun, key=len)
    folded = {w.casefold(): w for w in reversed(words)}
    found = get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(word: str, among: Iterable[str]) -> str:
    """Return ` (did you mean "…"?)`, or nothing where no name is near."""
    found = near(word, among)
    return "" if found is None else f' (did you mean "{found}"?)'


def shown(value: object) -> str:
    """Return a value in quotes, masked, and cut where it is long."""
    text = mask(value if isinstance(value, str) else repr(value))
    return f'"{text[:57]}…"' if len(text) > 60 else f'"{text}"'


def count(number: int, noun: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def article(noun: str) -> str:
    """Return a noun with its article: `a key`, `an ID token`."""
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


def sentence(words: str) -> str:
    """Return words as a sentence begins; capitals within stay."""
    return f"{words[:1].upper()}{words[1:]}"


def listed(words: Iterable[str], most: int = 5) -> str:
    """Return words as part of a sentence, the first few of many: `a, b and 3 more`."""
    every = list(words)
    first = ", ".join(every[:most])
    rest = len(every) - most
    return f"{first} and {rest:,} more" if rest > 0 else first


def are(words: Iterable[str]) -> str:
    """Return a list as a sentence's subject with its verb: `a is`, `a, b are`."""
    every = list(words)
    return f"{listed(every)} {'is' if len(every) == 1 else 'are'}"


def quoted(text: str) -> str:
    """Write a text so that it is read as one token, with this value, on a magic's line."""
    plain = not any(c.isspace() for c in text) and text[:1] not in ("", "#", "{", *QUOTES, "-")
    if plain and not any(pair in text for pair in ("='", '="', "={")) and not text.endswith(";"):
        return text
    for mark in QUOTES:
        if mark not in text:
            return f"{mark}{text}{mark}"
    return "{" + repr(text) + "}"
