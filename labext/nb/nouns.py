"""The kinds of things that have titles: their identifiers, lists, and where a user sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from labext.nb.dialects.contract import Contract
from labext.nb.listing import all_sources
from labext.nb.records import Record
from labext.nb.wire import Wire

Listed = Callable[[Wire, Contract, str | None], list[Record]]
"""Gives the records of a kind, of those within something alone if that is named."""


@dataclass(frozen=True)
class Noun:
    """One kind of thing.

    Attributes:
        table: a pattern of what its identifiers begin with (contract, Resources): `chat_session`.
        magic: the noun of `%nb` that lists them: `sessions`.
        listed: gives the records among which a title is looked for.
        in_notebook: `within` is a notebook, and a title is never looked for outside it.
    """

    table: str
    magic: str
    listed: Listed
    in_notebook: bool = False


NOUNS: Mapping[str, Noun] = {
    "notebook": Noun("notebook", "notebooks", lambda w, d, _: w.run(d.notebooks())),
    "source": Noun(
        "source",
        "sources",
        lambda w, d, of: [*all_sources(w, d, notebook=of)],
        in_notebook=True,
    ),
    "note": Noun(
        "note", "notes", lambda w, d, of: w.run(d.notes(of, contents=False)), in_notebook=True
    ),
    "session": Noun(
        "chat_session", "sessions", lambda w, d, of: w.run(d.sessions(of)), in_notebook=True
    ),
    "insight": Noun("(?:source_)?insight", "insights", lambda *_: []),
    "source chat": Noun("chat_session", "source-chats", lambda *_: []),
    "transformation": Noun(
        "transformation", "transformations", lambda w, d, _: w.run(d.transformations())
    ),
    "model": Noun("model", "models", lambda w, d, of: w.run(d.models(of))),
    "credential": Noun("credential", "credentials", lambda w, d, of: w.run(d.credentials(of))),
    "episode": Noun("episode", "episodes", lambda w, d, _: w.run(d.episodes())),
    "episode profile": Noun(
        "episode_profile", "profiles", lambda w, d, _: w.run(d.episode_profiles())
    ),
    "speaker profile": Noun(
        "speaker(?:_profile)?", "profiles", lambda w, d, _: w.run(d.speaker_profiles())
    ),
}
"""By what a user calls it in a sentence: `There is no episode profile 'x'.`"""
