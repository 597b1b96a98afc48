"""Podcasts of a running notebook service, plain requests to it, and a provider that plays tones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nb_service
import openai_server
import pytest

from labext.sandbox import Sandbox
from labext.sandbox.nb.administration import NotebookAdministration, open_administration

TEXT = (
    "The araBAD promoter of plasmid pBAD30 is activated by the AraC protein in the presence of "
    "L-arabinose. Glucose lowers the level of cyclic AMP in the cell, so that CAP no longer binds "
    "upstream of the promoter. This catabolite repression keeps leaky expression low. Cells of "
    "strain DH10B were grown at 37 degrees and induced with 0.2 % arabinose for four hours."
)
KEY = "correct-horse-battery-staple"


class Podcasts(nb_service.Api):
    """Requests for episodes and profiles of a service."""

    folder: Path
    TEXT = TEXT

    def filled_notebook(self, text: str = TEXT) -> str:
        created = self.notebook()
        self.note(text, notebook_id=created)
        return created

    def speakers(self, *names: str, model: str | None = None, voice: str | None = None) -> str:
        """Create a speaker profile and return its identifier."""
        people = [{"name": name, "voice_id": voice} for name in names]
        body = {"name": nb_service.new_name(), "speakers": people, "voice_model": model}
        return self.call("POST", "speaker-profiles", body)["id"]

    def profile(self, **more: Any) -> str:
        """Create an episode profile with one segment and return its identifier."""
        body = {"name": nb_service.new_name(), "num_segments": 1} | more
        return self.call("POST", "episode-profiles", body)["id"]

    def order(self, notebook: str, profile: str, *speakers: str, **more: Any) -> dict[str, Any]:
        """Submit an episode; return the response."""
        body = {"notebook_id": notebook, "episode_profile_id": profile, **more}
        return self.call("POST", "podcasts/generate", body | {"speaker_profile_ids": [*speakers]})

    def job(self, identifier: str) -> dict[str, Any]:
        return self.call("GET", f"podcasts/jobs/{identifier}")

    def episode(self, identifier: str) -> dict[str, Any]:
        return self.call("GET", f"podcasts/episodes/{identifier}")

    def until(self, job: str, *requested: str) -> dict[str, Any]:
        """Return a job once its status is one of these; by default once it has ended."""
        return self.once(f"podcasts/jobs/{job}", *requested)

    def files(self) -> set[str]:
        """Return the stored audio files, and the folders of tasks."""
        return {f.name for name in ("episodes", "work") for f in (self.folder / name).iterdir()}

    def drafts(self) -> set[str]:
        """Return the folders with the finished parts of episodes."""
        return {folder.name for folder in (self.folder / "drafts").iterdir()}


@pytest.fixture(scope="session")
def podcasts(box: Sandbox) -> Iterator[Podcasts]:
    client = Podcasts.of(box)
    client.folder = box.data_dir / "nb"
    yield client
    client.session.close()


@pytest.fixture(scope="session")
def admin(box: Sandbox) -> Iterator[NotebookAdministration]:
    with open_administration(box.data_dir) as result:
        yield result


@pytest.fixture
def provider() -> Iterator[openai_server.OpenAI]:
    """A server whose speech is short, whatever is said."""
    with openai_server.serving(KEY) as server:
        server.sound = lambda body: openai_server.tone(body["voice"], "Hm.")
        yield server


@pytest.fixture
def model_of(admin: NotebookAdministration, provider: openai_server.OpenAI) -> Iterator[Any]:
    """Add a model of the provider with its key; return the identifier."""
    added: list[str] = []

    def add(name: str, kind: str) -> str:
        added.append(admin.add_model(name, kind, provider.base_url, KEY)["id"])
        return added[-1]

    yield add
    for entry in added:
        admin.remove_model(entry, yes=True)


@pytest.fixture
def empty_slot(admin: NotebookAdministration) -> Any:
    """Clear a slot during the block."""

    @contextmanager
    def without(slot: str) -> Iterator[None]:
        (before,) = (m["id"] for m in admin.models() if slot in m["default_for"])
        admin.set_default(slot, None)
        try:
            yield
        finally:
            admin.set_default(slot, before)

    return without


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def podcasts_of() -> Callable[[Sandbox], Podcasts]:
    """The podcasts of a sandbox, without checks against `/openapi.json`."""

    def podcasts(box: Sandbox) -> Podcasts:
        client = Podcasts(box.nb.base_url, box.nb.password)
        client.folder = box.data_dir / "nb"
        return client

    return podcasts
