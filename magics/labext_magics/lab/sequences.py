"""`%lab sequences`, `show` and `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.namespace import to_frame
from labext_magics.core.options import OUT

if TYPE_CHECKING:
    import pandas as pd

    from labext.lab.files import Format
    from labext_widgets import SequenceViewer

_ORDER = value_types.order_by("name", "createdAt", "modifiedAt")


def sequences(
    call: Call, *, limit: int | None, columns: list[str] | None, spread: bool, **filters: Any
) -> pd.DataFrame:
    """Return one row per visible sequence that matches all filters."""
    active = {name: value for name, value in filters.items() if value is not None}
    with output.list_progress("Sequences") as on_page:
        return call.lab.sequences(limit, columns=columns, spread=spread, on_page=on_page, **active)


def show(call: Call, *, name: str, enzymes: list[str] | None) -> SequenceViewer:
    """Return the viewer of one sequence."""
    import labext_widgets

    return labext_widgets.sequence_viewer(call.lab.sequence(name), enzymes=enzymes)


COMMANDS = (
    Command(
        "sequences",
        "List DNA sequences, last modified first.",
        sequences,
        instead="%lab sequences --name-includes",
        options=[
            Parameter("name", value_types.SEQUENCE, "list only sequences with this name"),
            Parameter(
                "name-includes",
                value_types.text_type(),
                "list only sequences whose name contains this text",
            ),
            Parameter(
                "names",
                value_types.comma_separated("A,B,…"),
                "list only sequences with these names",
            ),
            Parameter(
                "ids", value_types.comma_separated("ID,ID,…"), "list only sequences with these ids"
            ),
            Parameter(
                "bases",
                value_types.text_type(),
                "list only sequences with exactly these bases, on either strand",
            ),
            Parameter(
                "folder",
                value_types.LAB_FOLDER,
                "list only sequences in this folder, by its name or id",
            ),
            Parameter(
                "project",
                value_types.text_type("ID"),
                "list only sequences in this project",
                dest="project_id",
            ),
            Parameter(
                "schema",
                value_types.text_type("ID"),
                "list only sequences with this schema",
                dest="schema_id",
            ),
            Parameter("created-at", value_types.TIME_RANGE, "list only sequences created then"),
            Parameter("modified-at", value_types.TIME_RANGE, "list only sequences modified then"),
            Parameter(
                "archive-reason",
                value_types.text_type(),
                "list only sequences archived for this reason",
            ),
            Parameter(
                "creator",
                value_types.comma_separated("ID,ID,…"),
                "list only sequences created by these users",
                dest="creator_ids",
            ),
            Parameter("min-length", value_types.INTEGER, "minimum length in bases"),
            Parameter("max-length", value_types.INTEGER, "maximum length in bases"),
            Parameter(
                "circular", value_types.YES_NO, "list only circular or only linear sequences"
            ),
            Parameter("sort", _ORDER, "sort order"),
            Parameter("limit", value_types.INTEGER, "maximum number of sequences"),
            Parameter("columns", value_types.FIELDS, "return only these columns"),
            Parameter(
                "spread",
                None,
                "a column for each member of schema, creator, fields and customFields",
            ),
            OUT,
        ],
        details="A name also matches an alias or a registry ID; its case is ignored. Of a circular "
        "sequence, --bases matches every rotation.",
        examples=[
            "seqs = %lab sequences",
            "%lab sequences --name-includes pla --min-length 3000 --columns id,name,length",
            "%lab sequences --modified-at '> 2026-01-01' --sort name",
            "%lab sequences --folder 'Cold-regulated genes'",
        ],
    ),
    Command(
        "show",
        "Show the viewer of a sequence: maps, annotations, bases, search and cut sites.",
        show,
        [Parameter("NAME", value_types.SEQUENCE, "a sequence, by its name or id", required=True)],
        [
            Parameter(
                "enzymes",
                value_types.comma_separated("A,B,…"),
                "the enzymes whose cut sites are shown; by default single cutters",
            ),
            OUT,
        ],
        examples=["viewer = %lab show pBAD30"],
        details="The selected range is `viewer.selection`.",
    ),
)


def export(
    call: Call,
    *,
    name: list[str],
    from_: Any,
    format: Format | None,
    to: Path,
    whole: bool,
    overwrite: bool,
) -> None:
    """Write sequences of the platform or of a DataFrame to a file, and report its path."""
    from labext.lab import files

    if bool(name) == (from_ is not None):
        raise InputError(
            "`%lab export` needs either names of sequences, or a DataFrame with `--from`.",
            f"Example: `{EXPORT.examples[0]}`.",
        )
    if from_ is None:
        matches = map(call.lab.sequence, dict.fromkeys(name))
        records: Any = list({match.get("id") or id(match): match for match in matches}.values())
    else:
        records = to_frame(from_)
    old_stamp = _file_stamp(to)
    written = files.write(records, to, format=format, whole=whole, overwrite=overwrite)
    if from_ is not None and (format or files.SUFFIXES.get(to.suffix.lower())) == "genbank":
        _report_missing_columns(records)
    count = messages.pluralize(len(records), "sequence")
    unchanged = old_stamp is not None and _file_stamp(written) == old_stamp
    output.print_message(
        f"{written} already contains the same {count}."
        if unchanged
        else f"Wrote {count} to {written}."
    )


def _report_missing_columns(frame: pd.DataFrame) -> None:
    missing = [name for name in ("annotations", "isCircular") if name not in frame.columns]
    if missing:
        output.print_message(
            f"The file lacks {messages.join_words(missing)}, since the DataFrame has no such "
            "column. `%lab sequences` without `--columns` returns all columns."
        )


def _file_stamp(path: Path) -> tuple[int, int] | None:
    """Return a file's inode and modification time; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


EXPORT = Command(
    "export",
    "Write sequences to a FASTA or GenBank file.",
    export,
    [Parameter("NAME", value_types.SEQUENCE, "a sequence, by its name or id", many=True)],
    [
        Parameter("from", value_types.VARIABLE, "the sequences: a DataFrame of `%lab sequences`"),
        Parameter(
            "format",
            value_types.choice("fasta", "genbank"),
            "the file format; by default derived from the file suffix",
        ),
        Parameter("to", value_types.PATH, "the output file", required=True),
        Parameter("whole", None, "preserve all fields of the records in a FASTA file"),
        Parameter("overwrite", None, "replace an existing file"),
    ],
    details="`labext.lab.files.read` reads the file: GenBank files and FASTA files written "
    "with --whole contain complete records, other FASTA files only names and bases. A "
    "file with the same sequences is left unchanged without --overwrite.",
    examples=[
        "%lab export pBAD30 --format genbank --to out/pBAD30.gb",
        "%lab export --from seqs --format fasta --to out/all.fasta",
    ],
)
