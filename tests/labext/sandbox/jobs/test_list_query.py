"""Pages of the maximum size (JOBS-81, JOBS-82)."""

from __future__ import annotations

import orjson
import pytest

from labext.sandbox.jobs import service
from labext.sandbox.jobs.tables import COMPLETE, Job, current_timestamp

PAGE = 1000


@pytest.fixture
def many(site, student):
    """Create one job more than a page has."""
    with site.database.write() as session:
        session.add_all(
            Job(
                account_id=student.id,
                name=f"f{number}",
                type="digest",
                tool="digest",
                status=COMPLETE,
                created=current_timestamp(),
                settings="{}",
            )
            for number in range(PAGE + 1)
        )


@pytest.mark.parametrize("query", [{}, {"limit": "1000"}, {"limit": "1001"}, {"limit": "9" * 18}])
@pytest.mark.usefixtures("many")
def test_page_has_at_most_1000_rows(site, student, query):
    first = orjson.loads(service.list_jobs(site, student, query))
    assert [row["JobName"] for row in first["jobs"]] == [f"f{PAGE - n}" for n in range(PAGE)]
    assert first["statuses"]["Complete"] == PAGE + 1
    rest = orjson.loads(service.list_jobs(site, student, query | {"startKey": first["startKey"]}))
    assert [row["JobName"] for row in rest["jobs"]] == ["f0"]
    assert rest["startKey"] == ""


@pytest.mark.usefixtures("many")
def test_full_last_page_has_no_start_key(site, student):
    with site.database.write() as session:
        session.delete(session.get_one(Job, 1))
    answer = orjson.loads(service.list_jobs(site, student, {}))
    assert len(answer["jobs"]) == PAGE
    assert answer["startKey"] == ""
