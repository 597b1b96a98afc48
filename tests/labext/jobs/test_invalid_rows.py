"""Invalid rows of a batch are all reported; the others can be submitted."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labext.errors import InputError, InvalidJobsError
from labext.frames.views import frame_text
from labext.jobs import JobsClient

pytestmark = pytest.mark.faults

FRAME = pd.DataFrame(
    {
        "name": ["a", "b", "c", "d", "e"],
        "bases": ["AC", None, "GU", "GG", "  "],
        "t": [37.0, 37.0, 101.0, 37.0, 37.0],
        "mode": ["fast", "fast", "fast", "quick", "slow"],
        "note": ["n0", "n1", "n2", "n3", "n4"],
    }
)
MAPPING = {"sequence": "bases", "temperature": "t", "mode": "mode"}


def submit(client: JobsClient, frame: Any = FRAME, **options: Any) -> Any:
    options = {"name_column": "name", "mapping": MAPPING} | options
    return client.submit_batch("few", "fold", frame, **options)


def test_invalid_rows_of_client_and_service_are_reported_together(
    client: JobsClient, ledger: Any
) -> None:
    """An empty cell, a value that is not an option, and a value that the service rejects."""
    with pytest.raises(InvalidJobsError) as raised:
        submit(client)
    message = raised.value.message
    assert message.startswith("The service would reject 4 of 5 jobs of few: ")
    assert 'column "bases" is empty (in b, e)' in message
    assert "too hot: 101.0 (in c)" in message
    assert 'mode can\'t be "quick"' in message
    assert "(in d)" in message
    assert raised.value.next_step.endswith("`skip_invalid=True` submits the other job.")
    assert ledger.count("submit-batch") == 0
    refused = raised.value.refused()
    assert refused["Name"].tolist() == ["b", "c", "d", "e"]
    assert refused.columns.tolist() == ["Name", "Error", "bases", "t", "mode", "note"]
    assert refused["note"].tolist() == ["n1", "n2", "n3", "n4"]
    restored = pickle.loads(pickle.dumps(raised.value))
    assert restored.refused()["Error"].tolist() == refused["Error"].tolist()


def test_batch_of_more_jobs_than_fit_into_its_parts_is_refused(
    client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labext.jobs.identity.MAX_PARTS", 1)
    jobs = {f"j{number}": {"sequence": "ACGU"} for number in range(101)}
    with pytest.raises(InputError, match="has 101 jobs, at most 100 are allowed"):
        client.submit_batch("many", "fold", jobs)
    assert ledger.count("submit-batch") == 0


@pytest.mark.parametrize(
    ("error", "end"), [("Did you mean GU?", ": Did you mean GU?"), ("too hot", ": too hot.")]
)
def test_message_of_the_service_becomes_the_end_of_a_sentence(
    client: JobsClient, ledger: Any, error: str, end: str
) -> None:
    row = {"index": 0, "valid": False, "error": error}
    ledger.fail("validate-job", *[ledger.answer(body=row | {"results": [row]})] * 2)
    with pytest.raises(InputError) as raised:
        client.validate("fold", {"sequence": "G"})
    assert raised.value.message.endswith(end)
    with pytest.raises(InvalidJobsError) as raised:
        client.check_batch("few", "fold", {"a": {"sequence": "G"}})
    assert raised.value.message.endswith(end)


def test_skip_invalid_submits_valid_rows_and_returns_the_others(
    client: JobsClient, ledger: Any
) -> None:
    done = submit(client, skip_invalid=True)
    assert done.created
    assert "few was submitted with 1 job." in done.message
    assert "4 invalid rows were skipped: b, c, d, e." in done.message
    assert ledger.members["few"] == ["few-a"]
    assert done.frame["Name"].tolist() == ["a"]
    assert done.frame["note"].tolist() == ["n0"]
    assert done.refused["Name"].tolist() == ["b", "c", "d", "e"]
    again = submit(client, skip_invalid=True)
    assert not again.created
    assert again.refused["Error"].tolist() == done.refused["Error"].tolist()
    assert ledger.count("submit-batch") == 1
    rows = client.jobs(batch="few")
    assert rows["note"].tolist() == ["n0"], "joined to the rows that were submitted"


def test_skip_invalid_without_invalid_rows_refuses_nothing(client: JobsClient, ledger: Any) -> None:
    good = FRAME.assign(bases="AC", t=37.0, mode="fast")
    done = submit(client, good, skip_invalid=True)
    assert done.refused.empty
    assert frame_text(done.refused) == "No rows were rejected."
    assert "left out" not in done.message
    assert len(ledger.members["few"]) == 5
    assert not submit(client, good).created, "the same batch, with the option or without"


def test_batch_without_a_valid_row_is_refused(client: JobsClient, ledger: Any) -> None:
    with pytest.raises(
        InvalidJobsError, match="would reject 5 jobs of few: too hot: 101"
    ) as raised:
        submit(client, FRAME.assign(bases="AC", t=101.0, mode="fast"), skip_invalid=True)
    assert "skip-invalid" not in raised.value.next_step
    assert ledger.count("submit-batch") == 0


def test_check_batch_returns_invalid_rows(client: JobsClient, ledger: Any) -> None:
    options = {"name_column": "name", "mapping": MAPPING}
    refused = client.check_batch("few", "fold", FRAME, skip_invalid=True, **options)
    assert refused["Name"].tolist() == ["b", "c", "d", "e"]
    with pytest.raises(InvalidJobsError, match="4 of 5 jobs"):
        client.check_batch("few", "fold", FRAME, **options)
    assert ledger.count("submit-batch") == 0


def test_row_without_a_name_is_reported_by_number(client: JobsClient, ledger: Any) -> None:
    frame = FRAME.assign(bases="AC", t=37.0, mode=["fast", "fast", "quick", "fast", "fast"])
    frame["name"] = ["a", np.nan, "c", "d", "e"]
    with pytest.raises(InvalidJobsError, match=r'column "name" is empty \(in row 2\)'):
        submit(client, frame)
    done = submit(client, frame, skip_invalid=True)
    assert ledger.members["few"] == ["few-a", "few-d", "few-e"]
    assert done.refused["Name"].isna().tolist() == [True, False]
    assert "2 invalid rows were skipped: one without a name, c." in done.message


def test_rows_without_a_name_are_counted(client: JobsClient, ledger: Any) -> None:
    frame = FRAME.assign(bases="AC", t=37.0, mode="fast")
    frame["name"] = ["a", np.nan, "", "d", "e"]
    done = submit(client, frame, skip_invalid=True)
    assert "2 invalid rows were skipped: 2 without a name." in done.message


def test_skipped_rows_keep_the_numbers_of_the_others(client: JobsClient, ledger: Any) -> None:
    done = submit(client, FRAME.drop(columns="name"), name_column=None, skip_invalid=True)
    assert ledger.members["few"] == ["few-1"]
    assert done.refused["Name"].tolist() == ["2", "3", "4", "5"]


def test_refused_rows_show_adapted_and_original_names(client: JobsClient, ledger: Any) -> None:
    frame = FRAME.assign(name=["a 1", "b 1", "c 1", "d 1", "e 1"])
    done = submit(client, frame, skip_invalid=True)
    assert ledger.members["few"] == ["few-a-1"]
    assert done.refused["Name"].tolist()[0] == "b-1"
    assert done.refused["name"].tolist()[0] == "b 1"


def test_invalid_jobs_of_a_mapping(client: JobsClient, ledger: Any) -> None:
    jobs = {
        "a": {"sequence": "AC"},
        "b": {"sequence": "AC", "temperature": 101},
        "c": {"sequnce": "AC"},
    }
    with pytest.raises(InvalidJobsError) as raised:
        client.submit_batch("few", "fold", jobs)
    assert "too hot: 101 (in b)" in raised.value.message
    assert 'did you mean "sequence"' in raised.value.message
    done = client.submit_batch("few", "fold", jobs, skip_invalid=True)
    assert ledger.members["few"] == ["few-a"]
    assert done.refused.columns.tolist() == ["Name", "Error", "Settings"]


def test_row_with_a_missing_file_is_invalid(client: JobsClient, ledger: Any) -> None:
    ledger.files.append("a.pdb")
    jobs = {
        "a": {"sequence": "A", "pdbFile": "a.pdb"},
        "b": {"sequence": "A", "pdbFile": "b.pdb"},
        "c": {"sequence": "A", "pdbFile": "gone/x.pdb"},
    }
    with pytest.raises(InvalidJobsError) as raised:
        client.submit_batch("few", "fold", jobs)
    assert "no such file has been uploaded" in raised.value.message
    assert 'no job is called "gone"' in raised.value.message
    done = client.submit_batch("few", "fold", jobs, skip_invalid=True)
    assert done.refused["Name"].tolist() == ["b", "c"]
    del jobs["c"]
    with pytest.raises(InputError) as absent:
        client.submit_batch("other", "fold", jobs)
    assert 'upload it: `jobs.upload("b.pdb")`' in absent.value.next_step


def test_invalid_rows_of_a_split_batch_are_all_reported(client: JobsClient, ledger: Any) -> None:
    hot = {3, 120, 249}
    jobs = {f"h{n}": {"sequence": "A", "temperature": 101 if n in hot else 37} for n in range(250)}
    with pytest.raises(InvalidJobsError, match=r"3 of 250 jobs .* \(in h3, h120, h249\)"):
        client.submit_batch("few", "fold", jobs)
    assert ledger.count("submit-batch") == 0
    done = client.submit_batch("few", "fold", jobs, skip_invalid=True)
    assert sum(map(len, ledger.members.values())) == 247
    assert done.count == 247
    assert [len(members) for members in ledger.members.values()] == [100, 100, 47]


def test_message_is_shortened_but_the_frame_is_complete(client: JobsClient, ledger: Any) -> None:
    jobs = {f"h{n}": {"sequence": "A", "temperature": 101 + n} for n in range(40)}
    with pytest.raises(InvalidJobsError, match="20 more errors") as raised:
        client.submit_batch("few", "fold", jobs | {"good": {"sequence": "A"}})
    assert len(raised.value.refused()) == 40
    same = {f"h{n}": {"sequence": "A", "temperature": 101} for n in range(40)}
    with pytest.raises(InvalidJobsError, match=r"h19 and 20 more\)"):
        client.submit_batch("few", "fold", same | {"good": {"sequence": "A"}})


class TestServiceThatChecksOneJobAtATime:
    @pytest.fixture(autouse=True)
    def one_at_a_time(self, ledger: Any) -> None:
        ledger.validates_rows = False

    def test_skip_invalid_validates_each_row(self, client: JobsClient, ledger: Any) -> None:
        done = submit(client, skip_invalid=True)
        assert ledger.members["few"] == ["few-a"]
        assert done.refused["Name"].tolist() == ["b", "c", "d", "e"]

    def test_error_of_the_submission_is_raised(self, client: JobsClient, ledger: Any) -> None:
        ledger.fail("submit-batch", ledger.answer(400, {"error": "Job c: too hot"}))
        jobs = {"a": {"sequence": "A"}, "c": {"sequence": "A", "temperature": 101}}
        with pytest.raises(InputError, match="Job c: too hot"):
            client.submit_batch("few", "fold", jobs)
        assert ledger.count("validate-job") == 1

    def test_identical_batch_is_reused_although_its_names_are_taken(
        self, client: JobsClient, ledger: Any
    ) -> None:
        submit(client, skip_invalid=True)
        name_conflict = ledger.answer(
            body={"valid": False, "error": "Job name a is already taken."}
        )
        ledger.fail("validate-job", name_conflict)
        assert not submit(client, skip_invalid=True).created


@pytest.mark.parametrize(
    "answer",
    [
        {"valid": True},
        {"valid": True, "results": []},
        {"valid": False, "error": "settings is no object"},
        {"results": [{"index": 0}] * 5},
        {"results": [{"index": 0, "valid": True}] * 5},
        {"results": [{"index": n, "valid": True} for n in range(4)]},
        {"results": "none"},
        [],
    ],
)
def test_unknown_validation_response_is_ignored(
    client: JobsClient, ledger: Any, answer: Any
) -> None:
    good = FRAME.assign(bases="AC", t=37.0, mode="fast")
    ledger.fail("validate-job", ledger.answer(body=answer))
    assert submit(client, good).created
    assert ledger.count("validate-job") == 1


@pytest.mark.parametrize("judged", [0, 4])
def test_rows_missing_from_the_validation_are_validated_one_by_one(
    client: JobsClient, ledger: Any, judged: int
) -> None:
    verdicts = [{"index": index, "valid": True} for index in range(judged)]
    ledger.fail("validate-job", ledger.answer(body={"valid": True, "results": verdicts}))
    frame = FRAME.assign(bases="AC", t=[37.0, 37.0, 37.0, 37.0, 101.0], mode="fast")
    done = submit(client, frame, skip_invalid=True)
    assert done.refused["Name"].tolist() == ["e"]
    assert ledger.count("validate-job") == 1 + 5


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *((status, "no") for status in (400, 404, 500)),
        (403, {"message": "Missing Authentication Token"}),
    ],
)
def test_batch_is_submitted_if_the_service_cannot_validate_rows(
    client: JobsClient, ledger: Any, status: int, body: Any, fast_retries: None
) -> None:
    ledger.fail("validate-job", *[ledger.answer(status, body)] * 9)
    assert submit(client, FRAME.assign(bases="AC", t=37.0, mode="fast")).created


def test_rows_are_validated_in_chunks_of_1000_rows_or_3_mb(client: JobsClient, ledger: Any) -> None:
    jobs = {f"h{n}": {"sequence": "A"} for n in range(1001)}
    jobs["h1000"] = {"sequence": "A", "temperature": 101}
    with pytest.raises(InvalidJobsError, match=r"1 of 1,001 jobs .*\(in h1000\)"):
        client.submit_batch("many", "fold", jobs)
    assert [len(body["settings"]) for body in ledger.bodies("validate-job")] == [1000, 1]
    ledger.received.clear()
    big = {f"h{n}": {"sequence": "A" * 1_000_000} for n in range(5)}
    client.submit_batch("big", "fold", big)
    assert [len(body["settings"]) for body in ledger.bodies("validate-job")] == [2, 2, 1]
    assert ledger.bodies("validate-job")[2]["jobNames"] == ["big-h4"]


def test_skipped_row_gets_no_job_of_another_row(client: JobsClient, elsewhere: Any) -> None:
    frame = pd.DataFrame({"name": ["a b", "a-b", "c d"], "bases": [None, "GG", "GU"]})
    client.submit_batch(
        "few", "fold", frame, None, "name", {"sequence": "bases"}, skip_invalid=True
    )
    for user in (client, elsewhere()):
        table = user.jobs(batch="few", rows=frame, name_column="name")
        assert table["name"].tolist() == frame["name"].tolist()
        assert table["JobName"].fillna("").tolist() == ["", "few-a-b", "few-c-d"]


@pytest.mark.parametrize("cells", [["a", None, "nan", np.nan], [1.0, None, 2.0, None]])
def test_rows_without_a_name_belong_to_no_job(
    client: JobsClient, ledger: Any, cells: list[Any]
) -> None:
    frame = pd.DataFrame({"name": cells, "bases": ["AC", "GG", "GU", "CC"]})
    mapping = {"sequence": "bases"}
    client.submit_batch(
        "few", "fold", frame, name_column="name", mapping=mapping, skip_invalid=True
    )
    table = client.jobs(batch="few", rows=frame, name_column="name")
    assert table["bases"].tolist() == ["AC", "GG", "GU", "CC"]
    assert table["Name"].isna().tolist() == [False, True, False, True]
    assert table["JobName"].isna().tolist() == [False, True, False, True]
