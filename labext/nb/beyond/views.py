"""How commands, settings, vectors and chats about a source are shown, and the frames of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from labext.frames import Column, frame
from labext.nb import records
from labext.nb.beyond.records import COMMAND, COMMAND_KIND, REBUILD, SOURCE_CHAT
from labext.nb.records import Record
from labext.rowviews import Rows


class CommandRows(Rows):
    """A DataFrame with a row a command."""

    _none = "The service tells of no commands."
    _always = ("job_id", "status")
    _whole = ("error_message",)

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("job_id", "status", "command", "subject", "error_message"), (
            "progress",
            "result",
            "created_at",
            "updated_at",
        )


class SourceChatRows(Rows):
    """A DataFrame with a row a chat about a source."""

    _none = "There are no chats about this source."
    _always = ("id", "title")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("title", "message_count", "updated_at", "model_override"), (
            "id",
            "source_id",
            "created_at",
        )


class SettingRows(Rows):
    """A DataFrame with a row a setting."""

    _none = "There are no settings."
    _always = ("setting", "value")
    _whole = ("setting", "value")


def commands(found: Iterable[Record]) -> pd.DataFrame:
    """Return commands' records as a frame."""
    return CommandRows(records.frame(COMMAND, found))


def kinds(found: Iterable[Record]) -> pd.DataFrame:
    """Return the commands that there are as a frame."""
    return Rows(records.frame(COMMAND_KIND, found))


def source_chats(found: Iterable[Record]) -> pd.DataFrame:
    """Return chats about a source as a frame."""
    return SourceChatRows(records.frame(SOURCE_CHAT, found))


def rebuild(found: Record) -> pd.DataFrame:
    """Return how far vectors are computed again as a frame."""
    return Rows(records.frame(REBUILD, [found]))


def settings(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return settings as a frame: `setting`, `value`."""
    rows = [{"setting": name, "value": written(value)} for name, value in found.items()]
    return SettingRows(frame(rows, [Column("setting", "text"), Column("value", "text")]))


def written(value: Any) -> str | None:
    """Return a setting's value as it is written on a line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return None if value is None else str(value)
