"""Format names, numbers, lists and byte sizes for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from labext.errors import InputError
from labext.redaction import mask

_MAX_COMPARED = 200
"""Characters of a word that are compared; the comparison of a text of 60 MB takes 17 s."""


def closest_match(word: str, candidates: Iterable[str]) -> str | None:
    """Return the closest match of `word`: a candidate with this prefix or a similar spelling."""
    from difflib import get_close_matches

    words = list(dict.fromkeys(candidates))
    start = word[:_MAX_COMPARED].casefold()
    prefixed = [w for w in words if len(word) > 2 and w.casefold().startswith(start)]
    if prefixed:
        return min(prefixed, key=len)
    folded = {w.casefold(): w for w in reversed(words)}
    matches = get_close_matches(start, folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return ` (did you mean "…"?)`, or an empty string without a close match."""
    match = closest_match(word, candidates)
    return "" if match is None else f' (did you mean "{match}"?)'


def suggest(word: str, candidates: Iterable[str], otherwise: str, form: str = "{}") -> str:
    """Return `Did you mean …?` with the closest match in a form, or the other step without one."""
    match = closest_match(word, candidates)
    return f"Did you mean {form.format(match)}?" if match else otherwise


def quote_value(value: object) -> str:
    """Return a value in quotes, with secrets masked, truncated to 60 characters with the quotes."""
    return f'"{truncate(mask(value if isinstance(value, str) else repr(value)), 58)}"'


def shorten(text: str) -> str:
    """Return a text that the user typed, with secrets masked, truncated to 60 characters."""
    return truncate(mask(text), 60)


def truncate(text: str, max_length: int) -> str:
    """Truncate a text to `max_length` characters, including an ellipsis."""
    return text if len(text) <= max_length else f"{text[: max(max_length - 1, 0)]}…"


def pluralize(number: int, noun: str) -> str:
    """Return the number with the noun in the singular or plural: `1 file`, `2 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_number(number: float, digits: int = 6) -> str:
    """Return a number with significant digits, without an exponent: `1,500`, `0.000032`."""
    return f"{Decimal(f'{number:.{digits}g}'):,f}"


def format_seconds(seconds: float) -> str:
    """Return seconds with their noun in the singular or plural: `1 second`, `1.5 seconds`."""
    return "1 second" if seconds == 1 else f"{seconds:g} seconds"


def with_article(noun: str) -> str:
    """Return a noun with its article: `a key`, `an ID token`, `an ndarray`."""
    return f"an {noun}" if noun == "ndarray" or noun[:1].lower() in "aeiou" else f"a {noun}"


def capitalize_first(text: str) -> str:
    """Return the text with its first letter in upper case and the rest unchanged."""
    return f"{text[:1].upper()}{text[1:]}"


def end_sentence(text: str) -> str:
    """Return a text with a period, unless it ends like a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def join_words(words: Iterable[str], limit: int = 5) -> str:
    """Join words for a sentence, showing at most `limit` of them: `a, b and 3 more`."""
    items = list(words)
    shown = ", ".join(items[:limit])
    hidden = len(items) - limit
    return f"{shown} and {hidden:,} more" if hidden > 0 else shown


def join_all(words: Iterable[str], conjunction: str) -> str:
    """Join all words for a sentence: `a`, `a or b`, `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def join_subject(words: Iterable[str]) -> str:
    """Join words as the subject of a sentence, with its verb: `a is`, `a, b are`."""
    items = list(words)
    return f"{join_words(items)} {'is' if len(items) == 1 else 'are'}"


_LETTERS = "kmgtp"
_SIZE_PATTERN = re.compile(
    rf"([0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)\s*(?:([{_LETTERS}])(i?))?b?", re.IGNORECASE | re.ASCII
)


def parse_size(text: str) -> int:
    """Parse a size such as `500MB`, `10 GiB` or `1,000` and return the number of bytes.

    kB, MB, GB, TB and PB are powers of 1,000; KiB, MiB, GiB, TiB and PiB are powers of 1,024.

    Raises:
        InputError: the text is not a size, or the size is 8 EiB or more.
    """
    match = _SIZE_PATTERN.fullmatch(text.strip())
    if match is not None:
        number, letter, binary = match.groups()
        factor = (1024 if binary else 1000) ** (_LETTERS.index(letter.lower()) + 1) if letter else 1
        size = round(Decimal(number.replace(",", "")) * factor)
        if size < 1 << 63:
            return size
    raise InputError(
        f"{quote_value(text)} is not a size.", "Give a size such as 500MB, 10GB or 2GiB."
    )


def format_size(size: int) -> str:
    """Format a size as `10 GiB` or `10 GB`, whichever has fewer digits."""
    number, unit = min(
        _scale(size, 1024, "KMGTP", "iB"),
        _scale(size, 1000, "kMGTP", "B"),
        key=lambda scaled: len(scaled[0]),
    )
    return f"{number} {unit}"


def _scale(size: int, base: int, letters: str, suffix: str) -> tuple[str, str]:
    """Return a size in the largest possible unit: the number with four digits, and the unit."""
    if size < base:
        return f"{size}", "bytes"
    number, exponent = float(size), -1
    while number >= base and exponent + 1 < len(letters):
        number, exponent = number / base, exponent + 1
    return f"{number:,.4g}", f"{letters[exponent]}{suffix}"
