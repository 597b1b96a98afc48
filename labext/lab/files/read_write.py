"""Read and write FASTA and GenBank files."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from labext import messages
from labext.actions import parameter
from labext.errors import ConflictError, InputError, LabextError, NotFoundError
from labext.lab.files import encoding
from labext.lab.files.encoding import PRESERVED_MARK, Fields
from labext.storage import is_folder_name, make_folder, storage_errors, user_path, write_atomic
from labext.text_files import decode_text

if TYPE_CHECKING:
    import pandas as pd


FASTA_LINE_WIDTH = 70
MAX_FASTA_NAME = 80


def format_fasta(record: Mapping[str, Any], name: str, *, whole: bool) -> str:
    """Return a FASTA entry; a `whole` one preserves all other fields in the description."""
    bases = record["bases"]
    lines = "\n".join(encoding.split_text(bases, FASTA_LINE_WIDTH))
    preserved: Fields = encoding.preserve(_fasta_fields(name, bases), record) if whole else {}
    encoding.add_checksum(preserved, bases)
    description = (
        f"{PRESERVED_MARK}{encoding.encode_value(preserved)}"
        if preserved
        else ""
        if whole
        else _full_name(record, name)
    )
    return f">{name}{description and ' ' + description}\n{lines}\n"


_NO_BASE = re.compile("[0-9;>]")


def parse_fasta(text: str) -> Iterator[Fields]:
    """Yield the records of a FASTA text.

    Entries written with `whole` have all their fields. Other entries have `id`, `name`, `bases`,
    `length`, `isCircular`, `annotations` and an optional `description`.
    """
    for entry in f"\n{text}".split("\n>")[1:]:
        header, _, lines = entry.partition("\n")
        name, *rest = header.split(None, 1) or [""]
        description = rest[0] if rest else ""
        bases = "".join(lines.split())
        if (invalid := _NO_BASE.search(bases)) is not None:
            raise InputError(
                f"{name}: {messages.quote_value(invalid[0])} is not a base.",
                "Remove comments and numbers from the lines of bases.",
            )
        if description.startswith(PRESERVED_MARK):
            preserved = encoding.decode_value(description.removeprefix(PRESERVED_MARK))
            if isinstance(preserved, dict):
                encoding.drop_outdated(preserved, bases, name)
            yield encoding.restore(_fasta_fields(name, bases), preserved)
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


_BASES_PATTERN = re.compile(r"[A-Za-z*.-]+")


def to_records(records: Any) -> list[Fields]:
    """Return the validated records of a DataFrame, one record or several records."""
    rows = _as_records(records)
    _check_bases(rows)
    _check_names(rows)
    return rows


def unique_names(sequences: Iterable[Fields], max_length: Callable[[Fields], int]) -> Iterator[str]:
    """Yield a unique one-word name of at most `max_length(record)` characters per record."""
    used: set[str] = set()
    for row in sequences:
        limit = max_length(row)
        identifier = encoding.to_token(str(row.get("id") or ""), limit)
        word = encoding.to_token(display_name(row), limit, identifier)
        word = encoding.unique_name(word, used, limit)
        used.add(word)
        yield word


def display_name(row: Mapping[str, Any]) -> str:
    """Return a sequence's name, its ID if it has no name, or an empty string."""
    return next(
        (value for value in (row.get("name"), row.get("id")) if isinstance(value, str) and value),
        "",
    )


def _as_records(records: Any) -> list[Fields]:
    if hasattr(records, "columns") and hasattr(records, "to_dict"):
        index = [name for name in records.index.names if name and name not in records.columns]
        records = records.reset_index(level=index) if index else records
        for column in ("name", "bases"):
            if column not in records.columns:
                raise InputError(
                    f'The frame has no column "{column}".',
                    f"Include it: {parameter('columns', 'id,name,bases')}.",
                )
        records = records.to_dict("records")
    is_list = isinstance(records, Iterable) and not hasattr(records, "keys")
    rows = list(records) if is_list else [records]
    if not all(hasattr(row, "keys") for row in rows):
        raise InputError(
            "A sequence to write must be a record, not a name or an ID.",
            "Give a DataFrame or records, such as those of `lab.sequence`.",
        )
    return [_with_text_name(encoding.to_fields(row)) for row in rows]


def _with_text_name(fields: Fields) -> Fields:
    """Return the fields with a name that is a number as text: `1` for 1.0, as pandas reads it."""
    name = fields.get("name")
    if isinstance(name, int | float) and not isinstance(name, bool):
        return fields | {"name": str(int(name) if name == name // 1 else name)}
    return fields


def _check_bases(sequences: Sequence[Fields]) -> None:
    if not sequences:
        raise InputError("There is no sequence to write.", "Change the filters or the names.")
    missing = [
        _row_label(row, n)
        for n, row in enumerate(sequences)
        if not (isinstance(row.get("bases"), str) and row["bases"])
    ]
    if missing:
        raise InputError(
            f"Sequences without bases: {messages.join_words(missing)}.",
            "Fetch the column `bases` too, or omit these rows.",
        )
    for n, row in enumerate(sequences):
        invalid = _BASES_PATTERN.sub("", row["bases"])
        if invalid:
            raise InputError(
                f"{_row_label(row, n)}: {messages.quote_value(invalid[0])} is not a base.",
                "Use only letters, without spaces and numbers.",
            )


def _check_names(sequences: Sequence[Fields]) -> None:
    unnamed = [n for n, row in enumerate(sequences) if not display_name(row)]
    if unnamed:
        raise InputError(
            f"Sequences without a name: {messages.join_words([f'row {n}' for n in unnamed])}.",
            "Name these rows, or omit them.",
        )
    by_name: dict[str, list[Fields]] = {}
    for row in sequences:
        by_name.setdefault(display_name(row), []).append(row)
    duplicates = []
    for name, rows in by_name.items():
        ids = messages.join_words(str(row["id"]) for row in rows if row.get("id"))
        if len(rows) > 1:
            duplicates.append(f"{name} ({ids})" if ids else name)
    if duplicates:
        raise ConflictError(
            f"Several sequences have the same name: {messages.join_words(duplicates)}.",
            'Keep one of each, as with `seqs.drop_duplicates("name")`, or rename them.',
        )


def _row_label(row: Fields, position: int) -> str:
    return display_name(row) or f"row {position}"


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

_PIR = re.compile(r">(?:[FP]1|[DR][CL]|N[13]|XX);[^>]*\*\s*(?:>|$)")
"""An entry of the format PIR, which has a title above the residues."""

_FORMAT_HINT = "Use a FASTA file (starts with `>`) or a GenBank file (starts with `LOCUS`)."
_URL_FIELDS = ("apiURL", "url", "webURL")
"""Fields with a record's URL, which changes when a sandbox is reset."""
_TIME_FIELDS = ("createdAt", "modifiedAt")
"""Fields whose times a DataFrame may write in another form."""


def read(path: str | PathLike[str]) -> list[Fields]:
    """Read the sequences of a FASTA or GenBank file.

    The format is detected from the content; the file may have any name and be gzipped.

    Returns:
        Records with `id`, `name`, `bases`, `length`, `isCircular`, `annotations` and an optional
        `description`. Records written by `write` as GenBank or with `whole=True` have all fields.
        Features without a valid position are left out, with a warning; so are translations and
        primers, and annotations of a FASTA file, if the bases were edited since.

    Raises:
        NotFoundError: the file does not exist.
        InputError: the file can't be read, or contains no sequences.
        SetupError: the format is GenBank and Biopython is not installed.
    """
    source = user_path(path)
    text = _read_text(source)
    content = text.lstrip()
    if content.startswith(">") and not _PIR.match(content):
        records = list(parse_fasta(content))
    elif content.startswith("LOCUS"):
        from labext.lab.files import seqrecords  # needs Biopython

        try:
            records = seqrecords.parse_genbank(text, source.name)
        except ValueError as failure:
            raise InputError(
                f"{source} is not a valid GenBank file ({failure}).", "Check the file."
            ) from None
    else:
        records = []
    if not records:
        raise InputError(f"{source} contains no sequences.", _FORMAT_HINT)
    return records


def _read_text(source: Path) -> str:
    try:
        content = source.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {source}.", "Check the path.") from None
    except OSError as failure:
        raise InputError(
            f"{source} can't be read ({failure.strerror}).", "Check the file and its permissions."
        ) from None
    try:
        return decode_text(content)
    except ValueError as error:
        raise InputError(f"{source} {error}.", _FORMAT_HINT) from None


def write(
    records: pd.DataFrame | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    overwrite: bool = False,
    whole: bool = False,
) -> Path:
    """Write sequences to a file atomically.

    Without `overwrite`, a file that already contains the same sequences is left unchanged;
    differences in the platform's URL are ignored.

    Args:
        records: a DataFrame with the columns `name` and `bases`, one of its rows, one record, or
            several records.
        path: the file; missing folders are created.
        format: `fasta` or `genbank`; None derives the format from the file suffix.
        overwrite: True to replace an existing file.
        whole: True to preserve all fields of a record in FASTA descriptions; GenBank always
            preserves them.

    Returns:
        The path.

    Raises:
        ConflictError: the file has other content, or several sequences have the same name.
        InputError: there are no sequences, a column is missing, a sequence has no name or no bases,
            the format is unknown, or the file has the suffix `.gz`.
        SetupError: the format is GenBank and Biopython is not installed.
        StorageError: the file can't be written.
    """
    target = user_path(path)
    with storage_errors(target):
        if is_folder_name(fspath(path)):
            raise InputError(f"{path} is a folder.", "Give the name of a file.")
    kind = _choose_format(target, format)
    rows = to_records(records)
    if kind == "genbank":
        from labext.lab.files import seqrecords  # needs Biopython

        names = unique_names(rows, seqrecords.max_name_length)
        text = seqrecords.format_genbank(rows, names)
    else:
        names = unique_names(rows, lambda _: MAX_FASTA_NAME)
        pairs = zip(rows, names, strict=True)
        text = "".join(format_fasta(row, name, whole=whole) for row, name in pairs)
    if not overwrite and _is_unchanged(target, rows, text):
        return target  # running a notebook again is not a conflict
    with storage_errors(target):
        exists = target.exists()
    if exists and not overwrite:
        raise ConflictError(
            f"{target} already exists with other content.",
            f"Replace it with {parameter('overwrite')}, or write to another path.",
        )
    make_folder(target.parent)
    write_atomic(target, text.encode())
    return target


def _is_unchanged(target: Path, rows: Sequence[Fields], text: str) -> bool:
    """Return True if a file has this text, or the same records in its format, ignoring URLs."""
    try:
        content = target.read_bytes()
        if content == text.encode():
            return True
        if content.lstrip()[:1] != text[:1].encode():
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about features of a file that is not read by the user
            existing = read(target)
        return [_comparable(row) for row in existing] == [_comparable(row) for row in rows]
    except (LabextError, OSError):  # the file does not exist, is a folder, or has other content
        return False


def _comparable(row: Fields) -> Fields:
    fields = {name: value for name, value in row.items() if name not in _URL_FIELDS}
    for name in _TIME_FIELDS:
        with contextlib.suppress(ValueError):
            if isinstance(text := fields.get(name), str):
                fields[name] = datetime.fromisoformat(text)
    return fields


def _choose_format(target: Path, requested: Format | None) -> Format:
    if target.suffix.lower() == ".gz":
        raise InputError("Files are written uncompressed.", f"Write to {target.stem}.")
    if requested is not None:
        if requested not in get_args(Format):
            raise InputError(f'Unknown format "{requested}".', "Use fasta or genbank.")
        return requested
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"The format of {target.name} is unknown.",
            f"Set it: {parameter('format', 'fasta')} or {parameter('format', 'genbank')}.",
        )
    return SUFFIXES[target.suffix.lower()]
