"""Numbers of bytes as people write and read them: `500MB`, `10 GiB`, `1,000`."""

from __future__ import annotations

import re
from decimal import Decimal

from labext import wording
from labext.errors import InputError

_LETTERS = "kmgtp"
_FORM = re.compile(
    rf"([0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)\s*(?:([{_LETTERS}])(i?))?b?", re.IGNORECASE | re.ASCII
)


def parsed(text: str) -> int:
    """Return the number of bytes that `500MB`, `10 GiB` or `1,000` stands for.

    kB, MB, GB, TB and PB are a thousand each of the one before; KiB, MiB, GiB, TiB and PiB 1,024.

    Raises:
        InputError: it is none of these, or more than 8 EiB.
    """
    form = _FORM.fullmatch(text.strip())
    if form is not None:
        number, letter, binary = form.groups()
        factor = (1024 if binary else 1000) ** (_LETTERS.index(letter.lower()) + 1) if letter else 1
        size = round(Decimal(number.replace(",", "")) * factor)
        if size < 1 << 63:
            return size
    raise InputError(
        f"{wording.shown(text)} is no size.", "Give a size such as 500MB, 10GB or 2GiB."
    )


def shown(size: int) -> str:
    """Return bytes as they are read: `10 GiB`, and `10 GB` where that is the rounder number."""
    number, unit = min(
        _counted(size, 1024, "KMGTP", "iB"), _counted(size, 1000, "kMGTP", "B"), key=_length
    )
    return f"{number} {unit}"


def _counted(size: int, base: int, letters: str, ending: str) -> tuple[str, str]:
    """A size in the largest unit of which there is one: four digits, and the unit."""
    if size < base:
        return f"{size}", "bytes"
    number, place = float(size), -1
    while number >= base and place + 1 < len(letters):
        number, place = number / base, place + 1
    return f"{number:,.4g}", f"{letters[place]}{ending}"


def _length(counted: tuple[str, str]) -> int:
    return len(counted[0])
