"""Podcasts of a running notebook service, asked by plain requests; a provider that speaks tones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
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
ENDED = ("completed", "failed")
KEY = "correct-horse-battery-staple"


class Podcasts:
    """Episodes and profiles of a service, as somebody with its password has them."""

    def __init__(self, box: Sandbox, api: nb_service.Api) -> None:
        self.api = api
        self.folder = box.data_dir / "nb"

    def told(self, method: str, path: str, body: Any = None) -> Any:
        return self.api.told(method, path, json=body)

    def refused(self, status: int, method: str, path: str, body: Any = None) -> str:
        """The sentence of a refusal."""
        return nb_service.sentence(self.api.ask(method, path, json=body), status)

    def notebook(self, text: str = TEXT) -> str:
        """A notebook with a note."""
        made = self.api.notebook()
        self.api.note(text, notebook_id=made)
        return made

    def speakers(self, *names: str, model: str | None = None, voice: str | None = None) -> str:
        """The identifier of a new speaker profile."""
        people = [{"name": name, "voice_id": voice} for name in names]
        body = {"name": nb_service.new_name(), "speakers": people, "voice_model": model}
        return self.told("POST", "speaker-profiles", body)["id"]

    def profile(self, **more: Any) -> str:
        """The identifier of a new episode profile, of one segment."""
        body = {"name": nb_service.new_name(), "num_segments": 1} | more
        return self.told("POST", "episode-profiles", body)["id"]

    def order(self, notebook: str, profile: str, *speakers: str, **more: Any) -> dict[str, Any]:
        """What is answered to an order."""
        body = {"notebook_id": notebook, "episode_profile_id": profile, **more}
        return self.told("POST", "podcasts/generate", body | {"speaker_profile_ids": [*speakers]})

    def job(self, identifier: str) -> dict[str, Any]:
        return self.told("GET", f"podcasts/jobs/{identifier}")

    def episode(self, identifier: str) -> dict[str, Any]:
        return self.told("GET", f"podcasts/episodes/{identifier}")

    def until(self, job: str, *wanted: str, seconds: float = 60) -> dict[str, Any]:
        """A job, once its status is one of these; by default once it has ended."""
        deadline = time.monotonic() + seconds
        while (found := self.job(job))["status"] not in (wanted or ENDED):
            assert time.monotonic() < deadline, f"not in time: {found}"
            time.sleep(0.1)
        return found

    def files(self) -> set[str]:
        """The sounds that are kept, and what tasks work in."""
        return {f.name for name in ("episodes", "work") for f in (self.folder / name).iterdir()}


class Kit:
    """The helpers of this folder, which tests get as a fixture."""

    TEXT, KEY = TEXT, KEY
    name = staticmethod(nb_service.new_name)
    says = staticmethod(openai_server.says)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox with the notebook service alone."""
    folder = tmp_path_factory.mktemp("nb") / "data"
    sandbox = Sandbox(folder, rate="off", workers=2, services=[nb_service.SERVICE])
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="session")
def podcasts(box: Sandbox) -> Iterator[Podcasts]:
    """Every answer is held to the service's description."""
    found = Podcasts(box, nb_service.Kit.api(box))
    yield found
    found.api.session.close()


@pytest.fixture(scope="session")
def admin(box: Sandbox) -> Iterator[NotebookAdministration]:
    with open_administration(box.data_dir) as found:
        yield found


@pytest.fixture
def provider() -> Iterator[openai_server.OpenAI]:
    with openai_server.serving(KEY) as server:
        yield server


@pytest.fixture
def model_of(admin: NotebookAdministration, provider: openai_server.OpenAI) -> Iterator[Any]:
    """Add a model of the provider, which has its key; its identifier."""
    added: list[str] = []

    def add(name: str, kind: str) -> str:
        added.append(admin.add_model(name, kind, provider.base_url, KEY)["id"])
        return added[-1]

    yield add
    for each in added:
        admin.remove_model(each, yes=True)


@pytest.fixture
def empty_slot(admin: NotebookAdministration) -> Any:
    """Take the model of a slot away for a while."""

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
    """The provider's."""
    return KEY


@pytest.fixture
def podcasts_of() -> Callable[[Sandbox], Any]:
    """The podcasts of a sandbox; that answers are as described is tested elsewhere."""

    def podcasts(box: Sandbox) -> Any:
        anything = SimpleNamespace(hold=lambda _response, **_options: None)
        api = nb_service.Api(box.nb.base_url, box.nb.password, anything)
        return Podcasts(box, api)

    return podcasts
