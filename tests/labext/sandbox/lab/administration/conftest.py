"""The administration of the laboratory platform, without a server."""

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
    """A newly created platform."""
    seeded_site = new_site(tmp_path_factory.mktemp("seeded"))
    seed.seed(seeded_site)
    seeded_site.database.close()
    return seeded_site.folder


@pytest.fixture
def admin(seeded: Path, tmp_path: Path) -> Iterator[LabAdministration]:
    site_copy = new_site(shutil.copytree(seeded, tmp_path / "site"))
    yield LabAdministration(site_copy, running=False)
    site_copy.database.close()
