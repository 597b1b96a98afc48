"""The content of input files is part of a submission's identity."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from labext.errors import ConflictError, LabextError
from labext.jobs import JobsClient

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = {"sequence": "ACG", "pdbFile": "a.pdb"}
STAGES = [{"task": "Fold", "toolSettings": {"fold": {"sequence": "ACG", "pdbFile": "pipe"}}}]
FIRST, SECOND = b"ATOM first\n", b"ATOM again\n"
"""Contents of the same size, which only a checksum or a time distinguishes."""


FILE_INFO = ["checksum", "size and time", "nothing"]


@pytest.fixture
def file_info(request: pytest.FixtureRequest, ledger: Any) -> str:
    """Properties of uploaded files that a service reports."""
    info = str(getattr(request, "param", "size and time"))
    if info != "checksum":
        ledger.tells_md5 = False
    if info == "nothing":
        ledger.not_served["getPresignedUploadUrl"] = ledger.answer(404, {"detail": "Not Found"})
    ledger.moment = NOON
    return info


def upload(client: JobsClient, folder: Path, content: bytes) -> Any:
    (folder / "a.pdb").write_bytes(content)
    return client.upload(folder / "a.pdb")


def submit(client: JobsClient, kind: str) -> Any:
    if kind == "job":
        return client.submit("n1", "fold", SETTINGS)
    if kind == "batch":
        return client.submit_batch("n1", "fold", {"a": SETTINGS, "b": {"sequence": "A"}})
    if kind == "split batch":
        jobs = {f"j{n}": SETTINGS for n in range(12)}
        return client.submit_batch("n1", "fold", jobs)
    if kind == "pipeline":
        return client.submit_pipeline("n1", STAGES, ["a.pdb"])
    return client.run_pipeline("n1", "saved", ["a.pdb"])


@pytest.mark.parametrize(
    ("kind", "file_info"),
    [
        *(("job", info) for info in FILE_INFO),
        *((kind, "checksum") for kind in ("batch", "split batch", "pipeline", "saved pipeline")),
    ],
    indirect=["file_info"],
)
def test_changed_file_content_is_a_conflict_until_the_job_is_deleted(
    client: JobsClient, ledger: Any, tmp_path: Path, file_info: str, kind: str
) -> None:
    upload(client, tmp_path, FIRST)
    assert submit(client, kind).created
    ledger.moment += timedelta(minutes=1)
    assert upload(client, tmp_path, FIRST).sent is (file_info != "checksum")
    again = submit(client, kind)
    assert not again.created
    assert "nothing was sent" in again.message
    assert "could not be compared" not in again.message
    ledger.moment += timedelta(minutes=1)
    upload(client, tmp_path, SECOND)
    before = dict(ledger.done)
    with pytest.raises(
        ConflictError, match=r"n1 .*other file content: a\.pdb has 11 bytes"
    ) as raised:
        submit(client, kind)
    for content in (FIRST, SECOND):
        assert hashlib.sha256(content).hexdigest()[:12] in raised.value.message
    assert '`jobs.delete("n1")`' in raised.value.next_step
    assert {k: v for k, v in ledger.done.items() if k.startswith(("submit", "run"))} == {
        k: v for k, v in before.items() if k.startswith(("submit", "run"))
    }
    client.delete("n1")
    assert submit(client, kind).created
    assert not submit(client, kind).created


@pytest.mark.parametrize("file_info", FILE_INFO, indirect=True)
def test_generated_name_depends_on_the_content(
    client: JobsClient, ledger: Any, tmp_path: Path, file_info: str
) -> None:
    names = []
    for content in (FIRST, SECOND, FIRST):
        upload(client, tmp_path, content)
        names.append(client.submit(None, "fold", SETTINGS).name)
        names.append(client.submit_pipeline(None, STAGES, ["a.pdb"]).name)
    assert names[:2] == names[4:]
    assert len(set(names)) == 4


def test_generated_name_is_the_same_on_another_machine(
    client: JobsClient, ledger: Any, tmp_path: Path, elsewhere: Any
) -> None:
    ledger.moment = NOON
    upload(client, tmp_path, FIRST)
    name = client.submit(None, "fold", SETTINGS).name
    assert elsewhere().submit(None, "fold", SETTINGS).name == name


@pytest.mark.parametrize("file_info", FILE_INFO, indirect=True)
def test_unrecorded_content_is_compared_by_upload_time(
    client: JobsClient, ledger: Any, tmp_path: Path, file_info: str
) -> None:
    """Simulate another machine, which has no local records."""
    ledger.files.append("a.pdb")
    ledger.stored["a.pdb"] = FIRST
    ledger.stored_at["a.pdb"] = NOON
    ledger.moment = NOON + timedelta(minutes=1)
    ledger.add("n1", "fold", SETTINGS)
    again = client.submit("n1", "fold", SETTINGS)
    assert not again.created
    assert ("a.pdb could not be compared" in again.message) is (file_info == "nothing")
    ledger.stored["a.pdb"] = SECOND
    ledger.stored_at["a.pdb"] = NOON + timedelta(minutes=2)
    if file_info == "checksum":
        with pytest.raises(ConflictError, match=r"a\.pdb was uploaded again since"):
            client.submit("n1", "fold", SETTINGS)
        return
    again = client.submit("n1", "fold", SETTINGS)
    assert not again.created
    assert "a.pdb could not be compared" in again.message
    assert '`jobs.delete("n1")`' in again.message


def test_file_replaced_within_the_same_second_is_detected(
    client: JobsClient, ledger: Any, tmp_path: Path, file_info: str
) -> None:
    upload(client, tmp_path, FIRST)
    submit(client, "job")
    upload(client, tmp_path, SECOND)
    with pytest.raises(ConflictError, match="other file content"):
        submit(client, "job")


def test_job_submitted_again_from_another_machine_is_compared_by_time(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.moment = NOON
    upload(client, tmp_path, FIRST)
    submit(client, "job")
    del ledger.rows["n1"]
    ledger.stored["a.pdb"] = SECOND
    ledger.stored_at["a.pdb"] = NOON + timedelta(minutes=1)
    ledger.moment = NOON + timedelta(minutes=2)
    ledger.add("n1", "fold", SETTINGS)
    assert not submit(client, "job").created


def test_output_of_a_repeated_job_is_changed_content(client: JobsClient, ledger: Any) -> None:
    def run_first(moment: datetime) -> None:
        ledger.moment = moment
        ledger.add("first", "fold", {"sequence": "A"})
        ledger.complete("first")
        ledger.rows["first"]["Completed"] = (moment + timedelta(seconds=30)).isoformat()

    run_first(NOON)
    ledger.moment = NOON + timedelta(minutes=1)
    settings = {"sequence": "A", "pdbFile": "first/rank_1.pdb"}
    assert client.submit("second", "fold", settings).created
    assert not client.submit("second", "fold", settings).created
    run_first(NOON + timedelta(minutes=2))
    with pytest.raises(ConflictError, match=r"first/rank_1\.pdb is now from another run of first"):
        client.submit("second", "fold", settings)
    run_first(NOON)
    assert not client.submit("second", "fold", settings).created


def test_interrupted_batch_is_not_resumed_with_changed_content(
    client: JobsClient, ledger: Any, tmp_path: Path, file_info: str
) -> None:
    upload(client, tmp_path, FIRST)
    ledger.fail("submit-batch", None, ledger.answer(403, "Budget exceeded"))
    with pytest.raises(LabextError, match="1 of 2 parts"):
        submit(client, "split batch")
    ledger.moment += timedelta(minutes=1)
    upload(client, tmp_path, SECOND)
    with pytest.raises(ConflictError, match="other files than its first jobs"):
        client.resume("n1")
    with pytest.raises(ConflictError, match="other file content"):
        submit(client, "split batch")
    assert len(ledger.members) == 1
    upload(client, tmp_path, FIRST)
    assert client.resume("n1").created
    assert not submit(client, "split batch").created


def test_lost_response_is_no_content_conflict(
    client: JobsClient, ledger: Any, tmp_path: Path, file_info: str
) -> None:
    upload(client, tmp_path, FIRST)
    submit(client, "job")
    del ledger.rows["n1"]  # from elsewhere, so that the local record remains
    upload(client, tmp_path, SECOND)
    ledger.fail("submit-job", ledger.lost_after())
    assert submit(client, "job").created


def test_unusable_content_record_does_not_block_submission(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    from labext import config

    ledger.moment = NOON
    upload(client, tmp_path, FIRST)
    folder = config.state_dir() / "jobs" / "contents"
    folder.write_text("a file stands where the folder should be")
    assert submit(client, "job").created
    folder.unlink()
    client.delete("n1")
    submit(client, "job")
    for damaged in ("{half", "[]", '{"a.pdb": 7}', '{"a.pdb": {"size": "x", "sha256": 5}}'):
        (record,) = folder.iterdir()
        record.write_text(damaged)
        assert not submit(client, "job").created


def test_content_records_belong_to_one_account(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.not_served["getPresignedUploadUrl"] = ledger.answer(404, {"detail": "Not Found"})
    upload(client, tmp_path, FIRST)
    submit(client, "job")
    with JobsClient(ledger.url, "another-key-0123456789", rate=None) as other:
        again = other.submit("n1", "fold", SETTINGS)
    assert "could not be compared" in again.message


def test_failed_file_lookup_does_not_block_submission(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    upload(client, tmp_path, FIRST)
    for answer in (
        ledger.answer(403, "<xml>AccessDenied</xml>"),
        ledger.answer(400, "bad"),
        ledger.answer(404),
    ):
        ledger.fail("store", answer)
        assert submit(client, "job").name == "n1"


def test_number_of_file_lookups_is_bounded(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    ledger.moment, count = NOON, 21
    jobs = {}
    for n in range(count):
        (tmp_path / f"f{n}.pdb").write_bytes(b"%d" % n)
        client.upload(tmp_path / f"f{n}.pdb")
        jobs[f"j{n}"] = {"sequence": "A", "pdbFile": f"f{n}.pdb"}
    ledger.received.clear()
    client.submit_batch("n1", "fold", jobs)
    assert ledger.count("store") == 20
    (tmp_path / f"f{count - 1}.pdb").write_bytes(b"other")
    ledger.moment += timedelta(minutes=1)
    client.upload(tmp_path / f"f{count - 1}.pdb")
    with pytest.raises(ConflictError, match=rf"f{count - 1}\.pdb"):
        client.submit_batch("n1", "fold", jobs)
