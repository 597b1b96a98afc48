"""Whether two texts of bases are the same molecule."""

from __future__ import annotations

from typing import Any

_COMPLEMENT = str.maketrans("ACGTUMRWSYKVHDBN", "TGCAAKYWSRMBDHVN")


def same_bases(wanted: str, bases: Any, circular: bool) -> bool:
    """Say whether bases are those that are wanted, as the platform compares them.

    In any case of letters, on either strand, and of a circle wherever it is opened.
    """
    if not isinstance(bases, str) or len(bases) != len(wanted):
        return False
    here, there = wanted.upper(), bases.upper()
    around = there + there if circular else there
    return here in around or here.translate(_COMPLEMENT)[::-1] in around
