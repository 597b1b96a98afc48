"""Resolve the notebook, sources and notes that a line refers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from labext import messages
from labext.errors import InputError, WatchInterrupted
from labext_magics.core.dispatch import Call
from labext_magics.core.session import NotebookInUse

if TYPE_CHECKING:
    from labext.nb import ScopeOptions
    from labext.nb.records import Record

Noun = Literal["source", "note", "session"]


def current_notebook(call: Call) -> NotebookInUse:
    """Return the notebook in use; InputError with the next step if there is none."""
    _ = call.nb  # connects first: another service has other notebooks
    chosen = call.session.notebook
    if chosen is None:
        raise InputError(
            "No notebook is in use.",
            "Choose one with `%nb use NAME`, or create it with `%nb use NAME --create`; `%nb "
            "notebooks` lists them.",
        )
    return chosen


def notebook_of(call: Call, named: str | None) -> NotebookInUse:
    """Return the notebook that an option names by title or identifier, else the one in use."""
    return current_notebook(call) if named is None else find_notebook(call, named)


def notebook_or_all(call: Call, named: str | None, every: bool) -> NotebookInUse | None:
    """Return the notebook that a list or a question is restricted to; None with `--all`."""
    if every and named is not None:
        raise InputError("`--all` and `--notebook` exclude each other.", "Keep one of them.")
    return None if every else notebook_of(call, named)


def find_notebook(call: Call, named: str) -> NotebookInUse:
    """Return a notebook by its title or identifier."""
    return notebook_from_record(call.nb.notebooks.get(named))


def notebook_from_record(record: dict[str, Any]) -> NotebookInUse:
    """Return the identifier and name from a notebook's record."""
    return NotebookInUse(str(record["id"]), str(record["name"]))


def resolve_id(call: Call, noun: Noun, named: str, *, to_delete: bool = False) -> str:
    """Return the identifier of a source, a note or a chat that a line names.

    Titles are looked up in the notebook in use only. If none is in use they are looked up in all
    notebooks, except for deletion.

    Raises:
        NotFoundError: it is not in the notebook; the error says which notebooks have this title.
        ConflictError: several have this title; the error lists them.
        InputError: a title is given for deletion, and no notebook is in use.
    """
    nb, within = call.nb, call.session.notebook
    if to_delete and within is None:
        check_identifier(noun, named)
    find = {"source": nb.sources.find, "note": nb.notes.find, "session": nb.chat.find}[noun]
    return find(named, None if within is None else within.id)


def check_identifier(noun: str, named: str) -> None:
    """Raise InputError for a title: without a notebook in use only identifiers can be deleted."""
    from labext.nb.resource import parse_identifier

    if parse_identifier(noun, named) is None:
        raise InputError(
            "No notebook is in use, so titles are not resolved for deletion "
            f"({messages.quote_value(named)}).",
            "Choose its notebook with `%nb use NAME`, or give the identifier, which "
            f"`%nb {noun}s --all` shows.",
        )


def notebook_names_suffix(call: Call, notebooks: Iterable[str]) -> str:
    """Return ` of A, B` for the identifiers of notebooks, or an empty string if there are none."""
    identifiers = set(notebooks)
    if not identifiers:
        return ""
    names = [
        str(notebook["name"])
        for notebook in call.nb.notebooks.iter()
        if notebook["id"] in identifiers
    ]
    return f" of {messages.join_words(names)}" if names else ""


def resolve_model(call: Call, named: str | None) -> str | None:
    """Return the identifier of the language model that an option names, or None."""
    return None if named is None else call.nb.models.find(named, "llm")


def find_source(call: Call, named: str, *, to_delete: bool = False) -> Record:
    """Return the record of a source that a line names."""
    return call.nb.sources.get(resolve_id(call, "source", named, to_delete=to_delete))


def find_sources(call: Call, named: list[str], *, to_delete: bool = False) -> list[Record]:
    """Return the records of the sources that a line names, without duplicates."""
    records = (find_source(call, name, to_delete=to_delete) for name in dict.fromkeys(named))
    return list({record["id"]: record for record in records}.values())


def source_title(record: Record) -> str:
    """Return a source's title, else its identifier."""
    return str(record["title"] or record["id"])


def order_parameter(by: str | None) -> str | None:
    """Return a sort order in the service's notation: `name:desc` becomes `name desc`."""
    return None if by is None else by.replace(":", " ")


def require_changes(values: Mapping[str, Any], line: str) -> dict[str, Any]:
    """Return the options that are set; InputError if there are none."""
    changes = {name: value for name, value in values.items() if value is not None}
    if not changes:
        options = " or ".join(f"`--{name.replace('_', '-')}`" for name in values)
        raise InputError("No change was given.", f"Add {options} to `{line} …`.")
    return changes


def text_of(call: Call, typed: str | None, noun: str, line: str) -> str:
    """Return the text of the line or of the cell below it.

    Raises InputError if there is none, or one in both places.
    """
    body = (call.body or "").strip()
    if bool(body) == bool(typed):
        text = (
            f"The {noun} is given both on the line and in the cell body."
            if body
            else f"The {noun} has no text."
        )
        raise InputError(text, f"Write it below `%{line}`, in the same cell.")
    return body or str(typed)


def search_scope(
    sources: list[str], notes: list[str], no_sources: bool, no_notes: bool
) -> ScopeOptions:
    """Return the client arguments that restrict a search, a question or a message."""
    if (sources and no_sources) or (notes and no_notes):
        noun = "source" if sources and no_sources else "note"
        raise InputError(
            f"`--{noun}` names one, but `--no-{noun}s` excludes them.", "Keep one of them."
        )
    return {
        "source_ids": sources or None,
        "note_ids": notes or None,
        "include_sources": not no_sources,
        "include_notes": not no_notes,
    }


@contextmanager
def interrupted_as_error(next_step: str, noun: str = "The reply") -> Iterator[None]:
    """Turn an interrupt of the kernel into a one-line error about `noun`."""
    try:
        yield
    except KeyboardInterrupt:
        raise WatchInterrupted(f"{noun} was interrupted.", next_step) from None
