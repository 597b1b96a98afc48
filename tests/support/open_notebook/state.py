"""The state of the server: objects by kind, their links, and its configuration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from open_notebook.facts import like, recordings

Fields = dict[str, Any]


@dataclass
class State:
    """All objects in the server's format, and switches for tests.

    Attributes:
        links: pairs of notebook and source; repeated links are repeated, as on the server.
        of: notebooks of notes and chat sessions.
        texts: texts of sources and notes.
        requested_insights: transformations to apply to a source once it is processed.
        files: bytes of uploads and episodes.
        messages: messages of chat sessions.
        embedded: sources and notes that a vector search finds.
        polls: number of status requests for a source or job; each request advances it.
        works: False if no worker runs; queued jobs stay queued.
        moves: False if a worker was killed; running jobs stay running.
        vectors: False if the vectors of processed sources are still being computed.
        fresh: newly installed, without models, credentials and default models.
    """

    notebooks: dict[str, Fields] = field(default_factory=dict)
    sources: dict[str, Fields] = field(default_factory=dict)
    notes: dict[str, Fields] = field(default_factory=dict)
    sessions: dict[str, Fields] = field(default_factory=dict)
    source_sessions: dict[str, Fields] = field(default_factory=dict)
    insights: dict[str, Fields] = field(default_factory=dict)
    transformations: dict[str, Fields] = field(default_factory=dict)
    models: dict[str, Fields] = field(default_factory=dict)
    credentials: dict[str, Fields] = field(default_factory=dict)
    episode_profiles: dict[str, Fields] = field(default_factory=dict)
    speaker_profiles: dict[str, Fields] = field(default_factory=dict)
    episodes: dict[str, Fields] = field(default_factory=dict)
    jobs: dict[str, Fields] = field(default_factory=dict)
    defaults: dict[str, str | None] = field(default_factory=dict)
    instructions: str = ""
    settings: Fields = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    of: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    requested_insights: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    messages: dict[str, list[Fields]] = field(default_factory=dict)
    embedded: set[str] = field(default_factory=set)
    polls: dict[str, int] = field(default_factory=dict)
    works: bool = True
    moves: bool = True
    vectors: bool = True
    fresh: bool = False
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        """Add the recorded models, defaults, profiles and transformations."""
        recorded = recordings()
        self.defaults = dict(recorded["models.defaults_empty"].answer)
        if not self.fresh:
            self._set_up_models()
        for name in ("episode_profiles", "speaker_profiles", "transformations"):
            every = recorded[f"{name}.list"].answer
            setattr(self, name, {item["id"]: dict(item) for item in every})
        self.instructions = recorded["transformations.default_prompt_get"].answer[
            "transformation_instructions"
        ]
        self.settings = dict(recorded["meta.settings"].answer)

    def _set_up_models(self) -> None:
        recorded = recordings()
        self.models = {model["id"]: dict(model) for model in recorded["models.list"].answer}
        self.defaults = dict(recorded["models.defaults_put_partial"].answer)
        chat = like("models.list", id=str(self.defaults["default_chat_model"]), name="fake-chat")
        self.models.setdefault(chat["id"], {**chat, "type": "language"})
        self.credentials = {
            credential["id"]: dict(credential) for credential in recorded["credentials.list"].answer
        }

    def new(self, table: str) -> str:
        """Return a new identifier."""
        return f"{table}:{next(self._numbers):020d}"

    def has_vectors(self, item: str) -> bool:
        """Return whether a vector search finds a source or a note."""
        return item in self.embedded and self.vectors

    def chat_model(self, identifier: str | None) -> Fields | None:
        """Return a model by its identifier, without one the default chat model."""
        return self.models.get(str(identifier or self.defaults.get("default_chat_model")))

    def in_notebook(self, notebook: str) -> list[Fields]:
        """Return the sources of a notebook, one for each link."""
        return [self.sources[s] for n, s in self.links if n == notebook and s in self.sources]
