"""`%nb notebooks`, and `%nb use` and `new`: what groups sources and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext_magics import kinds, nb_deleting, nb_links, nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT

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
    from labext.nb.titles import identifier

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
        if identifier("notebook", name) is not None:
            raise
        if not create:
            raise _unless_made(missing, name) from None
        record = call.nb.notebooks.create(name, description)
        output.say(f"{record['name']} is new, and this session uses it.")
    else:
        parts = _parts(record)
        output.say(f"This session uses {record['name']}" + (f", with {parts}." if parts else "."))
    call.session.notebook = nb_scope.made(record)


def new(call: Call, *, name: str, description: str | None) -> pd.DataFrame:
    """Make a notebook and use it; the same again is kept."""
    if name in call.nb.notebooks.names():
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


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.rowviews import notebooks

    return notebooks([record])


def _unless_made(missing: NotFoundError, name: str) -> NotFoundError:
    """Return the error of a notebook that isn't there, with how it is made."""
    step = f"{missing.next_step} `%nb use {quote(name)} --create` makes it."
    return NotFoundError(missing.what, step, status=missing.status)


def _parts(record: Record) -> str:
    counted = [
        wording.count(int(record[f"{noun}_count"]), noun)
        for noun in ("source", "note")
        if record.get(f"{noun}_count")
    ]
    return " and ".join(counted)


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
    *nb_deleting.SHORTCUTS,
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
    *nb_links.OF_NOTEBOOKS,
    *nb_deleting.COMMANDS,
)
