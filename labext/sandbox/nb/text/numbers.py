"""Find numbers of a text that its sources do not have, whatever the notation."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SPACED_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:([ \xa0\u2009\u202f'’])\d{3}(?:\1\d{3})*)(?!\d)")
"""A number whose thousands are separated by blanks or apostrophes."""


def find_numbers(text: str) -> set[str]:
    """Return the numbers of a source in every notation that `missing_numbers` compares."""
    found = {_digits(match) for match in _SPACED_NUMBER.finditer(text)}
    for number in _NUMBER.findall(text):
        parts = re.split("[.,]", number)
        found |= _readings(number) | set(parts if len(parts) > 2 else ())  # of a date
    return found


def missing_numbers(text: str, available: set[str]) -> list[str]:
    """Return the numbers of a text that are not among those found in its sources."""

    def unless_available(match: re.Match[str]) -> str:
        return " " if _digits(match) in available else match.group()

    numbers = _NUMBER.findall(_SPACED_NUMBER.sub(unless_available, text))
    missing = (number for number in numbers if not available & _readings(number))
    return [re.sub(r",(?=\d{3}(?!\d))", "", number) for number in missing]


def _digits(match: re.Match[str]) -> str:
    return re.sub(r"\D", "", match.group())


def _readings(number: str) -> set[str]:
    """Return a number without separators of thousands, and as a decimal without final zeros."""
    whole = re.sub(r"[.,](?=\d{3}(?!\d))", "", number)
    decimals = (text.replace(",", ".") for text in (number, whole))
    return {text.rstrip("0").rstrip(".") if text.count(".") == 1 else text for text in decimals}
