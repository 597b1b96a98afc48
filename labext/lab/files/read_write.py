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
"""Fields with a record's address, which changes when a sandbox is reset."""


def read(path: str | PathLike[str]) -> list[Fields]:
    """Read the sequences of a FASTA or GenBank file of any name.

    Returns:
        Records with `id`, `name`, `bases`, `length`, `isCircular`, `annotations` and, if there is
        one, `description`. Records written by `write(whole=True)` or as GenBank have all fields.

    Raises:
        NotFoundError: the file does not exist.
        InputError: the file contains no sequences.
        SetupError: the format is GenBank and Biopython is not installed.
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


def write(
    records: pd.DataFrame | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    overwrite: bool = False,
    whole: bool = False,
) -> Path:
    """Write sequences to a file atomically.

    A file that has the same sequences is left unchanged, even if the address of the platform is
    different in it.

    Args:
        records: a frame with the columns `name` and `bases`, a record, or several.
        path: the file; missing folders are created.
        format: `fasta` or `genbank`; None chooses by the suffix of the path.
        overwrite: whether to replace a file with other content.
        whole: whether FASTA keeps all fields of a record, in its description; GenBank always does.

    Returns:
        The path.

    Raises:
        ConflictError: the file has other content, or two sequences have the same name.
        InputError: there is nothing to write, a column is missing, or a row has no bases.
        SetupError: the format is GenBank and Biopython is not installed.
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
    except (LabextError, OSError):  # it does not exist, or has other content
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
