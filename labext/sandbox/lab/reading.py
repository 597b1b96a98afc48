"""Reads sequences from FASTA and GenBank files, gzipped or not; what they are is told by content.

Everything wrong is one line that names the file and the line or the record. Biopython's parser is
imported when a GenBank file is read, and without the rest of Bio.SeqIO, which needs six times as
long.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labext.errors import InputError
from labext.sandbox.lab.features import marks
from labext.sandbox.lab.records import LONGEST_NAME, Entry
from labext.wording import shown

LETTERS = "ACGTRYSWKMBDHVN"
"""The letters of bases: IUPAC's, in either case."""

LARGEST = 256 << 20
"""Bytes of a file, unpacked."""

_NO_BASE = re.compile(f"[^{LETTERS}]", re.IGNORECASE)
_FORMATS = "Give a FASTA or GenBank file of DNA, gzipped or not."


def entries(path: Path) -> list[Entry]:
    """The sequences in a file, in its order.

    Raises:
        InputError: it can't be read, is neither FASTA nor GenBank, has no sequence, or one with
            letters that are no bases, without a name or without bases.
    """
    text = _text(path)
    if text.startswith(">"):
        found = list(_fasta(text, path.name))
    elif text.startswith("LOCUS"):
        found = list(_genbank(text, path.name))
    else:
        what = "is empty" if not text else "is neither FASTA nor GenBank"
        raise InputError(f"{path.name} {what}.", _FORMATS)
    if not found:
        raise InputError(f"{path.name} has no sequence.", _FORMATS)
    return found


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(content)) as unpacked:
                content = unpacked.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path.name} can't be read: {reason}.", _FORMATS) from None
    if len(content) > LARGEST:
        raise InputError(f"{path.name} is larger than {LARGEST >> 20} MB.", "Split it.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not a text.", _FORMATS) from None
    return text.lstrip()


def _fasta(text: str, file: str) -> Iterator[Entry]:
    header, lines, start = "", list[str](), 0
    for number, line in enumerate([*text.splitlines(), ">"], 1):
        if not line.startswith(">"):
            part = "".join(line.split())
            _check_letters(part, f"{file}, line {number}")
            lines.append(part)
            continue
        if start:
            yield _fasta_entry(header, "".join(lines), f"{file}, line {start}")
        header, lines, start = line[1:].strip(), [], number


def _fasta_entry(header: str, bases: str, where: str) -> Entry:
    name, _, description = header.partition(" ")
    _check_name(name, where)
    _check_bases(bases, where)
    custom = {"Description": description.strip()} if description.strip() else {}
    return Entry(name, bases, custom=custom)


def _genbank(text: str, file: str) -> Iterator[Entry]:
    from Bio.GenBank.Scanner import GenBankScanner

    number = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it mends in a file, it mends well: but for this
        warnings.filterwarnings("error", "Expected sequence length")
        parsed = GenBankScanner().parse_records(io.StringIO(text))
        while True:
            where = f"{file}, record {number + 1}"
            try:
                record = next(parsed, None)
                if record is None:
                    return
                yield _genbank_entry(record, where)
            except InputError:
                raise
            except Exception as error:  # noqa: BLE001  the parser raises what it meets
                raise InputError(
                    f"{where}: {str(error).rstrip('.') or 'it breaks off'}.", _FORMATS
                ) from None
            number += 1


def _genbank_entry(record: Any, where: str) -> Entry:
    about = record.annotations
    where = f"{where} ({record.name})"
    _check_name(record.name, where)
    bases = str(record.seq) if record.seq.defined else ""
    _check_bases(bases, where)
    _check_letters(bases, where)
    try:
        marked = marks(record)
    except ValueError as error:
        raise InputError(f"{where}: {error}.", "Mend the feature's location.") from None
    accessions = [each for each in about.get("accessions", ()) if each not in ("", ".")]
    told = {
        "Definition": record.description.strip(" ."),
        "Organism": about.get("organism", "").strip(" ."),
        "Accession": accessions[0] if accessions else "",
        "Molecule type": about.get("molecule_type") or "",
    }
    return Entry(
        record.name,
        bases,
        circular=about.get("topology") == "circular",
        marks=marked,
        aliases=accessions,
        custom={name: value for name, value in told.items() if value},
    )


def _check_name(name: str, where: str) -> None:
    if not name or not name.isprintable() or len(name) > LONGEST_NAME:
        what = "there is no name" if not name else f"the name {shown(name)} can't be used"
        raise InputError(
            f"{where}: {what}.", f"Give it one of 1 to {LONGEST_NAME} characters that show."
        )


def _check_bases(bases: str, where: str) -> None:
    if not bases:
        raise InputError(f"{where}: there are no bases.", "Take the record out, or add its bases.")


def _check_letters(bases: str, where: str) -> None:
    wrong = _NO_BASE.search(bases)
    if wrong:
        raise InputError(
            f"{where}: {shown(wrong.group())} is no base.",
            f"Bases are the letters {LETTERS}: no gaps, no RNA, no protein.",
        )
