"""`%nb delete`: a notebook goes, once it is said what goes with it and what stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext import wording
from labext_magics import nb_options, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def delete(
    call: Call, *, notebook: str, delete_sources: bool, yes: bool, preview: bool
) -> pd.DataFrame | None:
    """Delete a notebook with its notes and chats; a preview returns what would go."""
    record = call.nb.notebooks.get(notebook)
    counted = call.nb.notebooks.preview(record["id"])
    would_go = _would_go(str(record["name"]), counted, delete_sources)
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return _counts(counted)
    gone = call.nb.notebooks.delete(record["id"], delete_sources=delete_sources)
    if call.session.notebook is not None and call.session.notebook.id == record["id"]:
        call.session.notebook = None
    call.session.chats.pop(str(record["id"]), None)
    output.say(f"{record['name']} is deleted{_gone(gone)}.")
    return None


def _counts(counted: Record) -> pd.DataFrame:
    from labext.nb.records import PREVIEW as COUNTS
    from labext.nb.records import frame
    from labext.nb.rowviews import NOTEBOOKS

    return NOTEBOOKS.show(frame(COUNTS, [counted]))


def _would_go(name: str, counted: Record, delete_sources: bool) -> list[str]:
    """Return what a deletion takes with it, in words, and what it spares."""
    own, shared = counted["exclusive_source_count"], counted["shared_source_count"]
    parts = [
        f"the notebook {name}",
        *_counted(counted["note_count"], "note"),
        *_counted(counted.get("session_count"), "chat"),
    ]
    if delete_sources:
        parts += [f"{each} of its own" for each in _counted(own, "source")]
        parts += [f"but not {each} of other notebooks" for each in _counted(shared, "source")]
    else:
        every = _counted((own or 0) + (shared or 0), "source")
        parts += [f"but not {each}, which --delete-sources is for" for each in every]
    return parts


def _gone(gone: Record) -> str:
    counted = [
        *_counted(gone.get("deleted_notes"), "note"),
        *_counted(gone.get("deleted_chat_sessions"), "chat"),
        *_counted(gone.get("deleted_sources"), "source"),
    ]
    kept = [f"; {each} stay" for each in _counted(gone.get("unlinked_sources"), "source")]
    return (f", with {' and '.join(counted)}" if counted else "") + "".join(kept)


def _counted(number: Any, noun: str) -> list[str]:
    return [wording.count(int(number), noun)] if number else []


_DELETE_SOURCES = Parameter("delete-sources", None, "also the sources that no other notebook has")

SHORTCUTS = (
    Command(
        "delete",
        "Delete a notebook with its notes and chats.",
        delete,
        [nb_options.ONE_NOTEBOOK],
        [_DELETE_SOURCES, YES, PREVIEW, OUT],
        examples=['%nb delete "Arabinose induction" --preview'],
    ),
)

COMMANDS = (
    Command(
        "notebooks delete",
        "Delete a notebook with its notes and chats.",
        delete,
        [nb_options.ONE_NOTEBOOK],
        [_DELETE_SOURCES, YES, PREVIEW, OUT],
    ),
)
