"""`%lab sequences` and `show`: the platform's DNA sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext_magics import kinds
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd

    from labext_widgets import SequenceViewer

_ORDER = kinds.ordered_by("name", "createdAt", "modifiedAt")


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
    """Return a row for each sequence that the caller may see and that every filter lets pass."""
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
    given = {name: value for name, value in filters.items() if value is not None}
    return call.lab.sequences(limit, columns=columns, spread=spread, **given)


def show(call: Call, *, name: str, enzymes: list[str] | None) -> SequenceViewer:
    """Return the viewer of one sequence, which draws itself where it is shown."""
    import labext_widgets

    return labext_widgets.sequence_viewer(call.lab.sequence(name), enzymes=enzymes)


COMMANDS = (
    Command(
        "sequences",
        "List DNA sequences, those first that were changed last.",
        sequences,
        instead="%lab sequences --name-includes",
        options=[
            Parameter("name", kinds.SEQUENCE, "only those of exactly this name"),
            Parameter("name-includes", kinds.text(), "only those with this text in their name"),
            Parameter("names", kinds.words("A,B,…"), "only those of these names"),
            Parameter("ids", kinds.words("ID,ID,…"), "only those with these ids"),
            Parameter("bases", kinds.text(), "only those that are these bases, on either strand"),
            Parameter("folder", kinds.LAB_FOLDER, "only this folder's, by its name or its id"),
            Parameter("project", kinds.text("ID"), "only this project's", dest="project_id"),
            Parameter("schema", kinds.text("ID"), "only those of this schema", dest="schema_id"),
            Parameter("created-at", kinds.text("'> DATE'"), "only those made then"),
            Parameter("modified-at", kinds.text("'> DATE'"), "only those changed then"),
            Parameter("archive-reason", kinds.text(), "only those archived for this reason"),
            Parameter(
                "creator", kinds.words("ID,ID,…"), "only those of these users", dest="creator_ids"
            ),
            Parameter("min-length", kinds.WHOLE, "only those of at least so many bases"),
            Parameter("max-length", kinds.WHOLE, "only those of at most so many bases"),
            Parameter("circular", kinds.YES_NO, "only the circular ones, or only the linear ones"),
            Parameter("sort", _ORDER, "the order"),
            Parameter("limit", kinds.WHOLE, "at most this many"),
            Parameter("columns", kinds.FIELDS, "only these columns"),
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
        [Parameter("NAME", kinds.SEQUENCE, "a sequence, by its name or its id", required=True)],
        [
            Parameter(
                "enzymes", kinds.words("A,B,…"), "whose sites it shows; else those that cut once"
            ),
            OUT,
        ],
        examples=["viewer = %lab show pBAD30"],
        details="What is selected in the viewer is `viewer.selection`.",
    ),
)
