"""How notebooks, sources, notes, sessions and hits are shown, and the frames of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from labext.nb import records
from labext.nb.records import Record
from labext.rowviews import Rows

_TIMES = ("created_at", "updated_at")


class NotebookRows(Rows):
    """A DataFrame with a row a notebook."""

    _none = "There are no notebooks."
    _always = ("id", "name")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("name", "source_count", "note_count", "updated_at", "description"), (
            "id",
            "created_at",
        )


class SourceRows(Rows):
    """A DataFrame with a row a source."""

    _none = "There are no sources."
    _always = ("id", "title", "status")
    _whole = ("error",)

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("title", "status", "stage", "error", "kind", "topic", "passages"), (
            "id",
            "file_name",
            "size",
            "url",
            "notebooks",
            *_TIMES,
        )


class NoteRows(Rows):
    """A DataFrame with a row a note."""

    _none = "There are no notes."
    _always = ("id", "title", "note_type")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("title", "note_type", "content"), ("id", "notebook_id", *_TIMES)


class SessionRows(Rows):
    """A DataFrame with a row a chat session."""

    _none = "There are no chat sessions."
    _always = ("id", "title")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("title", "message_count", "updated_at", "model_override"), (
            "id",
            "notebook_id",
            "created_at",
        )


class MessageRows(Rows):
    """A DataFrame with a row a message."""

    _none = "There are no messages yet."
    _always = ("type", "content")


class InsightRows(Rows):
    """A DataFrame with a row an insight."""

    _none = "There are no insights."
    _always = ("insight_type", "content")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("insight_type", "content"), ("id", "source_id", *_TIMES)


class HitRows(Rows):
    """A DataFrame with a row for each passage that was found."""

    _none = "Nothing was found."
    _always = ("title", "match")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("title", "match", "page", "similarity", "relevance"), ("kind", "id")


def notebooks(found: Iterable[Record]) -> pd.DataFrame:
    """Return notebooks' records as a frame."""
    return NotebookRows(records.frame(records.NOTEBOOK, found))


def sources(found: Iterable[Record]) -> pd.DataFrame:
    """Return sources' records as a frame, without their texts."""
    return SourceRows(
        records.frame(
            records.SOURCE, ({key: each[key] for key in records.SOURCE} for each in found)
        )
    )


def notes(found: Iterable[Record]) -> pd.DataFrame:
    """Return notes' records as a frame."""
    return NoteRows(records.frame(records.NOTE, found))


def sessions(found: Iterable[Record]) -> pd.DataFrame:
    """Return chat sessions' records as a frame."""
    return SessionRows(records.frame(records.SESSION, found))


def messages(found: Iterable[Record]) -> pd.DataFrame:
    """Return messages' records as a frame."""
    return MessageRows(records.frame(records.MESSAGE, found))


def insights(found: Iterable[Record]) -> pd.DataFrame:
    """Return insights' records as a frame."""
    return InsightRows(records.frame(records.INSIGHT, found))


def hits(found: Iterable[Record]) -> pd.DataFrame:
    """Return what was found as a frame, the best first."""
    return HitRows(records.frame(records.HIT, found))
