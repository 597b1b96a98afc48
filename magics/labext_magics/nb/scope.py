"""Resolve the notebooks, sources, notes and models of a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from labext import messages
from labext.actions import Action
from labext.errors import InputError, LabextError, NotFoundError, WatchInterrupted
from labext_magics.core.dispatch import Call
from labext_magics.core.session import NotebookInUse, session_lock

if TYPE_CHECKING:
    from labext.nb import ScopeOptions
    from labext.nb.records import Record

Noun = Literal["source", "note", "session"]


def current_notebook(call: Call) -> NotebookInUse:
    """Return the notebook in use; raise InputError if no notebook is in use."""
    _ = call.nb  # connect first, since another service has other notebooks
    current = call.session.notebook
    if current is None:
        raise InputError(
            "No notebook is in use.",
            "Select one with `%nb use NAME`, or create it with `%nb use NAME --create`; `%nb "
            "notebooks` lists them.",
        )
    return current


def name_deleted_notebook(call: Call, error: LabextError) -> LabextError:
    """Return an error about a missing notebook with the name of the one in use if it is that."""
    current = call.session.notebook
    if (
        current is None
        or error.status != HTTPStatus.NOT_FOUND
        or error.action != Action.list_notebooks()
        or _requests_another(error, current)
        or _exists(call, current)
    ):
        return error
    return NotFoundError(
        f"{current.name}, the notebook in use, no longer exists.",
        "Select another one with `%nb use NAME`; `%nb notebooks` lists them.",
        status=error.status,
        method=error.method,
        path=error.path,
        server=error.server,
    )


def _requests_another(error: LabextError, notebook: NotebookInUse) -> bool:
    """Return whether the path of the failed request has the ID of another notebook."""
    match = re.search(r"notebooks/([^/]+)", error.path or "")
    return match is not None and unquote(match[1]) != notebook.id


def _exists(call: Call, notebook: NotebookInUse) -> bool:
    """Return False if the service has no notebook with this ID."""
    try:
        call.nb.notebooks.get(notebook.id)
    except NotFoundError as error:
        return error.status != HTTPStatus.NOT_FOUND
    except LabextError:  # unknown
        return True
    return True


@contextmanager
def creation_lock(call: Call, kind: str, *identity: str) -> Iterator[None]:
    """Let one session on this computer at a time look for a record and create it if it is missing.

    The service would create two if two sessions ran the same line at once.

    Args:
        call: the context of the line.
        kind: the kind of record.
        identity: what identifies the record, such as its notebook and its name.
    """
    waiting = f"Waiting for another session that creates the same {kind}."
    with session_lock("nb", waiting, call.nb.base_url, kind, *identity):
        yield


def notebook_of(call: Call, name: str | None) -> NotebookInUse:
    """Return the notebook with this name or ID; by default the notebook in use."""
    return current_notebook(call) if name is None else find_notebook(call, name)


def notebook_or_all(call: Call, name: str | None, all_notebooks: bool) -> NotebookInUse | None:
    """Return the notebook of a list or a search; None for all notebooks."""
    if all_notebooks and name is not None:
        raise InputError("`--all` and `--notebook` exclude each other.", "Keep one of them.")
    return None if all_notebooks else notebook_of(call, name)


def find_notebook(call: Call, name: str) -> NotebookInUse:
    """Return a notebook by its name or ID."""
    return notebook_from_record(call.nb.notebooks.get(name))


def notebook_from_record(record: dict[str, Any]) -> NotebookInUse:
    """Return the ID and name of a notebook's record."""
    return NotebookInUse(str(record["id"]), str(record["name"]))


def resolve_id(call: Call, noun: Noun, title: str, *, to_delete: bool = False) -> str:
    """Return the ID of a source, a note or a chat by its title or ID.

    Titles are resolved in the notebook in use. If no notebook is in use, they are resolved in all
    notebooks, except for deletion.

    Raises:
        NotFoundError: the notebook has no such object; the error lists notebooks with this title.
        ConflictError: several objects have this title; the error lists them.
        InputError: no notebook is in use, and a title is given for deletion.
    """
    nb, current = call.nb, call.session.notebook
    if to_delete and current is None:
        check_identifier(noun, title)
    find = {"source": nb.sources.find, "note": nb.notes.find, "session": nb.chat.find}[noun]
    return find(title, None if current is None else current.id)


def check_identifier(noun: str, identifier: str) -> None:
    """Check that a text is an ID, which is required for deletion if no notebook is in use.

    Raises:
        InputError: the text is a title.
    """
    from labext.nb.resource import parse_identifier

    if parse_identifier(noun, identifier) is None:
        raise InputError(
            "No notebook is in use, so titles are not resolved for deletion "
            f"({messages.quote_value(identifier)}).",
            "Select its notebook with `%nb use NAME`, or give the id, which "
            f"`%nb {noun}s --all` shows.",
        )


def notebook_names_suffix(call: Call, notebooks: Iterable[str]) -> str:
    """Return ` of A, B` for the IDs of notebooks, or an empty string without notebooks."""
    identifiers = set(notebooks)
    if not identifiers:
        return ""
    names = [
        str(notebook["name"])
        for notebook in call.nb.notebooks.iter()
        if notebook["id"] in identifiers
    ]
    return f" of {messages.join_words(names)}" if names else ""


def resolve_model(call: Call, name: str | None) -> str | None:
    """Return the ID of a language model; None if `name` is None."""
    return None if name is None else call.nb.models.find(name, "llm")


def find_source(call: Call, title: str, *, to_delete: bool = False) -> Record:
    """Return the record of a source by its title or ID."""
    return call.nb.sources.get(resolve_id(call, "source", title, to_delete=to_delete))


def find_sources(call: Call, titles: list[str], *, to_delete: bool = False) -> list[Record]:
    """Return the records of sources by their titles or IDs, without duplicates."""
    records = (find_source(call, title, to_delete=to_delete) for title in dict.fromkeys(titles))
    return list({record["id"]: record for record in records}.values())


def source_title(record: Record) -> str:
    """Return the title of a source or a note, or its ID."""
    return str(record["title"] or record["id"])


def source_name(source: Record) -> str:
    """Return a source's file name, with the folders in its title, or URL, or its title."""
    title = str(source["title"] or source["id"])
    file_name = str(source["file_name"] or source["url"] or title)
    return title if title.endswith(f"/{file_name}") else file_name


def order_parameter(order: str | None) -> str | None:
    """Return a sort order in the service's syntax: `name:desc` becomes `name desc`."""
    return None if order is None else order.replace(":", " ")


def require_changes(values: Mapping[str, Any], line: str, more: str = "") -> dict[str, Any]:
    """Return the options that are not None; raise InputError if all options are None.

    `more` is the end of the error's sentence, such as another way to make a change.
    """
    changes = {name: value for name, value in values.items() if value is not None}
    if not changes:
        options = messages.join_all((f"`--{name.replace('_', '-')}`" for name in values), "or")
        raise InputError("The line has no change.", f"Add {options} to `{line} …`{more}.")
    return changes


def text_of(call: Call, typed: str | None, noun: str, line: str, option: str = "") -> str:
    """Return the text from the line or the cell body; raise InputError unless one of them has it.

    `option` is the option for the text, if it is not an argument.
    """
    body = call.text
    if body and typed:
        raise InputError(
            f"The {noun} is given both on the line and in the cell body.", "Keep one of them."
        )
    if not (body or typed):
        raise InputError(
            f"The {noun} has no text.",
            f'Write it in quotes, `{f"{line} {option}".rstrip()} "…"`, or below `%{line}` in the '
            "same cell.",
        )
    return body or str(typed)


def search_scope(
    sources: list[str], notes: list[str], no_sources: bool, no_notes: bool
) -> ScopeOptions:
    """Return the client's arguments for the scope of a search, a question or a message."""
    if (sources and no_sources) or (notes and no_notes):
        noun = "source" if sources and no_sources else "note"
        raise InputError(f"`--{noun}` and `--no-{noun}s` exclude each other.", "Keep one of them.")
    return {
        "source_ids": sources or None,
        "note_ids": notes or None,
        "include_sources": not no_sources,
        "include_notes": not no_notes,
    }


@contextmanager
def interrupted_as_error(next_step: str, noun: str = "The reply") -> Iterator[None]:
    """Convert an interrupt of the kernel to a WatchInterrupted error about `noun`."""
    try:
        yield
    except KeyboardInterrupt:
        raise WatchInterrupted(f"{noun} was interrupted.", next_step) from None
