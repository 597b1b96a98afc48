"""Speech without a service: its models, and a recorded episode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai_server
import pytest
from nb_service import make_site, store_model

from labext.sandbox.core.database import Database
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.podcasts import recording
from labext.sandbox.nb.podcasts.script import SpokenTurn, Turn
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Base, DefaultModel, Model

TURNS = (
    Turn("Ada", "The promoter is induced by arabinose, and glucose represses it.", opens=True),
    Turn("Ben", "How long did the cells grow before the color was seen?"),
    Turn("Cleo", "They grew for six hours at 37 °C, in a flask with 2 mM arabinose."),
    Turn("Ben", "🧬"),
    Turn("Dan", "Two three four five six. The time was seven minutes past nine.", opens=True),
    Turn("Ada", "Then the green cells were counted, and there were a thousand of them."),
)


@dataclass(frozen=True)
class Episode:
    """The recorded audio, and the speech recognition."""

    spoken: Sequence[SpokenTurn]
    stages: Sequence[tuple[str, int, int]]
    path: Path
    samples: Any
    rate: int

    def of(self, turn: SpokenTurn) -> Any:
        """Return the samples of a turn."""
        return self.samples[int(turn.start * self.rate) : int(turn.end * self.rate)]


@pytest.fixture(scope="session")
def built_in() -> Callable[..., Model]:
    """Return a built-in model by its name."""
    return _built_in


def _built_in(name: str, kind: str = "tts") -> Model:
    return Model(id=f"model:{name}", name=name, kind=kind, provider=registry.BUILT_IN)


@pytest.fixture(scope="session")
def espeak() -> Model:
    return _built_in("espeak-ng")


@pytest.fixture(scope="session")
def flite() -> Model:
    import shutil

    if shutil.which("flite") is None:
        pytest.skip("flite is a package of the system, and is not installed")
    return _built_in("flite")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site of a service whose slots have no models."""
    folder = tmp_path_factory.mktemp("site")
    database = Database.at(folder / "db.sqlite")
    database.create(Base.metadata)
    yield make_site(folder, database)
    database.close()


@pytest.fixture
def slot(site: Site) -> Iterator[Callable[[Model], None]]:
    """Set the model of the slot speech_to_text."""

    def give(model: Model) -> None:
        with site.database.write() as session:
            session.merge(model)
            session.flush()
            session.add(DefaultModel(slot="speech_to_text", model_id=model.id))

    yield give
    with site.database.write() as session:
        for default in session.query(DefaultModel):
            session.delete(default)


@pytest.fixture
def remote(site: Site, provider: openai_server.OpenAI) -> Callable[..., Model]:
    """A model of the provider."""

    def add_model(name: str = "talker", kind: str = "tts") -> Model:
        return store_model(site, name, kind, None, provider.base_url)

    return add_model


@pytest.fixture(scope="session")
def episode(tmp_path_factory: pytest.TempPathFactory, espeak: Model, site: Site) -> Episode:
    """Four speakers, two segments, and a turn without speakable text."""
    import soundfile

    path = tmp_path_factory.mktemp("episode") / "episode.mp3"
    stages: list[tuple[str, int, int]] = []
    cast = dict.fromkeys(("Ada", "Ben", "Cleo", "Dan"), (espeak, None))
    dialogue = recording.record_dialogue(
        site, TURNS, cast, path, lambda *stage: stages.append(stage)
    )
    samples, rate = soundfile.read(path, dtype="float32")
    return Episode(dialogue, stages, path, samples, rate)
