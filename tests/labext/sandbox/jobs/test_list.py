"""`GET /jobs`: one job, all jobs, a batch, an organization; pages (JOBS-75 to JOBS-86)."""

from __future__ import annotations

from itertools import pairwise

import pytest

pytestmark = pytest.mark.contract

TALLY = {"Complete", "Running", "In Queue", "Stopped"}


@pytest.fixture(scope="module")
def names(api, kit):
    """Create five jobs and a batch of three; return their names, oldest first."""
    singles = [api.submit("digest", kit.cut()) for _ in range(5)]
    batch = api.batch([kit.cut()] * 3)
    for name in [*singles, batch]:
        api.ended(name)
    return [*singles, batch]


def pages(api, **query):
    key, found_rows = "", []
    while True:
        answer = api.get("jobs", startKey=key, **query).json()
        assert len(answer["jobs"]) <= int(query["limit"])
        found_rows.append(answer)
        key = answer["startKey"]
        if not key:
            return found_rows


def test_job_name_returns_one_row_with_its_statuses(api, names):
    row = api.row(names[0])
    assert "jobs" not in row
    assert row["JobName"] == names[0]
    assert row["statuses"] == {"Complete": 1, "Running": 0, "In Queue": 0, "Stopped": 0}
    assert api.row(names[-1])["statuses"]["Complete"] == 3


@pytest.mark.parametrize("field", ["jobName", "batch"])
@pytest.mark.parametrize("name", ["nope", "", "a b"])
def test_unknown_job_or_batch_is_404(api, kit, field, name):
    kit.error_message(api.get("jobs", **{field: name}), 404)


def test_list_has_three_fields_and_no_subjobs(api, names):
    answer = api.get("jobs").json()
    assert set(answer) == {"jobs", "startKey", "statuses"}
    assert set(answer["statuses"]) >= TALLY
    job_names = [row["JobName"] for row in answer["jobs"]]
    assert [name for name in job_names if name in names] == names[::-1]  # newest first
    assert f"{names[-1]}-j0" not in job_names
    assert answer["startKey"] == ""


def test_subjobs_are_listed_on_request(api, names):
    job_names = [row["JobName"] for row in api.rows(includeSubjobs="true")]
    assert {f"{names[-1]}-j{place}" for place in range(3)} <= set(job_names)
    assert len(job_names) == len(set(job_names))


def test_jobs_of_a_batch_are_in_order_of_submission(api, names):
    batch = names[-1]
    answer = api.get("jobs", batch=batch).json()
    assert [row["JobName"] for row in answer["jobs"]] == [f"{batch}-j{n}" for n in range(3)]
    assert answer["statuses"]["Complete"] == 3


@pytest.mark.parametrize("query", [{}, {"includeSubjobs": "true"}])
def test_pages_concatenate_to_the_whole_list(api, names, query):
    whole = [row["JobName"] for row in api.rows(**query)]
    found_rows = pages(api, limit="2", **query)
    assert [row["JobName"] for page in found_rows for row in page["jobs"]] == whole
    assert all(page["statuses"] == found_rows[0]["statuses"] for page in found_rows)
    assert sum(found_rows[0]["statuses"].values()) == len(whole)


def test_batch_is_listed_in_pages(api, names):
    found_rows = pages(api, limit="2", batch=names[-1])
    assert [len(page["jobs"]) for page in found_rows] == [2, 1]
    assert found_rows[0]["statuses"]["Complete"] == 3  # of the list, not of the page


def test_newer_jobs_do_not_shift_pages(api, kit, names):
    first = api.get("jobs", limit=2).json()
    api.submit("digest", kit.cut())
    second = api.get("jobs", limit=2, startKey=first["startKey"]).json()
    job_names = [row["JobName"] for page in (first, second) for row in page["jobs"]]
    times = [row["Created"] for page in (first, second) for row in page["jobs"]]
    assert len(set(job_names)) == 4
    assert all(later >= earlier for later, earlier in pairwise(times))


def test_forged_or_foreign_start_key_is_refused(api, teacher, kit, names):
    key = api.get("jobs", limit=1).json()["startKey"]
    for forged in ("x", "1", key[:-2], key + "a", "a" * 5000):
        assert "startKey" in kit.error_message(api.get("jobs", startKey=forged))
    assert "startKey" in kit.error_message(api.get("jobs", startKey=key, includeSubjobs="true"))
    assert "startKey" in kit.error_message(api.get("jobs", startKey=key, batch=names[-1]))
    assert "startKey" in kit.error_message(teacher.get("jobs", startKey=key))


@pytest.mark.parametrize("limit", ["0", "1.5", "", " 1", "²", "9" * 30])
def test_limit_must_be_a_positive_integer(api, kit, limit):
    assert "limit" in kit.error_message(api.get("jobs", limit=limit))


@pytest.mark.parametrize("field", ["organization", "includeSubjobs"])
@pytest.mark.parametrize("value", ["1", "", "truth"])
def test_boolean_must_be_true_or_false(api, kit, field, value):
    assert field in kit.error_message(api.get("jobs", **{field: value}))


def test_batch_filter_refuses_a_single_job(api, kit, names):
    assert "batch" in kit.error_message(api.get("jobs", batch=names[0]))


def test_only_owners_list_the_organization(api, teacher, kit, names):
    mine = teacher.submit("digest", kit.cut())
    rows = teacher.rows(organization="true")
    emails = {row["JobName"]: row["Email"] for row in rows}
    assert emails[mine] == "teacher@sandbox.local"
    assert emails[names[0]] == "student@sandbox.local"
    assert f"{names[-1]}-j0" not in emails
    assert names[0] not in [row["JobName"] for row in teacher.rows()]
    assert "organization" in kit.error_message(api.get("jobs", organization="true"), 403)
    assert teacher.row(names[0], organization="true")["JobName"] == names[0]
    assert len(teacher.rows(organization="true", batch=names[-1])) == 3


def test_only_owners_list_the_jobs_of_another_account(api, teacher, kit, names):
    student = "student@sandbox.local"
    assert names[0] in [row["JobName"] for row in teacher.rows(jobEmail=student)]
    for email in (student, student.upper()):
        assert teacher.row(names[0], jobEmail=email)["JobName"] == names[0]
    assert len(teacher.rows(jobEmail=student, batch=names[-1])) == 3
    assert teacher.get("jobs", jobName=names[0]).status_code == 404
    assert names[0] in [
        row["JobName"] for row in api.rows(jobEmail=student)
    ]  # the caller's own address
    assert api.rows(jobEmail=student.upper())
    for email in ("teacher@sandbox.local", "nobody@sandbox.local"):
        assert "jobEmail" in kit.error_message(api.get("jobs", jobEmail=email), 403)
    assert "jobEmail" in kit.error_message(
        teacher.get("jobs", jobEmail="nobody@sandbox.local"), 404
    )
