"""DataFrames of notebook service records and how they are displayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from labext.frames.conversion import Column, records_to_frame
from labext.frames.views import ROWS, RowView, cell_text
from labext.nb import records
from labext.nb.records import Fields, Record

FrameBuilder = Callable[[Iterable[Record]], pd.DataFrame]
"""Converts records of one kind to a DataFrame."""


def _view(
    name: str,
    empty: str,
    *,
    first: str = "",
    last: str = "",
    whole: str = "",
    formats: Mapping[str, Callable[[Any], str]] | None = None,
) -> RowView:
    """Return a view; columns are separated by blanks."""
    return RowView(
        name=name,
        empty=empty,
        first=tuple(first.split()),
        last=tuple(last.split()),
        whole=tuple(whole.split()),
        formats=formats or {},
    )


def _frames(fields: Fields, view: RowView = ROWS) -> FrameBuilder:
    """Return a function that converts records of a kind to a DataFrame with a view."""
    return lambda rows: view.show(records.to_frame(fields, rows))


NOTEBOOKS_VIEW = _view(
    "notebooks",
    "There are no notebooks.",
    first="name source_count note_count updated_at description",
    last="id created_at",
)
SOURCES_VIEW = _view(
    "sources",
    "There are no sources.",
    first="title status stage error kind topic passages",
    last="id file_name size url notebooks created_at updated_at",
    whole="error",
)
_NOTES_VIEW = _view(
    "notes",
    "There are no notes.",
    first="title note_type content",
    last="id notebook_id created_at updated_at",
)
_SESSIONS_VIEW = _view(
    "sessions",
    "There are no chat sessions.",
    first="title message_count updated_at model_override",
    last="id notebook_id created_at",
)
_SOURCE_CHATS_VIEW = _view(
    "source chats",
    "There are no chats about this source.",
    first="title message_count updated_at model_override",
    last="id source_id created_at",
)
_INSIGHTS_VIEW = _view(
    "insights",
    "There are no insights.",
    first="insight_type source_title content",
    last="id source_id created_at updated_at",
)
_HITS_VIEW = _view(
    "hits", "No matches.", first="title match page similarity relevance", last="kind id"
)
EVALUATION_VIEW = _view(
    "evaluation",
    "No question was asked.",
    first="question kind right cited_right refused_right rank seconds tokens answer",
    last="citations note error",
    formats={"citations": lambda citations: str(len(citations))},
)
_TRANSFORMATIONS_VIEW = _view(
    "transformations",
    "There are no transformations.",
    first="name apply_default description prompt model_id",
    last="id title created_at updated_at",
)
_MODELS_VIEW = _view(
    "models",
    "There are no models.",
    first="name type provider credential",
    last="id created_at updated_at",
)
_DISCOVERED_VIEW = _view(
    "discovered",
    "The provider offers no models.",
    first="name model_type description",
    last="provider",
)
_CREDENTIALS_VIEW = _view(
    "credentials",
    "There are no credentials.",
    first="name provider has_api_key model_count base_url decryption_error",
    last="id created_at updated_at",
    whole="decryption_error",
)
_EPISODE_PROFILES_VIEW = _view(
    "episode profiles",
    "There are no episode profiles.",
    first="name description num_segments speaker_profile_ids outline_llm transcript_llm "
    "default_briefing",
    last="id created_at updated_at",
)
_SPEAKER_PROFILES_VIEW = _view(
    "speaker profiles",
    "There are no speaker profiles.",
    first="name description speakers voice_model",
    last="id created_at updated_at",
)
_COMMANDS_VIEW = _view(
    "commands",
    "The service reports no commands.",
    first="job_id status command subject error_message",
    last="progress result created_at updated_at",
    whole="error_message",
)
_SETTINGS_VIEW = _view("settings", "There are no settings.", whole="setting value")


def _profile_names(profiles: Any) -> str:
    """Return the names of an episode's profiles, since the full profiles are too long to show."""
    if not isinstance(profiles, Sequence) or not all(isinstance(p, Mapping) for p in profiles):
        return cell_text(profiles)
    return ", ".join(cell_text(profile.get("name") or profile.get("id")) for profile in profiles)


_EPISODES_VIEW = _view(
    "episodes",
    "There are no episodes.",
    first="name job_status stage error_message duration created_at",
    last="id job_id notebook_id progress audio_bytes audio_file audio_url briefing episode_profile "
    "speaker_profiles updated_at",
    whole="error_message",
    formats={
        "episode_profile": lambda profile: _profile_names([profile]),
        "speaker_profiles": _profile_names,
    },
)

notebook_frame = _frames(records.NOTEBOOK, NOTEBOOKS_VIEW)
note_frame = _frames(records.NOTE, _NOTES_VIEW)
session_frame = _frames(records.SESSION, _SESSIONS_VIEW)
source_chat_frame = _frames(records.SOURCE_CHAT, _SOURCE_CHATS_VIEW)
message_frame = _frames(records.MESSAGE, _view("messages", "There are no messages yet."))
insight_frame = _frames(records.INSIGHT, _INSIGHTS_VIEW)
hit_frame = _frames(records.HIT, _HITS_VIEW)
transformation_frame = _frames(records.TRANSFORMATION, _TRANSFORMATIONS_VIEW)
model_frame = _frames(records.MODEL, _MODELS_VIEW)
provider_frame = _frames(records.PROVIDER, _view("providers", "There are no providers."))
discovered_model_frame = _frames(records.DISCOVERED_MODEL, _DISCOVERED_VIEW)
sync_frame = _frames(
    records.SYNC_RESULT, _view("synced", "No provider is configured.", whole="error")
)
credential_frame = _frames(records.CREDENTIAL, _CREDENTIALS_VIEW)
credential_status_frame = _frames(
    records.CREDENTIAL_STATUS, _view("configured", "There are no providers.")
)
episode_frame = _frames(records.EPISODE, _EPISODES_VIEW)
command_frame = _frames(records.COMMAND, _COMMANDS_VIEW)
command_kind_frame = _frames(records.COMMAND_KIND)
rebuild_frame = _frames(records.REBUILD)


def source_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return sources' records as a frame, without their texts."""
    rows = ({key: row[key] for key in records.SOURCE} for row in rows)
    return SOURCES_VIEW.show(records.to_frame(records.SOURCE, rows))


def profile_frame(fields: Fields, rows: Iterable[Record]) -> pd.DataFrame:
    """Return profiles, either `records.EPISODE_PROFILE` or `SPEAKER_PROFILE`, as a frame."""
    is_episode = fields is records.EPISODE_PROFILE
    view = _EPISODE_PROFILES_VIEW if is_episode else _SPEAKER_PROFILES_VIEW
    return view.show(records.to_frame(fields, rows))


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
