"""Jobs of a teammate seen by the owner of the organization."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labext.errors import AccessError, NotFoundError
from labext.jobs import JobsClient
from labext.progress import Outcome
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

STUDENT = "student@sandbox.local"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory, services: list[str]) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("teammate") / "box"
    with Sandbox(folder, rate="off", services=services) as running:
        yield running


@pytest.fixture
def student(box: Sandbox) -> Iterator[JobsClient]:
    with JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None) as client:
        yield client


@pytest.fixture
def teacher(box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobsClient]:
    monkeypatch.setenv("LABEXT_STATE_DIR", str(tmp_path / "another-machine"))
    key = (box.data_dir / "secrets" / "jobs_teacher_key").read_text().strip()
    with JobsClient(box.jobs.base_url, key, rate=None) as client:
        yield client


def test_split_batch_of_a_teammate_is_shown_as_one(
    student: JobsClient, teacher: JobsClient, tmp_path: Path
) -> None:
    jobs = {
        f"j{n:03}": {"sequence": "GAATTC" * (n % 3 + 1), "enzymes": "EcoRI"} for n in range(101)
    }
    student.submit_batch("cuts", "digest", jobs)
    *_, last = teacher.watch("cuts", email=STUDENT)
    assert (last.outcome, last.states) == (Outcome.COMPLETE, {"Complete": 101})
    with pytest.raises(NotFoundError):
        teacher.job("cuts")
    with pytest.raises(NotFoundError):
        next(teacher.watch("cuts"))
    assert teacher.jobs(email=STUDENT)["JobName"].tolist() == ["cuts"]
    assert teacher.show("cuts", email=STUDENT)["statuses"].tolist() == [{"Complete": 101}]
    rows = teacher.jobs(batch="cuts", email=STUDENT, scores=True)
    assert rows["Name"].tolist() == list(jobs)
    assert rows["score.cuts"].tolist() == [n % 3 + 1 for n in range(101)]
    fetched = teacher.download("cuts", tmp_path / "out", email=STUDENT)
    assert (tmp_path / "out" / "metrics.csv").read_text().count("\n") == 102
    assert fetched.files["file"].str.startswith("j100/").any()
    everyone = teacher.jobs(organization=True)["JobName"].tolist()
    assert everyone == ["cuts-part2of2", "cuts-part1of2"]


def test_student_cannot_see_teammates(student: JobsClient) -> None:
    for options in ({"organization": True}, {"email": "teacher@sandbox.local"}):
        with pytest.raises(AccessError) as raised:
            student.jobs(**options)
        assert "owner of the organization" in raised.value.message
        assert raised.value.next_step.startswith("Ask ")
