"""Read FASTA and GenBank files and store their sequences in a folder."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from labext.errors import InputError
from labext.genbank import accession_numbers, complete_locus_lines, record_name
from labext.messages import quote_value
from labext.sandbox.lab import tables
from labext.sandbox.lab.sequences import records
from labext.sandbox.lab.sequences.features import extract_features
from labext.sandbox.lab.sequences.records import (
    MAX_NAME_LENGTH,
    FilingContext,
    SequenceEntry,
    sequence_row,
)
from labext.sandbox.lab.tables import Record, User
from labext.text_files import decode_text

IUPAC_LETTERS = "ACGTRYSWKMBDHVN"
"""IUPAC letters of DNA bases; lower case is accepted too."""

MAX_FILE_BYTES = 256_000_000
"""Maximum size of a file, after unpacking, in bytes."""

_INVALID_BASE = re.compile(f"[^{IUPAC_LETTERS}]", re.IGNORECASE)
_FORMAT_HINT = "Pass a FASTA or GenBank file of DNA, optionally gzipped."


def read_sequences(path: Path) -> list[SequenceEntry]:
    """Read the sequences of a file in order."""
    text = _read_text(path)
    content = text.lstrip()
    if content.startswith(">"):
        entries = list(_parse_fasta(text, path.name))
    elif content.startswith("LOCUS"):
        entries = list(_parse_genbank(content, path.name))
    else:
        problem = "is empty" if not content else "is neither FASTA nor GenBank"
        raise InputError(f"{path.name} {problem}.", _FORMAT_HINT)
    if not entries:
        raise InputError(f"{path.name} contains no sequence.", _FORMAT_HINT)
    return entries


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.", _FORMAT_HINT) from None
    try:
        return decode_text(content, MAX_FILE_BYTES)
    except ValueError as error:
        raise InputError(f"{path.name} {error}.", _FORMAT_HINT) from None


def _parse_fasta(text: str, file: str) -> Iterator[SequenceEntry]:
    header, lines, start = "", list[str](), 0
    for number, line in enumerate([*text.split("\n"), ">"], 1):
        if not line.lstrip().startswith(">"):
            letters = "".join(line.split())
            _check_letters(letters, f"{file}, line {number}")
            lines.append(letters)
            continue
        if start:
            yield _fasta_entry(header, "".join(lines), f"{file}, line {start}")
        header, lines, start = line.lstrip().removeprefix(">"), [], number


def _fasta_entry(header: str, bases: str, where: str) -> SequenceEntry:
    name, *description = header.split(maxsplit=1) or [""]
    _check_name(name, where)
    _check_bases(bases, where)
    custom = {"Description": description[0].strip()} if description else {}
    return SequenceEntry(name, bases, custom=custom)


def _parse_genbank(text: str, file: str) -> Iterator[SequenceEntry]:
    from Bio.GenBank.Scanner import GenBankScanner

    number = 0
    with warnings.catch_warnings():
        # Biopython tolerates faults; a wrong length is not acceptable.
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Expected sequence length")
        parsed = GenBankScanner().parse_records(io.StringIO(complete_locus_lines(text)))
        while True:
            where = f"{file}, record {number + 1}"
            try:
                record = next(parsed, None)
                if record is None:
                    return
                record.name = record_name(record.name, file)
                yield _genbank_entry(record, where)
            except InputError:
                raise
            except Exception as error:  # noqa: BLE001  the parser raises any exception
                raise InputError(
                    f"{where}: {str(error).rstrip('.') or 'the record is truncated'}.", _FORMAT_HINT
                ) from None
            number += 1


def _genbank_entry(record: Any, where: str) -> SequenceEntry:
    source = record.annotations
    where = f"{where} ({record.name})"
    _check_name(record.name, where)
    bases = str(record.seq) if record.seq.defined else ""
    _check_bases(bases, where)
    _check_letters(bases, where)
    try:
        features = extract_features(record)
    except ValueError as error:
        raise InputError(f"{where}: {error}.", "Correct the feature's location.") from None
    words = accession_numbers(source.get("accessions", ()))
    accessions = [word for word in words if word not in ("", ".")]
    annotations = {
        "Definition": record.description.strip(" ."),
        "Organism": source.get("organism", "").strip(" ."),
        "Accession": accessions[0] if accessions else "",
        "Molecule type": source.get("molecule_type") or "",
    }
    return SequenceEntry(
        record.name,
        bases,
        circular=source.get("topology") == "circular",
        features=features,
        aliases=accessions,
        custom={name: value for name, value in annotations.items() if value},
    )


def _check_name(name: str, where: str) -> None:
    if not name or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
        problem = f"the name {quote_value(name)} is invalid" if name else "the name is missing"
        raise InputError(
            f"{where}: {problem}.",
            f"Give it a name of 1 to {MAX_NAME_LENGTH} printable characters.",
        )


def _check_bases(bases: str, where: str) -> None:
    if not bases:
        raise InputError(f"{where}: the bases are missing.", "Remove the record, or add its bases.")


def _check_letters(bases: str, where: str) -> None:
    invalid = _INVALID_BASE.search(bases)
    if invalid:
        raise InputError(
            f"{where}: {quote_value(invalid.group())} is not a base.",
            f"Use only the letters {IUPAC_LETTERS}. Gaps, RNA and proteins are not supported.",
        )


def add_sequences(
    session: Session, folder: tables.Folder, entries: Sequence[SequenceEntry], creator: User
) -> list[Record]:
    """Add sequences to a folder; the first gets the latest time, so that lists keep the order.

    Names need not be unique.
    """
    context = FilingContext.of(session, folder, creator)
    last, step = datetime.now(UTC), timedelta(microseconds=1)
    times = (tables.format_timestamp(last - index * step) for index in range(len(entries)))
    rows = [
        sequence_row(entry, context, tables.new_identifier("seq"), time)
        for entry, time in zip(entries, times, strict=True)
    ]
    insert_rows(session, rows)
    return [
        {
            "id": row["id"],
            "name": entry.name,
            "length": len(entry.bases),
            "isCircular": entry.circular,
        }
        for row, entry in zip(rows, entries, strict=True)
    ]


def insert_rows(session: Session, rows: Sequence[Record]) -> None:
    """Insert rows created by `sequence_row`, with their search values."""
    if rows:
        session.connection().execute(insert(tables.Sequence), rows)
        records.insert_search_values(session, [row["record"] for row in rows])
