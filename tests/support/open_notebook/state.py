"""The state of the server: objects by kind, their links, and its configuration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from open_notebook.facts import like, recordings

Thing = dict[str, Any]


@dataclass
class State:
    """Everything in it, as the server tells of it, and a few switches for a test.

    Attributes:
        links: notebook and source; a second link of the same is a second row, as on the server.
        of: the notebook of a note or a chat session.
        texts: the text of a source or a note.
        wanted: of a source the transformations by which it gets insights.
        files: the bytes of an upload, or of an episode.
        messages: of a chat session.
        embedded: sources and notes that a vector search finds.
        polls: how often a source or a job was asked for; it moves on with each.
        works: False if no worker runs; queued jobs stay queued.
        moves: False if a worker was killed; running jobs stay running.
        vectors: False where those of processed sources are still being computed.
        fresh: as it was installed: no models, no credentials, no default models.
    """

    notebooks: dict[str, Thing] = field(default_factory=dict)
    sources: dict[str, Thing] = field(default_factory=dict)
    notes: dict[str, Thing] = field(default_factory=dict)
    sessions: dict[str, Thing] = field(default_factory=dict)
    source_sessions: dict[str, Thing] = field(default_factory=dict)
    insights: dict[str, Thing] = field(default_factory=dict)
    transformations: dict[str, Thing] = field(default_factory=dict)
    models: dict[str, Thing] = field(default_factory=dict)
    credentials: dict[str, Thing] = field(default_factory=dict)
    episode_profiles: dict[str, Thing] = field(default_factory=dict)
    speaker_profiles: dict[str, Thing] = field(default_factory=dict)
    episodes: dict[str, Thing] = field(default_factory=dict)
    jobs: dict[str, Thing] = field(default_factory=dict)
    defaults: dict[str, str | None] = field(default_factory=dict)
    instructions: str = ""
    settings: Thing = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    of: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    messages: dict[str, list[Thing]] = field(default_factory=dict)
    embedded: set[str] = field(default_factory=set)
    polls: dict[str, int] = field(default_factory=dict)
    works: bool = True
    moves: bool = True
    vectors: bool = True
    fresh: bool = False
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        """Set it up as the recorded one was: models, defaults, profiles, transformations."""
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
        """An identifier that nothing has yet."""
        return f"{table}:{next(self._numbers):020d}"

    def has_vectors(self, item: str) -> bool:
        """Tell whether a vector search finds a source or a note."""
        return item in self.embedded and self.vectors

    def model_for(self, slot: str) -> Thing | None:
        """The model of a default slot; the slots that are empty lean on that for chats."""
        model_id = self.defaults.get(f"default_{slot}_model")
        return self.models.get(str(model_id or self.defaults.get("default_chat_model")))

    def in_notebook(self, notebook: str) -> list[Thing]:
        """The sources of a notebook, a row for every link."""
        return [self.sources[s] for n, s in self.links if n == notebook and s in self.sources]
