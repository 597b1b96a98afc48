"""Format names, counts, lists and byte sizes for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from labext.errors import InputError
from labext.redaction import mask


def closest_match(word: str, among: Iterable[str]) -> str | None:
    """Return the closest match of `word`: one that starts with it, or is spelt alike."""
    from difflib import get_close_matches

    words = list(dict.fromkeys(among))
    begun = [w for w in words if len(word) > 2 and w.casefold().startswith(word.casefold())]
    if begun:
        return min(begun, key=len)
    folded = {w.casefold(): w for w in reversed(words)}
    matches = get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def did_you_mean(word: str, among: Iterable[str]) -> str:
    """Return ` (did you mean "…"?)`, or an empty text without a close match."""
    match = closest_match(word, among)
    return "" if match is None else f' (did you mean "{match}"?)'


def quote_value(value: object) -> str:
    """Return a value in quotes, masked, and truncated."""
    text = mask(value if isinstance(value, str) else repr(value))
    return f'"{text[:57]}…"' if len(text) > 60 else f'"{text}"'


def pluralize(number: int, noun: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def with_article(noun: str) -> str:
    """Return a noun with its article: `a key`, `an ID token`."""
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


def capitalize_first(words: str) -> str:
    """Return words as a sentence begins; capitals within stay."""
    return f"{words[:1].upper()}{words[1:]}"


def join_words(words: Iterable[str], most: int = 5) -> str:
    """Return words as part of a sentence, the first few of many: `a, b and 3 more`."""
    every = list(words)
    first = ", ".join(every[:most])
    rest = len(every) - most
    return f"{first} and {rest:,} more" if rest > 0 else first


def join_subject(words: Iterable[str]) -> str:
    """Return a list as a sentence's subject with its verb: `a is`, `a, b are`."""
    every = list(words)
    return f"{join_words(every)} {'is' if len(every) == 1 else 'are'}"


_LETTERS = "kmgtp"
_SIZE_PATTERN = re.compile(
    rf"([0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)\s*(?:([{_LETTERS}])(i?))?b?", re.IGNORECASE | re.ASCII
)


def parse_size(text: str) -> int:
    """Return the number of bytes that `500MB`, `10 GiB` or `1,000` stands for.

    kB, MB, GB, TB and PB are a thousand each of the one before; KiB, MiB, GiB, TiB and PiB 1,024.

    Raises:
        InputError: it is none of these, or more than 8 EiB.
    """
    form = _SIZE_PATTERN.fullmatch(text.strip())
    if form is not None:
        number, letter, binary = form.groups()
        factor = (1024 if binary else 1000) ** (_LETTERS.index(letter.lower()) + 1) if letter else 1
        size = round(Decimal(number.replace(",", "")) * factor)
        if size < 1 << 63:
            return size
    raise InputError(f"{quote_value(text)} is no size.", "Give a size such as 500MB, 10GB or 2GiB.")


def format_size(size: int) -> str:
    """Return a readable size: `10 GiB`, or `10 GB` if that is the rounder number."""
    number, unit = min(
        _scale(size, 1024, "KMGTP", "iB"), _scale(size, 1000, "kMGTP", "B"), key=_digit_count
    )
    return f"{number} {unit}"


def _scale(size: int, base: int, letters: str, ending: str) -> tuple[str, str]:
    """A size in the largest unit of which there is one: four digits, and the unit."""
    if size < base:
        return f"{size}", "bytes"
    number, place = float(size), -1
    while number >= base and place + 1 < len(letters):
        number, place = number / base, place + 1
    return f"{number:,.4g}", f"{letters[place]}{ending}"


def _digit_count(counted: tuple[str, str]) -> int:
    return len(counted[0])
