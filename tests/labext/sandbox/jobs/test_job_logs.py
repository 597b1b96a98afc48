"""`GET /job-log` and `GET /job-outputs`, versions in logs, and time limits of tools."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import orjson
import pytest
from sqlalchemy import select
from starlette.exceptions import HTTPException
from waiting import wait_until

import labext
from labext.sandbox.core.queue import Task
from labext.sandbox.jobs import execution, limits, submission
from labext.sandbox.jobs.files import job_files, job_logs
from labext.sandbox.jobs.pipelines.service import submit_pipeline
from labext.sandbox.jobs.tables import COMPLETE, IN_QUEUE, RUNNING, STOPPED, Job, current_timestamp
from labext.sandbox.jobs.tools.catalogue import available_tools

pytestmark = pytest.mark.contract


@pytest.fixture
def stored(site, student):
    """Store a job in a state, with a log and outputs."""

    def store(name="job1", status=RUNNING, log=None, outputs=None):
        with site.database.write() as session:
            job = Job(
                account_id=student.id,
                name=name,
                type="digest",
                tool="digest",
                status=status,
                created=current_timestamp(),
                settings="{}",
            )
            session.add(job)
            session.flush()
            work = job_files.work_folder(site, job.id)
        out = work / "out"
        out.mkdir(parents=True)
        if log is not None:
            (work / "log.txt").write_bytes(log)
        for path, content in (outputs or {}).items():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_bytes(content)
        return work

    return store


def paths(api, name, **query):
    response = api.get("job-outputs", name=name, **query)
    assert response.status_code == 200, response.text
    return {file["path"]: file["bytes"] for file in response.json()["files"]}


def test_log_of_a_complete_job_is_that_of_its_archive(api, helix):
    log = api.get("job-log", name=helix).json()
    archived = api.archive(helix).read("log.txt").decode()
    assert log["text"] == archived
    assert archived.startswith("peptide_build with ")
    assert (log["start"], log["offset"], log["running"]) == (0, log["size"], False)
    assert log["size"] == len(archived.encode())


def test_log_and_files_of_a_running_and_of_a_stopped_job(own_box, kit):
    api = kit.Api(own_box)
    name = api.submit("rna_fold", kit.SLOW)
    waiting = api.submit("digest", kit.cut())
    wait_until(lambda: api.get("job-log", name=name).json()["text"])
    api.until(name, lambda row: row["JobStatus"] == "Running")
    log = api.get("job-log", name=name).json()
    assert log["text"].startswith("rna_fold with ")
    assert log["running"]
    assert "log.txt" in paths(api, name)
    message = kit.error_message(api.get("job-outputs", name=name, file="log.txt"))
    assert message == f"Job {name} is still running; its files can be read once it has ended."
    empty = {"text": "", "start": 0, "offset": 0, "size": 0, "running": True}
    assert api.get("job-log", name=waiting).json() == empty
    assert paths(api, waiting) == {}
    api.end("stop", name)
    stopped = api.get("job-log", name=name).json()
    assert stopped["text"].startswith(log["text"])
    assert not stopped["running"]
    response = api.get("job-outputs", name=name, file="log.txt")
    assert response.text == stopped["text"]
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"].startswith("attachment")
    assert response.headers["x-content-type-options"] == "nosniff"


def test_outputs_of_a_complete_job_are_those_of_its_archive(api, helix):
    sizes = {info.filename: info.file_size for info in api.archive(helix).infolist()}
    assert paths(api, helix) == sizes
    files = api.get("job-outputs", name=helix).json()["files"]
    written = [datetime.fromisoformat(file["modified"]) for file in files]
    assert all(abs(datetime.now(UTC) - moment) < timedelta(minutes=5) for moment in written)
    (pdb,) = (path for path in sizes if path.endswith(".pdb"))
    content = api.get("job-outputs", name=helix, file=pdb).content
    assert content == api.archive(helix).read(pdb)


def test_log_continues_at_the_offset_between_whole_characters(stored, site, student):
    work = stored(log="a\u00b5".encode() + b"\xe2\x82")  # the euro sign lacks its last byte
    first = job_logs.read_log(site, student, {"name": "job1"})
    assert first == {"text": "a\u00b5", "start": 0, "offset": 3, "size": 5, "running": True}
    with (work / "log.txt").open("ab") as log:
        log.write(b"\xac\xff\n")
    later = job_logs.read_log(site, student, {"name": "job1", "offset": "3"})
    assert (later["text"], later["offset"]) == ("\u20ac\ufffd\n", 8)
    anew = job_logs.read_log(site, student, {"name": "job1", "offset": "9"})
    assert (anew["start"], anew["offset"]) == (0, 8)


def test_end_of_a_log_may_be_half_a_character_once_the_job_has_ended(stored, site, student):
    stored(status=STOPPED, log=b"a\xe2\x82")
    log = job_logs.read_log(site, student, {"name": "job1"})
    assert (log["text"], log["offset"]) == ("a\ufffd", 3)


def test_response_has_a_bounded_part_of_the_log(stored, site, student, monkeypatch):
    monkeypatch.setattr(job_logs, "MAX_TEXT_BYTES", 4)
    stored(status=COMPLETE, log=b"1234\xe2\x82\xac890")
    offset, read = 0, []
    while offset < 10:
        log = job_logs.read_log(site, student, {"name": "job1", "offset": str(offset)})
        read.append(log["text"])
        offset = log["offset"]
    assert read == ["1234", "\u20ac8", "90"]


def test_file_outside_the_outputs_is_404(stored, site, student):
    work = stored(status=STOPPED, log=b"x", outputs={"inner/b": b"b"})
    (work.parent / "secret").write_text("secret")
    os.symlink(work.parent / "secret", work / "out" / "link")
    for path in (
        *("../log.txt", "../../work/log.txt", "/etc/passwd", "a/../../log.txt", "a\\b", "link"),
        *("a\0b", "nope", "", ".", "x" * 5000, "inner"),
    ):
        with pytest.raises(HTTPException, match="has no output file") as raised:
            job_logs.find_job_output(site, student, {"name": "job1", "file": path})
        assert raised.value.status_code == 404
    names = [file["path"] for file in _listed(site, student)]
    assert names == ["inner/b", "log.txt"]


def test_hostile_file_names_are_listed_as_text(stored, site, student):
    work = stored(status=STOPPED, outputs={"<script>\x1b[2J.csv": b"", "a%2f..&b=1": b"1"})
    with open(os.fsencode(work / "out") + b"/\xff.pdb", "wb"):
        pass
    names = [file["path"] for file in _listed(site, student)]
    assert set(names) == {"<script>\x1b[2J.csv", "a%2f..&b=1", "\\udcff.pdb"}
    output_file = job_logs.find_job_output(site, student, {"name": "job1", "file": "a%2f..&b=1"})
    assert output_file.file.read_bytes() == b"1"


def test_files_of_a_queued_job_cannot_be_read(stored, site, student):
    stored(status=IN_QUEUE, log=b"x")
    with pytest.raises(HTTPException, match="is still queued; its files") as raised:
        job_logs.find_job_output(site, student, {"name": "job1", "file": "log.txt"})
    assert raised.value.status_code == 400


def test_jobs_of_others_are_unknown_and_open_to_their_owner(api, teacher, kit, helix):
    email = "student@sandbox.local"
    own = teacher.submit("digest", kit.cut())
    for path in ("job-log", "job-outputs"):
        assert helix in kit.error_message(teacher.get(path, name=helix), 404)
        assert own in kit.error_message(api.get(path, name=own), 404)
        assert "email" in kit.error_message(
            api.get(path, name=own, email="teacher@sandbox.local"), 403
        )
        assert teacher.get(path, name=helix, email=email).status_code == 200
        assert "no account" in kit.error_message(teacher.get(path, name=helix, email="x@y.z"), 404)


def test_log_of_a_batch_is_refused_with_its_jobs(api, kit):
    batch = api.batch([kit.cut()] * 4)
    for path, noun in (("job-log", "logs"), ("job-outputs", "files")):
        message = kit.error_message(api.get(path, name=batch))
        jobs = f"{batch}-j0, {batch}-j1, {batch}-j2"
        assert (
            message == f"{batch} is a batch; request the {noun} of one of its jobs, such as {jobs}."
        )
    assert api.get("job-log", name=f"{batch}-j0").status_code == 200


@pytest.mark.parametrize("offset", ["-1", "1.5", "", "9" * 19, "\u0663"])
def test_invalid_offset_is_refused_by_name(api, kit, helix, offset):
    assert "offset" in kit.error_message(api.get("job-log", name=helix, offset=offset))


def test_name_is_required(api, kit):
    for path in ("job-log", "job-outputs"):
        assert "name" in kit.error_message(api.get(path))
        assert "nope" in kit.error_message(api.get(path, name="nope"), 404)


def _listed(site, student):
    return orjson.loads(orjson.dumps(job_logs.list_job_outputs(site, student, {"name": "job1"})))[
        "files"
    ]


def test_version_line_lists_every_required_package():
    tools = available_tools()
    for tool in tools.values():
        packages = execution.version_line(tool).partition(" with ")[2].split(", ")
        assert len(packages) == len(tool.requires) + 2, tool.name
        assert all(line.split()[-1][0].isdigit() for line in packages)
    around = f"labext {labext.__version__}, Python {platform.python_version()}"
    line = f"digest with biopython {version('biopython')}, {around}"
    assert execution.version_line(tools["digest"]) == line


def test_shortest_time_limit_applies(site, student):
    with site.database.write() as session:
        limits.change_limit(session, "job_seconds", 100)
    cut = {"sequence": "GAATTC", "enzymes": ["EcoRI"]}
    search = {"query": ">q\nMKTAYIAKQR\n", "targets": ">t\nMKTAYIAKQRQISFVK\n"}
    batch = {"batchName": "b", "type": "digest", "jobNames": ["a"], "settings": [cut]}
    stage = {"task": "Build", "toolSettings": {"peptide_build": {"sequence": "pipe"}}}
    align = {"sequence1": "ACGT", "sequence2": "ACGT"}
    for submit, body in (
        (submission.submit_job, {"jobName": "s", "type": "hmm_search", "settings": search}),
        (submission.submit_job, {"jobName": "a", "type": "align_pair", "settings": align}),
        (submission.submit_batch, batch | {"maxRuntimeSeconds": 30}),
        (submit_pipeline, {"jobName": "p", "initialInputs": ["ACD"], "stages": [stage]}),
    ):
        submit(site, student, orjson.dumps(body))
    with site.database.read() as session:
        tasks = session.scalars(select(Task)).all()
    assert {task.payload["tool"]: task.max_seconds for task in tasks} == {
        "hmm_search": available_tools()["hmm_search"].seconds,
        "align_pair": 100,
        "digest": 30,
        "peptide_build": 100,
    }
    assert available_tools()["hmm_search"].seconds == 60
