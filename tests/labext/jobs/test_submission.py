"""Submissions, uploads and folders: parts, conflicts, bodies, validation, retries and outcomes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext.actions import Action
from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    OutcomeUnknownError,
    ServiceError,
    UnreachableError,
)
from labext.http import Operation, RetryMode
from labext.jobs import JobsClient, api
from labext.jobs.submission import send_once

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts", "no_pauses")]


SETTINGS = {"sequence": "GGGAAACCC", "temperature": 37}


def frame(count: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"name": [f"h{n}" for n in range(count)], "bases": ["A" * (n + 1) for n in range(count)]}
    )


def send(client: JobsClient, count: int, **options: Any) -> Any:
    return client.submit_batch(
        "folds", "fold", frame(count), name_column="name", mapping={"sequence": "bases"}, **options
    )


def test_interrupted_batch_is_completed_from_another_machine(
    client: JobsClient, ledger: Any, elsewhere: Any
) -> None:
    ledger.fail("submit-batch", None, None, ledger.answer(403, "Budget exceeded for team X"))
    with pytest.raises(AccessError, match="2 of 3 parts of folds were sent") as raised:
        send(client, 25)
    assert "Budget exceeded for team X" in raised.value.message
    assert '`jobs.resume("folds")`, or submit it again' in raised.value.next_step
    other = elsewhere()
    ledger.received.clear()
    done = send(other, 25)
    assert "2 of 3 parts of folds already existed" in done.message
    assert [body["batchName"] for body in ledger.bodies("submit-batch")] == ["folds-part3of3"]
    assert not send(other, 25).created
    assert other.jobs(batch="folds")["Name"].tolist() == [f"h{n}" for n in range(25)]


def test_other_batch_of_the_same_name_is_a_conflict(client: JobsClient, ledger: Any) -> None:
    send(client, 25)
    ledger.received.clear()
    jobs = {job: {"sequence": bases} for job, bases in frame(25).itertuples(index=False)}
    with pytest.raises(ConflictError, match="a batch in 3 parts, not 4"):
        send(client, 35)
    with pytest.raises(ConflictError, match="in job h3, it has no mode"):
        client.submit_batch("folds", "fold", jobs | {"h3": {**jobs["h3"], "mode": "fast"}})
    with pytest.raises(ConflictError, match="a batch of 25 jobs"):
        send(client, 5)
    assert ledger.count("submit-batch") == 0


def test_submission_bodies(client: JobsClient, ledger: Any) -> None:
    client.submit("f1", "fold", SETTINGS, project_tag="proj_7")
    client.submit_batch("few", "fold", {"a": SETTINGS})
    (single,), (batch,) = ledger.bodies("submit-job"), ledger.bodies("submit-batch")
    assert single == {"jobName": "f1", "type": "fold", "settings": SETTINGS, "projectTag": "proj_7"}
    assert batch == {"batchName": "few", "type": "fold", "jobNames": ["a"], "settings": [SETTINGS]}


def test_tool_schema_is_reloaded_before_refusing_a_setting(client: JobsClient, ledger: Any) -> None:
    client.submit("f1", "fold", SETTINGS)
    ledger.tools[0]["settings"].append({"name": "salt", "required": False})
    assert client.submit("f2", "fold", {**SETTINGS, "salt": 1.0}).created
    ledger.tools.append({"name": "new", "settings": []})
    assert client.submit("f3", "new", {}).created
    before = ledger.count("tools")
    client.submit("f4", "new", {})
    assert ledger.count("tools") == before


def test_file_parameter_is_checked(client: JobsClient, ledger: Any) -> None:
    settings = {"sequence": "A", "pdbFile": "1A8O.pdb"}
    with pytest.raises(InputError, match="no such file has been uploaded"):
        client.check("fold", settings)
    ledger.files.append("1A8O.pdb")
    assert client.check("fold", settings) == settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.pdb"
    path.write_bytes(b"ATOM\n" * 1000)
    return path


def test_presigned_upload_sends_no_key_and_is_verified(
    client: JobsClient, ledger: Any, file: Path
) -> None:
    assert client.upload(file, "set", presigned=True).name == "model.pdb"
    assert ledger.stored == {"model.pdb": file.read_bytes()}
    assert ledger.bodies("getPresignedUploadUrl") == [{"filename": "model.pdb", "folder": "set"}]
    assert [key for operation, key in ledger.keys if operation == "store"] == [None, None]
    assert ledger.count("upload") == 0


def test_file_name_that_is_not_utf_8_is_an_error_without_a_request(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.fasta")
    path.write_bytes(b">a\nACGT\n")
    with pytest.raises(InputError, match="can't be sent") as caught:
        client.upload(path)
    str(caught.value).encode()
    with pytest.raises(InputError, match="folder"):
        client.files("caf\udce9")
    assert not ledger.files


def test_upload_does_not_need_the_list_of_files(
    client: JobsClient, ledger: Any, file: Path
) -> None:
    ledger.not_served["getPresignedUploadUrl"] = ledger.answer(404, {"detail": "Not Found"})
    ledger.fail("files", ledger.answer(403, "Forbidden"))
    assert client.upload(file).name == "model.pdb"
    assert ledger.count("files") == 1


def test_413_falls_back_to_a_presigned_upload(client: JobsClient, ledger: Any, file: Path) -> None:
    ledger.fail("upload", ledger.answer(413, "Request Entity Too Large", "text/plain"))
    assert client.upload(file).name == "model.pdb"
    assert ledger.stored == {"model.pdb": file.read_bytes()}
    ledger.fail("upload", ledger.answer(413, "Request Entity Too Large", "text/plain"))
    ledger.not_served["getPresignedUploadUrl"] = ledger.answer(404, {"detail": "Not Found"})
    with pytest.raises(InputError, match="Too Large"):
        client.upload(file)
    with pytest.raises(NotFoundError, match="does not support presigned"):
        client.upload(file, presigned=True)


@pytest.mark.parametrize("how", ["lost_before", "lost_after"])
def test_lost_response_of_the_store_is_retried(
    client: JobsClient, ledger: Any, file: Path, how: str
) -> None:
    ledger.fail("store", getattr(ledger, how)(), ledger.answer(503, "slow down"))
    client.upload(file, presigned=True)
    assert ledger.stored == {"model.pdb": file.read_bytes()}
    assert ledger.count("store") == 4


def test_missing_or_truncated_upload_is_an_error(
    client: JobsClient, ledger: Any, file: Path
) -> None:
    ledger.fail("store", ledger.answer())
    with pytest.raises(ServiceError, match="it was not found there"):
        client.upload(file, presigned=True)
    ledger.fail("store", None, ledger.answer(headers={"Content-Length": "7"}))
    with pytest.raises(ServiceError, match="only 7 of 5,000 bytes arrived"):
        client.upload(file, presigned=True)


@pytest.mark.parametrize("answer", [{}, [], {"uploadUrl": 7}, {"uploadUrl": "ftp://x/y"}])
def test_response_without_upload_url_is_an_error(
    client: JobsClient, ledger: Any, file: Path, answer: Any
) -> None:
    ledger.fail("getPresignedUploadUrl", ledger.answer(body=answer))
    with pytest.raises(ServiceError, match="no upload address"):
        client.upload(file, presigned=True)


def test_folders_from_every_response_format(client: JobsClient, ledger: Any) -> None:
    assert client.folders() == ["models", "sets"]
    ledger.fail("getFolders", ledger.answer(body={"folders": [{"name": "a"}, "b/", "/"]}))
    assert client.folders() == ["a", "b"]
    ledger.fail("getFolders", ledger.answer(body={"x": 1}))
    with pytest.raises(ServiceError, match="invalid list of folders"):
        client.folders()
    ledger.not_served["getFolders"] = ledger.answer(404, {"detail": "Not Found"})
    ledger.files = ["x.pdb"]
    ledger.fail("files", None, ledger.answer(body=["x.pdb", "sets/"]))
    assert client.folders() == ["sets"]


def test_upload_is_retried_and_its_path_checked(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    path = tmp_path / "my file é.pdb"
    path.write_bytes(b"ATOM" * 1000)
    ledger.fail("upload", ledger.lost_before())
    assert client.upload(path, folder="set").name == "my file é.pdb"
    assert ledger.bodies("upload") == [path.read_bytes()] * 2
    assert ledger.received[-1][1] == {"folder": "set", "name": "my file é.pdb"}
    with pytest.raises(InputError, match="did you mean"):
        client.upload(tmp_path / "my file e.pdb")
    with pytest.raises(InputError, match="is a folder"):
        client.upload(tmp_path)
    with pytest.raises(InputError):
        client.delete_file()
    with pytest.raises(InputError):
        client.delete_file("a", "b")


ALL = {name: op for name, op in vars(api).items() if isinstance(op, Operation)}
READS = {
    "TOOLS", "WORKERS", "JOB", "JOBS", "VALIDATE", "RESULT", "FILES", "FOLDERS", "PRESIGN", "USAGE",
    "LOG", "OUTPUTS", "OUTPUT",
}  # fmt: skip
IDEMPOTENT = {"STOP", "CANCEL_JOB", "CANCEL_BATCH", "UPLOAD"}
DELETES = {"DELETE", "DELETE_FILE"}
SUBMISSIONS = {"SUBMIT", "SUBMIT_BATCH", "SUBMIT_PIPELINE", "RUN_PIPELINE"}


def test_retry_mode_of_every_operation() -> None:
    kinds = [READS, IDEMPOTENT, DELETES, SUBMISSIONS]
    assert sorted(name for kind in kinds for name in kind) == sorted(ALL)
    assert all(ALL[name].repeat is RetryMode.ALWAYS for name in READS | IDEMPOTENT)
    assert all(ALL[name].repeat is RetryMode.DELETE for name in DELETES)
    for name in SUBMISSIONS:
        assert ALL[name].repeat is RetryMode.UNSENT
        assert "creates no duplicate" in ALL[name].next_step
        assert ALL[name].action == Action.list_jobs()


def test_submission_that_a_proxy_never_passes_on_is_reported_once(
    client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labext.jobs.submission._BACKOFF", 0)
    page = "<html><head><title>502 Bad Gateway</title></head></html>"
    ledger.fail("submit-job", *[ledger.answer(502, page, "text/html")] * 3)
    with pytest.raises(OutcomeUnknownError) as raised:
        client.submit("f1", "fold", {"sequence": "A"})
    assert raised.value.message == (
        "f1 (1 job of fold) was sent 3 times, and did not exist when it was looked up: The job "
        "service answered 502 to 'submit a job': a web page, “502 Bad Gateway”."
    )
    assert pickle.loads(pickle.dumps(raised.value)).message == raised.value.message


def test_identical_job_of_another_client_at_the_same_moment_is_reused(
    client: JobsClient, ledger: Any
) -> None:
    ledger.fail("submit-job", ledger.answer(400, "Job name f1 is already taken.", first_acts=True))
    done = client.submit("f1", "fold", {"sequence": "A"})
    assert (done.created, done.row["JobName"]) == (False, "f1")
    assert done.message.startswith("f1 already exists with the same settings")


@pytest.mark.parametrize(
    ("text", "message"), [("Queued as f1.", "Queued as f1."), ("", "f1 was submitted.")]
)
def test_message_of_a_submission_is_that_of_the_service_or_names_the_job(
    client: JobsClient, ledger: Any, text: str, message: str
) -> None:
    ledger.fail("submit-job", ledger.answer(200, text, "text/plain", first_acts=True))
    assert client.submit("f1", "fold", {"sequence": "A"}).message == message


def test_stop_refused_after_a_lost_response_is_success(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    ledger.fail("stop-job", ledger.lost_after(), ledger.answer(400, "Job f1 is not running"))
    assert client.stop("f1") == "f1 is already Stopped."
    assert ledger.count("stop-job") == 2


def test_stop_continues_past_a_part_that_has_ended(client: JobsClient, ledger: Any) -> None:
    jobs = {f"h{n}": {"sequence": "A"} for n in range(15)}
    client.submit_batch("folds", "fold", jobs)
    ledger.complete("folds-part1of2")
    ledger.fail("stop-job", ledger.answer(400, "Cannot stop: no running job"), None)
    assert client.stop("folds") == (
        "folds: folds-part1of2 is already Complete; folds-part2of2 stopped."
    )


def test_stop_refused_while_running_is_an_error(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    for words in ("Stopping is not allowed", "Job f1 is not ready to be stopped"):
        ledger.fail("stop-job", ledger.answer(400, words))
        with pytest.raises(LabextError, match=words):
            client.stop("f1")


def test_delete_removes_a_journal_record_without_a_batch(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-batch", ledger.answer(403, "Budget exceeded"))
    with pytest.raises(AccessError, match="Budget exceeded"):
        client.submit_batch("few", "fold", {"a": {"sequence": "A"}})
    assert client.unfinished_names() == ["few"]
    assert client.delete("few").startswith("The service does not have few")
    assert client.unfinished_names() == []
    with pytest.raises(NotFoundError):
        client.delete("few")


ROW = {"JobName": "f1"}
LOST = OutcomeUnknownError("The answer was lost.", "Look.")
FAILED = ServiceError("The service failed.", "Wait.")
AWAY = UnreachableError("Nobody answers.", "Start it.")
TAKEN = ConflictError("f1 is taken.", "Choose another.")
REFUSED = AccessError("Too many requests.", "Wait.")


class Script:
    """Runs actions in order, and counts the calls."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.count = 0

    def __call__(self) -> Any:
        self.count += 1
        step = self.steps.pop(0)
        if isinstance(step, LabextError):
            raise step
        return step


def settle(send: Callable[[], Any], look: Callable[[], Any]) -> Any:
    return send_once("f1", send, look, "1 job of fold")


@pytest.mark.parametrize(
    ("sent", "looked_up", "expected"),
    [
        (["done"], [], ("done", None, True)),
        ([LOST], [ROW], ("", ROW, True)),
        ([FAILED], [ROW], ("", ROW, True)),
        ([LOST, "done"], [None], ("done", None, True)),
        ([LOST, TAKEN], [None, ROW], ("", ROW, True)),
        ([LOST, FAILED, "done"], [None, None], ("done", None, True)),
        ([TAKEN], [ROW], ("", ROW, False)),
    ],
)
def test_submission_is_found_or_sent_again(
    sent: list[Any], looked_up: list[Any], expected: tuple[Any, ...]
) -> None:
    send, look = Script(*sent), Script(*looked_up)
    assert settle(send, look) == expected
    assert (send.steps, look.steps) == ([], [])


@pytest.mark.parametrize(
    ("sent", "looked_up", "kind"),
    [
        ([AWAY], [], UnreachableError),
        ([REFUSED], [], AccessError),
        ([TAKEN], [None], ConflictError),
        ([TAKEN], [TAKEN], ConflictError),
        ([LOST], [TAKEN], ConflictError),
        ([FAILED, FAILED, FAILED], [None, None, None], ServiceError),
        ([LOST], [AWAY], OutcomeUnknownError),
        ([LOST], [REFUSED], OutcomeUnknownError),
        ([LOST, AWAY], [None], OutcomeUnknownError),
        ([FAILED, AWAY], [None], OutcomeUnknownError),
        ([LOST, LOST, LOST], [None, None, None], OutcomeUnknownError),
        ([TAKEN], [AWAY], ConflictError),
        ([LOST, TAKEN], [None, AWAY], OutcomeUnknownError),
    ],
)
def test_outcome_is_unknown_if_a_lost_submission_is_not_resolved(
    sent: list[Any], looked_up: list[Any], kind: type[LabextError]
) -> None:
    send, look = Script(*sent), Script(*looked_up)
    with pytest.raises(kind) as raised:
        settle(send, look)
    assert type(raised.value) is kind
    assert (send.steps, look.steps) == ([], [])
    if kind is OutcomeUnknownError:
        assert "f1 (1 job of fold)" in raised.value.message
        assert "creates no duplicate" in raised.value.next_step
