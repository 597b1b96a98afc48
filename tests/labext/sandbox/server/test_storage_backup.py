"""Backups of services whose files are in S3, with a real S3 server on this machine."""

from __future__ import annotations

import re
import zipfile

import pytest
from s3_server import S3Server
from stored_jobs import JOBS, Jobs

from labext.errors import ConflictError, SetupError
from labext.sandbox import Sandbox
from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.file_storage.setup import stored_settings

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("credentials")]


@pytest.fixture
def storage(s3_server: S3Server):
    """Return the options of a storage that is empty."""

    def options() -> dict[str, str]:
        return {"storage": s3_server.new_url(), "storage_endpoint": s3_server.endpoint}

    return options


def download(box: Sandbox, name: str) -> bytes:
    answer = Jobs(box).result(name)
    assert answer.status_code == 200, answer.text
    return answer.content


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_backup_has_the_objects_and_restores_them_to_another_bucket(
    new_box, storage, tmp_path, postgresql_server, kind
):
    url = postgresql_server.new_database() if kind == "postgresql" else None
    box = new_box(services=JOBS, database_url=url, **storage())
    jobs = Jobs(box)
    assert jobs.upload("a.txt", b"content").status_code == 200
    jobs.run("first")
    content = download(box, "first")
    done = box.backup(tmp_path / "backup.zip")
    assert done.skipped == ()
    with zipfile.ZipFile(done.file) as archive:
        names = archive.namelist()
    assert len([name for name in names if name.startswith("objects/jobs/")]) == 2
    assert not [name for name in names if name.startswith(("cache/", "storage"))]
    jobs.delete("first")
    url = postgresql_server.new_database()
    copy = Sandbox(tmp_path / "copy", rate="off", services=JOBS, database_url=url, **storage())
    copy.restore(done.file)
    with copy:
        assert download(copy, "first") == content
        assert Jobs(copy).files() == ["a.txt"]


def test_restore_in_place_restores_deleted_files_and_quarantines_newer_ones(
    new_box, storage, s3_server, tmp_path
):
    options = storage()
    box = new_box(services=JOBS, **options)
    jobs = Jobs(box)
    jobs.run("first")
    content = download(box, "first")
    box.backup(tmp_path / "backup.zip")
    jobs.delete("first")
    jobs.run("second")
    box.restore(tmp_path / "backup.zip", replace=True)
    status = box.start()
    assert download(box, "first") == content
    assert any("without a database record" in notice for notice in status.notices)
    keys = s3_server.keys(options["storage"])
    assert len([key for key in keys if key.startswith("jobs/")]) == 1
    assert len([key for key in keys if key.startswith("quarantine/")]) == 1


def test_object_that_the_store_has_lost_is_reported_as_skipped(stored_box, s3_server, tmp_path):
    box, jobs = stored_box, Jobs(stored_box)
    url = stored_settings(DataFolder(box.data_dir)).url
    before = {*s3_server.keys(url)}
    jobs.upload("lost.txt", b"content")
    [key] = {*s3_server.keys(url)} - before
    s3_server.files().rm(f"{url.removeprefix('s3://')}/{key}")
    [path] = box.backup(tmp_path / "backup.zip").skipped
    assert re.fullmatch("jobs/files/[0-9]+", path)
    query = {"filePath": "lost.txt"}
    assert jobs.session.delete(f"{jobs.base}delete-file", params=query, timeout=60).ok


def test_unreachable_storage_fails_the_backup_with_one_line(stored_box, storage_line, tmp_path):
    box, line = stored_box, storage_line
    Jobs(box).upload("backup.txt", b"content")
    line.cut()
    with pytest.raises(SetupError, match="does not respond") as refused:
        box.backup(tmp_path / "backup.zip")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "backup.zip").exists()
    line.restore()
    assert box.backup(tmp_path / "backup.zip").skipped == ()


def test_backup_is_restored_to_the_same_kind_of_storage(
    stored_box, shared_small_box, storage, tmp_path
):
    stored_box.backup(tmp_path / "stored.zip")
    with pytest.raises(SetupError, match="were in an object store") as refused:
        Sandbox(tmp_path / "copy", services=JOBS).restore(tmp_path / "stored.zip")
    assert "if no server uses it" in refused.value.next_step
    shared_small_box.backup(tmp_path / "folder.zip")
    for box in (stored_box, Sandbox(shared_small_box.data_dir, **storage())):
        with pytest.raises(SetupError, match="were in its data folder"):
            box.restore(tmp_path / "folder.zip", replace=True)
        assert box.status().running, "a refused restore does not stop it"
    assert shared_small_box.start().running, "it still keeps its files in the data folder"


def test_restore_to_the_storage_of_another_database_is_refused(
    stored_box, new_box, storage, tmp_path
):
    new_box(services=JOBS, **storage()).backup(tmp_path / "second.zip")
    settings = stored_settings(DataFolder(stored_box.data_dir))
    options = {"storage": settings.url, "storage_endpoint": settings.endpoint}
    with pytest.raises(ConflictError, match="has other files"):
        Sandbox(tmp_path / "copy", services=JOBS, **options).restore(tmp_path / "second.zip")
    assert Jobs(stored_box).health().status_code == 200
