"""Both kinds of profiles in one frame. Imports pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from labext.frames import Column, frame
from labext.rowviews import Rows

if TYPE_CHECKING:
    from labext.nb import NotebookClient
    from labext.nb.records import Record

_COLUMNS = (
    Column("kind", "category"),
    Column("name", "text"),
    Column("description", "text"),
    Column("speakers", "text"),
    Column("segments", "integer"),
    Column("models", "text"),
    Column("id", "text"),
)


class ProfileRows(Rows):
    """A DataFrame with a row a profile, of whichever kind."""

    _none = "There are no profiles."
    _always = ("kind", "name")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("kind", "name", "speakers", "segments", "models", "description"), ("id",)


def told(nb: NotebookClient, kind: str | None) -> pd.DataFrame:
    """Return a row a profile; what is empty in `models` is the default slot's."""
    speakers = list(nb.speaker_profiles.iter())
    episodes = [] if kind == "speaker" else list(nb.episode_profiles.iter())
    chosen = any(_models(each) for each in (*episodes, *speakers))
    names = {
        each["id"]: str(each["name"]) for each in (*speakers, *(nb.models.iter() if chosen else ()))
    }
    rows = [_row("episode", each, names) for each in episodes]
    if kind != "episode":
        rows += [_row("speaker", each, names) for each in speakers]
    return ProfileRows(frame(rows, _COLUMNS))


def _row(kind: str, record: Record, names: Mapping[str, str]) -> dict[str, Any]:
    models = dict.fromkeys(names.get(each, each) for each in _models(record))
    return {
        "kind": kind,
        "name": record["name"],
        "description": record["description"],
        "speakers": ", ".join(_speaking(record, names)),
        "segments": record.get("num_segments"),
        "models": ", ".join(models),
        "id": record["id"],
    }


def _models(record: Record) -> list[str]:
    """Return the models that a profile has chosen for itself."""
    found = (record.get(key) for key in ("outline_llm", "transcript_llm", "voice_model"))
    return [str(each) for each in found if each]


def _speaking(record: Record, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the speaker profiles of an episode profile, or the speakers of a speaker profile."""
    for each in record.get("speaker_profile_ids") or ():
        yield names.get(each, each)
    for each in record.get("speakers") or ():
        voice = f" ({each['voice_id']})" if each.get("voice_id") else ""
        yield f"{each.get('name')}{voice}"
