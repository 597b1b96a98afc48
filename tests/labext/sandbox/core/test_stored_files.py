"""Files in an object store: records, copies on several machines, and deletions."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from s3_server import READER_CREDENTIALS, S3Server

from labext.errors import ConflictError, SetupError
from labext.sandbox.core.data_folder import DataFolder, FileLock
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.file_storage import service_files, tables
from labext.sandbox.core.file_storage.cache import FileCache
from labext.sandbox.core.file_storage.objects import StorageSettings, StoreError
from labext.sandbox.core.file_storage.service_files import NotCachedError, StoredFiles, with_fetched
from labext.sandbox.core.file_storage.setup import FileStorageSetup


class Machine:
    """A service process with its own folder, on a shared database."""

    def __init__(self, folder: Path, database: Database, settings: StorageSettings) -> None:
        self.folder = DataFolder(folder)
        self.folder.prepare()
        self.database = database
        self.setup = FileStorageSetup(self.folder, database, settings)
        files = self.setup.files("jobs", self.folder.service("jobs"))
        assert isinstance(files, StoredFiles)
        self.files = files

    def upload(self, path: str, content: bytes) -> None:
        source = self.folder.path / "source"
        source.write_bytes(content)
        staged = self.files.stage(source, path)
        with self.database.write() as session:
            self.files.place(session, source, staged, path)

    def read(self, path: str) -> bytes:
        return self.files.local(path).read_bytes()

    def forget(self, *paths: str) -> None:
        with self.database.write() as session:
            self.files.forget(session, paths)


@pytest.fixture
def settings(
    request: pytest.FixtureRequest, each_database: Database, tmp_path: Path
) -> StorageSettings:
    """A directory with the SQLite file, and a bucket with PostgreSQL."""
    if not each_database.is_postgresql:
        (tmp_path / "store").mkdir()
        return StorageSettings(f"file://{tmp_path}/store")
    request.getfixturevalue("credentials")
    server: S3Server = request.getfixturevalue("s3_server")
    return StorageSettings(server.new_url(), server.endpoint)


@pytest.fixture
def machines(each_database: Database, settings: StorageSettings, tmp_path: Path):
    each_database.create(CoreBase.metadata)
    both = [Machine(tmp_path / name, each_database, settings) for name in ("one", "two")]
    yield both
    for machine in both:
        machine.files.store.close()


IN_DIRECTORY = pytest.mark.parametrize("each_database", ["sqlite"], indirect=True)
"""For tests of what does not depend on the kind of the storage."""


def test_processes_see_each_others_files_with_only_the_store_in_common(machines):
    one, two = machines
    one.upload("files/1", b"first")
    assert two.read("files/1") == b"first"
    two.upload("files/1", b"second")
    assert one.read("files/1") == b"second"
    assert not two.files.local("files/2").exists()


@IN_DIRECTORY
def test_object_in_a_directory_is_synced_to_the_disk(machines, tmp_path, is_synced):
    machines[0].upload("files/1", b"content")
    (stored,) = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert is_synced(stored)
    for folder in stored.relative_to(tmp_path).parents[:-1]:
        assert is_synced(tmp_path / folder)


@IN_DIRECTORY
def test_folder_is_one_object_with_the_times_of_its_files(machines):
    one, two = machines
    work = one.folder.service("jobs") / "jobs" / "7" / "work"
    (work / "out" / "deep").mkdir(parents=True)
    (work / "out" / "deep" / "ä b.txt").write_text("output")
    (work / "log.txt").write_text("log")
    (work / "scratch").write_text("of a tool")
    (work / "out" / "link").symlink_to("/etc/passwd")
    os.utime(work / "log.txt", (1_000_000_000.25, 1_000_000_000.25))
    staged = one.files.stage_folder(work, ("log.txt", "out", "archive.zip"), "jobs/7/work")
    with one.database.write() as session:
        tables.place(session, staged)
    copy = two.files.local("jobs/7/work")
    assert sorted(path.name for path in copy.rglob("*") if path.is_file()) == ["log.txt", "ä b.txt"]
    assert (copy / "log.txt").stat().st_mtime == 1_000_000_000.25


def test_object_is_deleted_once_no_file_has_it(machines):
    one, two = machines
    one.upload("files/1", b"shared")
    with one.database.write() as session:
        source = two.files.copy_path("files/1", session)
        two.files.link(session, {"jobs/5/inputs/pdb/a.pdb": source})
    one.forget("files/1")
    assert one.setup.delete_unused() == 0
    target = two.folder.path / "input"
    assert two.files.paths_below("jobs/5/inputs") == ["jobs/5/inputs/pdb/a.pdb"]
    two.files.materialize("jobs/5/inputs/pdb/a.pdb", target)
    assert target.read_bytes() == b"shared"
    two.forget("jobs/5")
    assert one.setup.delete_unused() == 1
    assert one.files.store.sizes() == {}


@IN_DIRECTORY
def test_nothing_is_deleted_while_a_backup_needs_it(machines):
    one, _ = machines
    one.upload("files/1", b"old")
    one.forget("files/1")
    lock = FileLock(one.folder.path / "backup.lock")
    assert lock.acquire()
    assert one.setup.delete_unused() == 0
    lock.release()
    assert one.setup.delete_unused() == 1


def _check(machine: Machine, settings: StorageSettings | None = None, **folders: list[str]) -> Any:
    """Check the storage as a start with these settings does."""
    return FileStorageSetup(machine.folder, machine.database, settings).check(folders)


@IN_DIRECTORY
def test_store_serves_one_database_and_a_database_one_store(machines, settings, tmp_path):
    one, two = machines
    _check(one, settings)
    one.upload("files/1", b"content")
    two.database = Database.at(tmp_path / "other.sqlite")
    two.database.create(CoreBase.metadata)
    with pytest.raises(ConflictError, match="has the files of another database"):
        _check(two, settings)
    two.database.close()
    (tmp_path / "empty").mkdir()
    message = "is empty, but the files of this database are in"
    with pytest.raises(SetupError, match=message) as refused:
        _check(one, StorageSettings(f"file://{tmp_path}/empty"))
    assert settings.url in refused.value.next_step
    (tmp_path / "store").rename(tmp_path / "mounted")
    (tmp_path / "store").mkdir()
    with pytest.raises(SetupError, match="it had the files of this database") as refused:
        _check(one)
    assert "mounted" in refused.value.next_step
    (tmp_path / "store").rmdir()
    (tmp_path / "mounted").rename(tmp_path / "store")
    _check(one)  # as at the last start
    one.folder.storage.unlink()
    with pytest.raises(SetupError, match=f"are in {settings.url}, not in the data folder"):
        _check(one)


@IN_DIRECTORY
def test_files_in_the_data_folder_and_other_objects_stay_there(machines, settings, tmp_path):
    one, two = machines
    (one.folder.service("jobs") / "files").mkdir()
    (one.folder.service("jobs") / "files" / "1").write_text("content")
    message = "The files of this database are in"
    with pytest.raises(SetupError, match=message) as refused:
        _check(one, settings, jobs=["files"])
    assert "without" in refused.value.next_step
    (tmp_path / "store" / "other").write_text("content")
    with pytest.raises(SetupError, match="is not empty"):
        _check(two, settings, jobs=["files"])
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["other"]


@pytest.mark.usefixtures("credentials")
def test_unusable_storage_is_refused_at_the_start(tmp_path, s3_server, monkeypatch):
    url, endpoint = s3_server.new_url(), s3_server.endpoint
    database = Database.at(tmp_path / "some.sqlite")
    database.create(CoreBase.metadata)

    def refusal(url: str, endpoint: str | None) -> SetupError:
        with pytest.raises(SetupError) as refused:
            FileStorageSetup(DataFolder(tmp_path), database, StorageSettings(url, endpoint)).check(
                {}
            )
        assert "\n" not in str(refused.value)
        return refused.value

    error = refusal(url, "http://127.0.0.1:9")
    assert "does not respond at http://127.0.0.1:9" in error.message
    assert "can be reached" in error.next_step
    error = refusal("s3://no-such-bucket/a", endpoint)
    assert "there is no such bucket" in error.message
    assert "Create the bucket" in error.next_step
    for name, value in READER_CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    error = refusal(url, endpoint)
    assert "denies access" in error.message
    assert "write" in error.next_step
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "refuses the credentials (SignatureDoesNotMatch)" in refusal(url, endpoint).message
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    error = refusal(url, endpoint)
    assert "no credentials" in error.message
    assert "AWS_ACCESS_KEY_ID" in error.next_step
    assert "No such file or directory" in refusal(f"file://{tmp_path}/missing", None).message
    database.close()


@IN_DIRECTORY
def test_file_is_fetched_outside_the_transaction_that_needs_it(machines):
    one, two = machines
    one.upload("files/1", b"content")

    def read() -> bytes:
        with two.database.write() as session:
            return two.files.local("files/1", session).read_bytes()

    with pytest.raises(NotCachedError):
        read()
    assert with_fetched(read) == b"content"


@pytest.fixture
def requests(machines, monkeypatch) -> list[str]:
    """The keys of the objects that the second machine fetches."""
    keys: list[str] = []
    store = machines[1].files.store
    get = store.get
    monkeypatch.setattr(store, "get", lambda key, target: (keys.append(key), get(key, target)))
    return keys


@IN_DIRECTORY
def test_lost_object_is_a_missing_file_and_looked_for_again(machines, requests, monkeypatch):
    one, two = machines
    one.upload("files/1", b"content")
    [key] = one.files.store.sizes()
    one.files.store.delete(key)

    def read() -> bytes | None:
        with two.database.write() as session:
            copy = two.files.local("files/1", session)
            return copy.read_bytes() if copy.exists() else None

    assert with_fetched(read) is None
    assert with_fetched(read) is None
    assert not two.files.local("files/1").exists()
    assert len(requests) == 1, "it is not looked up immediately"
    again = one.folder.path / "again"
    again.write_bytes(b"content")
    one.files.store.put(again, key)
    monkeypatch.setattr(service_files, "LOST_SECONDS", 0.0)
    assert with_fetched(read) == b"content"
    assert two.read("files/1") == b"content"
    assert len(requests) == 2


@IN_DIRECTORY
def test_damaged_object_is_refused(machines):
    one, two = machines
    one.upload("files/1", b"content")
    [key] = one.files.store.sizes()
    other = one.folder.path / "other"
    other.write_bytes(b"CONTENT")
    one.files.store.put(other, key)
    with pytest.raises(StoreError, match="not read as it was stored"):
        two.files.local("files/1")


@IN_DIRECTORY
def test_simultaneous_readers_fetch_once_and_see_the_whole_file(machines, requests):
    one, two = machines
    content = os.urandom(3 << 20)
    one.upload("files/1", content)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(two.read, ["files/1"] * 8)) == [content] * 8
    assert len(requests) == 1


@IN_DIRECTORY
def test_least_recently_used_copies_are_evicted_and_fetched_again(machines):
    one, two = machines
    for number in range(4):
        one.upload(f"files/{number}", bytes([number]) * 1000)
        two.read(f"files/{number}")
        path = two.files.local(f"files/{number}")
        os.utime(path, (time.time() - 100 + number,) * 2)
    two.setup.copies.max_bytes, two.setup.copies.min_age = 2000, 10.0
    assert two.read("files/0") == bytes(1000)  # is used, so it is now the latest
    assert two.setup.copies.evict() == 2
    kept = {path.read_bytes()[0] for path in two.setup.copies.folder.glob("jobs/*/*")}
    assert kept == {0, 3}
    assert two.read("files/1") == b"\x01" * 1000


def cache_with(folder: Path, **copies: float) -> FileCache:
    """Return a full cache with copies, which were used at a time relative to now."""
    cache = FileCache(folder / "cache", max_bytes=10)
    for key, seconds in copies.items():
        partial = cache.partial()
        partial.write_bytes(bytes(1000))
        cache.add(f"jobs/files/{key}", partial)
        os.utime(cache.path(f"jobs/files/{key}"), (time.time() + seconds,) * 2)
    return cache


def test_copies_in_use_are_kept_although_there_is_no_room(tmp_path):
    copies = cache_with(tmp_path, a=0)
    assert copies.evict() == 0
    assert copies.use("jobs/files/a")


def test_copies_of_a_clock_that_was_ahead_are_evicted(tmp_path):
    copies = cache_with(tmp_path, ahead=86_400, now=0)
    assert copies.evict() == 1
    assert not copies.use("jobs/files/ahead")
    assert copies.use("jobs/files/now")


def test_used_copy_of_a_clock_that_was_ahead_is_kept(tmp_path):
    copies = cache_with(tmp_path, a=86_400)
    assert copies.use("jobs/files/a")
    assert copies.evict() == 0
