"""`%nb notebooks`, and `%nb use`, `new` and `delete`: what groups sources and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext_magics import kinds, nb_options, nb_scope, nb_sources, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def list_(call: Call, *, archived: bool | None, order_by: str | None) -> pd.DataFrame:
    """Return a row for each notebook, those first that were changed last."""
    return call.nb.notebooks.list(archived=archived, order_by=nb_scope.ordered(order_by))


def show(call: Call, *, notebook: str) -> pd.DataFrame:
    """Return what is known of one notebook, a value a row."""
    return _row(call.nb.notebooks.get(notebook))


def use(call: Call, *, name: str | None, create: bool, description: str | None) -> None:
    """Choose the notebook that later lines are about; with `create` make it if it isn't there."""
    if name is None:
        output.say(f"{nb_scope.in_use(call).name} is in use.")
        return
    if description is not None and not create:
        raise InputError(
            "`--description` is for a notebook that is made.",
            f"Add `--create`, or write `%nb notebooks edit {quote(name)} --description …`.",
        )
    try:
        record = call.nb.notebooks.get(name)
    except NotFoundError as missing:
        if not create or ":" in name:
            raise _unless_made(missing, name) from None
        record = call.nb.notebooks.create(name, description)
        output.say(f"{record['name']} is new, and this session uses it.")
    else:
        parts = _parts(record)
        output.say(f"This session uses {record['name']}" + (f", with {parts}." if parts else "."))
    call.session.notebook = nb_scope.made(record)


def new(call: Call, *, name: str, description: str | None) -> pd.DataFrame:
    """Make a notebook and use it; the same again is kept."""
    there = [n for n in call.nb.notebooks.names() if n == name]
    if there:
        record = call.nb.notebooks.get(name)
        if description is not None and (record["description"] or "") != description:
            raise ConflictError(
                f"There is a notebook {name} already, with another description.",
                f"`%nb notebooks edit {quote(name)} --description …` changes it; or take another "
                "name.",
            )
        output.say(f"{name} is there already and was kept; this session uses it.")
    else:
        record = call.nb.notebooks.create(name, description)
        output.say(f"{record['name']} is new, and this session uses it.")
    call.session.notebook = nb_scope.made(record)
    return _row(record)


def edit(
    call: Call,
    *,
    notebook: str,
    name: str | None,
    description: str | None,
    archived: bool | None,
) -> pd.DataFrame:
    """Change a notebook's name, its description or whether it is archived."""
    given = {"name": name, "description": description, "archived": archived}
    changes = nb_scope.changes(given, "%nb notebooks edit")
    record = call.nb.notebooks.update(notebook, **changes)
    if call.session.notebook is not None and call.session.notebook.id == record["id"]:
        call.session.notebook = nb_scope.made(record)
    output.say(f"{record['name']} is changed.")
    return _row(record)


def archive(call: Call, *, notebook: str) -> None:
    """Mark a notebook as archived."""
    record = call.nb.notebooks.update(notebook, archived=True)
    output.say(f"{record['name']} is archived.")


def unarchive(call: Call, *, notebook: str) -> None:
    """Take the archive's mark from a notebook."""
    record = call.nb.notebooks.update(notebook, archived=False)
    output.say(f"{record['name']} is no longer archived.")


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


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.rowviews import notebooks

    return notebooks([record])


def _counts(counted: Record) -> pd.DataFrame:
    from labext.nb.records import PREVIEW as COUNTS
    from labext.nb.records import frame
    from labext.nb.rowviews import NotebookRows

    return NotebookRows(frame(COUNTS, [counted]))


def _unless_made(missing: NotFoundError, name: str) -> NotFoundError:
    """Return the error of a notebook that isn't there, with how it is made."""
    if ":" in name:
        return missing
    step = f"{missing.next_step} `%nb use {quote(name)} --create` makes it."
    return NotFoundError(missing.what, step, status=missing.status)


def _parts(record: Record) -> str:
    counted = [
        wording.count(int(record[f"{noun}_count"]), noun)
        for noun in ("source", "note")
        if record.get(f"{noun}_count")
    ]
    return " and ".join(counted)


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
_NAME = Parameter("NAME", kinds.text("NAME"), "what it is called", required=True)
_NEW_OPTIONS = [nb_options.DESCRIPTION, OUT]

SHORTCUTS = (
    Command(
        "use",
        "Choose the notebook that the lines below are about.",
        use,
        [Parameter("NAME", kinds.NOTEBOOK, "a notebook, by its name or its id")],
        [Parameter("create", None, "make it if it isn't there"), nb_options.DESCRIPTION],
        details="Without a name it says which notebook is in use.",
        examples=['%nb use "Arabinose induction" --create --description "pBAD30 notes"'],
    ),
    Command("new", "Make a notebook and use it.", new, [_NAME], _NEW_OPTIONS),
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
        "notebooks",
        "List the notebooks, those first that were changed last.",
        list_,
        options=[
            Parameter("archived", kinds.YES_NO, "only the archived ones, or only the others"),
            Parameter(
                "order-by", kinds.ordered_by("updated_at", "created_at", "name"), "the order"
            ),
            OUT,
        ],
    ),
    Command("notebooks show", "Show one notebook.", show, [nb_options.ONE_NOTEBOOK], [OUT]),
    Command("notebooks new", "Make a notebook and use it.", new, [_NAME], _NEW_OPTIONS),
    Command(
        "notebooks edit",
        "Change a notebook's name or description.",
        edit,
        [nb_options.ONE_NOTEBOOK],
        [
            Parameter("name", kinds.text("NAME"), "its new name"),
            nb_options.DESCRIPTION,
            Parameter("archived", kinds.YES_NO, "whether it is archived"),
            OUT,
        ],
    ),
    Command("notebooks archive", "Archive a notebook.", archive, [nb_options.ONE_NOTEBOOK]),
    Command(
        "notebooks unarchive",
        "Take a notebook out of the archive.",
        unarchive,
        [nb_options.ONE_NOTEBOOK],
    ),
    Command(
        "notebooks link",
        "Put sources into a notebook as well.",
        nb_sources.link_to,
        [nb_options.ONE_NOTEBOOK, nb_options.SOME_SOURCES],
    ),
    Command(
        "notebooks unlink",
        "Take sources out of a notebook, without deleting them.",
        nb_sources.unlink_from,
        [nb_options.ONE_NOTEBOOK, nb_options.SOME_SOURCES],
    ),
    Command(
        "notebooks delete",
        "Delete a notebook with its notes and chats.",
        delete,
        [nb_options.ONE_NOTEBOOK],
        [_DELETE_SOURCES, YES, PREVIEW, OUT],
    ),
)
