"""Format and parse FASTA entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labext.lab.files import encoding
from labext.lab.files.encoding import PRESERVED_MARK, Fields

FASTA_LINE_WIDTH = 70
MAX_FASTA_NAME = 80


def format_fasta(record: Mapping[str, Any], name: str, *, whole: bool) -> str:
    """Return a FASTA entry.

    Args:
        record: a record with at least `bases`.
        name: the identifier of the entry.
        whole: True to preserve all other fields of the record in the description.
    """
    bases = record["bases"]
    lines = "\n".join(encoding.split_text(bases, FASTA_LINE_WIDTH))
    preserved = encoding.preserve(_fasta_fields(name, bases), record) if whole else {}
    description = (
        f"{PRESERVED_MARK}{encoding.encode_value(preserved)}"
        if preserved
        else ""
        if whole
        else _full_name(record, name)
    )
    return f">{name}{description and ' ' + description}\n{lines}\n"


def parse_fasta(text: str) -> Iterator[Fields]:
    """Yield the records of a FASTA text.

    Entries written with `whole` have all their fields. Other entries have `id`, `name`, `bases`,
    `length`, `isCircular`, `annotations` and an optional `description`.
    """
    for entry in f"\n{text}".split("\n>")[1:]:
        header, _, lines = entry.partition("\n")
        name, _, description = header.strip().partition(" ")
        bases = "".join(lines.split())
        if description.startswith(PRESERVED_MARK):
            yield encoding.restore(
                _fasta_fields(name, bases),
                encoding.decode_value(description.removeprefix(PRESERVED_MARK)),
            )
        else:
            yield _fasta_fields(name, bases, description.strip())


def _full_name(record: Mapping[str, Any], word: str) -> str:
    """Return the record's name on one line; empty if it equals `word`."""
    full = record.get("name")
    line = encoding.to_line(full, MAX_FASTA_NAME) if isinstance(full, str) else ""
    return "" if line == word or line.startswith(PRESERVED_MARK) else line


def _fasta_fields(name: str, bases: str, description: Any = None) -> Fields:
    fields = {
        "id": name,
        "name": name,
        "bases": bases,
        "length": len(bases),
        "isCircular": False,
        "annotations": [],
    }
    return fields | {"description": description} if description else fields
