"""`POST /cancelJob`, `POST /cancelBatch` and `GET /getFolders` (JOBS-104, JOBS-105, JOBS-137)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.contract


def test_a_job_is_cancelled_as_it_is_stopped(api, kit):
    name = api.submit("rna_fold", kit.SLOW)
    answer = api.post("cancelJob", {"jobName": name})
    assert answer.status_code == 200
    assert answer.json() == {"message": f"{name} is stopped."}
    assert api.row(name)["JobStatus"] == "Stopped"


@pytest.mark.parametrize("field", ["batchName", "jobName"])
def test_a_batch_is_cancelled_with_all_its_jobs(api, kit, field):
    name = api.batch([kit.SLOW] * 3, type="rna_fold")
    answer = api.post("cancelBatch", {field: name})
    assert answer.status_code == 200
    assert answer.json() == {"message": f"{name} is stopped."}
    parent = api.row(name)
    assert parent["batchStatus"] == "Stopped"
    assert parent["statuses"]["Stopped"] == 3


def test_the_other_kind_is_404_and_stays_as_it_is(api, kit):
    job, batch = api.submit("digest", kit.cut()), api.batch([kit.cut()])
    assert "is a batch" in kit.sentence(api.post("cancelJob", {"jobName": batch}), 404)
    assert "is no batch" in kit.sentence(api.post("cancelBatch", {"batchName": job}), 404)
    assert api.ended(job)["JobStatus"] == api.ended(batch)["batchStatus"] == "Complete"


def test_a_job_of_a_batch_is_cancelled_alone(api, kit):
    name = api.batch([kit.SLOW, {"sequence": "GGGAAACCC"}], type="rna_fold")
    answer = api.post("cancelJob", {"jobName": f"{name}-j0"})
    assert answer.json() == {"message": f"{name}-j0 is stopped."}
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"] == {"Complete": 1, "Running": 0, "In Queue": 0, "Stopped": 1}


def test_what_is_finished_stays_as_it_is(api, kit):
    job, batch = api.submit("digest", kit.cut()), api.batch([kit.cut()])
    before = [api.ended(job), api.ended(batch)]
    assert api.post("cancelJob", {"jobName": job}).json()["message"].endswith("already Complete.")
    answer = api.post("cancelBatch", {"batchName": batch})
    assert answer.json() == {"message": f"{batch} is already Complete."}
    after = [api.row(job), api.row(batch)]
    for row in (*before, *after):
        row.pop("resultUrl", None)  # signed anew each time
    assert after == before


@pytest.mark.parametrize("path", ["cancelJob", "cancelBatch"])
def test_an_unknown_name_is_404_and_a_missing_one_400(api, kit, path):
    field = "jobName" if path == "cancelJob" else "batchName"
    kit.sentence(api.post(path, {field: kit.name()}), 404)
    assert field in kit.sentence(api.post(path, {}))
    assert field in kit.sentence(api.post(path, {field: 7}))


def test_another_accounts_job_is_out_of_reach(api, teacher, kit):
    name = api.submit("digest", kit.cut())
    kit.sentence(teacher.post("cancelJob", {"jobName": name}), 404)
    assert api.ended(name)["JobStatus"] == "Complete"


def test_folders_are_listed_while_they_hold_a_file(api, teacher, kit):
    first, second = sorted([kit.name(), kit.name()])
    for folder in (second, first, first):
        api.upload(f"{kit.name()}.txt", b"a", folder=folder)
    listed = api.get("getFolders").json()
    assert [name for name in listed if name in (first, second)] == [first, second]
    assert "" not in listed
    assert first not in teacher.get("getFolders").json()
    api.delete("delete-file", folder=first)
    assert first not in api.get("getFolders").json()
