"""Archives of parents are rebuilt without deleted jobs (JOBS-110 to JOBS-113)."""

from __future__ import annotations

import csv
import io
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from databases import open_database

pytestmark = pytest.mark.contract

PEPTIDES = [{"sequence": name} for name in ("ACDEFGHIK", "MKTAYIAKQR", "GIGKFLHSAK")]


def jobs_in(archive):
    """Return the folders of an archive and the jobs in its metrics."""
    table = csv.DictReader(io.StringIO(archive.read("metrics.csv").decode()))
    folders = {name.partition("/")[0] for name in archive.namelist() if "/" in name}
    return folders, [line["job"] for line in table]


def delete(api, name):
    answer = api.delete("delete-job", {"jobName": name})
    assert answer.status_code == 200, answer.text
    return answer.json()["message"]


def used(box):
    """Return the counted and the actual bytes of the parents' archives."""
    from sqlalchemy import select

    from labext.sandbox.jobs.tables import Job

    database = open_database(box.data_dir)
    try:
        with database.read() as session:
            rows = session.execute(select(Job.id, Job.bytes).where(Job.parent_id.is_(None))).all()
    finally:
        database.close()
    archives = {
        job.id: box.data_dir / "jobs" / "jobs" / str(job.id) / "work" / "archive.zip"
        for job in rows
    }
    sizes = {n: file.stat().st_size for n, file in archives.items() if file.is_file()}
    return {job.id: job.bytes for job in rows if job.bytes}, sizes


def test_archive_is_rebuilt_without_a_deleted_job(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = api.batch(PEPTIDES, "peptide_build")
    before = api.ended(name)
    assert jobs_in(api.archive(name)) == ({"j0", "j1", "j2"}, ["j0", "j1", "j2"])
    given_out = [
        api.address(name, **more)
        for more in (
            {},
            {"pdbsOnly": True},
            {"fileName": "metrics.csv"},
            {"fileName": "j1/peptide.pdb"},
        )
    ]
    assert all(requests.get(url, timeout=60).status_code == 200 for url in given_out)

    assert name in delete(api, f"{name}-j1")
    after = api.ended(name)
    assert after["batchStatus"] == after["JobStatus"] == "Complete"
    assert after["statuses"] == {"Complete": 2, "Running": 0, "In Queue": 0, "Stopped": 0}
    assert after["Completed"] > before["Completed"]
    assert {key: after[key] for key in ("Created", "Started", "WeightedHours")} == {
        key: before[key] for key in ("Created", "Started", "WeightedHours")
    }
    assert jobs_in(api.archive(name)) == ({"j0", "j2"}, ["j0", "j2"])
    structures = api.archive(name, pdbsOnly=True).namelist()
    assert structures == ["j0/peptide.pdb", "j2/peptide.pdb"]
    metrics = requests.get(api.address(name, fileName="metrics.csv"), timeout=60).text
    assert "j1" not in metrics
    kit.error_message(api.post("result", {"jobName": name, "fileName": "j1/peptide.pdb"}), 404)
    for address in given_out:
        response = requests.get(address, timeout=60)
        assert response.status_code == 404 or b"j1" not in response.content
    assert requests.get(given_out[-1], timeout=60).status_code == 404
    counted, on_disk = used(box)
    assert counted == on_disk


def test_batch_whose_jobs_were_all_deleted_is_stopped(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = api.batch([kit.cut(), {"sequence": "ACGT" * 30, "enzymes": ["EcoRI"]}])
    api.ended(name)
    address = api.address(name)
    for job in ("j0", "j1"):
        delete(api, f"{name}-{job}")
    row = api.ended(name)
    assert row["batchStatus"] == row["JobStatus"] == "Stopped"
    assert row["Reason"] == "All its jobs were deleted."
    kit.error_message(api.post("result", {"jobName": name}))
    assert requests.get(address, timeout=60).status_code == 404
    assert used(box) == ({}, {})
    assert not [*(box.data_dir / "jobs" / "jobs").rglob("*.*")]


@pytest.fixture
def busy(new_box, kit):
    """A service with a complete batch and a single worker, which runs a slow job."""
    box = new_box(workers=1)
    api = kit.Api(box)
    name = api.batch([kit.cut()] * 4)
    api.ended(name)
    slow = api.submit("rna_fold", kit.SLOW)
    api.until(slow, lambda row: row["JobStatus"] == "Running")
    return api, name, slow


def test_earlier_archive_is_unavailable_during_the_rebuild(busy, kit):
    api, name, slow = busy
    address = api.address(name)
    delete(api, f"{name}-j2")
    row = api.row(name)
    assert (row["batchStatus"], row["JobStatus"]) == ("Aggregating", "Running")
    assert "resultUrl" not in row
    assert "Completed" not in row
    for more in ({}, {"pdbsOnly": True}, {"fileName": "metrics.csv"}):
        assert "Aggregating" in kit.error_message(api.post("result", {"jobName": name} | more))
    assert requests.get(address, timeout=60).status_code == 404
    api.post("stop-job", {"jobName": slow})
    assert api.ended(name)["batchStatus"] == "Complete"
    assert jobs_in(api.archive(name))[1] == ["j0", "j1", "j3"]
    assert requests.get(address, timeout=60).status_code == 200


def test_rebuilt_archive_has_none_of_many_deleted_jobs(new_box, kit):
    box = new_box(workers=2)
    name = kit.Api(box).batch(PEPTIDES * 8, "peptide_build")
    kit.Api(box).ended(name)
    ready = threading.Barrier(4)

    def worker(first):
        api = kit.Api(box)
        ready.wait()
        for n in range(first, 20, 4):
            delete(api, f"{name}-j{n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(worker, range(4)))
    api = kit.Api(box)
    assert api.ended(name)["batchStatus"] == "Complete"
    left = [f"j{n}" for n in range(20, 24)]
    assert jobs_in(api.archive(name)) == (set(left), left)
    counted, on_disk = used(box)
    assert counted == on_disk


def test_job_deleted_during_first_aggregation_is_left_out(new_box, kit):
    api = kit.Api(new_box(workers=1))
    name = api.batch([kit.cut()] * 3)
    slow = api.submit("rna_fold", kit.SLOW)
    api.until(name, lambda row: row["batchStatus"] == "Aggregating")
    delete(api, f"{name}-j1")
    api.post("stop-job", {"jobName": slow})
    row = api.ended(name)
    assert (row["batchStatus"], row.get("AggregationError")) == ("Complete", None)
    assert jobs_in(api.archive(name)) == ({"j0", "j2"}, ["j0", "j2"])


def test_kill_during_a_rebuild_brings_no_deleted_job_back(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = api.batch(PEPTIDES * 4, "peptide_build")
    api.ended(name)
    for n in range(4):
        delete(api, f"{name}-j{n}")
        time.sleep(0.02 * n)  # the archive is queued, being built, or complete
        api = kit.kill_and_restart(box)
        assert api.ended(name)["batchStatus"] == "Complete"
        left = [f"j{number}" for number in range(n + 1, 12)]
        assert jobs_in(api.archive(name)) == (set(left), left)
        counted, on_disk = used(box)
        assert counted == on_disk


def test_archive_is_rebuilt_with_full_storage(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = api.batch(PEPTIDES, "peptide_build")
    api.ended(name)
    (size,) = used(box)[0].values()
    with kit.DatabaseAccess(box).quota("student@sandbox.local", size):
        delete(api, f"{name}-j0")
        assert api.ended(name)["batchStatus"] == "Complete"
        (smaller,) = used(box)[0].values()
        assert smaller < size
