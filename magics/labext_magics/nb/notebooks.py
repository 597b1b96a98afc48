"""`%nb notebooks`, `use`, `new`, `delete`, `link` and `unlink`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import ConflictError, InputError, NotFoundError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.core.session import NotebookInUse
from labext_magics.nb import options, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def delete_notebook(
    call: Call, *, notebook: str, delete_sources: bool, yes: bool, preview: bool
) -> pd.DataFrame | None:
    """Delete a notebook with its notes and chats; a preview returns their counts."""
    from labext.nb.views import deletion_preview_frame

    record = call.nb.notebooks.get(notebook)
    counts = call.nb.notebooks.preview(record["id"])
    affected = _describe_deletion(str(record["name"]), counts, delete_sources)
    if not output.confirm_destruction("delete", affected, yes=yes, preview=preview):
        return deletion_preview_frame([counts])
    deleted = call.nb.notebooks.delete(record["id"], delete_sources=delete_sources)
    if call.session.notebook is not None and call.session.notebook.id == record["id"]:
        call.session.notebook = None
    call.session.chats.pop(str(record["id"]), None)
    output.print_message(f"Deleted {record['name']}{_describe_deleted(deleted)}.")
    return None


def _describe_deletion(name: str, counts: Record, delete_sources: bool) -> list[str]:
    """Return descriptions of the objects that a deletion removes and keeps."""
    exclusive, shared = counts["exclusive_source_count"], counts["shared_source_count"]
    parts = [
        f"the notebook {name}",
        *_quantity(counts["note_count"], "note"),
        *_quantity(counts.get("session_count"), "chat"),
    ]
    form = (
        "{} only in this notebook" if delete_sources else "but not {}, which needs --delete-sources"
    )
    parts += [form.format(count) for count in _quantity(exclusive, "source")]
    parts += [f"but not {count} also in other notebooks" for count in _quantity(shared, "source")]
    return parts


def _describe_deleted(deleted: Record) -> str:
    counts = [
        *_quantity(deleted.get("deleted_notes"), "note"),
        *_quantity(deleted.get("deleted_chat_sessions"), "chat"),
        *_quantity(deleted.get("deleted_sources"), "source"),
    ]
    kept = [f"; kept {count}" for count in _quantity(deleted.get("unlinked_sources"), "source")]
    return (f", with {messages.join_all(counts, 'and')}" if counts else "") + "".join(kept)


def _quantity(number: Any, noun: str) -> list[str]:
    return [messages.pluralize(int(number), noun)] if number else []


DELETE = Command(
    "delete",
    "Delete a notebook, its notes and chats.",
    delete_notebook,
    [options.ONE_NOTEBOOK],
    [
        Parameter("delete-sources", None, "also delete sources that are in no other notebook"),
        YES,
        PREVIEW,
        OUT,
    ],
    examples=['%nb delete "Arabinose induction" --preview'],
)


def link(call: Call, *, sources: list[str], notebook: str | None) -> None:
    """Link sources of any notebook to a notebook; existing links are kept."""
    target = scope.notebook_of(call, notebook)
    identifiers = dict.fromkeys(_find_source_to_link(call, source, target) for source in sources)
    records = [call.nb.sources.get(identifier) for identifier in identifiers]
    for record in records:
        call.nb.notebooks.link(target.id, record["id"])
    output.print_message(
        f"Linked to {target.name}: {messages.join_words(map(scope.source_title, records))}."
    )


def unlink(call: Call, *, sources: list[str], notebook: str | None) -> None:
    """Remove sources from a notebook without deleting them."""
    target = scope.notebook_of(call, notebook)
    identifiers = (call.nb.sources.find(source, target.id) for source in sources)
    records = [call.nb.sources.get(identifier) for identifier in dict.fromkeys(identifiers)]
    for record in records:
        call.nb.notebooks.unlink(target.id, record["id"])
    output.print_message(
        f"Unlinked from {target.name}, without deleting: "
        f"{messages.join_words(map(scope.source_title, records))}."
    )


def _find_source_to_link(call: Call, source: str, target: NotebookInUse) -> str:
    """Return the ID of a source to link, preferring the notebook in use over other notebooks."""
    current = call.session.notebook
    if current is not None and current != target:
        try:
            return call.nb.sources.find(source, current.id)
        except NotFoundError:
            pass  # search all notebooks
    return call.nb.sources.find(source)


SOURCE_LINK_COMMANDS = (
    Command(
        "sources link",
        "Link sources to the notebook in use.",
        link,
        [options.SOME_SOURCES],
        [options.INTO_NOTEBOOK],
    ),
    Command(
        "sources unlink",
        "Unlink sources from the notebook in use, without deleting them.",
        unlink,
        [options.SOME_SOURCES],
        [options.IN_NOTEBOOK],
    ),
)


def list_(call: Call, *, archived: bool | None, order_by: str | None) -> pd.DataFrame:
    """Return one row per notebook, most recently modified first."""
    return call.nb.notebooks.list(archived=archived, order_by=scope.order_parameter(order_by))


def show(call: Call, *, notebook: str) -> pd.DataFrame:
    """Return the row of one notebook."""
    return _row(call.nb.notebooks.get(notebook))


def use(call: Call, *, name: str | None, create: bool, description: str | None) -> None:
    """Select the notebook for later lines, with `create` creating it if necessary."""
    from labext.nb.resource import parse_identifier

    if name is None:
        output.print_message(f"Using {scope.current_notebook(call).name}.")
        return
    if description is not None and not create:
        raise InputError(
            "`--description` is for a new notebook.",
            f"Add `--create`, or write `%nb notebooks edit {quote(name)} --description …`.",
        )
    created = False
    with scope.creation_lock(call, "notebook", name) if create else nullcontext():
        try:
            record = call.nb.notebooks.get(name)
        except NotFoundError as missing:
            if parse_identifier("notebook", name) is not None:
                raise
            if not create:
                hint = f"`%nb use {quote(name)} --create` creates it."
                raise missing.with_hint(hint) from None
            record, created = call.nb.notebooks.create(name, description), True
    if created:
        output.print_message(f"Created {record['name']}; this session uses it.")
    else:
        contents = _describe_contents(record)
        output.print_message(
            f"This session uses {record['name']}" + (f", with {contents}." if contents else ".")
        )
        if description not in (None, record["description"] or ""):
            output.print_message(
                "It has another description, which was kept; "
                f"`%nb notebooks edit {quote(name)} --description …` changes it."
            )
    call.session.notebook = scope.notebook_from_record(record)


def new(call: Call, *, name: str, description: str | None) -> pd.DataFrame:
    """Create a notebook and select it; an identical notebook is kept."""
    with scope.creation_lock(call, "notebook", name):
        created = name not in call.nb.notebooks.names()
        if created:
            record = call.nb.notebooks.create(name, description)
        else:
            record = call.nb.notebooks.get(name)
    if created:
        output.print_message(f"Created {record['name']}; this session uses it.")
    elif description is not None and (record["description"] or "") != description:
        raise ConflictError(
            f"A notebook {name} with another description already exists.",
            f"`%nb notebooks edit {quote(name)} --description …` changes it; or use another name.",
        )
    else:
        output.print_message(f"{name} already exists and was kept; this session uses it.")
    call.session.notebook = scope.notebook_from_record(record)
    return _row(record)


def edit(
    call: Call, *, notebook: str, name: str | None, description: str | None, archived: bool | None
) -> pd.DataFrame:
    """Change the name, the description or the archived state of a notebook."""
    fields = {"name": name, "description": description, "archived": archived}
    changes = scope.require_changes(fields, "%nb notebooks edit")
    record = call.nb.notebooks.update(notebook, **changes)
    if call.session.notebook is not None and call.session.notebook.id == record["id"]:
        call.session.notebook = scope.notebook_from_record(record)
    output.print_message(f"Changed {record['name']}.")
    return _row(record)


def archive(call: Call, *, notebook: str) -> None:
    """Archive a notebook."""
    record = call.nb.notebooks.update(notebook, archived=True)
    output.print_message(f"Archived {record['name']}.")


def unarchive(call: Call, *, notebook: str) -> None:
    """Unarchive a notebook."""
    record = call.nb.notebooks.update(notebook, archived=False)
    output.print_message(f"Unarchived {record['name']}.")


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.views import notebook_frame

    return notebook_frame([record])


def _describe_contents(record: Record) -> str:
    counts = [
        messages.pluralize(int(record[f"{noun}_count"]), noun)
        for noun in ("source", "note")
        if record.get(f"{noun}_count")
    ]
    return " and ".join(counts)


NEW = Command(
    "new",
    "Create a notebook and use it.",
    new,
    [Parameter("NAME", value_types.text_type("NAME"), "the notebook's name", required=True)],
    [options.DESCRIPTION, OUT],
)

SHORTCUTS = (
    Command(
        "use",
        "Select the notebook for later lines.",
        use,
        [Parameter("NAME", value_types.NOTEBOOK, "a notebook, by its name or id")],
        [Parameter("create", None, "create it if it does not exist"), options.DESCRIPTION],
        details="Without a name, shows the notebook in use.",
        examples=['%nb use "Arabinose induction" --create --description "pBAD30 notes"'],
    ),
    NEW,
    DELETE,
)

COMMANDS = (
    Command(
        "notebooks",
        "List the notebooks, last modified first.",
        list_,
        options=[
            Parameter(
                "archived", value_types.YES_NO, "list only archived or only active notebooks"
            ),
            Parameter(
                "order-by", value_types.order_by("updated_at", "created_at", "name"), "sort order"
            ),
            OUT,
        ],
    ),
    Command("notebooks show", "Show a notebook.", show, [options.ONE_NOTEBOOK], [OUT]),
    replace(NEW, name="notebooks new"),
    Command(
        "notebooks edit",
        "Change a notebook's name or description.",
        edit,
        [options.ONE_NOTEBOOK],
        [
            Parameter("name", value_types.text_type("NAME"), "the new name"),
            options.DESCRIPTION,
            Parameter("archived", value_types.YES_NO, "archive or unarchive it"),
            OUT,
        ],
        examples=['%nb notebooks edit "Arabinose induction" --description "pBAD30 notes"'],
    ),
    Command("notebooks archive", "Archive a notebook.", archive, [options.ONE_NOTEBOOK]),
    Command("notebooks unarchive", "Unarchive a notebook.", unarchive, [options.ONE_NOTEBOOK]),
    Command(
        "notebooks link",
        "Link sources to a notebook.",
        link,
        [options.ONE_NOTEBOOK, options.SOME_SOURCES],
    ),
    Command(
        "notebooks unlink",
        "Unlink sources from a notebook, without deleting them.",
        unlink,
        [options.ONE_NOTEBOOK, options.SOME_SOURCES],
    ),
    replace(DELETE, name="notebooks delete", examples=()),
)
