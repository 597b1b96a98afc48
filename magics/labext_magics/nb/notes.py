"""`%nb notes` and `%%nb note`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from labext.errors import ConflictError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import options, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def list_(call: Call, *, notebook: str | None, all_notebooks: bool) -> pd.DataFrame:
    """Return one row per note of the notebook in use, another notebook or all notebooks."""
    target = scope.notebook_or_all(call, notebook, all_notebooks)
    return call.nb.notes.list(None if target is None else target.id)


def show(call: Call, *, note: str) -> pd.DataFrame:
    """Return one note with its full text."""
    from labext_widgets.answers.documents import NOTES

    return NOTES.show(_row(_note(call, note)))


def new(
    call: Call,
    *,
    text: str | None,
    title: str | None,
    note_type: Literal["human", "ai"] | None,
    notebook: str | None,
) -> None:
    """Add a note to a notebook; an identical note is kept."""
    content = scope.text_of(call, text, "note", "%nb note")
    target = scope.notebook_of(call, notebook)
    kind: Literal["human", "ai"] = note_type or "human"
    with scope.creation_lock(call, "note", target.id, title or content):
        existing = _find_identical(call, target.id, title, content, kind)
        if existing is not None:
            output.print_message(f"{target.name} already has {_note_label(existing)}; it was kept.")
            return
        record = call.nb.notes.create(content, title=title, note_type=kind, notebook=target.id)
    output.print_message(f"Added {_note_label(record)} to {target.name}.")


def edit(
    call: Call, *, note: str, title: str | None, note_type: Literal["human", "ai"] | None
) -> pd.DataFrame:
    """Change a note's title or type, or replace its text by the cell body."""
    content = call.text or None
    record = _note(call, note, to_delete=content is not None)
    fields = {"title": title, "type": note_type}
    if content is None:
        body = f", or write the new text below `%%nb notes edit {quote(note)}`"
        scope.require_changes(fields, "%nb notes edit", body)
    changed = call.nb.notes.update(record["id"], title=title, content=content, note_type=note_type)
    output.print_message(f"Changed {_note_label(changed)}.")
    return _row(changed)


def delete(call: Call, *, notes: list[str], yes: bool, preview: bool) -> None:
    """Delete notes after checking that all of them exist."""
    records = {note: _note(call, note, to_delete=True) for note in dict.fromkeys(notes)}
    labels = {
        record["id"]: f"{_note_label(record)}{_notebook_suffix(call, note, record)}"
        for note, record in records.items()
    }
    output.delete_each(labels, call.nb.notes.delete, yes=yes, preview=preview)


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.views import note_frame

    return note_frame([record])


def _note(call: Call, note: str, *, to_delete: bool = False) -> Record:
    return call.nb.notes.get(scope.resolve_id(call, "note", note, to_delete=to_delete))


def _notebook_suffix(call: Call, note: str, record: Record) -> str:
    """Return ` of NOTEBOOK`, or an empty string if the notebook is unknown.

    Open Notebook does not report the notebook, but titles are resolved in the notebook in use.
    """
    current, notebook = call.session.notebook, record["notebook_id"]
    if notebook is None and current is not None and note != record["id"]:
        return f" of {current.name}"
    return scope.notebook_names_suffix(call, [notebook] if notebook else ())


def _find_identical(
    call: Call, notebook: str, title: str | None, content: str, kind: str
) -> Record | None:
    """Return an identical note or None; raise ConflictError if one with the title differs."""
    notes = list(call.nb.notes.iter(notebook))
    for record in notes:
        same = (record["content"] or "").strip() == content and record["note_type"] == kind
        if same and title in (None, record["title"]):
            return record
    if title is not None and any(record["title"] == title for record in notes):
        raise ConflictError(
            f"This notebook already has a note {title} with another text.",
            f"`%%nb notes edit {quote(title)}` with this text changes it; or use another title.",
        )
    return None


def _note_label(record: Record) -> str:
    return f"the note {record['title'] or record['id']}"


_TYPE = Parameter(
    "type", value_types.choice("human", "ai"), "the author of the note", dest="note_type"
)
NEW = Command(
    "note",
    "Add a note to the notebook in use.",
    new,
    [Parameter("TEXT", value_types.prose(), "the note, if not in the cell body")],
    [options.TITLE, _TYPE, options.INTO_NOTEBOOK],
    body="the note.",
    examples=['%%nb note --title "Plan"', "Check leaky expression without arabinose."],
    details="An identical note is kept. A model's note (--type ai) without a title gets one.",
)

SHORTCUTS = (NEW,)

COMMANDS = (
    Command(
        "notes",
        "List the notes of the notebook in use.",
        list_,
        options=[options.IN_NOTEBOOK, options.ALL, OUT],
    ),
    Command("notes show", "Show a note with its full text.", show, [options.ONE_NOTE], [OUT]),
    replace(NEW, name="notes new", examples=()),
    Command(
        "notes edit",
        "Change a note's title, type or text.",
        edit,
        [options.ONE_NOTE],
        [options.TITLE, _TYPE, OUT],
        body="the new text.",
        examples=['%nb notes edit "Findings" --title "Key findings"'],
    ),
    Command("notes delete", "Delete notes.", delete, [options.SOME_NOTES], [YES, PREVIEW]),
)
