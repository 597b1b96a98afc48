"""The laboratory platform as an administrator has it, without a server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_service import new_site

from labext.sandbox.lab import seed
from labext.sandbox.lab.administration import LabAdministration


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A platform as it is from the start."""
    made = new_site(tmp_path_factory.mktemp("seeded"))
    seed.seed(made)
    made.database.close()
    return made.folder


@pytest.fixture
def admin(seeded: Path, tmp_path: Path) -> Iterator[LabAdministration]:
    found = new_site(shutil.copytree(seeded, tmp_path / "site"))
    yield LabAdministration(found, running=False)
    found.database.close()
