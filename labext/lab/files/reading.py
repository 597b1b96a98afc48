"""Records out of a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from labext.errors import InputError, NotFoundError
from labext.lab.files import fasta
from labext.lab.files.keeping import Fields


def read(path: str | PathLike[str]) -> list[Fields]:
    """Read the sequences of a FASTA or GenBank file, whatever it is called.

    Returns:
        Records: those that were written, as they were; of others `id, name, bases, length,
        isCircular, annotations`, and `description` where there is one.

    Raises:
        NotFoundError: the file is not there.
        InputError: it holds no sequences.
        SetupError: GenBank, and Biopython is not installed.
    """
    source = Path(path).expanduser()
    text = _text(source)
    begins = text.lstrip()[:5]
    if begins.startswith(">"):
        found = list(fasta.entries(text))
    elif begins == "LOCUS":
        found = _genbank(text, source)
    else:
        found = []
    if not found:
        raise InputError(
            f"{source} holds no sequences.", "Name a FASTA file (`>…`) or a GenBank file (`LOCUS`)."
        )
    return found


def _genbank(text: str, source: Path) -> list[Fields]:
    from labext.lab.files import genbank  # needs Biopython

    try:
        return genbank.entries(text)
    except ValueError as failure:
        why = str(failure)
    raise InputError(f"{source} can't be read as GenBank ({why}).", "Check the file.")


def _text(source: Path) -> str:
    try:
        held = source.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"{source} is not there.", "Check the path.") from None
    except OSError as failure:
        raise InputError(f"{source} can't be read ({failure.strerror}).", "Check it.") from None
    try:
        return held.decode("utf-8-sig")
    except UnicodeDecodeError:
        return held.decode("latin-1")
