"""Models and credentials of a running notebook service, and two recording providers.

One is configured by credentials, the other by the environment of the service.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nb_service
import openai_server
import pytest
from databases import open_database
from sqlalchemy import delete

from labext.sandbox import Sandbox
from labext.sandbox.nb.providers import provider_variables
from labext.sandbox.nb.tables import Credential, DefaultModel, Model

KEY = "correct-horse-battery-staple"
ENVIRONMENT_KEY = "key-of-the-environment-4711"

SLOTS = {
    "chat": "llm",
    "transformation": "llm",
    "embedding": "embedding",
    "speech_to_text": "stt",
    "text_to_speech": "tts",
    "podcast": "llm",
    "summary": "llm",
}
"""The seven slots and the type of model that each takes (NB-281)."""


class Models(nb_service.Api):
    """Requests for models and credentials; responses must match their description and contain no
    key.
    """

    KEY, ENVIRONMENT_KEY, SLOTS = KEY, ENVIRONMENT_KEY, SLOTS
    name = staticmethod(nb_service.new_name)

    def __init__(self, box: Sandbox, provider: openai_server.OpenAI) -> None:
        root = box.nb.base_url.removesuffix("/api")
        super().__init__(box.nb.base_url, box.nb.password, nb_service.Description(root))
        self.session.hooks["response"].append(self._hold)
        self.box, self.provider = box, provider
        self.database = open_database(box.data_dir)

    @staticmethod
    def _hold(response: Any, **_options: Any) -> None:
        for key in (KEY, ENVIRONMENT_KEY):
            assert key not in response.text
            assert key not in str(response.headers)

    def credential(self, key: str | None = KEY, **more: Any) -> dict[str, Any]:
        body = {
            "provider": "openai_compatible",
            "name": self.name(),
            "api_key": key,
            "base_url": self.provider.base_url,
        }
        return self.call("POST", "credentials", body | more)

    def model(self, type: str = "llm", name: str = "", **more: Any) -> dict[str, Any]:
        """Create a model of the provider, by default with a new credential."""
        if "credential" not in more:
            more["credential"] = self.credential()["id"]
        body = {"name": name or self.name(), "provider": "openai_compatible", "type": type}
        return self.call("POST", "models", body | more)

    def tested(self, model: dict[str, Any]) -> dict[str, Any]:
        return self.call("POST", f"models/{model['id']}/test")

    def clear(self) -> None:
        """Remove all other models, and reset the slots of the built-in models."""
        slots = dict.fromkeys(("chat", "transformation", "podcast", "summary"), "model:extractive")
        speech = {"speech_to_text": "model:pocketsphinx", "text_to_speech": "model:espeak-ng"}
        first = slots | speech | {"embedding": "model:all-minilm-l6-v2"}
        with self.database.write(durable=False) as session:
            session.execute(delete(DefaultModel))
            session.execute(delete(Model).where(Model.provider != "built-in"))
            session.execute(delete(Credential))
            session.add_all(
                DefaultModel(slot=slot, model_id=model) for slot, model in first.items()
            )

    def close(self) -> None:
        self.session.close()
        self.database.close()


@pytest.fixture(scope="session")
def server() -> Iterator[openai_server.OpenAI]:
    with openai_server.serving(KEY) as result:
        yield result


@pytest.fixture(scope="session")
def other() -> Iterator[openai_server.OpenAI]:
    """The server of `openai` in the environment of the service."""
    with openai_server.serving(ENVIRONMENT_KEY) as result:
        yield result


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory, other: openai_server.OpenAI) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        for name in provider_variables.provider_variables():
            patch.delenv(name, raising=False)
        patch.setenv("OPENAI_API_KEY", ENVIRONMENT_KEY)
        patch.setenv("OPENAI_BASE_URL", other.base_url)
        with nb_service.running(tmp_path_factory) as sandbox:
            patch.undo()
            yield sandbox


@pytest.fixture
def provider(server: openai_server.OpenAI) -> Iterator[openai_server.OpenAI]:
    fresh = vars(openai_server.OpenAI(server.base_url, KEY))
    server.__dict__.update(fresh)
    yield server
    server.__dict__.update(vars(openai_server.OpenAI(server.base_url, KEY)))


@pytest.fixture(scope="session")
def service(box: Sandbox, server: openai_server.OpenAI) -> Iterator[Models]:
    result = Models(box, server)
    yield result
    result.close()


@pytest.fixture
def nb(service: Models, provider: openai_server.OpenAI) -> Iterator[Models]:
    yield service
    service.clear()
