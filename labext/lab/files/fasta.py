"""FASTA as text: records to it, and back.

    >pBAD30
    CGTTTTT…

The first word is what programs take for the name. What FASTA has no place for, annotations
included, may be kept behind it, so that a record comes back exactly:

    >pBAD30 labext:{'id':[['pBAD30'],['seq_4f…']],'isCircular':[[false],[true]],…}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labext.lab.files import keeping, texts
from labext.lab.files.keeping import MARK, Fields

WIDTH = 70
LONGEST_NAME = 80


def entry(record: Mapping[str, Any], name: str, *, whole: bool) -> str:
    """Return a record as an entry, called `name`; `whole` keeps all of it."""
    bases = record["bases"]
    lines = "\n".join(texts.pieces(bases, WIDTH))
    kept = keeping.keep(_shown(name, bases), record) if whole else {}
    told = f"{MARK}{keeping.written(kept)}" if kept else "" if whole else _full_name(record, name)
    return f">{name}{told and ' ' + told}\n{lines}\n"


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


def _full_name(record: Mapping[str, Any], word: str) -> str:
    """Return a name of several words, for the eye; none where the one word says it all."""
    full = record.get("name")
    told = texts.line(full, LONGEST_NAME) if isinstance(full, str) else ""
    return "" if told == word or told.startswith(MARK) else told


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
