"""Files of sources whose transaction fails, or may have failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files
from labext.sandbox.nb.sources import service
from labext.sandbox.nb.sources.schemas import NewSource
from labext.sandbox.nb.sources.uploads import ParsedForm, ReceivedFile, SourceRequest
from labext.sandbox.nb.tables import Source

pytestmark = pytest.mark.faults

CONTENT = b"Cells were induced with 0.2 % arabinose."


@pytest.fixture(scope="module")
def site(in_process: Any) -> Site:
    created: Site = in_process()
    files.prepare_folders(created)
    return created


@pytest.mark.parametrize("committed", [True, False])
def test_file_is_removed_only_if_its_source_was_surely_not_stored(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    write = site.database.write

    @contextmanager
    def fail(**options: Any) -> Iterator[Session]:
        with write(**options) as session:
            yield session
            if not committed:
                raise OperationalError("INSERT", {}, Exception("database or disk is full"))
        lost = psycopg.OperationalError("server closed the connection unexpectedly")
        raise OperationalError("COMMIT", {}, lost, connection_invalidated=True)

    name = f"{committed}.txt"
    upload = tmp_path / "upload"
    upload.write_bytes(CONTENT)
    received = ReceivedFile(name, None, upload, len(CONTENT))
    request = SourceRequest(
        NewSource.model_validate({"process_async": True}), ParsedForm(file=received)
    )
    with monkeypatch.context() as patch:
        patch.setattr(site.database, "write", fail)
        with pytest.raises(OperationalError):
            service._store_source(site, request)
    with site.database.read() as session:
        stored = session.scalars(select(Source.id).where(Source.file_name == name)).all()
    assert len(stored) == committed
    paths = [site.folder / files.original_name(identifier) for identifier in stored]
    assert all(path.read_bytes() == CONTENT for path in paths)
    others = {*(site.folder / files.ORIGINALS).iterdir()} - {*paths}
    assert committed or len(others) == 1, "only the file of the other case"
