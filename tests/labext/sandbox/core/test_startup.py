"""Start-up: no file is deleted, a database without its rows is refused, errors name their cause."""

from __future__ import annotations

import errno
import os
import resource
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests
from supervision import kill_host

from labext import JobsClient, cli
from labext.errors import LabextError, ServiceError, StorageError
from labext.sandbox import Sandbox, host
from labext.sandbox.core.data_folder import EXIT_DISK_FULL, DataFolder, read_json, write_json
from labext.sandbox.core.server_settings import ServerSettings, loopback_socket
from labext.sandbox.jobs.administration import open_administration
from labext.storage import storage_errors

pytestmark = pytest.mark.contract

SUPPORT = Path(__file__).parents[3] / "support"
JOBS_AND_NB = ["labext.sandbox.jobs.app:service", "labext.sandbox.nb.app:service"]


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def quarantined(box: Sandbox) -> dict[str, bytes]:
    """Return the files of all quarantine folders, by their path in the data folder."""
    contents: dict[str, bytes] = {}
    for folder in (box.data_dir / "quarantine").iterdir():
        contents |= tree(folder)
    return contents


def start_error(box: Sandbox) -> LabextError:
    with pytest.raises(LabextError) as caught:
        box.start()
    assert box.status().state == "stopped"
    return caught.value


# A database without the rows of its files


Filled = tuple[Sandbox, dict[str, bytes]]
SMALL = ["labext_test_service:service"]


@pytest.fixture(scope="module")
def stopped_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a stopped sandbox with the small service, which has ten rows."""
    folder = tmp_path_factory.mktemp("stopped") / "box"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SUPPORT), prepend=":")
        with Sandbox(folder, rate="off", services=SMALL) as box:
            for number in range(10):
                url = f"{box.jobs.base_url}tasks/answer/row{number}"
                requests.post(url, json={}, timeout=60)
    return folder


@pytest.fixture
def stopped(
    stopped_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sandbox]:
    """A copy of that sandbox."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT), prepend=":")
    folder = shutil.copytree(stopped_folder, tmp_path / "stopped")
    box = Sandbox(folder, rate="off", services=SMALL)
    yield box
    box.stop()


@pytest.fixture(scope="module")
def filled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a stopped sandbox with an upload, a job and a source."""
    folder = tmp_path_factory.mktemp("filled") / "box"
    box = Sandbox(folder, rate="off", workers=1, services=JOBS_AND_NB)
    with box, JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:
        jobs.upload(box.data_dir / "ports.json")
        jobs.submit("cut", "digest", {"sequence": "GAATTC", "enzymes": ["EcoRI"]})
        jobs.wait("cut", timeout=60)
        sent = requests.post(
            f"{box.nb.base_url}/sources",
            data={"type": "upload", "process_async": "false"},
            files={"file": ("paper.txt", b"Arabinose induces pBAD.")},
            headers={"Authorization": f"Bearer {box.nb.password}"},
            timeout=60,
        )
        assert sent.ok, sent.text
    return box.data_dir


@pytest.fixture
def filled(filled_folder: Path, tmp_path: Path) -> Iterator[Filled]:
    """A copy of that sandbox, and its files."""
    box = Sandbox(shutil.copytree(filled_folder, tmp_path / "box"), services=JOBS_AND_NB)
    folders = ("jobs/files", "jobs/jobs", "nb/originals")
    files = {
        f"{name}/{path}": content
        for name in folders
        for path, content in tree(box.data_dir / name).items()
    }
    assert {name for name in folders for path in files if path.startswith(name)} == {*folders}
    yield box, files
    box.stop()


def _harm(database: Path, loss: str) -> None:
    content = database.read_bytes()
    match loss:
        case "truncated":
            os.truncate(database, 0)
        case "deleted":
            database.unlink()
        case "damaged":
            database.write_bytes(content[:4096] + b"x" * (len(content) - 4096))
        case "header":
            database.write_bytes(b"x" * 4096 + content[4096:])


@pytest.mark.sqlite
@pytest.mark.data_folder
@pytest.mark.parametrize("loss", ["truncated", "deleted", "damaged", "header"])
def test_emptied_database_is_refused_and_files_are_untouched(filled, loss):
    box, _ = filled
    database = box.data_dir / "sandbox.sqlite"
    _harm(database, loss)
    data_files = tree(box.data_dir / "jobs") | tree(box.data_dir / "nb")
    error = start_error(box)
    assert ("damaged" if loss in ("damaged", "header") else "is empty") in error.message
    assert str(database) in error.message
    assert "labext sandbox restore FILE --yes" in error.next_step
    assert tree(box.data_dir / "jobs") | tree(box.data_dir / "nb") == data_files
    if database.exists():
        with (
            pytest.raises(LabextError, match=r"is empty|damaged"),
            open_administration(box.data_dir),
        ):
            pass


@pytest.mark.sqlite
@pytest.mark.data_folder
def test_command_in_the_message_moves_the_files_and_starts_with_an_empty_database(filled, capsys):
    box, files = filled
    _harm(box.data_dir / "sandbox.sqlite", "damaged")
    assert cli.main(["sandbox", "start", "--data-dir", str(box.data_dir)]) == 1
    error_line = capsys.readouterr().err
    assert error_line.count("\n") == 1
    _, _, line = error_line.partition("empty database with `")
    program, *words = shlex.split(line.partition("`")[0])
    assert program == "labext"
    assert cli.main(words) == 0
    assert "quarantine" in capsys.readouterr().err
    assert box.status().running
    moved = quarantined(box)
    assert moved.items() >= files.items()
    assert "sandbox.sqlite" in moved
    with JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:
        assert jobs.files() == []


@pytest.mark.sqlite
@pytest.mark.data_folder
def test_log_of_an_emptied_database_is_kept(small_box):
    """The journal may have rows that are nowhere else; SQLite would delete it."""
    box = small_box()
    requests.post(f"{box.jobs.base_url}tasks/answer/known", json={}, timeout=60)
    kill_host(box)
    database = box.data_dir / "sandbox.sqlite"
    wal = Path(f"{database}-wal")
    before = wal.read_bytes()
    assert b"known" in before
    os.truncate(database, 0)
    assert "is empty" in start_error(box).message
    with pytest.raises(StorageError, match="is empty"):
        box.backup(box.data_dir.with_name("b.zip"))
    with pytest.raises(StorageError, match="is empty"), open_administration(box.data_dir):
        pass
    assert wal.read_bytes() == before
    adopted = Sandbox(box.data_dir, services=box._services, adopt_empty=True)
    adopted.start()
    assert quarantined(box)["sandbox.sqlite-wal"] == before


@pytest.mark.sqlite
@pytest.mark.data_folder
def test_adopted_database_invalidates_presigned_urls(filled):
    box, _ = filled
    box.start()
    with JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:
        url, headers = f"{box.jobs.base_url}result", {"x-api-key": box.jobs.api_key}
        answer = requests.post(url, json={"jobName": "cut"}, headers=headers, timeout=60)
        signed = answer.text.strip('"')
        assert requests.get(signed, timeout=60).ok
        box.stop()
        os.truncate(box.data_dir / "sandbox.sqlite", 0)
        Sandbox(box.data_dir, adopt_empty=True, services=JOBS_AND_NB).start()
        jobs.submit("cut", "digest", {"sequence": "AAGCTT", "enzymes": ["HindIII"]})
        assert jobs.wait("cut", timeout=60)["JobStatus"] == "Complete"
    assert requests.get(signed, timeout=60).status_code == 403


@pytest.mark.sqlite
def test_database_of_another_version_is_refused_unchanged(stopped):
    box = stopped
    database = box.data_dir / "sandbox.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '999'")
        connection.execute("ALTER TABLE test_rows ADD COLUMN invented TEXT")
        connection.commit()
    before = database.read_bytes()
    error = start_error(box)
    assert "another version of labext: its schema version is 999" in error.message
    assert "another data folder" in error.next_step
    assert database.read_bytes() == before
    with pytest.raises(LabextError, match="another version"):
        Sandbox(box.data_dir, services=box._services, adopt_empty=True).start()
    assert database.read_bytes() == before


# Files without a row


def test_files_without_a_row_are_quarantined(stopped, capsys):
    box = stopped
    files = box.data_dir / "jobs" / "files"
    (files / "unknown" / "deep").mkdir(parents=True)
    (files / "unknown" / "deep" / "result.csv").write_text("a,b")
    (files / "unknown.txt").write_text("text")
    (files / "row0").write_text("kept")
    (files / "empty" / "inner").mkdir(parents=True)
    status = box.start()
    assert tree(files) == {"row0": b"kept"}
    assert not (files / "empty").exists()
    assert quarantined(box) == {
        "jobs/files/unknown/deep/result.csv": b"a,b",
        "jobs/files/unknown.txt": b"text",
    }
    (notice,) = status.notices
    assert "Moved 2 items" in notice
    assert str(next((box.data_dir / "quarantine").iterdir())) in notice
    for verb in ("start", "status"):
        assert cli.main(["sandbox", verb, "--data-dir", str(box.data_dir)]) == 0
        output = capsys.readouterr()
        assert notice in output.out + output.err
    box.stop()
    assert box.start().notices == (), "nothing was moved at this start"
    assert len(quarantined(box)) == 2


@pytest.mark.sqlite
@pytest.mark.parametrize("left", [0, 5])
def test_damaged_index_moves_no_file(stopped, left):
    box = stopped
    files = box.data_dir / "jobs" / "files"
    files.mkdir()
    for number in range(10):
        (files / f"row{number}").write_text("kept")
    with closing(sqlite3.connect(box.data_dir / "sandbox.sqlite")) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_test_rows_1'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with (box.data_dir / "sandbox.sqlite").open("r+b") as file:
        file.seek((root - 1) * size + 3)
        file.write(left.to_bytes(2, "big"))  # the number of rows in the page of the index
    assert "damaged" in start_error(box).message
    assert len(tree(files)) == 10
    assert not (box.data_dir / "quarantine").exists()


# Errors of the start


@pytest.mark.usefixtures("cold")  # a started process inherits the limit
def test_full_disk_at_start_is_reported(stopped):
    box = stopped
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        error = start_error(box)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "disk is full" in error.message
    assert "Make room" in error.next_step
    assert box.start().running


def test_state_that_a_full_disk_refuses_is_reported_by_the_exit_code(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        with storage_errors(tmp_path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StorageError) as caught:
        full()
    monkeypatch.setattr(host, "write_json", full)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    folder = DataFolder(tmp_path)
    assert host._report_failure(caught.value, folder) == EXIT_DISK_FULL


def test_server_in_the_foreground_names_its_unreachable_database_in_one_line(tmp_path):
    folder = DataFolder(tmp_path)
    folder.prepare()
    ServerSettings("localhost", listen="127.0.0.1", behind_proxy=True).save(folder)
    folder.request_database("postgresql+psycopg://labext@/none?host=/nowhere")
    folder.keep_database()
    (folder.service("jobs") / "jobs" / "1").mkdir(parents=True)
    command = [sys.executable, "-m", "labext.sandbox.host", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert "The server does not start. The database" in line
    assert "failed: No such file or directory. Check that PostgreSQL runs" in line


def test_log_that_cannot_be_written_is_named_with_the_next_step(tmp_path):
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    folder.log.mkdir()
    with pytest.raises(StorageError, match=r"host\.log can't be written") as caught:
        Sandbox(folder.path).start()
    assert caught.value.next_step == "Choose another folder, or make this one writable."


def test_taken_or_unusable_port_is_replaced(tmp_path):
    folder = DataFolder(tmp_path / "box")
    folder.prepare()
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        for port in (taken, -1, 0, 99_999, 10**30, "80", True, None):
            write_json(folder.ports, {"jobs": port})
            with loopback_socket(folder, "jobs") as listener:
                new = listener.getsockname()[1]
            assert new >= 20_000
            assert new != taken
            assert read_json(folder.ports) == {"jobs": new}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("sandbox.sqlite", marks=pytest.mark.sqlite),
        "connection.json",
        "secrets/signing",
    ],
)
def test_unusable_file_is_named(stopped, name):
    box = stopped
    path = box.data_dir / name
    path.unlink(missing_ok=True)
    path.mkdir()
    error = start_error(box)
    assert str(path) in error.message
    assert "Traceback" not in str(error)
    assert "sqlalche.me" not in str(error)


def test_host_killed_during_start_is_reported(tmp_path, monkeypatch):
    (tmp_path / "killed.py").write_text("import os; os.kill(os.getpid(), 9)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    error = start_error(Sandbox(tmp_path / "box", services=["killed:service"]))
    assert "SIGKILL" in error.message


def test_slow_start_is_reported_and_goes_on(tmp_path, monkeypatch):
    source = "import time; time.sleep(4); from labext.sandbox.jobs.app import service"
    (tmp_path / "slow.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    options = {"services": ["slow:service"], "sequences": 500}
    with monkeypatch.context() as patch:
        patch.setattr("labext.sandbox.lifecycle.START_SECONDS", 1.0)
        box = Sandbox(tmp_path / "box", **options)
    with pytest.raises(ServiceError, match="did not start within 2 seconds"):  # 1 for sequences
        box.start()
    pid = box.status().pid
    assert Sandbox(tmp_path / "box", **options).start().pid == pid
    assert box.stop()
