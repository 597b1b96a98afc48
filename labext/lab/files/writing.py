"""Sequences to FASTA and GenBank files, and back, exactly.

A record that was written comes back as it was, annotations and all, as long as no other program
changed the file; what one changed counts (`labext.lab.files.keeping`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from labext.errors import ConflictError, InputError, LabextError
from labext.lab.files import fasta, writable
from labext.lab.files.keeping import Fields
from labext.lab.files.reading import read
from labext.storage import make_folder, write_atomic

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["fasta", "genbank"]

SUFFIXES: Mapping[str, Format] = {
    ".fasta": "fasta",
    ".fa": "fasta",
    ".fna": "fasta",
    ".gb": "genbank",
    ".gbk": "genbank",
    ".genbank": "genbank",
}
"""What a file's name says of its format."""

_ADDRESSES = ("apiURL", "url", "webURL")
"""Where a record is shown; a sandbox that was reset is somewhere else."""


def write(
    records: pd.DataFrame | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    force: bool = False,
    whole: bool = False,
) -> Path:
    """Write sequences to a file, which is there whole, or as it was.

    One that holds the same sequences already is kept as it is, also where the platform has moved to
    another address since.

    Args:
        records: a frame with the columns `name` and `bases`, a record, or several.
        path: where; folders that are missing are made.
        format: `fasta` or `genbank`; None goes by the end of the path.
        force: whether a file that holds something else is replaced.
        whole: whether FASTA keeps all of a record too, behind its name; GenBank always does.

    Returns:
        The path.

    Raises:
        ConflictError: the file holds something else, or two sequences have one name.
        InputError: there is nothing to write, a column is missing, or a row has no bases.
        SetupError: GenBank, and Biopython is not installed.
        StorageError: the file can't be written.
    """
    target = Path(path).expanduser()
    kind = _format(target, format)
    rows = writable.rows(records)
    text = _genbank(rows) if kind == "genbank" else _fasta(rows, whole)
    if _holds(target, text.encode()) or _has(target, rows, text[:1]):
        return target  # a notebook runs twice
    if target.exists() and not force:
        raise ConflictError(
            f"{target} is there already, and holds something else.",
            "Replace it with `--force`, or write to another path.",
        )
    make_folder(target.parent)
    write_atomic(target, text.encode())
    return target


def _holds(target: Path, content: bytes) -> bool:
    try:
        return target.stat().st_size == len(content) and target.read_bytes() == content
    except OSError:  # it isn't there, or is no file
        return False


def _has(target: Path, rows: Sequence[Fields], begins: str) -> bool:
    """Say whether a file of this format has these whole records, but for where the platform is."""
    try:
        there = read(target)
        same_format = target.read_bytes().lstrip()[:1] == begins.encode()
    except (LabextError, OSError):  # it isn't there, or holds something else
        return False
    return same_format and [_unaddressed(row) for row in there] == [
        _unaddressed(row) for row in rows
    ]


def _unaddressed(row: Fields) -> Fields:
    return {name: value for name, value in row.items() if name not in _ADDRESSES}


def _format(target: Path, named: Format | None) -> Format:
    if named is not None:
        if named not in get_args(Format):
            raise InputError(f'There is no format "{named}".', "Use fasta or genbank.")
        return named
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{target.name} does not say its format.",
            "Name it: --format fasta or --format genbank.",
        )
    return SUFFIXES[target.suffix.lower()]


def _fasta(rows: Sequence[Fields], whole: bool) -> str:
    names = writable.names(rows, lambda _: fasta.LONGEST_NAME)
    return "".join(
        fasta.entry(row, name, whole=whole) for row, name in zip(rows, names, strict=True)
    )


def _genbank(rows: Sequence[Fields]) -> str:
    from labext.lab.files import genbank  # needs Biopython

    return genbank.written(rows, writable.names(rows, genbank.longest_name))
