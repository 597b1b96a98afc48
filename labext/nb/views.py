"""DataFrames of notebook service records and how they are displayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from labext.frames.conversion import Column, records_to_frame
from labext.frames.views import ROWS, RowView, cell_text
from labext.nb import records
from labext.nb.records import Fields, Record


def _frame_builder(
    fields: Fields, view: RowView = ROWS
) -> Callable[[Iterable[Record]], pd.DataFrame]:
    """Return a function that converts records of a kind to a DataFrame with a view."""
    return lambda rows: view.show(records.to_frame(fields, rows))


NOTEBOOKS_VIEW = RowView(
    name="notebooks",
    empty="There are no notebooks.",
    first=("name", "source_count", "note_count", "updated_at", "description"),
    last=("id", "created_at"),
)
notebook_frame = _frame_builder(records.NOTEBOOK, NOTEBOOKS_VIEW)

SOURCES_VIEW = RowView(
    name="sources",
    empty="There are no sources.",
    first=("title", "status", "stage", "error", "kind", "topic", "passages"),
    last=("id", "file_name", "size", "url", "notebooks", "created_at", "updated_at"),
    whole=("error",),
)

note_frame = _frame_builder(
    records.NOTE,
    RowView(
        name="notes",
        empty="There are no notes.",
        first=("title", "note_type", "content"),
        last=("id", "notebook_id", "created_at", "updated_at"),
    ),
)

session_frame = _frame_builder(
    records.SESSION,
    RowView(
        name="sessions",
        empty="There are no chat sessions.",
        first=("title", "message_count", "updated_at", "model_override"),
        last=("id", "notebook_id", "created_at"),
    ),
)

message_frame = _frame_builder(
    records.MESSAGE, RowView(name="messages", empty="There are no messages yet.")
)

insight_frame = _frame_builder(
    records.INSIGHT,
    RowView(
        name="insights",
        empty="There are no insights.",
        first=("insight_type", "content"),
        last=("id", "source_id", "created_at", "updated_at"),
    ),
)

hit_frame = _frame_builder(
    records.HIT,
    RowView(
        name="hits",
        empty="No matches.",
        first=("title", "match", "page", "similarity", "relevance"),
        last=("kind", "id"),
    ),
)


def source_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return sources' records as a frame, without their texts."""
    rows = ({key: row[key] for key in records.SOURCE} for row in rows)
    return SOURCES_VIEW.show(records.to_frame(records.SOURCE, rows))


transformation_frame = _frame_builder(
    records.TRANSFORMATION,
    RowView(
        name="transformations",
        empty="There are no transformations.",
        first=("name", "apply_default", "description", "prompt", "model_id"),
        last=("id", "title", "created_at", "updated_at"),
    ),
)

model_frame = _frame_builder(
    records.MODEL,
    RowView(
        name="models",
        empty="There are no models.",
        first=("name", "type", "provider", "credential"),
        last=("id", "created_at", "updated_at"),
    ),
)

provider_frame = _frame_builder(
    records.PROVIDER, RowView(name="providers", empty="There are no providers.")
)

discovered_model_frame = _frame_builder(
    records.DISCOVERED_MODEL,
    RowView(
        name="discovered",
        empty="The provider offers no models.",
        first=("name", "model_type", "description"),
        last=("provider",),
    ),
)

sync_frame = _frame_builder(
    records.SYNC_RESULT,
    RowView(name="synced", empty="No provider is configured.", whole=("error",)),
)

credential_frame = _frame_builder(
    records.CREDENTIAL,
    RowView(
        name="credentials",
        empty="There are no credentials.",
        first=("name", "provider", "has_api_key", "model_count", "base_url", "decryption_error"),
        last=("id", "created_at", "updated_at"),
        whole=("decryption_error",),
    ),
)

credential_status_frame = _frame_builder(
    records.CREDENTIAL_STATUS, RowView(name="configured", empty="There are no providers.")
)


def _profile_names(profiles: Any) -> str:
    """Return the names of an episode's profiles, since the full profiles are too long to show."""
    if not isinstance(profiles, Sequence) or not all(isinstance(p, Mapping) for p in profiles):
        return cell_text(profiles)
    return ", ".join(cell_text(profile.get("name") or profile.get("id")) for profile in profiles)


episode_frame = _frame_builder(
    records.EPISODE,
    RowView(
        name="episodes",
        empty="There are no episodes.",
        first=("name", "job_status", "stage", "error_message", "duration", "created_at"),
        last=(
            "id",
            "job_id",
            "notebook_id",
            "progress",
            "audio_bytes",
            "audio_file",
            "audio_url",
            "briefing",
            "episode_profile",
            "speaker_profiles",
            "updated_at",
        ),
        whole=("error_message",),
        formats={
            "episode_profile": lambda profile: _profile_names([profile]),
            "speaker_profiles": _profile_names,
        },
    ),
)

_EPISODE_PROFILES_VIEW = RowView(
    name="episode profiles",
    empty="There are no episode profiles.",
    first=(
        "name",
        "description",
        "num_segments",
        "speaker_profile_ids",
        "outline_llm",
        "transcript_llm",
        "default_briefing",
    ),
    last=("id", "created_at", "updated_at"),
)

_SPEAKER_PROFILES_VIEW = RowView(
    name="speaker profiles",
    empty="There are no speaker profiles.",
    first=("name", "description", "speakers", "voice_model"),
    last=("id", "created_at", "updated_at"),
)


def profile_frame(fields: Fields, rows: Iterable[Record]) -> pd.DataFrame:
    """Return profiles, either `records.EPISODE_PROFILE` or `SPEAKER_PROFILE`, as a frame."""
    is_episode = fields is records.EPISODE_PROFILE
    view = _EPISODE_PROFILES_VIEW if is_episode else _SPEAKER_PROFILES_VIEW
    return view.show(records.to_frame(fields, rows))


command_kind_frame = _frame_builder(records.COMMAND_KIND)
command_frame = _frame_builder(
    records.COMMAND,
    RowView(
        name="commands",
        empty="The service reports no commands.",
        first=("job_id", "status", "command", "subject", "error_message"),
        last=("progress", "result", "created_at", "updated_at"),
        whole=("error_message",),
    ),
)

source_chat_frame = _frame_builder(
    records.SOURCE_CHAT,
    RowView(
        name="source chats",
        empty="There are no chats about this source.",
        first=("title", "message_count", "updated_at", "model_override"),
        last=("id", "source_id", "created_at"),
    ),
)

rebuild_frame = _frame_builder(records.REBUILD)

_SETTINGS_VIEW = RowView(
    name="settings", empty="There are no settings.", whole=("setting", "value")
)


def settings_frame(settings: Mapping[str, Any]) -> pd.DataFrame:
    """Return settings as a frame: `setting`, `value`."""
    rows = [{"setting": name, "value": format_setting(value)} for name, value in settings.items()]
    return _SETTINGS_VIEW.show(
        records_to_frame(rows, [Column("setting", "text"), Column("value", "text")])
    )


def format_setting(value: Any) -> str | None:
    """Return a setting's value as it is typed on a command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return None if value is None else str(value)
