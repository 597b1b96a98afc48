"""`%lab export`: sequences as a FASTA or GenBank file."""

from __future__ import annotations

from collections.abc import Mapping
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

_SUFFIXES = {
    "fasta": (".fasta", ".fa", ".fas", ".fna", ".ffn"),
    "genbank": (".gb", ".gbk", ".genbank"),
}

_NEEDED = {"fasta": ("name", "bases"), "genbank": ("name", "bases", "annotations", "isCircular")}
"""What a file of each format says of a sequence."""


def export(
    call: Call, *, name: list[str], from_: Any, format: str | None, to: Path, force: bool
) -> None:
    """Write sequences of the platform, or of a frame, to a file, and say where they are."""
    from labext.lab import files

    if bool(name) == (from_ is not None):
        raise InputError(
            "`%lab export` takes the names of sequences, or `--from` a frame of them.",
            f"Example: `{EXPORT.examples[0]}`.",
        )
    form = format or _by_suffix(to)
    if from_ is None:
        records = [call.lab.sequence(each) for each in name]
    else:
        records = _of_frame(frame_of(from_), form)
    output.say(files.write(records, to, form, force=force))


def _by_suffix(to: Path) -> str:
    for form, suffixes in _SUFFIXES.items():
        if to.suffix.lower() in suffixes:
            return form
    raise InputError(
        f"{to} does not say which format it is to have.",
        "Add `--format fasta` or `--format genbank`.",
    )


def _of_frame(frame: pd.DataFrame, form: str) -> list[Mapping[str, Any]]:
    """Return a record for each row; InputError where the frame lacks what the file has to say."""
    missing = [column for column in _NEEDED[form] if column not in frame.columns]
    if missing:
        raise InputError(
            f"The frame has no column {wording.listed(missing)}, which a {form} file needs.",
            "List the sequences with these columns: `%lab sequences` without `--columns` has all.",
        )
    if frame.empty:
        raise InputError("The frame has no rows.", "List some sequences first.")
    return [
        {str(key): value for key, value in row.items() if not _is_empty(value)}
        for row in frame.to_dict("records")
    ]


def _is_empty(value: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


EXPORT = Command(
    "export",
    "Write sequences to a FASTA or GenBank file.",
    export,
    [Parameter("NAME", kinds.SEQUENCE, "a sequence, by its name or its id", many=True)],
    [
        Parameter("from", kinds.VARIABLE, "the sequences: a frame, as `%lab sequences` gives it"),
        Parameter("format", kinds.choice(*_SUFFIXES), "the file's format; else its suffix says it"),
        Parameter("to", kinds.PATH, "the file", required=True),
        Parameter("force", None, "replace a file that holds something else"),
    ],
    details="A file that holds the same already is kept.",
    examples=[
        "%lab export pBAD30 --format genbank --to out/pBAD30.gb",
        "%lab export --from seqs --format fasta --to out/all.fasta",
    ],
)
