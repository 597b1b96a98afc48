"""`%lab sequences`, `show` and `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.namespace import frame_of
from labext_magics.core.options import OUT

if TYPE_CHECKING:
    import pandas as pd

    from labext.lab.files import Format
    from labext_widgets import SequenceViewer

_ORDER = value_types.order_by("name", "createdAt", "modifiedAt")


def sequences(
    call: Call,
    *,
    name: str | None,
    name_includes: str | None,
    names: list[str] | None,
    ids: list[str] | None,
    bases: str | None,
    folder: str | None,
    project_id: str | None,
    schema_id: str | None,
    created_at: str | None,
    modified_at: str | None,
    archive_reason: str | None,
    creator_ids: list[str] | None,
    min_length: int | None,
    max_length: int | None,
    circular: bool | None,
    sort: str | None,
    limit: int | None,
    columns: list[str] | None,
    spread: bool,
) -> pd.DataFrame:
    """Return a row for each visible sequence that matches all filters."""
    filters = {
        "name": name,
        "name_includes": name_includes,
        "names": names,
        "ids": ids,
        "bases": bases,
        "folder": folder,
        "project_id": project_id,
        "schema_id": schema_id,
        "created_at": created_at,
        "modified_at": modified_at,
        "archive_reason": archive_reason,
        "creator_ids": creator_ids,
        "min_length": min_length,
        "max_length": max_length,
        "circular": circular,
        "sort": sort,
    }
    active = {name: value for name, value in filters.items() if value is not None}
    return call.lab.sequences(limit, columns=columns, spread=spread, **active)


def show(call: Call, *, name: str, enzymes: list[str] | None) -> SequenceViewer:
    """Return the viewer of one sequence, which renders when displayed."""
    import labext_widgets

    return labext_widgets.sequence_viewer(call.lab.sequence(name), enzymes=enzymes)


COMMANDS = (
    Command(
        "sequences",
        "List DNA sequences, those first that were changed last.",
        sequences,
        instead="%lab sequences --name-includes",
        options=[
            Parameter("name", value_types.SEQUENCE, "only those of exactly this name"),
            Parameter(
                "name-includes", value_types.text_type(), "only those with this text in their name"
            ),
            Parameter("names", value_types.comma_separated("A,B,…"), "only those of these names"),
            Parameter("ids", value_types.comma_separated("ID,ID,…"), "only those with these ids"),
            Parameter(
                "bases",
                value_types.text_type(),
                "only those that are these bases, on either strand",
            ),
            Parameter(
                "folder", value_types.LAB_FOLDER, "only this folder's, by its name or its id"
            ),
            Parameter(
                "project", value_types.text_type("ID"), "only this project's", dest="project_id"
            ),
            Parameter(
                "schema", value_types.text_type("ID"), "only those of this schema", dest="schema_id"
            ),
            Parameter("created-at", value_types.text_type("'> DATE'"), "only those made then"),
            Parameter("modified-at", value_types.text_type("'> DATE'"), "only those changed then"),
            Parameter(
                "archive-reason", value_types.text_type(), "only those archived for this reason"
            ),
            Parameter(
                "creator",
                value_types.comma_separated("ID,ID,…"),
                "only those of these users",
                dest="creator_ids",
            ),
            Parameter("min-length", value_types.INTEGER, "only those of at least so many bases"),
            Parameter("max-length", value_types.INTEGER, "only those of at most so many bases"),
            Parameter(
                "circular", value_types.YES_NO, "only the circular ones, or only the linear ones"
            ),
            Parameter("sort", _ORDER, "the order"),
            Parameter("limit", value_types.INTEGER, "at most this many"),
            Parameter("columns", value_types.FIELDS, "only these columns"),
            Parameter("spread", None, "give each field a column of its own"),
            OUT,
        ],
        examples=[
            "seqs = %lab sequences",
            "%lab sequences --name-includes pla --min-length 3000 --columns id,name,length",
            "%lab sequences --modified-at '> 2026-01-01' --sort name",
            "%lab sequences --folder 'Cold-regulated genes'",
        ],
    ),
    Command(
        "show",
        "Show a sequence: its map, its annotations and its bases, with search and sites.",
        show,
        [
            Parameter(
                "NAME", value_types.SEQUENCE, "a sequence, by its name or its id", required=True
            )
        ],
        [
            Parameter(
                "enzymes",
                value_types.comma_separated("A,B,…"),
                "whose sites it shows; else those that cut once",
            ),
            OUT,
        ],
        examples=["viewer = %lab show pBAD30"],
        details="What is selected in the viewer is `viewer.selection`.",
    ),
)


_SHOWN = ("annotations", "isCircular")
"""Columns that a GenBank file contains besides the name and the bases."""


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
    """Write sequences of the platform, or of a frame, to a file, and report its path."""
    from labext.lab import files

    if bool(name) == (from_ is not None):
        raise InputError(
            "`%lab export` takes the names of sequences, or `--from` a frame of them.",
            f"Example: `{EXPORT.examples[0]}`.",
        )
    if from_ is None:
        records: Any = [call.lab.sequence(sequence) for sequence in dict.fromkeys(name)]
    else:
        records = frame_of(from_)
    before = _stamp(to)
    written = files.write(records, to, format=format, whole=whole, force=force)
    if from_ is not None and (format or files.SUFFIXES.get(to.suffix.lower())) == "genbank":
        _report_missing(records)
    many = messages.pluralize(len(records), "sequence")
    same = before is not None and _stamp(written) == before
    output.print_message(
        f"{written} holds the same {many} already." if same else f"Wrote {many} to {written}."
    )


def _report_missing(frame: pd.DataFrame) -> None:
    missing = [column for column in _SHOWN if column not in frame.columns]
    if missing:
        output.print_message(
            f"The frame has no column {messages.join_words(missing)}: the file says nothing of "
            "that. "
            "`%lab sequences` without `--columns` has all."
        )


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return a file's inode and modification time, or None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


EXPORT = Command(
    "export",
    "Write sequences to a FASTA or GenBank file.",
    export,
    [Parameter("NAME", value_types.SEQUENCE, "a sequence, by its name or its id", many=True)],
    [
        Parameter(
            "from", value_types.VARIABLE, "the sequences: a frame, as `%lab sequences` gives it"
        ),
        Parameter(
            "format",
            value_types.choice("fasta", "genbank"),
            "the file's format; else its suffix says it",
        ),
        Parameter("to", value_types.PATH, "the file", required=True),
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
