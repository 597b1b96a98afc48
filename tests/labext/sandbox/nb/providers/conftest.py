"""A notebook service's site without a process, and a recording provider."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import nb_service
import openai_server
import pytest

from labext.sandbox.core.database import Database
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Base, Model

AddModel = Callable[..., Model]


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A template database with the built-in models; no program is on the PATH."""
    path = tmp_path_factory.mktemp("seeded") / "db.sqlite"
    database = Database.at(path)
    database.create(Base.metadata)
    with database.write() as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.which", lambda _name: None)
        registry.seed_models(session)
    database.close()
    return path


@pytest.fixture
def site(tmp_path: Path, seeded: Path) -> Iterator[Site]:
    """The site of a service with its built-in models."""
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    database = Database.at(Path(shutil.copy(seeded, tmp_path)))
    yield nb_service.make_site(tmp_path, database, secrets)
    database.close()


@pytest.fixture
def store_model(site: Site) -> AddModel:
    """Add a model of a provider's server, with a credential."""
    return partial(nb_service.store_model, site)


@pytest.fixture
def add_model(store_model: AddModel, provider: openai_server.OpenAI) -> AddModel:
    """Add a model of the provider: `add_model("talker", key="…", base_url=…)`."""

    def add(
        name: str = "talker", kind: str = "llm", key: str | None = None, base_url: str | None = None
    ) -> Model:
        return store_model(name, kind, key, base_url or provider.base_url, name="the provider")

    return add


@pytest.fixture
def talker(add_model: AddModel) -> Model:
    return add_model("talker")
