"""Submissions whose answers are lost: nothing is doubled, and what can't be known is said."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext import config
from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
    LabextError,
    OutcomeUnknownError,
    StorageError,
    UnreachableError,
)
from labext.jobs import JobsClient, submission

pytestmark = pytest.mark.faults

SETTINGS = {"sequence": "GGGAAACCC", "temperature": 37}


def frame(count: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"name": [f"h{n}" for n in range(count)], "bases": ["A" * (n + 1) for n in range(count)]}
    )


def send(client: JobsClient, count: int, **options: Any) -> Any:
    return client.submit_batch(
        "folds", "fold", frame(count), name_column="name", mapping={"sequence": "bases"}, **options
    )


@pytest.mark.parametrize("how", ["lost_after", "html", "failed"])
def test_a_submission_that_arrived_and_lost_its_answer_is_found(
    client: JobsClient, ledger: Any, how: str
) -> None:
    answers = {
        "lost_after": ledger.lost_after(),
        "html": ledger.html(first_acts=True),
        "failed": ledger.answer(500, "disk on fire", first_acts=True),
    }
    ledger.fail("submit-job", answers[how])
    done = client.submit("f1", "fold", SETTINGS)
    assert done.created
    assert done.row is not None
    assert ledger.count("submit-job") == 1
    assert list(ledger.rows) == ["f1"]


@pytest.mark.parametrize("how", ["lost_before", "html", "failed"])
def test_a_submission_that_never_arrived_is_sent_again(
    client: JobsClient, ledger: Any, how: str
) -> None:
    answers = {
        "lost_before": ledger.lost_before(),
        "html": ledger.html(),
        "failed": ledger.answer(500, "disk on fire"),
    }
    ledger.fail("submit-job", answers[how])
    assert client.submit("f1", "fold", SETTINGS).created
    assert ledger.count("submit-job") == 2
    assert list(ledger.rows) == ["f1"]


def test_a_submission_that_always_fails_ends_with_the_services_words(
    client: JobsClient, ledger: Any
) -> None:
    ledger.fail("submit-job", *[ledger.answer(500, "disk on fire")] * 10)
    with pytest.raises(LabextError, match="disk on fire"):
        client.submit("f1", "fold", SETTINGS)
    assert ledger.count("submit-job") == 3
    assert not ledger.rows


def test_an_outcome_that_cannot_be_known_is_said_to_be_so(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-job", ledger.lost_after())
    ledger.fail("jobs", None, *[ledger.answer(403, "blocked for a while")] * 9)
    with pytest.raises(OutcomeUnknownError, match=r"f1 \(1 job of fold\) was sent") as raised:
        client.submit("f1", "fold", SETTINGS)
    assert "blocked for a while" in raised.value.message
    assert '`jobs.show("f1")`' in raised.value.next_step
    assert "nothing twice" in raised.value.next_step
    ledger.scripts.clear()
    again = client.submit("f1", "fold", SETTINGS)
    assert not again.created
    assert list(ledger.rows) == ["f1"]


def test_a_service_that_is_not_there_gets_no_guesses() -> None:
    client = JobsClient("http://127.0.0.1:9/api/", "some-key-1234")
    with pytest.raises(UnreachableError):
        client.submit("f1", "fold", SETTINGS)


@pytest.mark.parametrize("mine", [True, False])
def test_a_name_that_is_taken_meanwhile(mine: bool) -> None:
    row = {"JobName": "f1", "Type": "fold", "JobStatus": "In Queue", "Settings": "{}"}

    def taken() -> str:
        raise ConflictError("taken")

    def same() -> Any:
        if not mine:
            raise submission.name_taken_error("f1", "its sequence differs")
        return row

    if mine:
        assert submission.send_once("f1", taken, same, "1 job of fold") == ("", row, False)
    else:
        with pytest.raises(ConflictError, match="sequence differs"):
            submission.send_once("f1", taken, same, "1 job of fold")


def test_parts_that_lost_their_answers_are_sent_once(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-batch", None, ledger.lost_after(), ledger.lost_before())
    done = send(client, 250)
    assert done.created
    assert done.parts == ("folds-part1of3", "folds-part2of3", "folds-part3of3")
    sent = [body["batchName"] for body in ledger.bodies("submit-batch")]
    assert sent == ["folds-part1of3", "folds-part2of3", "folds-part3of3", "folds-part3of3"]
    assert {name: len(of) for name, of in ledger.members.items()} == {
        "folds-part1of3": 100,
        "folds-part2of3": 100,
        "folds-part3of3": 50,
    }


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_batch_that_broke_off_is_finished_by_the_same_line(
    client: JobsClient,
    ledger: Any,
    elsewhere: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    ledger.fail("submit-batch", None, None, ledger.answer(403, "Budget exceeded for team X"))
    with pytest.raises(AccessError, match="2 of 3 parts of folds were sent") as raised:
        send(client, 250)
    assert "Budget exceeded for team X" in raised.value.message
    assert '`jobs.resume("folds")`, or submit it again' in raised.value.next_step
    if elsewhere:
        monkeypatch.setenv("LABEXT_STATE_DIR", str(tmp_path / "another"))
    other = JobsClient(client.base_url, "ledger-key-0123456789", rate=None)
    ledger.received.clear()
    done = send(other, 250)
    assert "2 of 3 parts of folds were there already" in done.message
    assert [body["batchName"] for body in ledger.bodies("submit-batch")] == ["folds-part3of3"]
    assert not send(other, 250).created
    assert other.jobs(batch="folds")["Name"].tolist() == [f"h{n}" for n in range(250)]


def test_the_batch_is_on_disk_before_anything_is_sent(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-batch", ledger.answer(403, "Budget exceeded"))
    with pytest.raises(AccessError):
        send(client, 120)
    (path,) = (config.state_dir() / "jobs" / "batches").glob("*.json")
    record = json.loads(path.read_text())
    assert list(record["jobs"]) == [f"h{n}" for n in range(120)]
    assert len(record["digests"]) == 120
    assert record["free"] == ["folds-part1of2", "folds-part2of2"]
    assert record["address"] in client.base_url
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_a_journal_nothing_is_sent(client: JobsClient, ledger: Any) -> None:
    state = config.state_dir()
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text("a file stands where the folder should be")
    with pytest.raises(StorageError):
        send(client, 120)
    assert ledger.count("submit-batch") == 0


def test_the_service_validates_before_the_first_part_is_sent(
    client: JobsClient, ledger: Any
) -> None:
    with pytest.raises(InputError, match="would refuse 250 jobs of folds: too hot: 101"):
        send(client, 250, settings={"temperature": 101})
    assert ledger.count("submit-batch") == 0
    assert ledger.count("validate-job") == 1
    ledger.validates = False
    assert send(client, 250).created


def test_a_name_that_other_parts_have_is_a_conflict(client: JobsClient, ledger: Any) -> None:
    send(client, 250)
    ledger.received.clear()
    jobs = {job: {"sequence": bases} for job, bases in frame(250).itertuples(index=False)}
    with pytest.raises(ConflictError, match="a batch in 3 parts, not 4"):
        send(client, 350)
    with pytest.raises(ConflictError, match="in job h3, it has no mode"):
        client.submit_batch("folds", "fold", jobs | {"h3": {**jobs["h3"], "mode": "fast"}})
    with pytest.raises(ConflictError, match="a batch of 250 jobs"):
        send(client, 50)
    assert ledger.count("submit-batch") == 0


def test_the_budget_is_divided_by_the_parts_jobs(client: JobsClient, ledger: Any) -> None:
    send(client, 250, max_runtime_seconds=60, weighted_hours_budget=5)
    bodies = ledger.bodies("submit-batch")
    assert [body["weightedHoursBudget"] for body in bodies] == [2.0, 2.0, 1.0]
    assert {body["maxRuntimeSeconds"] for body in bodies} == {60}


def test_only_clean_settings_are_sent(client: JobsClient, ledger: Any) -> None:
    client.submit("f1", "fold", SETTINGS, project_tag="proj_7")
    client.submit_batch("few", "fold", {"a": SETTINGS})
    (single,), (batch,) = ledger.bodies("submit-job"), ledger.bodies("submit-batch")
    assert single == {"jobName": "f1", "type": "fold", "settings": SETTINGS, "projectTag": "proj_7"}
    assert batch == {
        "batchName": "few",
        "type": "fold",
        "jobNames": ["a"],
        "settings": [SETTINGS],
    }


def test_the_schema_is_read_anew_before_a_setting_is_refused(
    client: JobsClient, ledger: Any
) -> None:
    client.submit("f1", "fold", SETTINGS)
    ledger.tools[0]["settings"].append({"name": "salt", "required": False})
    assert client.submit("f2", "fold", {**SETTINGS, "salt": 1.0}).created
    ledger.tools.append({"name": "new", "settings": []})
    assert client.submit("f3", "new", {}).created
    before = ledger.count("tools")
    client.submit("f4", "new", {})
    assert ledger.count("tools") == before


def test_a_file_parameter_takes_what_is_there(client: JobsClient, ledger: Any) -> None:
    ledger.files.append("1A8O.pdb")
    with pytest.raises(InputError, match=r"no such file has been uploaded \(did you mean"):
        client.check("fold", {"sequence": "A", "pdbFile": "1A80.pdb"})
    with pytest.raises(InputError, match='no job is called "gone"'):
        client.check("fold", {"sequence": "A", "pdbFile": "gone/rank_1.pdb"})
    client.submit("f1", "fold", SETTINGS)
    with pytest.raises(InputError, match=r"output of f1, which is not complete \(In Queue\)"):
        client.check("fold", {"sequence": "A", "pdbFile": "f1/rank_1.pdb"})
    ledger.complete("f1")
    for value in ("1A8O.pdb", "f1/rank_1.pdb", "ATOM      1\nEND\n"):
        assert client.check("fold", {"sequence": "A", "pdbFile": value})["pdbFile"] == value
