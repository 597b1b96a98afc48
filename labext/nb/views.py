"""DataFrames of notebook service records and how they are displayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from labext.nb import records
from labext.nb.records import Fields, Record

if TYPE_CHECKING:
    import pandas as pd

    from labext.frames.views import RowView

FrameBuilder: TypeAlias = "Callable[[Iterable[Record]], pd.DataFrame]"
"""Converts records of one kind to a DataFrame."""


def _frames(
    fields: Fields,
    name: str = "",
    empty: str = "",
    *,
    first: str = "",
    last: str = "",
    whole: str = "",
    formats: Mapping[str, Callable[[Any], str]] | None = None,
) -> FrameBuilder:
    """Return a function that converts records of a kind to a DataFrame with a view.

    Without a name, the view is that of any records. Columns are separated by blanks.
    """

    @cache
    def view() -> RowView:
        from labext.frames.views import ROWS, RowView

        if not name:
            return ROWS
        return RowView(
            name=name,
            empty=empty,
            first=tuple(first.split()),
            last=tuple(last.split()),
            whole=tuple(whole.split()),
            formats=formats or {},
        )

    return lambda rows: view().show(records.to_frame(fields, rows))


notebook_frame = _frames(
    records.NOTEBOOK,
    "notebooks",
    "There are no notebooks.",
    first="name source_count note_count updated_at description",
    last="id created_at",
)
deletion_preview_frame = _frames(
    records.PREVIEW, "notebook deletion", first="name note_count", last="id"
)
_source_frame = _frames(
    records.SOURCE,
    "sources",
    "There are no sources.",
    first="title status stage error kind topic passages",
    last="id file_name size url notebooks created_at updated_at",
    whole="error",
)
status_frame = _frames(records.STATUS, "source status", whole="error")


def source_frame(rows: Iterable[Record]) -> pd.DataFrame:
    """Return sources' records as a frame, without their texts."""
    return _source_frame({key: row[key] for key in records.SOURCE} for row in rows)


note_frame = _frames(
    records.NOTE,
    "notes",
    "There are no notes.",
    first="title note_type content",
    last="id notebook_id created_at updated_at",
)
session_frame = _frames(
    records.SESSION,
    "sessions",
    "There are no chat sessions.",
    first="title message_count updated_at model_override",
    last="id notebook_id created_at",
)
source_chat_frame = _frames(
    records.SOURCE_CHAT,
    "source chats",
    "There are no chats about this source.",
    first="title message_count updated_at model_override",
    last="id source_id created_at",
)
message_frame = _frames(records.MESSAGE, "messages", "There are no messages yet.")
insight_frame = _frames(
    records.INSIGHT,
    "insights",
    "There are no insights.",
    first="insight_type source_title content",
    last="id source_id created_at updated_at",
)
hit_frame = _frames(
    records.HIT,
    "hits",
    "No matches.",
    first="title match page similarity relevance",
    last="kind id",
)
evaluation_frame = _frames(
    records.EVALUATION,
    "evaluation",
    "No question was asked.",
    first="question kind right cited_right refused_right rank seconds tokens answer",
    last="citations note error",
    formats={"citations": lambda citations: str(len(citations))},
)
transformation_frame = _frames(
    records.TRANSFORMATION,
    "transformations",
    "There are no transformations.",
    first="name apply_default description prompt model_id",
    last="id title created_at updated_at",
)
model_frame = _frames(
    records.MODEL,
    "models",
    "There are no models.",
    first="name type provider credential",
    last="id created_at updated_at",
)
provider_frame = _frames(records.PROVIDER, "providers", "There are no providers.")
discovered_model_frame = _frames(
    records.DISCOVERED_MODEL,
    "discovered",
    "The provider offers no models.",
    first="name model_type description",
    last="provider",
)
sync_frame = _frames(records.SYNC_RESULT, "synced", "No provider is configured.", whole="error")
credential_frame = _frames(
    records.CREDENTIAL,
    "credentials",
    "There are no credentials.",
    first="name provider has_api_key model_count base_url decryption_error",
    last="id created_at updated_at",
    whole="decryption_error",
)
credential_status_frame = _frames(
    records.CREDENTIAL_STATUS, "configured", "There are no providers."
)
episode_profile_frame = _frames(
    records.EPISODE_PROFILE,
    "episode profiles",
    "There are no episode profiles.",
    first="name description num_segments speaker_profile_ids outline_llm transcript_llm "
    "default_briefing",
    last="id created_at updated_at",
)
speaker_profile_frame = _frames(
    records.SPEAKER_PROFILE,
    "speaker profiles",
    "There are no speaker profiles.",
    first="name description speakers voice_model",
    last="id created_at updated_at",
)
command_frame = _frames(
    records.COMMAND,
    "commands",
    "The service reports no commands.",
    first="job_id status command subject error_message",
    last="progress result created_at updated_at",
    whole="error_message",
)
command_kind_frame = _frames(records.COMMAND_KIND)
rebuild_frame = _frames(records.REBUILD)


def _profile_names(profiles: Any) -> str:
    """Return the names of an episode's profiles, since the full profiles are too long to show."""
    from labext.frames.views import cell_text

    if not isinstance(profiles, Sequence) or not all(isinstance(p, Mapping) for p in profiles):
        return cell_text(profiles)
    return ", ".join(cell_text(profile.get("name") or profile.get("id")) for profile in profiles)


episode_frame = _frames(
    records.EPISODE,
    "episodes",
    "There are no episodes.",
    first="name job_status stage error_message duration created_at",
    last="id job_id notebook_id progress audio_bytes audio_file audio_url briefing "
    "episode_profile speaker_profiles updated_at",
    whole="error_message",
    formats={
        "episode_profile": lambda profile: _profile_names([profile]),
        "speaker_profiles": _profile_names,
    },
)


_setting_frame = _frames(
    {"setting": "text", "value": "text"},
    "settings",
    "There are no settings.",
    whole="setting value",
)


def settings_frame(settings: Mapping[str, Any]) -> pd.DataFrame:
    """Return settings as a frame: `setting`, `value`."""
    return _setting_frame(
        {"setting": name, "value": format_setting(value)} for name, value in settings.items()
    )


def format_setting(value: Any) -> str | None:
    """Return a setting's value as it is typed on a command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return None if value is None else str(value)
