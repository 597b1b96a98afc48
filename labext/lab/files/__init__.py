"""Read and write sequence records as FASTA and GenBank files without loss."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from labext import messages
from labext.actions import parameter
from labext.errors import ConflictError, InputError, LabextError, NotFoundError
from labext.lab.files import encoding
from labext.lab.files.encoding import PRESERVED_MARK, Fields
from labext.storage import make_folder, write_atomic

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SUFFIXES", "Format", "read", "write"]


FASTA_LINE_WIDTH = 70
MAX_FASTA_NAME = 80


def format_fasta(record: Mapping[str, Any], name: str, *, whole: bool) -> str:
    """Return a record as an entry, called `name`; `whole` keeps all of it."""
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
    """Yield the records of a text; of another's `id, name, description, bases, length, …`."""
    for part in f"\n{text}".split("\n>")[1:]:
        head, _, lines = part.partition("\n")
        name, _, description = head.strip().partition(" ")
        bases = "".join(lines.split())
        if description.startswith(PRESERVED_MARK):
            yield encoding.restore(
                _fasta_fields(name, bases),
                encoding.decode_value(description.removeprefix(PRESERVED_MARK)),
            )
        else:
            yield _fasta_fields(name, bases, description.strip())


def _full_name(record: Mapping[str, Any], word: str) -> str:
    """Return a readable name of several words; empty if it equals the one word."""
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


_BASES_PATTERN = re.compile(r"[A-Za-z*.-]+")


def to_records(records: Any) -> list[Fields]:
    """Return a frame, a record or several as records that a file can be made of.

    Raises:
        ConflictError: two have one name.
        InputError: there are none, a column is missing, or a row lacks bases or a name.
    """
    rows = _as_records(records)
    _check_bases(rows)
    _check_names(rows)
    return rows


def unique_names(sequences: Iterable[Fields], longest: Callable[[Fields], int]) -> Iterator[str]:
    """Yield each record's name as one word, of at most so many characters, no two alike."""
    used: set[str] = set()
    for row in sequences:
        most = longest(row)
        word = encoding.unique_name(encoding.to_token(display_name(row), most), used, most)
        used.add(word)
        yield word


def display_name(row: Mapping[str, Any]) -> str:
    """Return a sequence's name, or else its identifier."""
    return next(
        (value for value in (row.get("name"), row.get("id")) if isinstance(value, str) and value),
        "",
    )


def _as_records(records: Any) -> list[Fields]:
    if hasattr(records, "columns") and hasattr(records, "to_dict"):
        for column in ("name", "bases"):
            if column not in records.columns:
                raise InputError(
                    f'The frame has no column "{column}".',
                    f"Include it: {parameter('columns', 'id,name,bases')}.",
                )
        return [
            {str(name): _cell_value(cell) for name, cell in row.items()}
            for row in records.to_dict("records")
        ]
    if isinstance(records, Mapping):
        return [dict(records)]
    return [dict(record) for record in records]


def _cell_value(cell: Any) -> Any:
    """Return a frame's cell as in the record: text for times, None for missing values."""
    if hasattr(cell, "isoformat"):
        return None if cell != cell else cell.isoformat()
    if hasattr(cell, "item") and getattr(cell, "ndim", None) == 0:
        cell = cell.item()
    if type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell):
        return None
    return cell


def _check_bases(sequences: Sequence[Fields]) -> None:
    if not sequences:
        raise InputError("There is no sequence to write.", "Widen the search, or name another one.")
    without = [_row_label(row, place) for place, row in enumerate(sequences) if not _has_bases(row)]
    if without:
        raise InputError(
            f"Without bases: {messages.join_words(without)}.",
            "Fetch the column `bases` too, or leave those rows out.",
        )
    for place, row in enumerate(sequences):
        odd = _BASES_PATTERN.sub("", row["bases"])
        if odd:
            raise InputError(
                f"{_row_label(row, place)}: {messages.quote_value(odd[0])} is not a base.",
                "Give only letters, without spaces and numbers.",
            )


def _check_names(sequences: Sequence[Fields]) -> None:
    unnamed = [place for place, row in enumerate(sequences) if not display_name(row)]
    if unnamed:
        raise InputError(
            f"Without a name: {messages.join_words([f'row {place}' for place in unnamed])}.",
            "Name those rows, or leave them out.",
        )
    twins = _duplicate_names(sequences)
    if twins:
        duplicates = [
            f"{name} ({messages.join_words(ids)})" if ids else name for name, ids in twins
        ]
        raise ConflictError(
            f"Several sequences have the same name: {messages.join_words(duplicates)}.",
            'Take one of each, as `seqs.drop_duplicates("name")` does, or give them names of '
            "their own.",
        )


def _has_bases(row: Fields) -> bool:
    return isinstance(row.get("bases"), str) and bool(row["bases"])


def _row_label(row: Fields, place: int) -> str:
    return display_name(row) or f"row {place}"


def _duplicate_names(sequences: Iterable[Fields]) -> list[tuple[str, list[str]]]:
    """Return each name that several have, and their IDs."""
    by_name: dict[str, list[Fields]] = {}
    for row in sequences:
        by_name.setdefault(display_name(row), []).append(row)
    return [
        (name, [str(row["id"]) for row in rows if row.get("id")])
        for name, rows in by_name.items()
        if len(rows) > 1
    ]


def read(path: str | PathLike[str]) -> list[Fields]:
    """Read the sequences of a FASTA or GenBank file of any name.

    Returns:
        Records: those that were written, as they were; of others `id, name, bases, length,
        isCircular, annotations`, and `description` where there is one.

    Raises:
        NotFoundError: the file does not exist.
        InputError: it holds no sequences.
        SetupError: GenBank, and Biopython is not installed.
    """
    source = Path(path).expanduser()
    text = _read_text(source)
    begins = text.lstrip()[:5]
    if begins.startswith(">"):
        records = list(parse_fasta(text))
    elif begins == "LOCUS":
        records = _read_genbank(text, source)
    else:
        records = []
    if not records:
        raise InputError(
            f"{source} holds no sequences.", "Name a FASTA file (`>…`) or a GenBank file (`LOCUS`)."
        )
    return records


def _read_genbank(text: str, source: Path) -> list[Fields]:
    from labext.lab.files import seqrecords  # needs Biopython

    try:
        return seqrecords.parse_genbank(text)
    except ValueError as failure:
        why = str(failure)
    raise InputError(f"{source} can't be read as GenBank ({why}).", "Check the file.")


def _read_text(source: Path) -> str:
    try:
        content = source.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {source}.", "Check the path.") from None
    except OSError as failure:
        raise InputError(f"{source} can't be read ({failure.strerror}).", "Check it.") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


Format = Literal["fasta", "genbank"]

SUFFIXES: Mapping[str, Format] = {
    ".fasta": "fasta",
    ".fa": "fasta",
    ".fna": "fasta",
    ".gb": "genbank",
    ".gbk": "genbank",
    ".genbank": "genbank",
}
"""File formats by file suffix."""

_URL_FIELDS = ("apiURL", "url", "webURL")
"""Fields with a record's address, which changes when a sandbox is reset."""


def write(
    records: pd.DataFrame | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    overwrite: bool = False,
    whole: bool = False,
) -> Path:
    """Write sequences to a file, which is there whole, or as it was.

    One that holds the same sequences already is kept as it is, also where the platform has moved to
    another address since.

    Args:
        records: a frame with the columns `name` and `bases`, a record, or several.
        path: where; folders that are missing are made.
        format: `fasta` or `genbank`; None goes by the end of the path.
        overwrite: replace a file with other content.
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
    kind = _choose_format(target, format)
    rows = to_records(records)
    text = _to_genbank(rows) if kind == "genbank" else _to_fasta(rows, whole)
    if _has_content(target, text.encode()) or _has_records(target, rows, text[:1]):
        return target  # a notebook runs twice
    if target.exists() and not overwrite:
        raise ConflictError(
            f"{target} already exists with other content.",
            f"Replace it with {parameter('overwrite')}, or write to another path.",
        )
    make_folder(target.parent)
    write_atomic(target, text.encode())
    return target


def _has_content(target: Path, content: bytes) -> bool:
    try:
        return target.stat().st_size == len(content) and target.read_bytes() == content
    except OSError:  # it does not exist, or is not a file
        return False


def _has_records(target: Path, rows: Sequence[Fields], begins: str) -> bool:
    """Return whether a file of this format has these complete records, addresses aside."""
    try:
        records = read(target)
        same_format = target.read_bytes().lstrip()[:1] == begins.encode()
    except (LabextError, OSError):  # it does not exist, or holds other data
        return False
    return same_format and [_without_urls(row) for row in records] == [
        _without_urls(row) for row in rows
    ]


def _without_urls(row: Fields) -> Fields:
    return {name: value for name, value in row.items() if name not in _URL_FIELDS}


def _choose_format(target: Path, named: Format | None) -> Format:
    if named is not None:
        if named not in get_args(Format):
            raise InputError(f'There is no format "{named}".', "Use fasta or genbank.")
        return named
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"The format of {target.name} is unknown.",
            f"Name it: {parameter('format', 'fasta')} or {parameter('format', 'genbank')}.",
        )
    return SUFFIXES[target.suffix.lower()]


def _to_fasta(rows: Sequence[Fields], whole: bool) -> str:
    names = unique_names(rows, lambda _: MAX_FASTA_NAME)
    return "".join(
        format_fasta(row, name, whole=whole) for row, name in zip(rows, names, strict=True)
    )


def _to_genbank(rows: Sequence[Fields]) -> str:
    from labext.lab.files import seqrecords  # needs Biopython

    return seqrecords.format_genbank(rows, unique_names(rows, seqrecords.longest_name))
