"""Episode and speaker profiles as one DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from labext.frames.conversion import make_columns, records_to_frame
from labext.frames.views import RowView

if TYPE_CHECKING:
    from labext.nb import NotebookClient
    from labext.nb.records import Record

_COLUMNS = make_columns(
    kind="category",
    name="text",
    description="text",
    speakers="text",
    segments="integer",
    models="text",
    id="text",
)
_DETAIL_COLUMNS = make_columns(
    briefing="text",
    language="text",
    max_tokens="integer",
    backstory="text",
    personality="text",
    created_at="time",
    updated_at="time",
)
"""Additional columns for a single profile."""


PROFILES = RowView(
    name="profiles",
    empty="There are no profiles.",
    first=("kind", "name", "speakers", "segments", "models", "description"),
    last=("id", "created_at", "updated_at"),
)


def profiles_frame(nb: NotebookClient, kind: str | None) -> pd.DataFrame:
    """Return one row per profile; an empty value in `models` means the default slots."""
    speakers = list(nb.speaker_profiles.iter())
    episodes = [] if kind == "speaker" else list(nb.episode_profiles.iter())
    names = _names(nb, [*episodes, *speakers], speakers)
    rows = [_row("episode", profile, names) for profile in episodes]
    if kind != "episode":
        rows += [_row("speaker", profile, names) for profile in speakers]
    return PROFILES.show(records_to_frame(rows, _COLUMNS))


def profile_frame(nb: NotebookClient, kind: str, record: Record) -> pd.DataFrame:
    """Return the row of one profile with all fields."""
    names = _names(nb, [record], nb.speaker_profiles.iter() if kind == "episode" else ())
    details = {column.name: record.get(column.name) for column in _DETAIL_COLUMNS}
    details["briefing"] = record.get("default_briefing")
    for field in ("backstory", "personality"):
        details[field] = _per_speaker(record.get("speakers") or (), field)
    row = _row(kind, record, names) | details
    return PROFILES.show(records_to_frame([row], [*_COLUMNS, *_DETAIL_COLUMNS]))


def _names(
    nb: NotebookClient, profiles: Iterable[Record], speakers: Iterable[Record]
) -> dict[str, str]:
    """Return the names of the models and speaker profiles by ID."""
    models = nb.models.iter() if any(map(_models, profiles)) else ()
    return {str(record["id"]): str(record["name"]) for record in (*speakers, *models)}


def _per_speaker(speakers: Sequence[Record], field: str) -> str:
    """Return a field of all speakers of a profile, prefixed by names if there are several."""
    texts = [(speaker.get("name"), speaker[field]) for speaker in speakers if speaker.get(field)]
    if len(speakers) == 1:
        return "".join(text for _, text in texts)
    return "; ".join(f"{name}: {text}" for name, text in texts)


def _row(kind: str, record: Record, names: Mapping[str, str]) -> dict[str, Any]:
    models = dict.fromkeys(names.get(identifier, identifier) for identifier in _models(record))
    return {
        "kind": kind,
        "name": record["name"],
        "description": record["description"],
        "speakers": ", ".join(_speakers_of(record, names)),
        "segments": record.get("num_segments"),
        "models": ", ".join(models),
        "id": record["id"],
    }


def _models(record: Record) -> list[str]:
    """Return the IDs of the models set in a profile."""
    values = (record.get(key) for key in ("outline_llm", "transcript_llm", "voice_model"))
    return [str(value) for value in values if value]


def _speakers_of(record: Record, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the speaker profiles of an episode profile, or the speakers of a speaker profile."""
    for identifier in record.get("speaker_profile_ids") or ():
        yield names.get(identifier, identifier)
    for speaker in record.get("speakers") or ():
        voice = f" ({speaker['voice_id']})" if speaker.get("voice_id") else ""
        yield f"{speaker.get('name')}{voice}"
