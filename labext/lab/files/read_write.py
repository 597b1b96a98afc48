"""Read and write FASTA and GenBank files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from labext.actions import parameter
from labext.errors import ConflictError, InputError, LabextError, NotFoundError
from labext.lab.files.encoding import Fields
from labext.lab.files.fasta import MAX_FASTA_NAME, format_fasta, parse_fasta
from labext.lab.files.input_records import to_records, unique_names
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
"""File formats by file suffix."""

_URL_FIELDS = ("apiURL", "url", "webURL")
"""Fields with a record's URL, which changes when a sandbox is reset."""


def read(path: str | PathLike[str]) -> list[Fields]:
    """Read the sequences of a FASTA or GenBank file.

    The format is detected from the content; the file may have any name.

    Returns:
        Records with `id`, `name`, `bases`, `length`, `isCircular`, `annotations` and an optional
        `description`. Records written by `write` as GenBank or with `whole=True` have all fields.

    Raises:
        NotFoundError: the file does not exist.
        InputError: the file can't be read, or contains no sequences.
        SetupError: the format is GenBank and Biopython is not installed.
    """
    source = Path(path).expanduser()
    text = _read_text(source)
    prefix = text.lstrip()[:5]
    if prefix.startswith(">"):
        records = list(parse_fasta(text))
    elif prefix == "LOCUS":
        records = _read_genbank(text, source)
    else:
        records = []
    if not records:
        raise InputError(
            f"{source} contains no sequences.",
            "Use a FASTA file (starts with `>`) or a GenBank file (starts with `LOCUS`).",
        )
    return records


def _read_genbank(text: str, source: Path) -> list[Fields]:
    from labext.lab.files import seqrecords  # needs Biopython

    try:
        return seqrecords.parse_genbank(text)
    except ValueError as failure:
        reason = str(failure)
    raise InputError(f"{source} is not a valid GenBank file ({reason}).", "Check the file.")


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
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def write(
    records: pd.DataFrame | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    overwrite: bool = False,
    whole: bool = False,
) -> Path:
    """Write sequences to a file atomically.

    A file that already contains the same sequences is left unchanged; differences in the
    platform's URL are ignored.

    Args:
        records: a DataFrame with the columns `name` and `bases`, one record, or several records.
        path: the file; missing folders are created.
        format: `fasta` or `genbank`; None derives the format from the file suffix.
        overwrite: True to replace a file with other content.
        whole: True to preserve all fields of a record in FASTA descriptions; GenBank always
            preserves them.

    Returns:
        The path.

    Raises:
        ConflictError: the file has other content, or several sequences have the same name.
        InputError: there are no sequences, a column is missing, a sequence has no name or no bases,
            or the format is unknown.
        SetupError: the format is GenBank and Biopython is not installed.
        StorageError: the file can't be written.
    """
    target = Path(path).expanduser()
    kind = _choose_format(target, format)
    rows = to_records(records)
    text = _to_genbank(rows) if kind == "genbank" else _to_fasta(rows, whole)
    if _has_content(target, text.encode()) or _has_records(target, rows, text[:1]):
        return target  # running a notebook again is not a conflict
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
    except OSError:  # the file does not exist, or is a folder
        return False


def _has_records(target: Path, rows: Sequence[Fields], prefix: str) -> bool:
    """Return True if a file with this prefix contains the same records, ignoring URLs."""
    try:
        records = read(target)
        same_format = target.read_bytes().lstrip()[:1] == prefix.encode()
    except (LabextError, OSError):  # the file does not exist, or has other content
        return False
    return same_format and [_without_urls(row) for row in records] == [
        _without_urls(row) for row in rows
    ]


def _without_urls(row: Fields) -> Fields:
    return {name: value for name, value in row.items() if name not in _URL_FIELDS}


def _choose_format(target: Path, requested: Format | None) -> Format:
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


def _to_fasta(rows: Sequence[Fields], whole: bool) -> str:
    names = unique_names(rows, lambda _: MAX_FASTA_NAME)
    return "".join(
        format_fasta(row, name, whole=whole) for row, name in zip(rows, names, strict=True)
    )


def _to_genbank(rows: Sequence[Fields]) -> str:
    from labext.lab.files import seqrecords  # needs Biopython

    return seqrecords.format_genbank(rows, unique_names(rows, seqrecords.max_name_length))
