"""Batches: request, states, archive, limits, validation (JOBS-57, JOBS-58, JOBS-87 to JOBS-99)."""

from __future__ import annotations

import csv
import io
import json
import random

import pytest

pytestmark = pytest.mark.contract

CODES = "ACGU"


def metrics(archive):
    with archive.open("metrics.csv") as file:
        return list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")))


def same(text, value):
    return float(text) == value if isinstance(value, int | float) else text == value


def test_archive_has_the_scores_of_each_job(api, kit):
    letters = random.Random(1)
    settings = [{"sequence": "".join(letters.choices(CODES, k=40))} for _ in range(12)]
    name = api.batch(settings, type="rna_fold")
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["Type"] == "batch"
    assert parent["statuses"] == {"Complete": 12, "Running": 0, "In Queue": 0, "Stopped": 0}
    rows = api.rows(batch=name)
    assert [row["JobName"] for row in rows] == [f"{name}-j{place}" for place in range(12)]
    assert [kit.json(row["Settings"]) for row in rows] == settings
    archive = api.archive(name)
    assert {entry.split("/")[0] for entry in archive.namelist()} == {
        "metrics.csv",
        *(f"j{place}" for place in range(12)),
    }
    for row, line in zip(rows, metrics(archive), strict=True):
        score = kit.json(row["Score"])
        assert row["JobName"] == f"{name}-{line['job']}"
        assert line["status"] == "Complete"
        assert all(same(line[key], value) for key, value in score.items())
        assert json.loads(archive.read(f"{line['job']}/score.json")) == score
        assert {"log.txt", "settings.json"} <= {
            entry.split("/")[1] for entry in archive.namelist() if entry.startswith(line["job"])
        }


def test_batch_is_aggregating_once_all_jobs_are_complete(own_box, kit):
    api = kit.Api(own_box)
    name = api.batch([kit.cut(), kit.cut()])
    blocker = api.submit(
        "rna_fold", kit.SLOW
    )  # keeps the only worker busy, so that the aggregation waits
    parent = api.until(name, lambda row: row["batchStatus"] != "Running")
    assert parent["batchStatus"] == "Aggregating"
    assert parent["JobStatus"] == "Running"
    assert parent["statuses"] == {"Complete": 2, "Running": 0, "In Queue": 0, "Stopped": 0}
    assert not {"resultUrl", "AggregationError", "Completed"} & set(parent)
    assert [row["JobStatus"] for row in api.rows(batch=name)] == ["Complete"] * 2
    early = api.post("result", {"jobName": name})
    assert kit.error_message(early) == f"Job {name} is not complete. Status: Aggregating"
    api.post("stop-job", {"jobName": blocker})
    assert "resultUrl" in api.ended(name)


def test_submit_batch_accepts_a_list_of_jobs(api, kit):
    name = kit.name()
    jobs = [{"jobName": "a", "settings": kit.cut()}, {"jobName": "b", "settings": kit.cut()}]
    body = {"tool": "digest", "batchName": name, "jobs": jobs, "projectTag": "proj_1"}
    response = api.accepted("submit-batch", body)
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text.startswith(f"{name} submitted to queue")
    rows = api.rows(batch=name)
    assert [row["JobName"] for row in rows] == [f"{name}-a", f"{name}-b"]
    assert {row["ProjectTag"] for row in [*rows, api.row(name)]} == {"proj_1"}
    assert api.ended(name)["batchStatus"] == "Complete"


def arrays(**changes):
    body = {
        "batchName": "b",
        "type": "digest",
        "jobNames": ["a", "b"],
        "settings": [{"sequence": "GAATTC", "enzymes": "EcoRI"}] * 2,
    } | changes
    return {field: value for field, value in body.items() if value is not ...}


def pairs(*jobs):
    return {"batchName": "b", "tool": "digest", "jobs": list(jobs)}


GOOD = {"sequence": "GAATTC", "enzymes": "EcoRI"}
FAULTS = [
    (arrays(batchName=...), "batchName"),
    (arrays(batchName="a b"), "batchName"),
    (arrays(batchName="x" * 101), "101"),
    (arrays(type=...), "type"),
    (arrays(type="nope"), "nope"),
    (arrays(jobNames=...), "jobNames"),
    (arrays(jobNames="ab"), "jobNames"),
    (arrays(jobNames=[], settings=[]), "jobNames has 0 items"),
    (arrays(jobNames=["a"] * 101, settings=[GOOD] * 101), "jobNames has 101 items"),
    (arrays(jobNames=["a"]), "1 and 2"),
    (arrays(jobNames=["a", "a"]), "more than once in the batch: a"),
    (arrays(jobNames=["a", "b c"]), "jobNames[1]"),
    (arrays(jobNames=["a", 7]), "jobNames[1]"),
    (arrays(jobNames=["a", "x" * 99]), "101"),  # with the prefix b-
    (arrays(settings=...), "settings"),
    (arrays(settings={"a": 1}), "settings"),
    (arrays(settings=[GOOD, 7]), "settings[1]"),
    (arrays(settings=[GOOD, GOOD | {"circlar": True}]), "Job b: Setting 'circlar'"),
    (arrays(maxRuntimeSeconds=0), "maxRuntimeSeconds"),
    (arrays(maxRuntimeSeconds=1.5), "maxRuntimeSeconds"),
    (arrays(maxRuntimeSeconds=True), "maxRuntimeSeconds"),
    (arrays(maxRuntimeSeconds=10**30), "maxRuntimeSeconds"),
    (arrays(weightedHoursBudget=0), "weightedHoursBudget"),
    (arrays(weightedHoursBudget="1"), "weightedHoursBudget"),
    (arrays(projectTag="mine"), "projectTag"),
    (pairs(), "jobs has 0 items"),
    (pairs(7), "jobs[0]"),
    (pairs({"settings": GOOD}), "jobs[0].jobName"),
    (pairs({"jobName": "a"}), "jobs[0].settings"),
    (pairs({"jobName": "a", "settings": GOOD}) | {"tool": ...}, "tool"),
    (pairs({"jobName": "a", "settings": GOOD}) | {"jobNames": ["a"]}, "jobNames and jobs"),
    (pairs({"jobName": "a", "settings": GOOD}) | {"settings": [GOOD]}, "settings and jobs"),
    (pairs({"jobName": "a", "settings": GOOD}) | {"type": "rna_fold"}, "type and tool"),
    (pairs(*[{"jobName": f"j{n}", "settings": GOOD} for n in range(101)]), "jobs has 101 items"),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_invalid_batch_is_refused_with_the_field(api, kit, body, message):
    body = {field: value for field, value in body.items() if value is not ...}
    assert message in kit.error_message(api.post("submit-batch", body))


def test_invalid_batch_stores_no_job(api, kit):
    name = kit.name()
    body = arrays(batchName=name, jobNames=["a", "b"], settings=[kit.cut(), kit.cut("QQ")])
    assert "Job b" in kit.error_message(api.post("submit-batch", body))
    for used_name in (name, f"{name}-a", f"{name}-b"):
        assert api.get("jobs", jobName=used_name).status_code == 404


@pytest.mark.parametrize("taken", ["{}", "{}-b"])
def test_batch_names_and_job_names_must_differ(api, kit, taken):
    name = kit.name()
    api.submit("digest", kit.cut(), taken.format(name))
    refused = api.post("submit-batch", arrays(batchName=name))
    assert kit.error_message(refused) == f"Job name {taken.format(name)} is already taken."
    assert api.get("jobs", jobName=f"{name}-a").status_code == 404


def test_result_url_is_only_in_the_row_of_a_complete_batch(api, kit):
    name = api.batch([kit.cut()])
    assert "resultUrl" in api.ended(name)
    batch_row = next(row for row in api.rows(limit=100) if row["JobName"] == name)
    assert batch_row["batchStatus"] == "Complete"
    assert "resultUrl" not in batch_row
    subjob = api.row(f"{name}-j0")
    assert not {"batchStatus", "resultUrl", "AggregationError"} & set(subjob)


def test_failed_job_is_in_the_metrics_but_not_in_the_archive(api, kit, helix):
    good = api.archive(helix).read("peptide.pdb").decode()
    name = api.batch([{"pdbFile": good}, {"pdbFile": kit.ONE_RESIDUE}], type="normal_modes")
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"]["Stopped"] == 1
    archive = api.archive(name)
    assert [line["status"] for line in metrics(archive)] == ["Complete", "Stopped"]
    assert not any(entry.startswith("j1/") for entry in archive.namelist())


def test_batch_without_a_complete_job_is_stopped_with_the_reason(api, kit):
    parent = api.ended(api.batch([{"pdbFile": kit.ONE_RESIDUE}] * 2, type="normal_modes"))
    assert parent["batchStatus"] == parent["JobStatus"] == "Stopped"
    assert "1 residue;" in parent["Reason"]
    assert "resultUrl" not in parent


def test_archive_over_the_quota_fails_the_aggregation(own_box, kit):
    api = kit.Api(own_box)
    with kit.DatabaseAccess(own_box).quota("student@sandbox.local", 100):
        name = api.batch([kit.cut(), kit.cut()])
        parent = api.ended(name)
    assert parent["batchStatus"] == "AggregationFailed"
    assert "storage" in parent["AggregationError"]
    assert parent["statuses"]["Complete"] == 2
    assert "resultUrl" not in parent
    assert all("AggregationError" not in row for row in api.rows(batch=name))
    refused = kit.error_message(api.post("result", {"jobName": name}))
    assert refused == f"Job {name} is not complete. Status: AggregationFailed"
    assert api.archive(f"{name}-j0").namelist()  # the results of the jobs are available


def rows_body(kit, *settings, **more):
    names = [f"j{place}" for place in range(len(settings))]
    return {"type": "digest", "jobNames": names, "settings": list(settings)} | more


def test_batch_validation_reports_every_invalid_row(api, kit):
    wrong = kit.cut("GAAZTC")
    checked = api.post(
        "validate-job", rows_body(kit, kit.cut(), wrong, {"sequence": "ACGT"}, 7, kit.cut())
    ).json()
    assert (checked["valid"], checked["count"], checked["valid_count"]) == (False, 5, 2)
    assert [row["index"] for row in checked["results"]] == [0, 1, 2, 3, 4]
    assert [row["valid"] for row in checked["results"]] == [True, False, False, False, True]
    errors = [row.get("error") for row in checked["results"]]
    assert "'Z' at 4" in errors[1]
    assert "Setting enzymes is required" in errors[2]
    assert "settings[3] is not an object" in errors[3]
    assert errors[0] is errors[4] is None
    refused = api.post("submit-job", {"jobName": kit.name(), "type": "digest", "settings": wrong})
    assert kit.error_message(refused) == errors[1]


def test_batch_validation_stores_nothing(api, kit):
    before = len(api.rows(includeSubjobs="true"))
    body = rows_body(kit, kit.cut(), kit.cut("GGG"))
    checked = api.post("validate-job", body).json()
    assert checked == {
        "valid": True,
        "count": 2,
        "valid_count": 2,
        "results": [{"index": 0, "valid": True}, {"index": 1, "valid": True}],
    }
    assert len(api.rows(includeSubjobs="true")) == before
    del body["jobNames"]
    assert api.post("validate-job", body).json() == checked
    assert api.post("submit-batch", rows_body(kit, *body["settings"], batchName=kit.name())).ok


def test_batch_validation_checks_job_names(api, kit):
    body = rows_body(kit, *[kit.cut()] * 4, jobNames=["a", "b c", "a", 7])
    errors = [row.get("error") for row in api.post("validate-job", body).json()["results"]]
    assert errors[0] is None
    assert "jobNames[1]" in errors[1]
    assert errors[2] == "jobNames[2] occurs more than once: a."
    assert "jobNames[3]" in errors[3]


def test_batch_validation_reports_missing_uploads(api, kit):
    body = rows_body(kit, {"pdbFile": "a/1.pdb"}, {"pdbFile": "ATOM  "}, type="normal_modes")
    errors = [row.get("error") for row in api.post("validate-job", body).json()["results"]]
    assert errors == ["The following files have not been uploaded: a/1.pdb.", None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "nope"}, "no tool 'nope'"),
        ({"jobNames": ["a"]}, "different lengths"),
        ({"jobNames": "a"}, "jobNames"),
        ({"settings": []}, "settings has 0 items"),
        ({"settings": [{}] * 1001, "jobNames": None}, "settings has 1001 items"),
    ],
)
def test_batch_validation_reports_an_error_of_the_whole_batch(api, kit, change, message):
    checked = api.post("validate-job", rows_body(kit, kit.cut(), kit.cut()) | change).json()
    assert set(checked) == {"valid", "error"}, "no row was validated"
    assert checked["valid"] is False
    assert message in checked["error"]


def test_batch_validation_accepts_1000_rows(api, kit):
    body = {"type": "digest", "settings": [kit.cut()] * 999 + [{"sequence": "A"}]}
    checked = api.post("validate-job", body).json()
    assert (checked["count"], checked["valid_count"]) == (1000, 999)
