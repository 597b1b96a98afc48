"""Frames of commands, settings, vectors and chats about a source, and their views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from labext.frames import Column, frame
from labext.nb import records
from labext.nb.beyond.records import COMMAND, COMMAND_KIND, REBUILD, SOURCE_CHAT
from labext.nb.records import Record
from labext.rowviews import ROWS, RowView

COMMANDS = RowView(
    name="commands",
    empty="The service tells of no commands.",
    first=("job_id", "status", "command", "subject", "error_message"),
    last=("progress", "result", "created_at", "updated_at"),
    whole=("error_message",),
)

SOURCE_CHATS = RowView(
    name="source chats",
    empty="There are no chats about this source.",
    first=("title", "message_count", "updated_at", "model_override"),
    last=("id", "source_id", "created_at"),
)

SETTINGS = RowView(
    name="settings",
    empty="There are no settings.",
    whole=("setting", "value"),
)


def commands(found: Iterable[Record]) -> pd.DataFrame:
    """Return commands' records as a frame."""
    return COMMANDS.show(records.frame(COMMAND, found))


def kinds(found: Iterable[Record]) -> pd.DataFrame:
    """Return the commands that there are as a frame."""
    return ROWS.show(records.frame(COMMAND_KIND, found))


def source_chats(found: Iterable[Record]) -> pd.DataFrame:
    """Return chats about a source as a frame."""
    return SOURCE_CHATS.show(records.frame(SOURCE_CHAT, found))


def rebuild(found: Record) -> pd.DataFrame:
    """Return how far vectors are computed again as a frame."""
    return ROWS.show(records.frame(REBUILD, [found]))


def settings(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return settings as a frame: `setting`, `value`."""
    rows = [{"setting": name, "value": written(value)} for name, value in found.items()]
    return SETTINGS.show(frame(rows, [Column("setting", "text"), Column("value", "text")]))


def written(value: Any) -> str | None:
    """Return a setting's value as it is written on a line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return None if value is None else str(value)
