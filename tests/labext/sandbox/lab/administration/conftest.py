"""The laboratory platform as an administrator has it, without a server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer
from labext.sandbox.lab import seed
from labext.sandbox.lab.administration import LabAdministration
from labext.sandbox.lab.endpoints import ENDPOINTS
from labext.sandbox.lab.tables import Base


def site(folder: Path) -> Site:
    return Site(
        folder=folder,
        secrets=folder,
        database=Database.at(folder / "db"),
        queue=Queue(),
        signer=Signer("key"),
        origins={door: f"https://localhost:{port}" for port, door in enumerate(ENDPOINTS, 1)},
        options=Options(rate="off"),
    )


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A platform as it is from the start."""
    made = site(tmp_path_factory.mktemp("seeded"))
    made.database.create(Base.metadata)
    seed.seed(made)
    made.database.close()
    return made.folder


@pytest.fixture
def admin(seeded: Path, tmp_path: Path) -> Iterator[LabAdministration]:
    found = site(shutil.copytree(seeded, tmp_path / "site"))
    yield LabAdministration(found, running=False)
    found.database.close()
