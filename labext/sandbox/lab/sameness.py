"""When two sequences have the same bases: on either strand, and on a circle from any of them on.

The filter `bases` of the real service finds so. Upper and lower case are the same.
"""

from __future__ import annotations

import hashlib

from labext.bases import reverse_complement

LONGEST = 1 << 16
"""Bases of a circle that is found from anywhere: no address of a request can hold more."""


def key(bases: str, circular: bool) -> str:
    """What all writings of a molecule have in common, and no other molecule's; hexadecimal."""
    one = bases.upper()
    other = reverse_complement(one)
    if circular and len(bases) <= LONGEST:
        one, other = _turned(one), _turned(other)
    kind = "circular" if circular else "linear"
    return hashlib.sha256(f"{kind} {min(one, other)}".encode()).hexdigest()


def keys(bases: str) -> tuple[str, str]:
    """The keys of the linear and of the circular molecule with these bases."""
    return key(bases, circular=False), key(bases, circular=True)


def _turned(circle: str) -> str:
    """The circle from where it comes first in the alphabet.

    Two starts are compared letter by letter; the loser and the starts that the comparison has
    passed can't win any more, so that it takes twice the length at most.
    """
    length, around = len(circle), circle * 2
    one, other, same = 0, 1, 0
    while max(one, other) < length and same < length:
        a, b = around[one + same], around[other + same]
        if a == b:
            same += 1
            continue
        if a > b:
            one += same + 1
        else:
            other += same + 1
        if one == other:
            other += 1
        same = 0
    start = min(one, other)
    return around[start : start + length]
