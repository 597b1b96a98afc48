"""`POST /result`, its presigned addresses, and archives rebuilt without deleted jobs."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import unquote, urlsplit

import pytest
import requests
from databases import open_database
from sqlalchemy import select
from waiting import wait_until

from labext.sandbox.jobs.tables import Job

pytestmark = pytest.mark.contract


def fetch(address, **headers):
    return requests.get(address, headers=headers, timeout=60)


def test_result_url_needs_no_key(api, helix):
    response = api.post("result", {"jobName": helix})
    assert response.headers["content-type"].startswith("text/plain")
    address = response.text
    assert urlsplit(address).path.endswith(f"/{helix}.zip")
    assert api.session.headers["x-api-key"] not in address
    answer = fetch(address)
    assert answer.status_code == 200
    assert f'filename="{helix}.zip"' in answer.headers["content-disposition"]
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_archive_has_outputs_settings_and_score(api, kit, helix):
    archive = api.archive(helix)
    names = archive.namelist()
    assert archive.testzip() is None
    assert {"log.txt", "settings.json", "score.json"} < set(names)
    assert any(name.endswith(".pdb") for name in names)
    row = api.row(helix)
    assert json.loads(archive.read("settings.json")) == kit.json(row["Settings"])
    assert json.loads(archive.read("score.json")) == kit.json(row["Score"])


def test_result_of_an_incomplete_job_is_refused_with_its_status(own_box, kit):
    api = kit.Api(own_box)
    running = api.submit("rna_fold", kit.SLOW)
    waiting = api.submit("digest", kit.cut())
    message = kit.error_message(api.post("result", {"jobName": waiting}))
    assert message == f"Job {waiting} is not complete. Status: In Queue"
    api.until(running, lambda row: row["JobStatus"] == "Running")
    message = kit.error_message(api.post("result", {"jobName": running}))
    assert message == f"Job {running} is not complete. Status: Running"
    api.post("stop-job", {"jobName": running})
    message = kit.error_message(api.post("result", {"jobName": running}))
    assert message == f"Job {running} is not complete. Status: Stopped"


BODIES = [
    ({}, 400, "jobName"),
    ({"jobName": 7}, 400, "jobName"),
    ({"jobName": "nope"}, 404, "nope"),
    ({"jobName": "a\0b"}, 404, "job"),
    ({"jobName": "x", "pdbsOnly": "yes"}, 400, "pdbsOnly"),
    ({"jobName": "x", "pdbsOnly": 1}, 400, "pdbsOnly"),
    ({"jobName": "x", "fileName": 7}, 400, "fileName"),
    ({"jobName": "x", "jobEmail": 7}, 400, "jobEmail"),
]


@pytest.mark.parametrize(("body", "status", "field"), BODIES)
def test_invalid_result_request_names_the_field(api, kit, body, status, field):
    assert field in kit.error_message(api.post("result", body), status)


def test_single_file_of_a_job_or_batch(api, helix, helices):
    for job in (helix, helices):
        archive = api.archive(job)
        for name in archive.namelist():
            assert fetch(api.address(job, fileName=name)).content == archive.read(name)


HOSTILE = [
    *("nope", "", ".", "..", "/", "../log.txt", "../archive.zip", "out/../../archive.zip"),
    *("/etc/passwd", "a\0b", "..\\log.txt", "x" * 5000, "%2e%2e/log.txt"),
]


@pytest.mark.parametrize("file", HOSTILE)
def test_file_that_is_not_an_output_is_404(api, kit, helix, helices, file):
    for job in (helix, helices):
        kit.error_message(api.post("result", {"jobName": job, "fileName": file}), 404)


def test_archive_of_structures_only(api, helix, helices):
    alone = api.archive(helix, pdbsOnly=True)
    assert alone.namelist()
    assert all(name.endswith(".pdb") for name in alone.namelist())
    whole = api.archive(helices)
    pdbs = {name for name in whole.namelist() if name.endswith(".pdb")}
    assert set(api.archive(helices, pdbsOnly=True).namelist()) == pdbs
    assert {name.split("/")[0] for name in pdbs} == {"j0", "j1"}


def test_job_without_structures_is_404(api, kit):
    name = api.submit("digest", kit.cut())
    api.ended(name)
    assert "PDB" in kit.error_message(api.post("result", {"jobName": name, "pdbsOnly": True}), 404)


def test_single_file_and_structures_only_exclude_each_other(api, kit, helix):
    body = {"jobName": helix, "fileName": "log.txt", "pdbsOnly": True}
    kit.error_message(api.post("result", body))


def test_result_url_expires(api, db, kit, helix):
    with db.limit("url_seconds", 0):
        address = api.address(helix)
    assert "expired" in kit.error_message(fetch(address), 403)


def test_result_url_is_valid_for_15_minutes(api, helix):
    query = dict(part.split("=") for part in urlsplit(api.address(helix)).query.split("&"))
    assert 14 * 60 < int(query["expires"]) - time.time() <= 15 * 60


def test_modified_result_url_is_refused(api, kit, helix, helices):
    address = api.address(helix, fileName="log.txt")
    expires = urlsplit(address).query.split("&")[0].split("=")[1]
    other = urlsplit(api.address(helices))
    for forged in (
        address.replace("log.txt", "settings.json"),
        address.replace("/file/", "/archive/"),
        address.replace(expires, str(int(expires) + 60)),
        address.replace(expires, "9" * 400),
        address.replace("signature=", "signature=A"),
        address.split("&")[0],
        address.split("?")[0],
        f"{address.split('?')[0]}?{other.query}",
    ):
        kit.error_message(fetch(forged), 403)


def test_result_url_of_a_deleted_job_is_404(api, kit):
    name = api.submit("digest", kit.cut())
    api.ended(name)
    address = api.address(name)
    api.delete("delete-job", {"jobName": name})
    kit.error_message(fetch(address), 404)
    api.submit("digest", kit.cut(), name)
    api.ended(name)
    kit.error_message(fetch(address), 404)  # not valid for a new job with this name


def test_range_resumes_unless_the_file_changed(api, helix):
    address = api.address(helix)
    whole = fetch(address)
    assert whole.headers["accept-ranges"] == "bytes"
    rest = fetch(api.address(helix), Range="bytes=100-", **{"If-Range": whole.headers["etag"]})
    assert rest.status_code == 206
    size = len(whole.content)
    assert rest.headers["content-range"] == f"bytes 100-{size - 1}/{size}"
    assert whole.content[:100] + rest.content == whole.content
    changed = fetch(address, Range="bytes=100-", **{"If-Range": '"another"'})
    assert changed.status_code == 200
    assert changed.content == whole.content
    assert fetch(address, Range=f"bytes={size}-").status_code == 416
    assert requests.head(address, timeout=30).headers["content-length"] == str(size)


def test_owner_can_fetch_results_of_another_account(api, teacher, kit, helix):
    response = teacher.post("result", {"jobName": helix, "jobEmail": "student@sandbox.local"})
    archive = zipfile.ZipFile(io.BytesIO(fetch(response.text).content))
    assert archive.namelist() == api.archive(helix).namelist()
    assert teacher.post("result", {"jobName": helix}).status_code == 404
    refused = api.post("result", {"jobName": helix, "jobEmail": "teacher@sandbox.local"})
    assert "jobEmail" in kit.error_message(refused, 403)


def test_result_url_of_a_batch_is_its_archive(api, helices):
    address = api.row(helices)["resultUrl"]
    assert unquote(urlsplit(address).path).endswith(f"/{helices}.zip")
    assert fetch(address).content == fetch(api.address(helices)).content


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
    parents = select(Job.id, Job.bytes).where(Job.parent_id.is_(None))
    with closing(open_database(box.data_dir)) as database, database.read() as session:
        rows = session.execute(parents).all()
    archives = {
        job.id: box.data_dir / "jobs" / "jobs" / str(job.id) / "work" / "archive.zip"
        for job in rows
    }
    sizes = {n: file.stat().st_size for n, file in archives.items() if file.is_file()}
    return {job.id: job.bytes for job in rows if job.bytes}, sizes


@pytest.mark.data_folder
def test_archive_is_rebuilt_without_a_deleted_job(own_box, kit):
    api = kit.Api(own_box)
    name = api.batch(PEPTIDES, "peptide_build")
    before = api.ended(name)
    assert jobs_in(api.archive(name)) == ({"j0", "j1", "j2"}, ["j0", "j1", "j2"])
    parts = ({}, {"pdbsOnly": True}, {"fileName": "metrics.csv"}, {"fileName": "j1/peptide.pdb"})
    given_out = [api.address(name, **part) for part in parts]
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
    counted, on_disk = used(own_box)
    assert counted == on_disk


def test_batch_whose_jobs_were_all_deleted_is_stopped(own_box, kit):
    api = kit.Api(own_box)
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
    # Files are removed after the commit that stops the batch.
    wait_until(lambda: used(own_box) == ({}, {}))
    wait_until(lambda: not [*(own_box.data_dir / "jobs" / "jobs").rglob("*.*")])


@pytest.fixture
def busy(own_box, kit):
    """A service with a complete batch and a single worker, which runs a slow job."""
    api = kit.Api(own_box)
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


@pytest.mark.data_folder
def test_rebuilt_archive_has_none_of_many_deleted_jobs(own_box, kit):
    name = kit.Api(own_box).batch([kit.cut()] * 14)
    kit.Api(own_box).ended(name)
    ready = threading.Barrier(4)

    def worker(first):
        api = kit.Api(own_box)
        ready.wait()
        for n in range(first, 12, 4):
            delete(api, f"{name}-j{n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(worker, range(4)))
    api = kit.Api(own_box)
    assert api.ended(name)["batchStatus"] == "Complete"
    left = ["j12", "j13"]
    assert jobs_in(api.archive(name)) == (set(left), left)
    counted, on_disk = used(own_box)
    assert counted == on_disk


def test_archive_is_rebuilt_with_full_storage(own_box, kit):
    api = kit.Api(own_box)
    name = api.batch([kit.cut()] * 3)
    api.ended(name)
    (size,) = used(own_box)[0].values()
    with kit.DatabaseAccess(own_box).quota("student@sandbox.local", size):
        delete(api, f"{name}-j0")
        assert api.ended(name)["batchStatus"] == "Complete"
        (smaller,) = used(own_box)[0].values()
        assert smaller < size
