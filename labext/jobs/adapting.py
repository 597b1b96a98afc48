"""Names out of a column of somebody else's, made to keep the rule of job names.

A name that a user types is the user's to correct. The names of a frame's rows are another service's
(`gi|2765658|emb|Z78533.1|CIZ78533`), and their rows are found again by them: so they are adapted,
the same way whenever the same names come, and the original is kept beside the job's name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from labext import wording
from labext.jobs import names

_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")
_DIGITS = 6  # of a digest: a million names that are adapted to the same are told apart
_SHOWN = 3


def adapted(originals: Sequence[str], room: int = names.LONGEST) -> list[str]:
    """Return a name that keeps the rule (`names.fault`) for each original, in the same order.

    A name that keeps it stays as it is. In any other each character that the rule does not know
    becomes `-`, and what is too long is cut. Where that gives a name that another one has too, the
    first digits of the original's digest are put behind: they depend on no order of the rows.

    Args:
        originals: the names; the same name twice gives the same twice.
        room: the most characters that a name may have.
    """
    made = {name: _kept(name, room) for name in originals}
    times = Counter(made.values())
    return [
        kept if kept == name or times[kept] == 1 else _told_apart(name, kept, room)
        for name, kept in ((name, made[name]) for name in originals)
    ]


def found(original: str, among: Collection[str], room: int) -> str:
    """Return which of the jobs' names an original has become, by the rule alone.

    It is the original itself, what becomes of it, or that with the digits that tell it apart;
    where none of them is there, the second.
    """
    kept = _kept(original, room)
    candidates = (original, kept, _told_apart(original, kept, room))
    return next((name for name in candidates if name in among), kept)


def _kept(name: str, room: int) -> str:
    return _STRANGE.sub("-", name)[:room]


def _told_apart(name: str, kept: str, room: int) -> str:
    digits = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{kept[: room - _DIGITS - 1]}-{digits}"


def told(originals: Mapping[str, str]) -> str:
    """Say which names were adapted, in a sentence; nothing where none was.

    Args:
        originals: the originals by the jobs' own names, of those that differ.
    """
    if not originals:
        return ""
    were = "name was" if len(originals) == 1 else "names were"
    pairs = [f"{wording.shown(original)} is {job}" for job, original in originals.items()]
    return f"{len(originals):,} {were} adapted: {wording.listed(pairs, _SHOWN)}."
