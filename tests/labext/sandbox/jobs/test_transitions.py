"""Rows of jobs in transition: deletions during requests, starts, requeues and usage."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest
from sqlalchemy import event, select
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from labext.sandbox.core.database import Database
from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.queue import Attempt, Queue, Task, TaskOutcome
from labext.sandbox.core.task_transitions import TaskTransitions
from labext.sandbox.core.web import DownloadResponse
from labext.sandbox.jobs import (
    app,
    execution,
    job_creation,
    parent_jobs,
    service,
    submission,
    usage,
)
from labext.sandbox.jobs.app import JobService
from labext.sandbox.jobs.files import job_files, result_archives
from labext.sandbox.jobs.tables import RUNNING, Account, Job
from labext.sandbox.jobs.tools.tool import Tool

CUT = {"sequence": "GAATTC", "enzymes": "EcoRI"}
FASTA = ">a\nACGT\n>b\nACGA\n>c\nACGG\n"


def finish(site, name, score=None):
    """End the task of a job as if it had run, with one PDB file as output."""
    with site.database.write() as session:
        job = session.scalars(select(Job).where(Job.name == name)).one()
        out = job_files.output_folder(site, job.id)
        out.mkdir(parents=True)
        (out / "a.pdb").write_text("ATOM")
        job.status = RUNNING
        task = site.queue.find(session, job_creation.run_key(job.id))
        site.queue.finish(
            session, task, TaskOutcome("done", result=score or {"n": 1}, seconds=36.0)
        )
        return job.id


def job(site, student, name, settings=None, type="digest"):
    body = {"jobName": name, "type": type, "settings": settings or CUT}
    submission.submit_job(site, student, orjson.dumps(body))


def batch(site, student, name, count=1):
    """Create a batch with complete jobs; return the id of its parent."""
    names = [f"j{n}" for n in range(count)]
    body = {"batchName": name, "type": "digest", "jobNames": names, "settings": [CUT] * count}
    submission.submit_batch(site, student, orjson.dumps(body))
    for part in names:
        finish(site, f"{name}-{part}")
    with site.database.read() as session:
        return session.scalars(select(Job.id).where(Job.name == name)).one()


def begin(site, key):
    """Mark a task as running, with the files of a killed aggregation."""
    with site.database.write() as session:
        task = session.scalars(select(Task).where(Task.key == key)).one()
        task.state = "running"
    work = job_files.work_folder(site, task.payload["job"])
    work.mkdir(parents=True)
    (work / "archive.zip.part").write_bytes(b"half")
    return work


def end(site, key):
    with site.database.write() as session:
        task = site.queue.find(session, key)
        site.queue.finish(session, task, TaskOutcome("stopped", task.cancelled))


@pytest.mark.parametrize("act", [service.stop_job, service.delete_job])
def test_stopped_aggregation_leaves_no_file(site, student, monkeypatch, act):
    monkeypatch.setattr(Queue, "wait", lambda *_: False)  # the process does not end in time
    number = batch(site, student, "b")
    work = begin(site, parent_jobs.aggregate_key(number))
    body = orjson.dumps({"jobName": "b"})
    act(site, student, body) if act is service.stop_job else act(site, student, body, None)
    work.mkdir(parents=True, exist_ok=True)  # the process continued for a short time
    end(site, parent_jobs.aggregate_key(number))
    assert not work.exists()
    with site.database.read() as session:
        states = [*session.scalars(select(Job.batch_status).where(Job.id == number))]
    assert states == (["Stopped"] if act is service.stop_job else [])


def test_stopped_batch_has_the_hours_of_its_jobs(site, student, monkeypatch):
    monkeypatch.setattr(Queue, "wait", lambda *_: False)  # the process does not end in time
    body = {"batchName": "b", "type": "digest", "jobNames": ["a", "c"], "settings": [CUT] * 2}
    submission.submit_batch(site, student, orjson.dumps(body))
    finish(site, "b-a")
    service.stop_job(site, student, orjson.dumps({"jobName": "b"}))
    with site.database.read() as session:
        parent = session.scalars(select(Job).where(Job.name == "b")).one()
    assert parent.weighted_hours == pytest.approx(0.01)
    assert orjson.loads(parent.record)["WeightedHours"] == pytest.approx(0.01)
    # The usage is kept after a deletion.
    service.delete_job(site, student, orjson.dumps({"jobName": "b-a"}), None)
    with site.database.read() as session:
        assert session.get_one(Job, parent.id).weighted_hours == pytest.approx(0.01)


def test_job_does_not_get_files_of_an_unstored_submission(site, student):
    """The id of a submission that failed to commit is used again."""
    stale = job_files.inputs_folder(site, 1) / "sequences"
    stale.mkdir(parents=True)
    (stale / "other.fa").write_text("not this job's")
    job(site, student, "f", {"sequences": FASTA}, "msa_tree")
    with site.database.read() as session:
        assert session.scalars(select(Job.id)).all() == [1]
    assert not stale.exists()


def test_start_reports_but_keeps_orphaned_files(site, student):
    job(site, student, "kept")
    with site.database.read() as session:
        number = session.scalars(select(Job.id)).one()
    for path in (job_files.job_folder(site, number) / "a", job_files.job_folder(site, 99) / "b"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("result")
    job_files.upload_path(site, 7).write_text("upload")
    (job_files.incoming_folder(site) / "part").write_text("half an upload")
    JobService().seed(site)
    assert sorted(JobService().orphans(site)) == [
        job_files.upload_path(site, 7),
        job_files.job_folder(site, 99),
    ]
    assert (job_files.job_folder(site, 99) / "b").read_text() == "result"
    assert job_files.upload_path(site, 7).read_text() == "upload"
    assert list(job_files.incoming_folder(site).iterdir()) == []


def body_of(name, **more):
    return orjson.dumps({"jobName": name} | more)


@pytest.mark.parametrize("fails", [True, False])
def test_structures_of_a_job_deleted_meanwhile_are_404(site, student, monkeypatch, fails):
    job(site, student, "f")
    number = finish(site, "f")
    whole = result_archives.write_archive

    def deleted_meanwhile(target, entries):
        service.delete_job(site, student, body_of("f"), None)
        if fails:
            return whole(target, entries)
        target.parent.mkdir(parents=True)  # written while the folder was being deleted
        target.write_bytes(b"zip")
        return 3

    monkeypatch.setattr(job_files, "write_archive", deleted_meanwhile)
    with pytest.raises(HTTPException) as refused:
        job_files.create_result_url(site, student, body_of("f", pdbsOnly=True))
    assert refused.value.status_code == 404
    assert not job_files.job_folder(site, number).exists()


def get(site, address):
    return TestClient(JobService().apps(site)["jobs"], base_url="http://127.0.0.1").get(address)


def test_file_deleted_before_it_is_opened_is_404(site, student, monkeypatch):
    job(site, student, "f")
    number = finish(site, "f")
    address = job_files.create_result_url(site, student, body_of("f", fileName="a.pdb"))
    assert get(site, address).content == b"ATOM"
    file = job_files.output_folder(site, number) / "a.pdb"

    class Late(DownloadResponse):
        async def __call__(self, *asgi):
            file.unlink()
            await super().__call__(*asgi)

    monkeypatch.setattr(app, "DownloadResponse", Late)
    response = get(site, address)
    assert response.status_code == 404
    assert "deleted" in response.json()["error"]


def test_symbolic_link_out_of_the_outputs_is_404(site, student, tmp_path):
    job(site, student, "f")
    number = finish(site, "f")
    (tmp_path / "secret.pdb").write_text("secret")
    (job_files.output_folder(site, number) / "b.pdb").symlink_to(tmp_path / "secret.pdb")
    with pytest.raises(HTTPException) as refused:
        job_files.create_result_url(site, student, body_of("f", fileName="b.pdb"))
    assert refused.value.status_code == 404


def test_file_deleted_before_the_download_is_404(site, student, monkeypatch):
    job(site, student, "f")
    finish(site, "f")
    address = job_files.create_result_url(site, student, body_of("f", fileName="a.pdb"))
    download = job_files.DownloadFile(Path("/nowhere/a.pdb"), "a.pdb")
    monkeypatch.setattr(job_files, "find_download", lambda *_: download)
    assert get(site, address).status_code == 404


def test_dot_segments_are_removed_from_result_urls(site, student):
    job(site, student, "f")
    finish(site, "f")
    address = job_files.create_result_url(site, student, body_of("f", fileName="./a.pdb"))
    assert "/./" not in address
    assert get(site, address).content == b"ATOM"


def test_usage_counted_by_several_processes_is_complete(site, student):
    path = Path(site.database.engine.url.database)

    def process(_number):
        """Write with an own engine, which shares no lock with the other one."""
        database = Database.at(path)
        for _ in range(20):
            with database.write() as session:
                usage.add_usage(session, student.id, "digest", jobs=2)
                usage.add_usage(session, student.id, "digest", hours=0.5)
        database.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(process, range(2)))
    statistics = usage.usage_statistics(site, student, {"statistic": "jobs"})
    assert statistics["byTool"] == {"digest": 80}
    assert usage.usage_statistics(site, student, {})["total"] == 20


def test_removed_account_is_charged_nothing(site):
    with site.database.write() as session:
        usage.add_usage(session, 4711, "digest", hours=1.0)
    with site.database.read() as session:
        assert usage.total_hours(session, Account.id > 0) == 0


BATCH = {"batchName": "b", "type": "digest", "jobNames": ["a"], "settings": [CUT]}


@pytest.fixture
def ledger(site, student):
    submission.submit_batch(site, student, orjson.dumps(BATCH))
    return TaskTransitions(site.database, site.queue)


def states(site):
    """Return `JobStatus` and the presence of `Started` of the batch and its job."""
    with site.database.read() as session:
        rows = [orjson.loads(record) for record in session.scalars(select(Job.record))]
    assert rows[0]["batchStatus"] == "Running"
    return [(row["JobStatus"], "Started" in row) for row in rows]


def test_job_requeued_after_a_kill_is_in_queue(site, ledger):
    assert states(site) == [("In Queue", False), ("In Queue", False)]
    [task] = [ledger.next({})]
    assert ledger.claim(task) is not None
    assert states(site) == [("In Queue", False), ("In Queue", False)], "it has no process yet"
    assert ledger.start(Attempt(task, 1), 1_800_000_000.0) is None
    assert states(site) == [("Running", True), ("Running", True)]
    ledger.requeue(ledger.taken(), killed=[task])
    assert states(site) == [("Running", True), ("In Queue", False)]
    assert ledger.claim(task) is not None
    assert ledger.start(Attempt(task, 2), 1_800_000_000.0) is None
    assert states(site) == [("Running", True), ("Running", True)]


def test_started_is_the_time_when_the_process_began(site, ledger):
    task = ledger.next(Counter())
    ledger.claim(task)
    # The start and the end of a short job are recorded in one transaction.
    ends = {Attempt(task, 1): TaskOutcome("done", seconds=0.04)}
    ledger.turn({Attempt(task, 1): 1_800_000_000.25}, ends, Counter(), 0)
    with site.database.read() as session:
        started = session.scalars(select(Job.started).where(Job.name == "b-a")).one()
    assert started == "2027-01-15T08:00:00.250Z"


def test_reason_of_a_memory_limit_names_the_command_to_raise_it(site, ledger):
    task = ledger.next(Counter())
    claim = ledger.claim(task)
    assert claim.max_memory == 2 << 30
    ledger.end(
        Attempt(task, 1),
        TaskOutcome("stopped", "The memory limit of 2 GiB was reached.", over="memory"),
    )
    with site.database.read() as session:
        reason = session.scalars(select(Job.reason).where(Job.name == "b-a")).one()
    assert reason == (
        "The memory limit of 2 GiB was reached. To allow more: "
        "`labext sandbox jobs limits set job_memory VALUE`."
    )


def test_every_kind_of_task_has_a_memory_limit(site):
    with site.database.read() as session:
        limits = [kind.memory and kind.memory(session) for kind in site.queue.kinds.values()]
    assert limits == [2 << 30] * 2


def test_stopping_a_queued_batch_takes_few_statements(site, student):
    names = [f"j{n}" for n in range(100)]
    body = BATCH | {"jobNames": names, "settings": [CUT] * 100}
    submission.submit_batch(site, student, orjson.dumps(body))
    statements = []
    event.listen(
        site.database.engine, "before_cursor_execute", lambda *event: statements.append(event[2])
    )
    service.stop_job(site, student, b'{"jobName": "b"}')
    assert len(statements) < 30, statements
    with site.database.read() as session:
        records = [orjson.loads(record) for record in session.scalars(select(Job.record))]
        assert session.scalars(select(Task)).all() == []
    assert {record["JobStatus"] for record in records} == {"Stopped"}
    assert {record["WeightedHours"] for record in records} == {0.0}
    assert all(record["Completed"] for record in records)


def test_job_whose_input_file_is_lost_fails(site, student):
    """The name of the file must not be taken for its content."""
    job(site, student, "first")
    finish(site, "first")
    job(site, student, "second", {"sequences": "first/a.pdb"}, "msa_tree")
    with site.database.read() as session:
        job_id = session.scalars(select(Job.id).where(Job.name == "second")).one()
        payload = site.queue.find(session, job_creation.run_key(job_id)).payload
    work = job_files.work_folder(site, job_id)
    work.mkdir()
    shutil.rmtree(job_files.inputs_folder(site, job_id))
    with pytest.raises(TaskError, match="The file of the setting sequences is lost"):
        execution.run_job(work, payload)


def test_missing_package_of_a_tool_names_the_extra_to_install(site, student, monkeypatch, tmp_path):
    monkeypatch.setattr(Tool, "missing_modules", lambda tool: ["no_such_package_here"])
    message = r"the tool 'primer_design' is not installed; run `\S+ -m pip install .*\[gpl-tools\]"
    with pytest.raises(HTTPException, match=f"type: {message}"):
        job(site, student, "j", {"sequence": "ACGT"}, "primer_design")
    with pytest.raises(TaskError, match=f"The job could not start: {message}"):
        execution.run_job(tmp_path, {"tool": "primer_design", "settings": {}})


@pytest.mark.parametrize(
    ("seconds", "ended", "stopped"), [(1.0, 0, False), (11.0, 0, True), (0.0, 10, True)]
)
def test_batch_over_its_budget_stops_the_remaining_jobs(site, student, seconds, ended, stopped):
    """The clock of the machine has jumped by an hour, as after a night in which it slept."""
    more = {"jobNames": ["j0", "j1", "j2"], "settings": [CUT] * 3}
    body = BATCH | more | {"weightedHoursBudget": (36 + 10 - ended) / 3600}
    submission.submit_batch(site, student, orjson.dumps(body))
    transitions = TaskTransitions(site.database, site.queue)
    claim = transitions.claim(transitions.next(Counter()))
    transitions.start(Attempt(claim.id, 1), time.time() - 3600)
    finish(site, "b-j1")
    if seconds:
        transitions.tick({claim.id: seconds})
    if stopped:
        assert transitions.cancelled() == {claim.id}
        transitions.end(Attempt(claim.id, 1), TaskOutcome("stopped", seconds=seconds))
    with site.database.read() as session:
        parent, first, done, last = session.scalars(select(Job).order_by(Job.id))
    assert "budget" in (parent.reason or "") if stopped else parent.reason is None
    assert done.status == "Complete"
    if stopped:
        assert [(job.status, job.reason) for job in (first, last)] == [
            ("Stopped", parent.reason)
        ] * 2
        assert parent.batch_status == "Aggregating"
    else:
        assert [job.status for job in (first, last)] == ["Running", "In Queue"]
