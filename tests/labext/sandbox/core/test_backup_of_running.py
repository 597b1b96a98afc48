"""`labext sandbox backup` of a busy sandbox, and `restore` of the backup."""

from __future__ import annotations

import contextlib
import json
import shlex
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from databases import open_database
from sqlalchemy import select

from labext import JobsClient, cli
from labext.errors import LabextError
from labext.lab import ApiKey, LabClient
from labext.sandbox import Sandbox
from labext.sandbox.jobs.tables import COMPLETE, Job, UploadedFile
from labext.sandbox.nb.tables import Source

pytestmark = pytest.mark.contract

JOBS_AND_NB = ["labext.sandbox.jobs.app:service", "labext.sandbox.nb.app:service"]
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `labext sandbox …`: exit code, stdout, stderr."""

    def run_one(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(["sandbox", *map(str, words)])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run_one


def nb(box: Sandbox, method: str, path: str, **sent: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {box.nb.password}"}
    answer = requests.request(
        method, f"{box.nb.base_url}/{path}", headers=headers, timeout=60, **sent
    )
    assert answer.ok, answer.text
    return answer


def upload_source(box: Sandbox, name: str, **more: str) -> str:
    files = {"file": (f"{name}.txt", f"{name}: arabinose induces pBAD.".encode())}
    return str(nb(box, "POST", "sources", data={"type": "upload"} | more, files=files).json()["id"])


@contextlib.contextmanager
def working(box: Sandbox, folder: Path) -> Iterator[Callable[[], None]]:
    """Create and delete files, jobs and sources during the block; call it to wait for a few of
    them.
    """
    over = threading.Event()
    rounds: dict[Callable[[int], None], int] = {}

    def again(act: Callable[[int], None]) -> None:
        while not over.is_set():
            act(rounds[act] + 1)
            rounds[act] += 1

    def wait() -> None:
        before = dict(rounds)
        while any(rounds[act] < before[act] + 3 for act in rounds):
            assert all(thread.is_alive() for thread in threads)
            time.sleep(0.01)

    with JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:

        def files(number: int) -> None:
            file = folder / f"same{number % 3}.txt"
            file.write_text(str(number))
            jobs.upload(file)

        def results(number: int) -> None:
            jobs.submit(f"job{number}", "digest", CUT)
            if number > 4:
                jobs.delete(f"job{number - 4}")

        def sources(number: int) -> None:
            source = upload_source(box, f"paper{number}")
            if number % 2:
                nb(box, "DELETE", f"sources/{source}")

        rounds |= dict.fromkeys((files, results, sources), 0)
        threads = [threading.Thread(target=again, args=(act,)) for act in rounds]
        for thread in threads:
            thread.start()
        try:
            yield wait
        finally:
            over.set()
            for thread in threads:
                thread.join()


def missing(data_dir: Path) -> tuple[int, list[str]]:
    """Return the number of rows with files, and the rows whose file is missing or incomplete."""
    database = open_database(data_dir)
    with database.read() as session:
        sizes = {
            f"jobs/files/{file.id}": file.bytes for file in session.scalars(select(UploadedFile))
        }
        uploads = session.scalars(select(Source).where(Source.kind == "upload"))
        sizes |= {
            f"nb/originals/{source.id.partition(':')[2]}": source.size or 0 for source in uploads
        }
        done = session.scalars(select(Job).where(Job.status == COMPLETE)).all()
    database.close()
    lost = [
        name
        for name, size in sizes.items()
        if not (data_dir / name).is_file() or (data_dir / name).stat().st_size != size
    ]
    results = {f"jobs/jobs/{job.id}/work/archive.zip" for job in done}
    lost += [name for name in results if not (data_dir / name).is_file()]
    return len(sizes) + len(results), lost


@pytest.mark.sqlite
@pytest.mark.data_folder
def test_backup_during_activity_is_consistent(new_box, run, tmp_path):
    box: Sandbox = new_box(workers=2, services=JOBS_AND_NB)
    (tmp_path / "sent").mkdir()
    with working(box, tmp_path / "sent") as wait:
        for number in range(3):
            wait()
            code, _, err = run("backup", tmp_path / f"{number}.zip", "--data-dir", box.data_dir)
            assert (code, err) == (0, "")
    box.stop()
    rows = 0
    for number in range(3):
        target = tmp_path / f"restored{number}"
        assert run("restore", tmp_path / f"{number}.zip", "--data-dir", target)[0] == 0
        count, lost = missing(target)
        assert lost == []
        rows += count
    assert rows > 12, "data existed that could be lost"
    restored = new_box(data_dir=target, services=JOBS_AND_NB)
    with JobsClient(restored.jobs.base_url, restored.jobs.api_key) as jobs:
        for row in list(jobs.iter_jobs()):
            assert jobs.wait(row["JobName"], timeout=60)["JobStatus"] == "Complete"
            jobs.download(row["JobName"], tmp_path / f"{row['JobName']}.zip")


@pytest.mark.sqlite
@pytest.mark.data_folder
def test_restored_sandbox_equals_the_original(new_box, run, tmp_path):
    box: Sandbox = new_box()
    with JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:
        jobs.submit("cut", "digest", CUT)
        jobs.wait("cut", timeout=60)
    source = upload_source(box, "paper", process_async="false")
    with LabClient(box.lab.base_url, ApiKey(box.lab.api_key), verify=box.lab.ca_bundle) as lab:
        names = lab.names()
    file = tmp_path / "box.zip"
    code, out, _ = run("backup", file, "--data-dir", box.data_dir, "--json")
    assert (code, json.loads(out)["file"]) == (0, str(file))
    before = box.connection()
    assert json.loads(out)["files"] > 10

    # Changes after the backup are undone by the restore, and kept in the quarantine.
    nb(box, "DELETE", f"sources/{source}")
    with JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:
        jobs.delete("cut")
        jobs.submit("later", "digest", CUT)
    code, _, err = run("restore", file, "--data-dir", box.data_dir)
    assert code == 1
    assert "is running" in err
    assert "Add `--yes` to stop it" in err
    assert box.status().running
    code, out, err = run("restore", file, "--data-dir", box.data_dir, "--yes")
    assert (code, err) == (0, "")
    assert "quarantine" in out
    assert box.status().state == "stopped"
    _, _, line = out.partition("Start the sandbox with `")
    assert run(*shlex.split(line.partition("`")[0])[2:])[0] == 0
    after = box.connection()
    assert {**after, "pid": 0} == {**before, "pid": 0}, "the same addresses and keys"
    with JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:
        assert [row["JobName"] for row in jobs.iter_jobs()] == ["cut"]
        jobs.download("cut", tmp_path / "cut.zip")
    assert nb(box, "GET", f"sources/{source}/download").content.startswith(b"paper: arabinose")
    with LabClient(box.lab.base_url, ApiKey(box.lab.api_key), verify=box.lab.ca_bundle) as lab:
        assert lab.names() == names
    quarantine = next((box.data_dir / "quarantine").iterdir())
    assert (quarantine / "sandbox.sqlite").is_file()


def test_backup_without_a_sandbox_is_refused(run, tmp_path):
    code, out, err = run("backup", tmp_path / "b.zip", "--data-dir", tmp_path / "none")
    assert (code, out) == (1, "")
    assert "no sandbox" in err
    assert not (tmp_path / "none").exists()
    with pytest.raises(LabextError):
        Sandbox(tmp_path / "none").restore(tmp_path / "b.zip")
    assert not (tmp_path / "none").exists()
