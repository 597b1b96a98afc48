"""From a notebook, titles and identifiers to what may be looked at."""

from __future__ import annotations

from collections.abc import Iterable

from labext import wording
from labext.errors import NotFoundError
from labext.nb.scope import Scope
from labext.nb.titles import Titles


def scope_of(
    titles: Titles,
    *,
    notebook: str | None = None,
    source_ids: Iterable[str] | None = None,
    note_ids: Iterable[str] | None = None,
    include_sources: bool = True,
    include_notes: bool = True,
) -> Scope:
    """Return the scope that identifiers and titles name.

    The contract has no filter by notebook: its sources and notes are named one by one.

    Raises:
        NotFoundError: a title fits nothing, or what is named is not in the notebook.
        ConflictError: a title fits several.
    """
    within = None if notebook is None else titles.find("notebook", notebook)
    sources = None if source_ids is None else titles.several("source", source_ids, within)
    notes = None if note_ids is None else titles.several("note", note_ids, within)
    if within is not None:
        every = sources is None and notes is None
        sources = _within(titles, "source", within, sources, every=every and include_sources)
        notes = _within(titles, "note", within, notes, every=every and include_notes)
    return Scope(_fixed(sources), _fixed(notes), include_sources, include_notes)


def _within(
    titles: Titles, noun: str, notebook: str, named: list[str] | None, *, every: bool
) -> list[str] | None:
    """Return what is named of a notebook's sources or notes, or `every` one of them."""
    if named is None and not every:
        return None
    there = [str(record["id"]) for record in titles.listed(noun, notebook)]
    if named is None:
        return there
    absent = [each for each in named if each not in set(there)]
    if absent:
        raise NotFoundError(
            f"Not in the notebook: {wording.listed(absent)}.",
            "Put it into the notebook, or look at all of them.",
        )
    return named


def _fixed(identifiers: list[str] | None) -> tuple[str, ...] | None:
    return None if identifiers is None else tuple(identifiers)
