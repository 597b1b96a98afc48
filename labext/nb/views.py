"""DataFrames of notebook service records and how they are displayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from labext.frames.conversion import Column, records_to_frame
from labext.frames.views import ROWS, RowView, cell_text
from labext.nb import records
from labext.nb.records import COMMAND, COMMAND_KIND, REBUILD, SOURCE_CHAT, Record

NOTEBOOKS_VIEW = RowView(
    name="notebooks",
    empty="There are no notebooks.",
    first=("name", "source_count", "note_count", "updated_at", "description"),
    last=("id", "created_at"),
)

SOURCES_VIEW = RowView(
    name="sources",
    empty="There are no sources.",
    first=("title", "status", "stage", "error", "kind", "topic", "passages"),
    last=("id", "file_name", "size", "url", "notebooks", "created_at", "updated_at"),
    whole=("error",),
)

NOTES_VIEW = RowView(
    name="notes",
    empty="There are no notes.",
    first=("title", "note_type", "content"),
    last=("id", "notebook_id", "created_at", "updated_at"),
)

SESSIONS_VIEW = RowView(
    name="sessions",
    empty="There are no chat sessions.",
    first=("title", "message_count", "updated_at", "model_override"),
    last=("id", "notebook_id", "created_at"),
)

MESSAGES_VIEW = RowView(
    name="messages",
    empty="There are no messages yet.",
)

INSIGHTS_VIEW = RowView(
    name="insights",
    empty="There are no insights.",
    first=("insight_type", "content"),
    last=("id", "source_id", "created_at", "updated_at"),
)

HITS_VIEW = RowView(
    name="hits",
    empty="Nothing was found.",
    first=("title", "match", "page", "similarity", "relevance"),
    last=("kind", "id"),
)


def notebook_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return notebooks' records as a frame."""
    return NOTEBOOKS_VIEW.show(records.to_frame(records.NOTEBOOK, rows))


def source_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return sources' records as a frame, without their texts."""
    return SOURCES_VIEW.show(
        records.to_frame(
            records.SOURCE, ({key: row[key] for key in records.SOURCE} for row in rows)
        )
    )


def note_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return notes' records as a frame."""
    return NOTES_VIEW.show(records.to_frame(records.NOTE, rows))


def session_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return chat sessions' records as a frame."""
    return SESSIONS_VIEW.show(records.to_frame(records.SESSION, rows))


def message_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return messages' records as a frame."""
    return MESSAGES_VIEW.show(records.to_frame(records.MESSAGE, rows))


def insight_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return insights' records as a frame."""
    return INSIGHTS_VIEW.show(records.to_frame(records.INSIGHT, rows))


def hit_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return search hits as a frame, best first."""
    return HITS_VIEW.show(records.to_frame(records.HIT, rows))


TRANSFORMATIONS_VIEW = RowView(
    name="transformations",
    empty="There are no transformations.",
    first=("name", "apply_default", "description", "prompt", "model_id"),
    last=("id", "title", "created_at", "updated_at"),
)

MODELS_VIEW = RowView(
    name="models",
    empty="There are no models.",
    first=("name", "type", "provider", "credential"),
    last=("id", "created_at", "updated_at"),
)

PROVIDERS_VIEW = RowView(
    name="providers",
    empty="There are no providers.",
)

DISCOVERED_VIEW = RowView(
    name="discovered",
    empty="No models are on offer.",
    first=("name", "model_type", "description"),
    last=("provider",),
)

SYNC_VIEW = RowView(
    name="synced",
    empty="No provider can be asked.",
    whole=("error",),
)

CREDENTIALS_VIEW = RowView(
    name="credentials",
    empty="There are no credentials.",
    first=("name", "provider", "has_api_key", "model_count", "base_url", "decryption_error"),
    last=("id", "created_at", "updated_at"),
    whole=("decryption_error",),
)

CREDENTIAL_STATUS_VIEW = RowView(
    name="configured",
    empty="There are no providers.",
)


def transformation_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return transformations' records as a frame."""
    return TRANSFORMATIONS_VIEW.show(records.to_frame(records.TRANSFORMATION, rows))


def model_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return models' records as a frame."""
    return MODELS_VIEW.show(records.to_frame(records.MODEL, rows))


def provider_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return providers' records as a frame."""
    return PROVIDERS_VIEW.show(records.to_frame(records.PROVIDER, rows))


def discovered_model_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return the records of models on offer as a frame."""
    return DISCOVERED_VIEW.show(records.to_frame(records.DISCOVERED_MODEL, rows))


def sync_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return the results of syncing providers as a frame."""
    return SYNC_VIEW.show(records.to_frame(records.SYNC_RESULT, rows))


def credential_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return credentials' records as a frame."""
    return CREDENTIALS_VIEW.show(records.to_frame(records.CREDENTIAL, rows))


def credential_status_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return the locations of providers' keys as a frame."""
    return CREDENTIAL_STATUS_VIEW.show(records.to_frame(records.CREDENTIAL_STATUS, rows))


def _profile_names(profiles: Any) -> str:
    """Return the names of an episode's profiles, since the full profiles are too long to show."""
    if not isinstance(profiles, Sequence) or not all(isinstance(p, Mapping) for p in profiles):
        return cell_text(profiles)
    return ", ".join(cell_text(profile.get("name") or profile.get("id")) for profile in profiles)


EPISODES_VIEW = RowView(
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
)

EPISODE_PROFILES_VIEW = RowView(
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

SPEAKER_PROFILES_VIEW = RowView(
    name="speaker profiles",
    empty="There are no speaker profiles.",
    first=("name", "description", "speakers", "voice_model"),
    last=("id", "created_at", "updated_at"),
)


def episode_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return episodes' records as a frame, without transcripts."""
    return EPISODES_VIEW.show(records.to_frame(records.EPISODE, rows))


def episode_profile_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return episode profiles' records as a frame."""
    return EPISODE_PROFILES_VIEW.show(records.to_frame(records.EPISODE_PROFILE, rows))


def speaker_profile_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return speaker profiles' records as a frame."""
    return SPEAKER_PROFILES_VIEW.show(records.to_frame(records.SPEAKER_PROFILE, rows))


COMMANDS_VIEW = RowView(
    name="commands",
    empty="The service tells of no commands.",
    first=("job_id", "status", "command", "subject", "error_message"),
    last=("progress", "result", "created_at", "updated_at"),
    whole=("error_message",),
)

SOURCE_CHATS_VIEW = RowView(
    name="source chats",
    empty="There are no chats about this source.",
    first=("title", "message_count", "updated_at", "model_override"),
    last=("id", "source_id", "created_at"),
)

SETTINGS_VIEW = RowView(
    name="settings",
    empty="There are no settings.",
    whole=("setting", "value"),
)


def command_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return commands' records as a frame."""
    return COMMANDS_VIEW.show(records.to_frame(COMMAND, rows))


def command_kind_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return the available commands as a frame."""
    return ROWS.show(records.to_frame(COMMAND_KIND, rows))


def source_chat_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return chats about a source as a frame."""
    return SOURCE_CHATS_VIEW.show(records.to_frame(SOURCE_CHAT, rows))


def rebuild_frame(record: Record) -> pd.DataFrame:
    """Return the progress of a rebuild of vectors as a frame."""
    return ROWS.show(records.to_frame(REBUILD, [record]))


def settings_frame(settings: Mapping[str, Any]) -> pd.DataFrame:
    """Return settings as a frame: `setting`, `value`."""
    rows = [{"setting": name, "value": format_setting(value)} for name, value in settings.items()]
    return SETTINGS_VIEW.show(
        records_to_frame(rows, [Column("setting", "text"), Column("value", "text")])
    )


def format_setting(value: Any) -> str | None:
    """Return a setting's value as it is typed on a command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return None if value is None else str(value)
