"""A notebook service's site without a process, and a recording provider."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import openai_server
import pytest

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer
from labext.sandbox.nb import tables
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.provider_keys import encrypt_key
from labext.sandbox.nb.tables import Base, Credential, Model

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
    yield Site(tmp_path, secrets, database, Queue(), Signer("signing"), {}, Options())
    database.close()


@pytest.fixture
def provider() -> Iterator[openai_server.OpenAI]:
    with openai_server.serving() as server:
        yield server


@pytest.fixture
def add_model(site: Site, provider: openai_server.OpenAI) -> AddModel:
    """Add a model of the provider: `add_model("talker", key="…", base_url=…)`."""

    def add(
        name: str = "talker", kind: str = "llm", key: str | None = None, base_url: str | None = None
    ) -> Model:
        credential = Credential(
            id=tables.new_identifier("credential"),
            provider="openai_compatible",
            name="the provider",
            base_url=base_url or provider.base_url,
            key=None if key is None else encrypt_key(site, key),
        )
        model = Model(
            id=tables.new_identifier("model"),
            name=name,
            kind=kind,
            provider="openai_compatible",
            credential_id=credential.id,
        )
        with site.database.write() as session:
            session.add(credential)
            session.flush()
            session.add(model)
        return model

    return add
