"""The disk becomes full while the service runs, and has free space again later.

RLIMIT_FSIZE of the running host is set to 0, so that every write fails as on a full disk.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from waiting import wait_until

from labext import JobsClient
from labext.errors import ServiceError
from labext.lab import ApiKey, LabClient
from labext.sandbox import Sandbox

pytestmark = [
    pytest.mark.faults,
    pytest.mark.sqlite,
    pytest.mark.usefixtures("fast_retries"),
    pytest.mark.skipif(
        sys.platform != "linux", reason="only Linux changes the limits of a process that runs"
    ),
]

CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}
FOLD = {"sequence": "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 6}


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("full") / "data", rate="off", workers=2) as sandbox:
        yield sandbox


@pytest.fixture
def jobs(box: Sandbox) -> Iterator[JobsClient]:
    with JobsClient(box.jobs.base_url, box.jobs.api_key) as client:
        yield client


@contextlib.contextmanager
def full_disk(box: Sandbox) -> Iterator[None]:
    """Make all writes of the host fail during the block."""
    host = psutil.Process(box.status().pid)
    before = host.rlimit(psutil.RLIMIT_FSIZE)
    host.rlimit(psutil.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        host.rlimit(psutil.RLIMIT_FSIZE, before)


def job_names(jobs: JobsClient) -> list[str]:
    return sorted(row["JobName"] for row in jobs.iter_jobs(subjobs=True))


def test_submission_to_a_full_disk_is_refused_and_leaves_nothing(
    jobs: JobsClient, box: Sandbox
) -> None:
    jobs.submit("before", "digest", CUT)
    jobs.wait("before", timeout=60)
    with full_disk(box):
        with pytest.raises(ServiceError, match="disk"):
            jobs.submit("single", "digest", CUT)
        with pytest.raises(ServiceError, match="disk"):
            jobs.submit_batch("batch", "digest", {"a": CUT, "b": CUT})
        with pytest.raises(ServiceError, match="disk"):
            jobs.delete("before")
        assert job_names(jobs) == ["before"]  # existing jobs are still listed
    assert jobs.job("before")["JobStatus"] == "Complete"
    jobs.submit("single", "digest", CUT)
    jobs.submit_batch("batch", "digest", {"a": CUT, "b": CUT})
    assert jobs.wait("batch", timeout=60)["batchStatus"] == "Complete"
    assert job_names(jobs) == ["batch", "batch-a", "batch-b", "before", "single"]


def test_lab_and_nb_can_be_read_while_the_disk_is_full(box: Sandbox) -> None:
    headers = {"Authorization": f"Bearer {box.nb.password}"}

    def nb(method: str, path: str, body: Any = None) -> Any:
        url = f"{box.nb.base_url}/{path}"
        response = requests.request(method, url, json=body, headers=headers, timeout=60)
        assert response.ok, (path, response.text)
        return response.json()

    notebook = nb("POST", "notebooks", {"name": "N"})["id"]
    text = {"text": "Arabinose induces pBAD.", "process_async": False}
    assert nb("POST", "sources", text)["status"] == "completed"
    nb("POST", "notes", {"content": "Arabinose is a sugar.", "notebook_id": notebook})
    lab = LabClient(box.lab.base_url, ApiKey(box.lab.api_key), verify=box.lab.ca_bundle)
    with lab, full_disk(box):
        assert len(list(lab.iter_sequences())) >= 10
        for path in ("notebooks", "sources", "notes", "models", "podcasts/episodes"):
            nb("GET", path)
        for kind in ("text", "vector"):
            found = nb("POST", "search", {"query": "arabinose", "search_type": kind})
            assert found["results"], kind


def test_upload_to_a_full_disk_leaves_nothing(
    jobs: JobsClient, box: Sandbox, tmp_path: Path
) -> None:
    file = tmp_path / "structure.pdb"
    file.write_bytes(b"REMARK\n" * 100_000)
    with full_disk(box), pytest.raises(ServiceError, match="disk is full or can"):
        jobs.upload(file)
    assert jobs.files() == []
    assert not list((box.data_dir / "jobs" / "incoming").iterdir())
    assert not list((box.data_dir / "jobs" / "files").iterdir())
    assert jobs.upload(file).name == "structure.pdb"
    assert jobs.files() == ["structure.pdb"]


@pytest.mark.data_folder
def test_jobs_that_ended_are_recorded_once_there_is_space(jobs: JobsClient, box: Sandbox) -> None:
    jobs.submit_batch("folds", "rna_fold", {f"j{n}": FOLD for n in range(4)})

    def running() -> int:
        count: int = jobs.job("folds")["statuses"]["Running"]
        return count

    def reports() -> int:
        return len([*(box.data_dir / "tasks").glob("*/report.json")])

    wait_until(running)
    with full_disk(box):
        # All running jobs have ended, which can't be recorded.
        wait_until(lambda: 0 < running() <= reports())
    row = jobs.wait("folds", timeout=90)
    assert row["batchStatus"] == "Complete"
    assert row["statuses"]["Complete"] == 4
