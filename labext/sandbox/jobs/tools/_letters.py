"""Reads a sequence setting: which letters are wrong, and where."""

from __future__ import annotations

from labext.sandbox.jobs.tool import Settings, ToolError
from labext.sandbox.jobs.tools import _values

DNA = "ACGT"
IUPAC = "ACGTRYSWKMBDHVN"
PROTEIN = "ACDEFGHIKLMNPQRSTVWY"


def sequence(
    settings: Settings, name: str, alphabet: str, kind: str, *, shortest: int, longest: int
) -> str:
    """The sequence in capitals, without the blanks and line ends it may have been pasted with.

    Args:
        settings: where it is.
        name: the parameter.
        alphabet: the letters that may occur.
        kind: what one of them is called, such as `DNA base`.
        shortest: letters.
        longest: letters.

    Raises:
        ToolError: a wrong letter, with its place (from 1, blanks not counted), or a wrong length.
    """
    letters = clean(name, _values.text(settings, name), alphabet, kind)
    check_length(name, letters, shortest, longest)
    return letters


def clean(name: str, text: str, alphabet: str, kind: str) -> str:
    """`text` in capitals and without blanks, if each of its letters is in `alphabet`."""
    letters = "".join(text.split()).upper()
    wrong = [
        f"{letter!r} at {place}"
        for place, letter in enumerate(letters, 1)
        if letter not in alphabet
    ]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        verb = f"is no {kind}" if len(wrong) == 1 else f"are no {kind}s"
        raise ToolError(
            f"{name}: {', '.join(wrong[:3])}{more} {verb} (the letters are {alphabet})."
        )
    return letters


def check_length(name: str, letters: str, shortest: int, longest: int) -> None:
    """Refuse a sequence that is too short or too long."""
    if not shortest <= len(letters) <= longest:
        raise ToolError(
            f"{name}: it has {len(letters)} letters, where {shortest} to {longest} are taken."
        )
