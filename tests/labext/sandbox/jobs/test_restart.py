"""After a kill, the service continues without losing or repeating anything."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
import requests

pytestmark = pytest.mark.contract


def settings(count, kit):
    return [{"sequence": kit.SLOW["sequence"][: 250 + n]} for n in range(count)]


@pytest.mark.parametrize("done", [0, 3])
def test_batch_continues_after_a_kill(new_box, kit, done):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = api.batch(settings(10, kit), type="rna_fold")
    api.until(name, lambda row: row["statuses"]["Complete"] >= done)
    api = kit.kill_and_restart(box)
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"] == {"Complete": 10, "Running": 0, "In Queue": 0, "Stopped": 0}
    assert len(api.archive(name).read("metrics.csv").splitlines()) == 11
    assert len(api.rows(includeSubjobs="true")) == 11


@pytest.mark.data_folder
def test_batch_continues_after_a_kill_during_aggregation(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = api.batch([kit.cut()] * 60)
    api.until(name, lambda row: row["batchStatus"] != "Running")
    api = kit.kill_and_restart(box)
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"]["Complete"] == 60
    archive = api.archive(name)
    assert archive.testzip() is None
    assert len({entry.split("/")[0] for entry in archive.namelist()}) == 61
    assert not list((box.data_dir / "jobs").rglob("*.part"))


def test_acknowledged_jobs_exist_once_after_a_kill(new_box, kit):
    box = new_box(workers=2)
    acknowledged = []

    def submit(_n):
        api = kit.Api(box)
        while True:
            name = kit.name()
            try:
                api.submit("digest", kit.cut(), name)
            except requests.RequestException:
                return
            acknowledged.append(name)

    with ThreadPoolExecutor(4) as pool:
        ends = pool.map(submit, range(4))
        while len(acknowledged) < 40:
            time.sleep(0.01)
        host = psutil.Process(box.status().pid)
        host.kill()
        list(ends)
        host.wait(30)
    box.start()
    api = kit.Api(box)
    for name in acknowledged:
        assert api.ended(name)["JobStatus"] == "Complete"
    job_names = [row["JobName"] for row in api.rows()]
    assert len(job_names) == len(set(job_names))
    assert (
        len(acknowledged) <= len(job_names) <= len(acknowledged) + 4
    )  # requests without a response


def test_rows_files_and_urls_survive_a_restart(new_box, kit):
    box = new_box(workers=1)
    api = kit.Api(box)
    name = api.submit("digest", kit.cut())
    row = api.ended(name)
    api.upload("a.txt", b"a")
    address = api.address(name)
    box.stop()
    box.start()
    api = kit.Api(box)
    assert api.row(name) == row
    assert api.get("files").json() == ["a.txt"]
    answer = api.session.get(address, timeout=30)
    assert answer.status_code == 200
