"""`%lab export`: sequences as a FASTA or GenBank file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext_magics import kinds, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.rows import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from labext.lab.files import Format

_SHOWN = ("annotations", "isCircular")
"""What a GenBank file shows besides the name and the bases."""


def export(
    call: Call,
    *,
    name: list[str],
    from_: Any,
    format: Format | None,
    to: Path,
    whole: bool,
    force: bool,
) -> None:
    """Write sequences of the platform, or of a frame, to a file, and say where they are."""
    from labext.lab import files

    if bool(name) == (from_ is not None):
        raise InputError(
            "`%lab export` takes the names of sequences, or `--from` a frame of them.",
            f"Example: `{EXPORT.examples[0]}`.",
        )
    if from_ is None:
        records: Any = [call.lab.sequence(each) for each in dict.fromkeys(name)]
    else:
        records = frame_of(from_)
    before = _stamp(to)
    written = files.write(records, to, format=format, whole=whole, force=force)
    if from_ is not None and (format or files.SUFFIXES.get(to.suffix.lower())) == "genbank":
        _tell_missing(records)
    many = wording.count(len(records), "sequence")
    same = before is not None and _stamp(written) == before
    output.say(
        f"{written} holds the same {many} already." if same else f"Wrote {many} to {written}."
    )


def _tell_missing(frame: pd.DataFrame) -> None:
    missing = [column for column in _SHOWN if column not in frame.columns]
    if missing:
        output.say(
            f"The frame has no column {wording.listed(missing)}: the file says nothing of that. "
            "`%lab sequences` without `--columns` has all."
        )


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is replaced; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


EXPORT = Command(
    "export",
    "Write sequences to a FASTA or GenBank file.",
    export,
    [Parameter("NAME", kinds.SEQUENCE, "a sequence, by its name or its id", many=True)],
    [
        Parameter("from", kinds.VARIABLE, "the sequences: a frame, as `%lab sequences` gives it"),
        Parameter(
            "format", kinds.choice("fasta", "genbank"), "the file's format; else its suffix says it"
        ),
        Parameter("to", kinds.PATH, "the file", required=True),
        Parameter("whole", None, "keep all of each record in a FASTA file too"),
        Parameter("force", None, "replace a file that holds something else"),
    ],
    details="`labext.lab.files.read` reads a file again: from GenBank the whole record comes back, "
    "from FASTA the name and the bases, and with --whole, which writes all else behind the names, "
    "the whole record too. A file that holds the same already is kept.",
    examples=[
        "%lab export pBAD30 --format genbank --to out/pBAD30.gb",
        "%lab export --from seqs --format fasta --to out/all.fasta",
    ],
)
