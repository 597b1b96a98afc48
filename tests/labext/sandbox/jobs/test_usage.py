"""`GET /usage-statistics` (JOBS-173 to JOBS-175)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.contract

STUDENT, TEACHER = "student@sandbox.local", "teacher@sandbox.local"


def used(who, **query):
    response = who.get("usage-statistics", **query)
    assert response.status_code == 200, response.text
    return response.json()


def test_usage_is_counted_once_and_kept_after_deletion(new_box, kit):
    service = new_box(workers=2)
    student = kit.Api(service)
    assert used(student) == {
        "statistic": "weighted_hours",
        "scope": "user",
        "total": 0,
        "byTool": {},
        "byUser": {STUDENT: 0},
    }
    job = student.submit("digest", kit.cut())
    batch = student.batch([kit.cut()] * 3)
    refused = student.post(
        "submit-job", {"jobName": job, "type": "digest", "settings": kit.cut()}
    )  # the name is taken, so nothing is counted
    assert refused.status_code == 400
    hours = student.ended(job)["WeightedHours"] + student.ended(batch)["WeightedHours"]

    def holds():
        jobs = used(student, statistic="jobs", scope="user")
        assert jobs["total"] == 4
        assert jobs["byTool"] == {"digest": 4}
        assert jobs["byUser"] == {STUDENT: 4}
        weighted = used(student, statistic="weighted_hours")
        assert weighted["total"] == pytest.approx(hours, abs=1e-8)
        assert weighted["byTool"] == {"digest": weighted["total"]}

    holds()
    for name in (job, batch):
        assert student.delete("delete-job", {"jobName": name}).status_code == 200
    holds()

    teacher = kit.Api(service, kit.teacher_key(service))
    everybody = used(teacher, statistic="jobs", scope="organization")
    assert everybody["byUser"] == {STUDENT: 4, TEACHER: 0}
    assert everybody["total"] == 4
    assert used(teacher, statistic="jobs")["byUser"] == {TEACHER: 0}
    assert "scope" in kit.error_message(student.get("usage-statistics", scope="organization"), 403)

    # A job that is deleted while it runs counts its hours.
    name = student.submit("rna_fold", kit.SLOW)
    student.until(name, lambda row: row["JobStatus"] == "Running")
    assert student.delete("delete-job", {"jobName": name}).status_code == 200
    assert used(student)["byTool"]["rna_fold"] > 0
    assert used(student, statistic="jobs")["byTool"] == {"digest": 4, "rna_fold": 1}


@pytest.mark.parametrize("field", ["statistic", "scope"])
@pytest.mark.parametrize("value", ["", "Jobs", "\x00"])
def test_unknown_statistic_or_scope_is_refused(api, kit, field, value):
    assert field in kit.error_message(api.get("usage-statistics", **{field: value}))
