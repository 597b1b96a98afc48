"""From a notebook, titles and identifiers to what may be looked at."""

from __future__ import annotations

from collections.abc import Iterable

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

    The contract has no filter by notebook: its sources and notes are named one by one. Of those
    that are named beside a notebook only the notebook's own count.

    Raises:
        NotFoundError, ConflictError: a title fits nothing, or several.
    """
    within = None if notebook is None else titles.notebook(notebook)
    sources = None if source_ids is None else tuple(titles.several("source", source_ids, within))
    notes = None if note_ids is None else tuple(titles.several("note", note_ids, within))
    if within is not None:
        there_are = _within(titles, within, include_sources, include_notes)
        if sources is None and notes is None:
            sources, notes = there_are
        sources = _both(sources, there_are[0])
        notes = _both(notes, there_are[1])
        if (source_ids, note_ids) != (None, None) and not (sources or notes):
            raise NotFoundError(
                "None of the sources and notes that are named is in the notebook.",
                "Put them into it, or leave the notebook out.",
            )
    return Scope(sources, notes, include_sources, include_notes)


def _within(
    titles: Titles, notebook: str, sources: bool, notes: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (
        tuple(each["id"] for each in titles.listed("source", notebook)) if sources else (),
        tuple(each["id"] for each in titles.listed("note", notebook)) if notes else (),
    )


def _both(named: tuple[str, ...] | None, there: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if named is None else tuple(each for each in named if each in set(there))
