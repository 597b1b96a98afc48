"""Servers and sandboxes whose files are in S3, with a real S3 server on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from cluster import Cluster
from databases import open_database
from s3_server import CREDENTIALS, KEY, READER_CREDENTIALS, SECRET, Line
from sqlalchemy import select
from stored_jobs import CUT, JOBS, Jobs
from supervision import kill_host
from tls_server import free_ports, issue
from waiting import wait_until

from labext.errors import InputError, LabextError, ServiceError, SetupError
from labext.sandbox import Sandbox
from labext.sandbox.core.file_storage.tables import StoredFile
from labext.sandbox.jobs.tables import Job
from labext.sandbox.server import Server

pytestmark = pytest.mark.faults

PDB = Path(__file__).parents[4] / "example_notebooks" / "data" / "1A8O.pdb"


def objects(server, url: str) -> list[str]:
    return [key for key in server.keys(url) if key.startswith("jobs/")]


def forget_copies(box) -> None:
    """Remove the copies, as on a machine that has none."""
    for copy in (box.data_dir / "cache").glob("[!.]*/*/*"):
        copy.rename(box.data_dir / "cache" / ".partial" / copy.name)


@pytest.fixture(scope="module")
def storage_line(s3_server):
    """The connection of the shared sandbox to the storage."""
    line = Line(s3_server.port)
    yield line
    line.close()


@pytest.fixture(scope="module")
def shared_box(s3_server, storage_line, tmp_path_factory):
    """A running sandbox: use unique names."""
    url = s3_server.new_url()
    box: Any = Sandbox(
        tmp_path_factory.mktemp("stored") / "data",
        rate="off",
        services=JOBS,
        workers=2,
        storage=url,
        storage_endpoint=storage_line.endpoint,
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        box.start()
    box.url = url
    yield box
    box.stop()


@pytest.fixture
def box(new_box, s3_server, line, credentials):
    url = s3_server.new_url()
    box = new_box(services=JOBS, storage=url, storage_endpoint=line.endpoint, workers=2)
    box.url = url
    return box


def test_files_are_in_the_bucket_and_read_from_there(box, s3_server):
    jobs = Jobs(box)
    content = os.urandom(100_000)
    assert jobs.upload("a.bin", content).status_code == 200
    jobs.run("first")
    archive = jobs.result("first").content
    kinds = [key.split("/")[1] for key in objects(s3_server, box.url)]
    assert sorted(kinds) == ["files", "jobs"]
    database = open_database(box.data_dir)
    with database.read() as session:
        paths = sorted(session.scalars(select(StoredFile.path)))
    database.close()
    assert paths == ["jobs/files/1", "jobs/jobs/1/work"]
    assert not [path for path in (box.data_dir / "jobs" / "jobs").rglob("*") if path.is_file()]
    assert not [*(box.data_dir / "jobs" / "files").iterdir()]
    forget_copies(box)
    assert jobs.result("first").content == archive
    partial = requests.get(
        jobs.session.post(f"{jobs.base}result", json={"jobName": "first"}, timeout=60).text,
        headers={"Range": "bytes=10-19"},
        timeout=60,
    )
    assert (partial.status_code, partial.content) == (206, archive[10:20])


def test_objects_are_deleted_with_their_jobs_and_files(shared_box, s3_server):
    jobs = Jobs(shared_box)
    before = objects(s3_server, shared_box.url)
    jobs.upload("a.txt", b"one")
    jobs.upload("a.txt", b"two")
    jobs.run("first")
    query = {"filePath": "a.txt"}
    assert jobs.session.delete(f"{jobs.base}delete-file", params=query, timeout=60).ok
    assert len(objects(s3_server, shared_box.url)) > len(before)
    jobs.delete("first")
    wait_until(lambda: objects(s3_server, shared_box.url) == before)


def test_upload_whose_storage_is_lost_in_the_middle_is_not_acknowledged(
    shared_box, storage_line, s3_server
):
    box, line, jobs = shared_box, storage_line, Jobs(shared_box)
    before = len(objects(s3_server, box.url))
    line.cut_after(500_000)
    answer = jobs.upload("a.bin", bytes(2_000_000))
    assert answer.status_code == 503
    assert "file storage does not respond" in answer.json()["error"]
    assert answer.headers["Retry-After"]
    assert "a.bin" not in jobs.files()
    line.restore()
    assert jobs.upload("a.bin", bytes(2_000_000)).status_code == 200
    assert len(objects(s3_server, box.url)) == before + 1


def test_job_that_ends_while_the_storage_is_away_completes_when_it_returns(
    shared_box, storage_line, s3_server
):
    box, line, jobs = shared_box, storage_line, Jobs(shared_box)
    before = len(objects(s3_server, box.url))
    jobs.run("before")
    line.cut()
    jobs.submit("during")
    wait_until(lambda: "results of jobs.run" in (box.data_dir / "host.log").read_text())
    assert jobs.row("during")["JobStatus"] == "Running"
    answer = jobs.health()
    assert answer.status_code == 503
    assert re.fullmatch(
        r"The storage s3://\S+ does not respond at \S+ \(\w+\)\.", answer.json()["reason"]
    )
    line.restore()
    jobs.completed("during")
    assert jobs.result("during").status_code == 200
    wait_until(lambda: jobs.health().status_code == 200)
    assert len(objects(s3_server, box.url)) == before + 2


def test_job_that_waits_for_the_storage_is_stopped_or_runs_again_after_a_kill(box, line, s3_server):
    jobs = Jobs(box)
    line.cut()
    for name in ("stopped", "killed"):
        jobs.submit(name)
    log = box.data_dir / "host.log"
    wait_until(lambda: log.read_text().count("results of jobs.run") >= 2)
    stopped = jobs.session.post(f"{jobs.base}stop-job", json={"jobName": "stopped"}, timeout=60)
    assert stopped.status_code == 200
    assert jobs.row("stopped")["JobStatus"] == "Stopped"
    wait_until(lambda: not box.data_dir.joinpath("tasks", "1").exists())
    kill_host(box)
    line.restore()
    box.start()
    jobs = Jobs(box)
    jobs.completed("killed")
    assert jobs.result("killed").status_code == 200
    assert len(objects(s3_server, box.url)) == 1


def test_object_of_an_interrupted_commit_is_moved_to_quarantine(box, s3_server):
    jobs = Jobs(box)
    jobs.run("first")
    box.stop()
    files = s3_server.files()
    files.pipe(f"{box.url.removeprefix('s3://')}/jobs/files/unknown", b"content")
    status = box.start()
    assert any("without a database record" in notice for notice in status.notices)
    keys = s3_server.keys(box.url)
    assert [key for key in keys if re.fullmatch(r"quarantine/[^/]+/jobs/files/unknown", key)]
    assert len(objects(s3_server, box.url)) == 1
    assert Jobs(box).result("first").status_code == 200


def test_batch_is_archived_from_outputs_that_other_machines_have_stored(shared_box):
    box, jobs = shared_box, Jobs(shared_box)
    body = {
        "batchName": "batch",
        "type": "digest",
        "jobNames": ["j0", "j1", "j2"],
        "settings": [CUT] * 3,
    }
    assert jobs.session.post(f"{jobs.base}submit-batch", json=body, timeout=60).status_code == 200
    wait_until(lambda: jobs.row("batch").get("batchStatus") == "Complete")
    before = jobs.result("batch").content
    forget_copies(box)
    jobs.delete("batch-j1")
    wait_until(lambda: jobs.row("batch").get("batchStatus") == "Complete")
    assert jobs.result("batch").status_code == 200
    assert jobs.result("batch").content != before


@pytest.mark.usefixtures("cold")
def test_job_processes_and_logs_have_no_credentials(box):
    jobs = Jobs(box)
    sequence = "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23
    jobs.submit("slow", "rna_fold", {"sequence": sequence})
    host = psutil.Process(box.status().pid)
    arguments = " ".join(host.cmdline())
    assert SECRET not in arguments
    assert KEY not in arguments

    def environments() -> list[str]:
        found = []
        for child in host.children(recursive=True):
            with suppress(psutil.Error, OSError):
                found.append(Path(f"/proc/{child.pid}/environ").read_text())
        return found

    wait_until(lambda: jobs.row("slow")["JobStatus"] == "Running")
    found = environments()
    assert found
    assert not [text for text in found if SECRET in text or "AWS_" in text]
    jobs.session.post(f"{jobs.base}stop-job", json={"jobName": "slow"}, timeout=60)
    wait_until(lambda: not (box.data_dir / "tasks" / "1").exists())
    for path in box.data_dir.rglob("*"):
        if path.is_file() and path.suffix in (".log", ".json", ""):
            assert SECRET.encode() not in path.read_bytes(), path


def refusal(tmp_path: Path, kind: type[LabextError] = ServiceError, **options: Any) -> Any:
    """Return the error of a server that does not start; both of its sentences are one line."""
    tmp_path.mkdir(exist_ok=True)
    server = Server(tmp_path / "data", workers=1, services=JOBS, **options)
    server.configure(
        host="localhost",
        listen="127.0.0.1",
        port=free_ports(),
        **issue(tmp_path / "tls", "localhost").options(),
    )
    began = time.monotonic()
    with pytest.raises(kind) as refused:
        server.start()
    assert time.monotonic() - began < 45
    assert "\n" not in str(refused.value)
    assert refused.value.next_step
    return refused.value


def test_unusable_storage_is_refused_at_the_start(tmp_path, s3_server, credentials, monkeypatch):
    url, endpoint = s3_server.new_url(), s3_server.endpoint
    error = refusal(tmp_path / "a", storage=url, storage_endpoint="http://127.0.0.1:9")
    assert "does not respond at http://127.0.0.1:9" in error.message
    assert "can be reached" in error.next_step
    error = refusal(tmp_path / "b", storage="s3://no-such-bucket/a", storage_endpoint=endpoint)
    assert "there is no such bucket" in error.message
    assert "Create the bucket" in error.next_step
    for name, value in READER_CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    error = refusal(tmp_path / "c", storage=url, storage_endpoint=endpoint)
    assert "denies access" in error.message
    assert "write" in error.next_step
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    error = refusal(tmp_path / "d", storage=url, storage_endpoint=endpoint)
    assert "refuses the credentials (SignatureDoesNotMatch)" in error.message
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    error = refusal(tmp_path / "e", storage=url, storage_endpoint=endpoint)
    assert "no credentials" in error.message
    assert "AWS_ACCESS_KEY_ID" in error.next_step
    error = refusal(tmp_path / "f", storage=f"file://{tmp_path}/missing")
    assert "No such file or directory" in error.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage": "gs://bucket/a"}, "not a supported storage"),
        ({"storage": "s3:///a"}, "names no bucket"),
        ({"storage": "file:///"}, "names no directory"),
        ({"storage": "s3://key:secret@bucket/a"}, "contains credentials"),
        ({"storage": "s3://bucket", "storage_endpoint": "bucket"}, "is not the address"),
        ({"storage_endpoint": "http://127.0.0.1:9"}, "address of the storage is missing"),
    ],
)
def test_invalid_address_is_refused_and_nothing_stored(tmp_path, options, message):
    error = refusal(tmp_path, InputError, **options)
    assert message in error.message
    assert "secret" not in str(error)
    assert not (tmp_path / "data").exists()


def test_missing_package_is_named(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "s3fs" else find(name, *a)
    )
    error = refusal(tmp_path, SetupError, storage="s3://bucket/a")
    assert "s3fs" in error.message
    assert "[s3]" in error.next_step


def test_store_serves_one_database_and_a_database_one_store(new_box, s3_server, credentials):
    url, endpoint = s3_server.new_url(), s3_server.endpoint
    box = new_box(services=JOBS, storage=url, storage_endpoint=endpoint)
    Jobs(box).upload("a.txt", b"content")
    with pytest.raises(ServiceError, match="has the files of another database"):
        new_box(services=JOBS, storage=url, storage_endpoint=endpoint)
    box.stop()
    again = {"services": JOBS, "data_dir": box.data_dir}
    with pytest.raises(ServiceError, match="is empty, but the files of this database are in") as no:
        new_box(**again, storage=s3_server.new_url(), storage_endpoint=endpoint)
    assert url in no.value.next_step
    assert new_box(**again).status().running  # as at the last start
    box.stop()
    (box.data_dir / "storage.json").unlink()
    with pytest.raises(ServiceError, match=f"are in {url}, not in the data folder"):
        new_box(**again)


def test_files_in_the_data_folder_and_other_objects_stay_there(new_box, s3_server, credentials):
    url = s3_server.new_url()
    s3_server.files().pipe(f"{url.removeprefix('s3://')}/other", b"content")
    with pytest.raises(ServiceError, match="is not empty"):
        new_box(services=JOBS, storage=url, storage_endpoint=s3_server.endpoint)
    assert s3_server.keys(url) == ["other"]
    box = new_box(services=JOBS)
    Jobs(box).upload("a.txt", b"content")
    box.stop()
    with pytest.raises(ServiceError, match="The files of this database are in") as refused:
        new_box(
            services=JOBS,
            data_dir=box.data_dir,
            storage=s3_server.new_url(),
            storage_endpoint=s3_server.endpoint,
        )
    assert "without" in refused.value.next_step
    assert new_box(services=JOBS, data_dir=box.data_dir).status().running


@pytest.mark.usefixtures("cold")
def test_object_storage_packages_are_not_imported_without_such_storage(small_box):
    box = small_box()
    maps = Path(f"/proc/{box.status().pid}/maps").read_text()
    assert "aiohttp" not in maps
    code = "import importlib, json, sys\nfrom labext.sandbox import host\n"
    code += "for name in host.SERVICES: importlib.import_module(name.partition(':')[0])\n"
    code += "print(json.dumps([*sys.modules]))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert not {"fsspec", "s3fs", "botocore", "aiohttp"} & set(json.loads(output))


def statuses(server: Server) -> list[str]:
    with closing(open_database(server.data_dir)) as database, database.read() as session:
        return list(session.scalars(select(Job.status)))


def test_service_processes_and_workers_on_other_machines_share_the_storage(
    new_server, new_key, tmp_path, postgresql_server, s3_server, credentials
):
    url = s3_server.new_url()
    server = new_server(
        postgresql_server.new_database(),
        processes=2,
        executor="dask",
        services=JOBS,
        storage=url,
        storage_endpoint=s3_server.endpoint,
    )
    key = new_key(server, "eve@example.org")
    base = f"{server.settings.origin('jobs')}/api/"

    def ask(method: str, path: str, **more: Any) -> requests.Response:
        """Send a request on a new connection, which either process may accept."""
        answer = requests.request(
            method,
            path if path.startswith("https:") else base + path,
            headers={"x-api-key": key, "Connection": "close"},
            verify=str(server.settings.ca_bundle),
            timeout=60,
            **more,
        )
        assert answer.status_code == 200, answer.text
        return answer

    workers = Cluster(tmp_path / "cluster", beside=server.status().worker_command.split()[3])
    try:
        workers.start_worker(capabilities=["normal_modes"], memory=8 << 30)
        ask("PUT", "upload/1A8O.pdb", data=PDB.read_bytes())
        for number in range(2):
            settings = {"pdbFile": "1A8O.pdb"}
            body = {"jobName": f"j{number}", "type": "normal_modes", "settings": settings}
            ask("POST", "submit-job", json=body)
        wait_until(lambda: statuses(server) == ["Complete", "Complete"])
    finally:
        workers.close()
    assert len(objects(s3_server, url)) == 1 + 2
    forget_copies(server)
    for number in range(2):
        results = {
            ask("GET", ask("POST", "result", json={"jobName": f"j{number}"}).text).content
            for _ in range(4)
        }
        assert len(results) == 1
    assert server.health()["jobs"] == ""
