"""Servers and sandboxes whose files are in S3, with a real S3 server on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from cluster import Cluster
from databases import open_database
from s3_server import KEY, SECRET
from sqlalchemy import select
from stored_jobs import CUT, JOBS, Jobs
from supervision import kill_host
from waiting import wait_until

from labext.errors import InputError, SetupError
from labext.sandbox import Sandbox
from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.file_storage.setup import stored_settings
from labext.sandbox.core.file_storage.tables import StoredFile
from labext.sandbox.jobs.tables import Job
from labext.sandbox.server import Server

pytestmark = pytest.mark.faults

PDB = Path(__file__).parents[4] / "example_notebooks" / "data" / "1A8O.pdb"


def objects(server, box) -> list[str]:
    settings = stored_settings(DataFolder(box.data_dir))
    return [key for key in server.keys(settings.url) if key.startswith("jobs/")]


def stored_paths(box) -> set[str]:
    with closing(open_database(box.data_dir)) as database, database.read() as session:
        return {*session.scalars(select(StoredFile.path))}


def forget_copies(box) -> None:
    """Remove the copies, as on a machine that has none."""
    for copy in (box.data_dir / "cache").glob("[!.]*/*/*"):
        copy.rename(box.data_dir / "cache" / ".partial" / copy.name)


def test_files_are_in_the_bucket_and_read_from_there(stored_box, s3_server):
    box, jobs = stored_box, Jobs(stored_box)
    keys, paths = {*objects(s3_server, box)}, stored_paths(box)
    content = os.urandom(100_000)
    assert jobs.upload("stored.bin", content).status_code == 200
    jobs.run("stored")
    archive = jobs.result("stored").content
    kinds = [key.split("/")[1] for key in {*objects(s3_server, box)} - keys]
    assert sorted(kinds) == ["files", "jobs"]
    names = sorted(re.sub("[0-9]+", "N", path) for path in stored_paths(box) - paths)
    assert names == ["jobs/files/N", "jobs/jobs/N/work"]
    assert not [path for path in (box.data_dir / "jobs" / "jobs").rglob("*") if path.is_file()]
    assert not [*(box.data_dir / "jobs" / "files").iterdir()]
    forget_copies(box)
    assert jobs.result("stored").content == archive
    url = jobs.session.post(f"{jobs.base}result", json={"jobName": "stored"}, timeout=60).text
    partial = requests.get(url, headers={"Range": "bytes=10-19"}, timeout=60)
    assert (partial.status_code, partial.content) == (206, archive[10:20])


def test_objects_are_deleted_with_their_jobs_and_files(stored_box, s3_server):
    jobs = Jobs(stored_box)
    before = objects(s3_server, stored_box)
    jobs.upload("a.txt", b"one")
    jobs.upload("a.txt", b"two")
    jobs.run("first")
    query = {"filePath": "a.txt"}
    assert jobs.session.delete(f"{jobs.base}delete-file", params=query, timeout=60).ok
    assert len(objects(s3_server, stored_box)) > len(before)
    jobs.delete("first")
    wait_until(lambda: objects(s3_server, stored_box) == before)


def test_upload_whose_storage_is_lost_in_the_middle_is_not_acknowledged(
    stored_box, storage_line, s3_server
):
    box, line, jobs = stored_box, storage_line, Jobs(stored_box)
    before = len(objects(s3_server, box))
    line.cut_after(500_000)
    answer = jobs.upload("a.bin", bytes(2_000_000))
    assert answer.status_code == 503
    assert "file storage does not respond" in answer.json()["error"]
    assert answer.headers["Retry-After"]
    assert "a.bin" not in jobs.files()
    line.restore()
    assert jobs.upload("a.bin", bytes(2_000_000)).status_code == 200
    assert len(objects(s3_server, box)) == before + 1


def test_job_that_ends_while_the_storage_is_away_completes_when_it_returns(
    stored_box, storage_line, s3_server
):
    box, line, jobs = stored_box, storage_line, Jobs(stored_box)
    before = len(objects(s3_server, box))
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
    assert len(objects(s3_server, box)) == before + 2


@pytest.mark.usefixtures("credentials")
def test_job_that_waits_for_the_storage_is_stopped_or_runs_again_after_a_kill(
    stored_box, storage_line, s3_server
):
    box, line, jobs = stored_box, storage_line, Jobs(stored_box)
    log = box.data_dir / "host.log"
    before, waits = len(objects(s3_server, box)), log.read_text().count("results of jobs.run")
    line.cut()
    for name in ("stopped", "killed"):
        jobs.submit(name)
    wait_until(lambda: log.read_text().count("results of jobs.run") >= waits + 2)
    stopped = jobs.session.post(f"{jobs.base}stop-job", json={"jobName": "stopped"}, timeout=60)
    assert stopped.status_code == 200
    assert jobs.row("stopped")["JobStatus"] == "Stopped"
    wait_until(lambda: len([*box.data_dir.glob("tasks/[0-9]*")]) == 1)
    kill_host(box)
    line.restore()
    box.start()
    jobs = Jobs(box)
    jobs.completed("killed")
    assert jobs.result("killed").status_code == 200
    assert len(objects(s3_server, box)) == before + 1


def test_batch_is_archived_from_outputs_that_other_machines_have_stored(stored_box):
    box, jobs = stored_box, Jobs(stored_box)
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


@pytest.mark.usefixtures("cold", "credentials")
def test_job_processes_and_logs_have_no_credentials(new_box, s3_server):
    box = new_box(services=JOBS, storage=s3_server.new_url(), storage_endpoint=s3_server.endpoint)
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
    with pytest.raises(InputError, match=message) as refused:
        Sandbox(tmp_path / "data", **options).start()
    assert refused.value.next_step
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)
    assert not (tmp_path / "data").exists()


def test_missing_package_is_named(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "s3fs" else find(name, *a)
    )
    with pytest.raises(SetupError, match="s3fs") as refused:
        Sandbox(tmp_path, storage="s3://bucket/a").start()
    assert "[s3]" in refused.value.next_step


def test_object_storage_packages_are_not_imported_without_such_storage():
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
    server = new_server(
        postgresql_server.new_database(),
        processes=2,
        executor="dask",
        services=JOBS,
        storage=s3_server.new_url(),
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
    assert len(objects(s3_server, server)) == 1 + 2
    forget_copies(server)
    for number in range(2):
        results = {
            ask("GET", ask("POST", "result", json={"jobName": f"j{number}"}).text).content
            for _ in range(4)
        }
        assert len(results) == 1
    assert server.health()["jobs"] == ""
