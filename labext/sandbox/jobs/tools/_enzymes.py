"""Reads the names of restriction enzymes (Biopython's copy of REBASE)."""

from __future__ import annotations

import difflib
from typing import Any

from labext.sandbox.jobs.tool import Settings, ToolError
from labext.sandbox.jobs.tools import _values

_ROMAN = str.maketrans({"1": "i", "2": "ii", "3": "iii"})


def enzymes(settings: Settings, name: str, most: int) -> list[Any]:
    """The enzymes of a setting as Biopython's classes, each once, in the order of the setting.

    Raises:
        ToolError: a name that REBASE does not have, or more than `most` of them.
    """
    names = _values.words(settings, name)
    if len(names) > most:
        raise ToolError(f"{name}: {len(names)} were given, and {most} are the most.")
    return list({str(found): found for found in (_enzyme(word, name) for word in names)}.values())


def _enzyme(word: str, name: str) -> Any:
    from labext.sandbox.jobs.tools._enzyme_table import ENZYMES as known

    enzyme = known.get(word.lower())
    if enzyme is None:
        roman = word.lower().translate(_ROMAN)
        near = (
            [roman] if roman in known else difflib.get_close_matches(word.lower(), sorted(known), 1)
        )
        hint = f"; did you mean {known[near[0]]}?" if near else "."
        raise ToolError(f"{name}: {_values.shown(word)} is not in REBASE{hint}")
    return enzyme
