"""FASTA as text: records to it, and back.

    >pBAD30 labext:{'id':[['pBAD30'],['seq_4f…']],'isCircular':[[false],[true]],…}
    CGTTTTT…

The first word is what programs take for the name. The description keeps what FASTA has no place
for, annotations included, so that a record comes back exactly; `plain` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labext.lab.files import keeping, texts
from labext.lab.files.keeping import MARK, Fields

WIDTH = 70
LONGEST_NAME = 80


def entry(record: Mapping[str, Any], name: str, *, plain: bool) -> str:
    """Return a record as an entry, called `name`."""
    bases = record["bases"]
    lines = "\n".join(texts.pieces(bases, WIDTH))
    kept = {} if plain else keeping.keep(_shown(name, bases), record)
    told = f" {MARK}{keeping.written(kept)}" if kept else ""
    return f">{name}{told}\n{lines}\n"


def entries(text: str) -> Iterator[Fields]:
    """Yield the records of a text; of another's `id, name, description, bases, length, …`."""
    for part in f"\n{text}".split("\n>")[1:]:
        head, _, lines = part.partition("\n")
        name, _, told = head.strip().partition(" ")
        bases = "".join(lines.split())
        if told.startswith(MARK):
            yield keeping.restored(_shown(name, bases), keeping.read(told.removeprefix(MARK)))
        else:
            yield _shown(name, bases, told.strip())


def _shown(name: str, bases: str, description: Any = None) -> Fields:
    shown = {
        "id": name,
        "name": name,
        "bases": bases,
        "length": len(bases),
        "isCircular": False,
        "annotations": [],
    }
    return shown | {"description": description} if description else shown
