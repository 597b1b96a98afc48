"""Interrupted batches are resumed, also by `%jobs resume`, each part submitted once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import complete

from labext import config
from labext.actions import Action
from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    NotReadyError,
    OutcomeUnknownError,
    StorageError,
    SubmissionInterrupted,
)
from labext.jobs import JobsClient
from labext_widgets import ListProgress

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]
PARTS = ["folds-part1of3", "folds-part2of3", "folds-part3of3"]
FRAME = pd.DataFrame(
    {"name": [f"h{n}" for n in range(25)], "bases": ["A" * (n + 1) for n in range(25)]}
)


def send(
    client: JobsClient, frame: pd.DataFrame = FRAME, name: str = "folds", **options: Any
) -> Any:
    return client.submit_batch(
        name, "fold", frame, name_column="name", mapping={"sequence": "bases"}, **options
    )


def records() -> Path:
    return config.state_dir() / "jobs" / "batches"


def break_off(client: JobsClient, ledger: Any, *answers: Any) -> LabextError:
    ledger.fail("submit-batch", *answers)
    with pytest.raises(LabextError) as raised:
        send(client)
    ledger.scripts.clear()
    return raised.value


def assert_once(ledger: Any) -> None:
    assert {name: len(of) for name, of in ledger.members.items()} == dict(
        zip(PARTS, (10, 10, 5), strict=True)
    )


def test_batch_is_resumed_without_its_frame(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    error = break_off(client, ledger, None, ledger.answer(403, "Budget exceeded for team X"))
    assert error.message.startswith("1 of 3 parts of folds were sent, but not folds-part2of3")
    assert '`jobs.resume("folds")`' in error.next_step
    (row,) = later.unfinished().to_dict("records")
    assert [row[key] for key in ("Name", "Type", "Jobs", "Parts", "Sent", "Missing", "Note")] == [
        "folds", "fold", 25, 3, 1, 15, "",
    ]  # fmt: skip
    ledger.received.clear()
    done = later.resume("folds")
    assert [body["batchName"] for body in ledger.bodies("submit-batch")] == PARTS[1:]
    assert (done.created, done.sent, done.deleted) == (True, tuple(PARTS[1:]), ())
    assert done.message == (
        "folds-part2of3, folds-part3of3 were missing: 15 jobs were submitted. "
        "The service now has all jobs of folds (25 jobs)."
    )
    assert done.frame["bases"].tolist() == FRAME["bases"].tolist()
    assert later.unfinished().empty
    assert_once(ledger)


def test_each_part_but_the_last_is_reported(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    reports: list[tuple[int, int]] = []
    ledger.fail("submit-batch", None, ledger.answer(403, "Budget exceeded for team X"))
    with pytest.raises(LabextError):
        send(client, on_sent=lambda *numbers: reports.append(numbers))
    assert reports == [(10, 25)]
    later.resume("folds", on_sent=lambda *numbers: reports.append(numbers))
    assert reports == [(10, 25), (20, 25)]
    send(client, FRAME[:10], "few", on_sent=lambda *numbers: reports.append(numbers))
    assert reports == [(10, 25), (20, 25)]


def test_part_with_a_lost_response_counts_as_submitted(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    ledger.fail("jobs", *[None] * 2, *[ledger.answer(403, "blocked for a while")] * 99)
    error = break_off(client, ledger, ledger.lost_after())
    assert isinstance(error, OutcomeUnknownError)
    assert "folds-part1of3 (10 jobs of fold) was sent, but the response was lost" in error.message
    assert "blocked for a while" in error.message
    assert '`jobs.resume("folds")`' in error.next_step
    assert later.unfinished()["Note"].tolist() == [
        "folds-part1of3 was sent; the service may have received it"
    ]
    done = later.resume("folds")
    assert done.message.startswith(
        "The service had received folds-part1of3, but its response was lost. "
    )
    assert done.sent == tuple(PARTS[1:])
    assert_once(ledger)


def test_existing_identical_parts_are_used_but_not_claimed(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    ledger.add_batch(PARTS[0], {job: {"sequence": text} for job, text in jobs(0, 10)})
    break_off(client, ledger, None, ledger.answer(403, "Budget exceeded"))
    ledger.add_batch(PARTS[2], {job: {"sequence": text} for job, text in jobs(20, 25)})
    done = later.resume("folds")
    assert (done.created, done.message) == (
        False,
        "The service already has all jobs of folds (25 jobs in 3 parts); nothing was sent.",
    )
    journal = later._journal.read("folds")
    assert (journal.log.confirmed, journal.log.preexisting) == (
        frozenset({PARTS[1]}),
        frozenset({PARTS[0], PARTS[2]}),
    )
    assert [part for part in PARTS if journal.was_sent_from_here(part)] == [PARTS[1]]


def jobs(start: int, stop: int) -> Any:
    return FRAME.iloc[start:stop].itertuples(index=False)


def test_part_name_used_by_another_batch_is_a_conflict(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    break_off(client, ledger, None, ledger.answer(403, "Budget exceeded"))
    ledger.add_batch(PARTS[1], {job: {"sequence": "C"} for job, _ in jobs(10, 20)})
    for _ in range(2):
        with pytest.raises(ConflictError, match="in job h10, it has sequence="):
            later.resume("folds")
    assert ledger.count("submit-batch") == 2
    assert later.unfinished_names() == ["folds"]


def test_deleted_part_is_reported_and_not_resubmitted(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    break_off(client, ledger, None, None, ledger.answer(403, "Budget exceeded"))
    ledger.do_delete_job({}, {"jobName": PARTS[0]})
    ledger.rows[PARTS[1]].update(JobStatus="Stopped", batchStatus="Stopped")
    done = later.resume("folds")
    assert (done.sent, done.deleted) == ((PARTS[2],), (PARTS[0],))
    assert "folds-part1of3 was sent earlier and deleted since: 10 jobs." in done.message
    assert "folds-part2of3 has been stopped." in done.message
    again = later.resume("folds")
    assert (again.sent, again.deleted) == ((), (PARTS[0],))
    assert again.message.startswith("No part of folds remains to be sent. folds-part1of3 was sent")
    assert later.unfinished().empty
    assert send(later).sent == (PARTS[0],), "a complete line sends it"
    ledger.rows[PARTS[1]].update(JobStatus="In Queue", batchStatus="Running")
    assert_once(ledger)


def test_stopped_batch_that_is_submitted_again_says_how_to_run_it(
    client: JobsClient, ledger: Any
) -> None:
    send(client)
    for part in PARTS:
        ledger.rows[part].update(JobStatus="Stopped", batchStatus="Stopped")
    assert send(client).message.endswith(
        "nothing was sent. folds-part1of3, folds-part2of3, folds-part3of3 have been stopped. "
        f"To run folds again, delete it first: {Action.delete_job('folds')}."
    )


def test_deleted_part_with_a_lost_response_is_not_resubmitted(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    ledger.fail("jobs", *[None] * 2, *[ledger.answer(403, "blocked")] * 99)
    break_off(client, ledger, ledger.lost_after())
    ledger.rows[PARTS[0]].update(JobStatus="Deleted", batchStatus="Deleted")
    assert later.resume("folds").deleted == (PARTS[0],)
    assert ledger.count("submit-batch") == 3


def test_unsplit_batch_is_journalled(client: JobsClient, later: JobsClient, ledger: Any) -> None:
    few = FRAME.head(7)
    ledger.fail("jobs", None, *[ledger.answer(403, "blocked")] * 9)
    ledger.fail("submit-batch", ledger.lost_after())
    with pytest.raises(OutcomeUnknownError, match=r"folds \(7 jobs of fold\) was sent"):
        send(client, few)
    ledger.scripts.clear()
    done = later.resume("folds")
    assert done.message == (
        "The service had received folds, but its response was lost. Nothing was sent. "
        "The service now has all jobs of folds (7 jobs)."
    )
    assert ledger.count("submit-batch") == 1
    ledger.do_delete_job({}, {"jobName": "folds"})
    assert later.resume("folds").deleted == ("folds",)
    assert ledger.count("submit-batch") == 1


def test_rejected_batch_cannot_be_resumed(client: JobsClient, ledger: Any) -> None:
    break_off(client, ledger, ledger.answer(400, "the sequence is not to our liking"))
    assert client.unfinished().empty
    with pytest.raises(NotFoundError, match='No batch called "folds" was sent'):
        client.resume("folds")


def test_resume_of_unknown_batch_or_with_another_key(client: JobsClient, ledger: Any) -> None:
    break_off(client, ledger, None, ledger.answer(403, "Budget exceeded"))
    with pytest.raises(NotFoundError, match='did you mean "folds"') as raised:
        client.resume("fold")
    assert "`jobs.unfinished()`" in raised.value.next_step
    with pytest.raises(NotFoundError, match='did you mean "folds"'):
        client.resume(PARTS[1])
    with JobsClient(ledger.url, "another-key-9876543210", rate=None) as other:
        assert other.unfinished().empty
        with pytest.raises(NotFoundError, match="another address or with another key"):
            other.resume("folds")
        # Another key may belong to the same account: the same line finishes the batch.
        assert send(other).sent == tuple(PARTS[1:])
    assert_once(ledger)
    for path in records().iterdir():
        assert ledger.key not in path.read_text()
        assert "another-key" not in path.read_text()


def test_damaged_journal_record_is_reported(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    break_off(client, ledger, None, ledger.answer(403, "Budget exceeded"))
    (path,) = records().glob("*.json")
    path.write_bytes(path.read_bytes()[:-40])
    (row,) = later.unfinished().to_dict("records")
    assert (row["Name"], pd.isna(row["Parts"])) == ("folds", True)
    assert "damaged" in row["Note"]
    with pytest.raises(StorageError, match="record of folds is damaged"):
        later.resume("folds")
    assert send(later).sent == tuple(PARTS[1:])
    assert_once(ledger)


def test_concurrent_submission_of_a_batch_is_refused(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    break_off(client, ledger, None, ledger.answer(403, "Budget exceeded"))
    inside, go_on = threading.Event(), threading.Event()
    act = ledger.act

    def slow(operation: str, query: Any, body: Any) -> Any:
        if operation == "submit-batch":
            inside.set()
            assert go_on.wait(10)
        return act(operation, query, body)

    ledger.act = slow
    first: list[Any] = []
    thread = threading.Thread(target=lambda: first.append(client.resume("folds")))
    thread.start()
    assert inside.wait(10)
    with pytest.raises(NotReadyError, match="Another process on this machine is submitting folds"):
        later.resume("folds")
    with pytest.raises(NotReadyError):
        send(later)
    go_on.set()
    thread.join(10)
    assert first[0].sent == tuple(PARTS[1:])
    assert not later.resume("folds").created
    assert_once(ledger)


def test_concurrent_submission_without_locks_duplicates_nothing(
    client: JobsClient, later: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labext.storage.lock_file", lambda _: True)
    break_off(client, ledger, ledger.answer(403, "Budget exceeded"))
    gate = threading.Barrier(2)
    act = ledger.act

    def meeting(operation: str, query: Any, body: Any) -> Any:
        if operation == "submit-batch":
            gate.wait(10)
        return act(operation, query, body)

    ledger.act = meeting
    done: list[Any] = []
    both = [
        threading.Thread(target=lambda sender=sender: done.append(sender.resume("folds")))
        for sender in (client, later)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(20)
    assert len(done) == 2
    assert sorted([*done[0].sent, *done[1].sent]) == PARTS
    assert_once(ledger)


@pytest.mark.parametrize("at", ["before", "sending", "sent"])
def test_full_disk_interrupts_the_submission(
    client: JobsClient, later: JobsClient, ledger: Any, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, left = os.fsync, {"before": 0, "sending": 5, "sent": 6}[at]

    def full(descriptor: int) -> None:
        nonlocal left
        if left == 0:
            raise OSError(28, "No space left on device")
        left -= 1
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="disk is full") as raised:
        send(client)
    assert {"before": 0, "sending": 1, "sent": 2}[at] == ledger.count("submit-batch")
    if at != "before":
        assert '`jobs.resume("folds")`' in raised.value.next_step
        assert raised.value.message.startswith(
            {
                "sending": "1 of 3 parts of folds were sent, but not",
                "sent": "2 of 3 parts of folds",
            }[at]
        )
    monkeypatch.undo()
    monkeypatch.setenv("LABEXT_STATE_DIR", str(config.state_dir()))
    if at == "before":
        send(later)
    else:
        later.resume("folds")
    assert_once(ledger)


def test_batch_is_resumed_after_the_budget_was_raised(client: JobsClient, ledger: Any) -> None:
    error = break_off(client, ledger, ledger.answer(403, "Budget exceeded for team X"))
    assert isinstance(error, AccessError)
    assert 'larger budget. Then finish it with `jobs.resume("folds")`' in error.next_step
    assert client.resume("folds").sent == tuple(PARTS)


SEND = "%jobs batch folds --type fold --from rows --name-column name --map sequence=bases"

Shells = Callable[[], InteractiveShell]


def fails(ip: InteractiveShell, line: str) -> LabextError:
    error = ip.run_cell(line).error_in_exec
    assert isinstance(error, LabextError), error
    return error


def broken_off(new_shell: Shells, ledger: Any) -> LabextError:
    ip = new_shell()
    ip.push({"rows": pd.DataFrame({"name": [f"h{n}" for n in range(15)], "bases": "A"})})
    ledger.fail("submit-batch", None, ledger.answer(403, "Budget exceeded for team X"))
    return fails(ip, SEND)


def test_resume_lists_and_completes_unfinished_batches(
    new_shell: Shells,
    ledger: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "`%jobs resume folds`" in broken_off(new_shell, ledger).next_step
    ip = new_shell()
    monkeypatch.setattr("IPython.get_ipython", lambda: ip)
    ip.run_cell("left = %jobs resume").raise_error()
    assert ip.user_ns["left"]["Name"].tolist() == ["folds"]
    assert "`%jobs resume NAME`" in capsys.readouterr().out
    ip.run_cell("jobs = %jobs resume folds").raise_error()
    assert "5 jobs were submitted" in capsys.readouterr().out
    assert ip.user_ns["jobs"]["JobName"].iloc[-1] == "folds-part2of2-h14"
    ip.run_cell("%jobs resume folds").raise_error()
    assert "already has all jobs of folds" in capsys.readouterr().out
    ip.run_cell("left = %jobs resume").raise_error()
    assert ip.user_ns["left"].empty
    assert capsys.readouterr().out == ""
    ip.run_cell("%jobs resume").raise_error()
    output = capsys.readouterr().out
    assert output.count("No unfinished batches were sent from this machine.") == 1
    assert "Empty" not in output
    assert ledger.count("submit-batch") == 3


def test_resume_waits_and_downloads(new_shell: Shells, ledger: Any, tmp_path: Any) -> None:
    broken_off(new_shell, ledger)
    submit = ledger.do_submit_batch

    def complete(query: Any, body: Any) -> Any:
        done = submit(query, body)
        ledger.complete(*ledger.members)
        return done

    ledger.do_submit_batch = complete
    ip = new_shell()
    ip.run_cell(f"jobs = %jobs resume folds --wait --to {tmp_path / 'out'}").raise_error()
    assert set(ip.user_ns["jobs"]["JobStatus"]) == {"Complete"}
    assert (tmp_path / "out" / "folds.zip").exists()


def test_invalid_resume_lines_are_refused(new_shell: Shells, ledger: Any) -> None:
    broken_off(new_shell, ledger)
    ip = new_shell()
    assert isinstance(fails(ip, "%jobs resume fols"), NotFoundError)
    assert "needs a NAME" in fails(ip, "%jobs resume --wait").message
    assert isinstance(fails(ip, "%jobs resume folds --to out"), InputError)


def test_interrupted_batch_line_suggests_resume(
    new_shell: Shells, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from labext.jobs.api import JobsApi

    submit, count = JobsApi.submit, 0

    def interrupted(service: JobsApi, operation: Any, body: Any) -> str:
        nonlocal count
        count += 1
        if count == 2:
            raise KeyboardInterrupt
        return submit(service, operation, body)

    monkeypatch.setattr(JobsApi, "submit", interrupted)
    ip = new_shell()
    ip.push({"rows": pd.DataFrame({"name": [f"h{n}" for n in range(15)], "bases": "A"})})
    error = fails(ip, SEND)
    assert isinstance(error, SubmissionInterrupted)
    assert "`%jobs resume folds` sends the rest" in error.next_step
    ip.run_cell("%jobs resume folds").raise_error()
    assert sorted(ledger.members) == ["folds-part1of2", "folds-part2of2"]


def test_batch_of_several_parts_shows_its_progress(
    new_shell: Shells, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[int, int | None]] = []
    monkeypatch.setattr(ListProgress, "items", lambda _, *numbers: reports.append(numbers))
    ip = new_shell()
    ip.push({"rows": FRAME})
    ip.run_cell(SEND).raise_error()
    assert reports == [(10, 25), (20, 25)]


def test_resume_completes_unfinished_names(new_shell: Shells, ledger: Any) -> None:
    broken_off(new_shell, ledger)
    assert "%jobs resume folds" in complete(new_shell(), "%jobs resume fo")
