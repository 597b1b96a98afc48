"""Frames of notebooks, sources, notes, sessions and hits, and their views."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from labext.nb import records
from labext.nb.records import Record
from labext.rowviews import RowView

NOTEBOOKS = RowView(
    name="notebooks",
    empty="There are no notebooks.",
    first=("name", "source_count", "note_count", "updated_at", "description"),
    last=("id", "created_at"),
)

SOURCES = RowView(
    name="sources",
    empty="There are no sources.",
    first=("title", "status", "stage", "error", "kind", "topic", "passages"),
    last=("id", "file_name", "size", "url", "notebooks", "created_at", "updated_at"),
    whole=("error",),
)

NOTES = RowView(
    name="notes",
    empty="There are no notes.",
    first=("title", "note_type", "content"),
    last=("id", "notebook_id", "created_at", "updated_at"),
)

SESSIONS = RowView(
    name="sessions",
    empty="There are no chat sessions.",
    first=("title", "message_count", "updated_at", "model_override"),
    last=("id", "notebook_id", "created_at"),
)

MESSAGES = RowView(
    name="messages",
    empty="There are no messages yet.",
)

INSIGHTS = RowView(
    name="insights",
    empty="There are no insights.",
    first=("insight_type", "content"),
    last=("id", "source_id", "created_at", "updated_at"),
)

HITS = RowView(
    name="hits",
    empty="Nothing was found.",
    first=("title", "match", "page", "similarity", "relevance"),
    last=("kind", "id"),
)


def notebooks(found: Iterable[Record]) -> pd.DataFrame:
    """Return notebooks' records as a frame."""
    return NOTEBOOKS.show(records.frame(records.NOTEBOOK, found))


def sources(found: Iterable[Record]) -> pd.DataFrame:
    """Return sources' records as a frame, without their texts."""
    return SOURCES.show(
        records.frame(
            records.SOURCE, ({key: each[key] for key in records.SOURCE} for each in found)
        )
    )


def notes(found: Iterable[Record]) -> pd.DataFrame:
    """Return notes' records as a frame."""
    return NOTES.show(records.frame(records.NOTE, found))


def sessions(found: Iterable[Record]) -> pd.DataFrame:
    """Return chat sessions' records as a frame."""
    return SESSIONS.show(records.frame(records.SESSION, found))


def messages(found: Iterable[Record]) -> pd.DataFrame:
    """Return messages' records as a frame."""
    return MESSAGES.show(records.frame(records.MESSAGE, found))


def insights(found: Iterable[Record]) -> pd.DataFrame:
    """Return insights' records as a frame."""
    return INSIGHTS.show(records.frame(records.INSIGHT, found))


def hits(found: Iterable[Record]) -> pd.DataFrame:
    """Return what was found as a frame, the best first."""
    return HITS.show(records.frame(records.HIT, found))
