"""Submissions of jobs and batches: parts, conflicts, bodies and validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
)
from labext.jobs import JobsClient

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


def test_parts_with_lost_responses_are_submitted_once(client: JobsClient, ledger: Any) -> None:
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


def test_interrupted_batch_is_completed_from_another_machine(
    client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ledger.fail("submit-batch", None, None, ledger.answer(403, "Budget exceeded for team X"))
    with pytest.raises(AccessError, match="2 of 3 parts of folds were sent") as raised:
        send(client, 250)
    assert "Budget exceeded for team X" in raised.value.message
    assert '`jobs.resume("folds")`, or submit it again' in raised.value.next_step
    monkeypatch.setenv("LABEXT_STATE_DIR", str(tmp_path / "another"))
    other = JobsClient(client.base_url, "ledger-key-0123456789", rate=None)
    ledger.received.clear()
    done = send(other, 250)
    assert "2 of 3 parts of folds already existed" in done.message
    assert [body["batchName"] for body in ledger.bodies("submit-batch")] == ["folds-part3of3"]
    assert not send(other, 250).created
    assert other.jobs(batch="folds")["Name"].tolist() == [f"h{n}" for n in range(250)]


def test_other_batch_of_the_same_name_is_a_conflict(client: JobsClient, ledger: Any) -> None:
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


def test_budget_is_divided_in_proportion_to_jobs(client: JobsClient, ledger: Any) -> None:
    send(client, 250, max_runtime_seconds=60, weighted_hours_budget=5)
    bodies = ledger.bodies("submit-batch")
    assert [body["weightedHoursBudget"] for body in bodies] == [2.0, 2.0, 1.0]
    assert {body["maxRuntimeSeconds"] for body in bodies} == {60}


def test_submission_bodies(client: JobsClient, ledger: Any) -> None:
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
