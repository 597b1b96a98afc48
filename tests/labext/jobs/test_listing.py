"""Job lists with split batches and filters; batch lists joined to their input; adapted names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labext.errors import ConflictError, InputError, LabextError, NotFoundError, ResponseLimitError
from labext.frames.views import frame_text
from labext.jobs import JobsClient
from labext.jobs.batch.merge_parts import PartMerger

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]

FRAME = pd.DataFrame({"name": [f"h{n}" for n in range(25)], "n": range(25)})
MAPPING = {"temperature": "n"}


@pytest.fixture
def split(client: JobsClient, ledger: Any) -> Any:
    """The service with an older job, a split batch and a newer job."""
    ledger.add("older")
    client.submit_batch(
        "folds", "fold", FRAME.assign(n=37), {"sequence": "A"}, "name", {"temperature": "n"}
    )
    ledger.add("newer")
    return ledger


def pages(client: JobsClient, **arguments: Any) -> Iterator[pd.DataFrame]:
    """List jobs in pages that continue one another."""
    key = None
    while key != "":
        page = client.jobs(**arguments, start_key=key)
        yield page
        key = page.attrs["start_key"]


def test_split_batch_is_one_row(client: JobsClient, split: Any) -> None:
    table = client.jobs()
    assert table["JobName"].tolist() == ["newer", "folds", "older"]
    assert table["batchStatus"].tolist()[1] == "Running"
    assert "parts" not in table.columns
    assert "folds-part1of3" in client.jobs(organization=True)["JobName"].tolist()
    split.complete("folds-part1of3", "folds-part2of3", "folds-part3of3")
    assert client.jobs()["batchStatus"].tolist()[1] == "Complete"
    parts = [row["JobName"] for row in client.iter_jobs()]
    assert parts == ["newer", "folds-part3of3", "folds-part2of3", "folds-part1of3", "older"]


def test_limit_counts_merged_rows(client: JobsClient, split: Any) -> None:
    whole = ["newer", "folds", "older"]
    for limit in (1, 2, 3, 4, 50):
        table = client.jobs(limit=limit)
        assert table["JobName"].tolist() == whole[:limit]
        assert table["batchStatus"].tolist()[1:2] == ["Running"][: limit - 1]


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("state", [None, "running"])
def test_split_batch_occurs_once_in_lists_that_continue_one_another(
    client: JobsClient, split: Any, limit: int, state: str | None
) -> None:
    names = [name for page in pages(client, limit=limit, state=state) for name in page["JobName"]]
    assert names == client.jobs(state=state)["JobName"].tolist()
    assert "folds" in names


def test_list_that_ends_with_a_split_batch_has_no_more_jobs(client: JobsClient, split: Any) -> None:
    del split.rows["older"]
    for limit in (2, 3):
        table = client.jobs(limit=limit)
        assert table["JobName"].tolist() == ["newer", "folds"]
        assert table.attrs["start_key"] == ""


def test_repeated_page_of_parts_is_an_error(client: JobsClient, split: Any) -> None:
    split.as_list = lambda rows, _: {"jobs": [split.rows["folds-part1of3"]], "startKey": "1"}
    with pytest.raises(ResponseLimitError, match="repeats a page"):
        client.jobs(limit=2)


@pytest.mark.parametrize(
    "names",
    [
        pd.Series([7, 3, 5]),
        pd.Series(pd.Categorical(["low", "high", "mid"], ["low", "mid", "high"], ordered=True)),
        pd.Series(["a.1", "a", "b"]),
    ],
)
def test_names_that_are_more_than_the_text_of_the_jobs_are_kept(
    client: JobsClient, ledger: Any, elsewhere: Any, tmp_path: Any, names: Any
) -> None:
    frame = pd.DataFrame({"id": names, "bases": ["A", "C", "G"]})
    done = client.submit_batch("few", "fold", frame, None, "id", {"sequence": "bases"})
    ledger.complete("few")
    results = client.download("few", tmp_path)
    for table in (
        done.frame,
        client.jobs(batch="few"),
        elsewhere().jobs(batch="few", rows=frame, name_column="id"),
        results.frame(),
        results.frame(frame, "id"),
    ):
        pd.testing.assert_series_equal(table["id"], frame["id"])
        assert table.columns[:2].tolist() == ["Name", "id"]


def test_equal_names_are_listed_once(client: JobsClient, ledger: Any) -> None:
    client.submit_batch("few", "fold", FRAME.head(3), {"sequence": "A"}, "name", MAPPING)
    table = client.jobs(batch="few")
    assert "name" not in table
    assert table.attrs["name_column"] == "name"


def test_column_names_may_be_numbers(client: JobsClient, ledger: Any) -> None:
    frame = pd.DataFrame([["a", "GGG"], ["b", "CCC"]])
    numbers: Any = (0, {"sequence": 1})
    done = client.submit_batch("few", "fold", frame, None, *numbers)
    assert (
        "already exists"
        in client.submit_batch("few", "fold", frame, None, "0", {"sequence": "1"}).message
    )
    assert done.frame["1"].tolist() == ["GGG", "CCC"]
    assert client.jobs(batch="few")["1"].tolist() == ["GGG", "CCC"]
    frame[1] = ["x", "y"]
    assert client.jobs(batch="few", rows=frame, name_column=numbers[0])["1"].tolist() == ["x", "y"]
    jobs: Any = {np.int64(7): {"sequence": "A"}}
    assert client.submit_batch("numbers", "fold", jobs).frame["Name"].tolist() == ["7"]


def test_parts_beyond_the_limit_are_looked_up(client: JobsClient, split: Any) -> None:
    split.complete("folds-part3of3")
    assert client.jobs(limit=2)["batchStatus"].tolist()[1] == "Running"
    del split.rows["folds-part1of3"], split.rows["folds-part2of3"]
    assert client.jobs()["batchStatus"].tolist()[1] == "Stopped"


def test_batch_list_is_joined_to_its_input(client: JobsClient, split: Any) -> None:
    table = client.jobs(batch="folds")
    assert table["Name"].tolist() == FRAME["name"].tolist()
    assert table["n"].tolist() == [37] * 25
    some = client.jobs(batch="folds", limit=12)
    assert some["Name"].tolist() == FRAME["name"].tolist()[:12]
    assert some["n"].tolist() == [37] * 12
    mine = client.jobs(batch="folds", rows=FRAME.assign(n=1), name_column="name")
    assert mine["n"].tolist() == [1] * 25


def test_list_of_a_split_batch_continues_where_it_was_truncated(
    client: JobsClient, split: Any
) -> None:
    del split.rows["folds-part2of3"], split.members["folds-part2of3"]
    for state, limit in ((None, 6), (None, 10), ("queued", 10), ("queued", 6)):
        names: list[str] = []
        for page in pages(client, batch="folds", limit=limit, state=state):
            names += page["Name"].tolist()
            client._journal.forget("folds")
            client._parts.forget("folds")
        assert names == [name for name in FRAME["name"] if not 10 <= int(name[1:]) < 20]


def test_counts_by_state_are_of_all_parts_or_missing(client: JobsClient, split: Any) -> None:
    def as_list(rows: list[Any], key: str) -> dict[str, Any]:
        part = next(part for part, jobs in split.members.items() if rows[0]["JobName"] in jobs)
        count = len(split.members[part])
        return {"jobs": rows, "startKey": key, "statuses": {"In Queue": count}}

    split.as_list = as_list
    assert client.jobs(batch="folds").attrs["statuses"] == {"In Queue": 25}
    assert client.jobs(batch="folds", limit=21).attrs["statuses"] == {"In Queue": 25}
    first = client.jobs(batch="folds", limit=12)
    assert first.attrs["statuses"] == {}, "not those of two parts only"
    rest = client.jobs(batch="folds", start_key=first.attrs["start_key"])
    assert rest.attrs["statuses"] == {}
    part = client.jobs(batch="folds-part1of3", limit=2)
    assert part.attrs["statuses"] == {"In Queue": 10}


@pytest.mark.parametrize("limit", [None, 1000])
def test_parts_of_a_split_batch_are_merged_once(limit: int | None) -> None:
    rows = [
        {"JobName": f"b-part{n}of50", "Type": "batch", "batchStatus": "Complete"}
        for n in range(1, 51)
    ]
    merged: list[Any] = []
    merger = PartMerger(lambda row: not merged.append(row))
    assert merger.add_rows(rows, limit) is None
    assert merger.match_count == 1
    assert len(merger.rows(None)) == 1
    assert len(merged) == 2


def test_missing_part_keeps_its_input_rows(client: JobsClient, split: Any) -> None:
    for name in ["folds-part2of3", *split.members.pop("folds-part2of3")]:
        del split.rows[name]
    table = client.jobs(batch="folds")
    assert table["Name"].tolist() == FRAME["name"].tolist()
    assert table["JobStatus"].isna().sum() == 10
    assert client.job("folds")["statuses"] == {"In Queue": 15, "not sent": 10}
    split.complete("folds-part1of3", "folds-part3of3")
    (snapshots,) = client.watch("folds")
    assert "folds-part2of3 is missing on the service" in snapshots.reason
    del split.rows["folds-part1of3"]
    reason = next(client.watch("folds")).reason
    assert reason.startswith("folds-part1of3, folds-part2of3 are missing on the service;")
    assert snapshots.total == 25


def test_batch_with_other_settings_is_not_joined_to_the_journal(
    client: JobsClient, ledger: Any
) -> None:
    client.submit_batch("few", "fold", FRAME.head(3), {"sequence": "A"}, "name", MAPPING)
    assert "n" in client.jobs(batch="few").columns
    for name in ("few-h0", "few-h1"):
        ledger.rows[name]["Settings"] = '{"sequence": "C"}'
    assert "n" not in client.jobs(batch="few").columns


def test_jobs_named_like_parts_are_no_batch(client: JobsClient, ledger: Any) -> None:
    for part in ("z-part1of2", "z-part2of2"):
        ledger.add(part)
    for use in (client.job, client.delete, client.stop, lambda name: client.jobs(batch=name)):
        with pytest.raises(NotFoundError, match='called "z"'):
            use("z")
    assert "Deleted" not in {row["JobStatus"] for row in ledger.rows.values()}
    with pytest.raises(ConflictError, match=r'it is a single job.*delete\("z-part.of2"\)'):
        client.submit_batch("z", "fold", {f"j{n}": {"sequence": "A"} for n in range(11)})


def test_stale_journal_does_not_hide_a_batch(
    client: JobsClient, later: JobsClient, split: Any
) -> None:
    client.job("folds")
    for name in [name for name in split.rows if name.startswith("folds")]:
        del split.rows[name]
    split.members.clear()
    split.add_batch("folds", {"x": {"sequence": "A"}})
    for again in (client, later):
        assert again.job("folds")["JobName"] == "folds"
        assert again.jobs(batch="folds")["Name"].tolist() == ["x"]
        assert next(again.watch("folds")).total == 1


def test_batch_filter_with_a_single_job_is_refused(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    ledger.fail("jobs", ledger.answer(400, {"error": "batch: job f1 is no batch"}))
    with pytest.raises(
        InputError, match=r'f1 is a single job, not a batch\. See `jobs\.show\("f1"\)`'
    ):
        client.jobs(batch="f1")


def test_rows_without_name_column_are_refused(client: JobsClient) -> None:
    with pytest.raises(InputError, match="name_column="):
        client.jobs(rows=FRAME)


def test_conflict_names_the_batch_and_not_the_part(client: JobsClient, split: Any) -> None:
    other = FRAME.assign(n=37).replace({"name": {"h7": "h_7"}})
    with pytest.raises(
        ConflictError, match=r"^folds already exists .* folds-part1of3 has a job h_?7"
    ):
        client.submit_batch("folds", "fold", other, {"sequence": "A"}, "name", MAPPING)
    with pytest.raises(ConflictError, match=r'jobs\.delete\("folds"\)'):
        client.submit_batch("folds", "fold", FRAME.assign(n=38), {"sequence": "A"}, "name", MAPPING)


def test_stop_of_a_split_batch_reports_each_part(client: JobsClient, split: Any) -> None:
    states = {1: "already Complete", 2: "stopped", 3: "already Complete"}
    messages = ({"message": f"folds-part{n}of3 is {state}."} for n, state in states.items())
    split.fail("stop-job", *(split.answer(body=message) for message in messages))
    assert client.stop("folds") == (
        "folds: folds-part1of3 is already Complete, 1 more part too; folds-part2of3 is stopped."
    )


def test_column_with_the_name_of_a_setting_that_the_mapping_leaves_out_is_reported(
    client: JobsClient,
) -> None:
    frame = pd.DataFrame({"bases": ["A"], "temperature": [30], "mode": ["slow"], "n": [1]})
    one = ("few", "fold", frame, {"mode": "fast"}, None, {"sequence": "bases"})
    message = (
        "The column temperature was not used, although fold has a setting temperature; "
        '`mapping={"temperature": "temperature"}` uses it.'
    )
    assert client.check_batch(*one).attrs["unused"] == message
    assert client.submit_batch(*one).message == f"few was submitted with 1 job. {message}"
    two = client.submit_batch("both", "fold", frame, mapping={"sequence": "bases"})
    assert "The columns temperature and mode were not used, although" in two.message
    table = frame.rename(columns={"temperature": "isTemperature"})
    checked = client.check_batch("few", "fold", table, {"mode": "fast"}, None, one[-1])
    assert 'mapping={"temperature": "isTemperature"}' in checked.attrs["unused"]
    for mapping in (None, {"sequence": "bases", "temperature": "n", "mode": "mode"}):
        table = frame.drop(columns="n").rename(columns={"bases": "sequence"})
        used = client.submit_batch(
            f"all{mapping is None}", "fold", table if mapping is None else frame, mapping=mapping
        )
        assert "not used" not in used.message


def test_check_batch_submits_nothing(client: JobsClient, ledger: Any) -> None:
    arguments = ("few", "fold", FRAME.head(3), {"sequence": "A"}, "name", MAPPING)
    table = client.check_batch(*arguments)
    assert table.columns.tolist() == ["Name", "n", "Part", "JobName"]
    assert table["JobName"].tolist() == ["few-h0", "few-h1", "few-h2"]
    assert ledger.count("validate-job") == 1
    assert not ledger.rows
    with pytest.raises(InputError, match="would reject 1 job of few: too hot: 101"):
        client.check_batch("few", "fold", {"h0": {"sequence": "A", "temperature": 101}})
    client.submit_batch(*arguments)
    assert len(client.check_batch(*arguments)) == 3
    with pytest.raises(ConflictError):
        client.check_batch("few", "fold", {"h0": {"sequence": "A"}})
    with pytest.raises(ConflictError):
        client.validate("fold", {"sequence": "A"}, "few")
    assert client.validate("fold", {"sequence": "A"}) == {"sequence": "A"}
    assert len(ledger.rows) == 4


@pytest.fixture
def many(ledger: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Three pages of 250 jobs, newest first: every tenth is complete, every second folds."""
    monkeypatch.setattr("labext.jobs.listing.PAGE_SIZE", 100)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    for n in range(250):
        ledger.add(
            f"j{n}",
            "fold" if n % 2 == 0 else "other",
            JobStatus="Complete" if n % 10 == 0 else "Stopped",
            Created=(start + timedelta(minutes=n)).isoformat(),
        )
    return ledger


def test_filtered_list_is_read_until_the_limit(client: JobsClient, many: Any) -> None:
    first = client.jobs(state="complete", limit=15)
    assert first["JobName"].tolist() == [f"j{n}" for n in range(240, 90, -10)]
    assert many.count("jobs") == 3, "two pages, and the key behind the last row"
    rest = client.jobs(state="complete", start_key=first.attrs["start_key"])
    assert rest["JobName"].tolist() == [f"j{n}" for n in range(90, -10, -10)]
    assert rest.attrs["start_key"] == ""
    flat = client.jobs(state="complete", limit=15, subjobs=True)
    assert flat["JobName"].tolist() == first["JobName"].tolist()
    rest = client.jobs(state="complete", subjobs=True, start_key=flat.attrs["start_key"])
    assert rest["JobName"].tolist() == [f"j{n}" for n in range(90, -10, -10)]
    assert len(client.jobs(tool="fold", state="stopped")) == 125 - 25
    names = [row["JobName"] for row in client.iter_jobs(tool="fold", limit=60)]
    assert names == [f"j{n}" for n in range(248, 128, -2)]


def test_since_stops_reading_at_the_time(client: JobsClient, many: Any) -> None:
    recent = client.jobs(since=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=190))
    assert len(recent) == 60
    assert recent.attrs["start_key"] == ""
    assert many.count("jobs") == 1
    assert len(client.jobs(since=datetime(2026, 3, 1, tzinfo=UTC), limit=120)) == 120


def test_since_reads_an_unsorted_list_completely(client: JobsClient, many: Any) -> None:
    shuffled = sorted(many.rows, key=lambda name: hashlib.md5(name.encode()).digest())
    many.rows = {name: many.rows[name] for name in shuffled}
    since = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=240)
    assert len(client.jobs(since=since)) == 10
    assert many.count("jobs") == 3


def test_filter_applies_to_the_merged_batch(client: JobsClient, ledger: Any) -> None:
    for n in range(30):
        ledger.add(f"a{n}", JobStatus="Complete")
    for part, status in ((1, "Complete"), (2, "Running")):
        ledger.add_batch(f"s-part{part}of2", {"x": {}})
        ledger.rows[f"s-part{part}of2"]["batchStatus"] = status
        for n in range(10):
            ledger.add(f"b{part}-{n}", JobStatus="Complete")
    assert client.jobs(state="running")["JobName"].tolist() == ["s"]
    complete = client.jobs(state="complete")
    assert len(complete) == 50
    assert "s" not in set(complete["JobName"])
    first = client.jobs(state="complete", limit=12)
    assert len(first) == 12
    assert "s" not in set(first["JobName"])
    rest = client.jobs(state="complete", start_key=first.attrs["start_key"])
    assert {*first["JobName"], *rest["JobName"]} == set(complete["JobName"])


@pytest.mark.parametrize("between", [[], ["between"]])
def test_batch_that_seems_to_match_by_some_parts_does_not_raise_the_limit(
    client: JobsClient, ledger: Any, between: list[str]
) -> None:
    for name in ("a", "b", "c"):
        ledger.add(name, JobStatus="Stopped")
    for part, names in ((1, between), (2, [])):
        ledger.add_batch(f"s-part{part}of2", {"x": {}})
        ledger.complete(f"s-part{part}of2")
        for name in names:
            ledger.add(name, JobStatus="Complete")
    listed = [page["JobName"].tolist() for page in pages(client, state="failed", limit=1)]
    assert listed == [["c"], ["b"], ["a"]]


def test_batch_that_matches_only_with_unlisted_parts_counts_for_the_limit(
    client: JobsClient, ledger: Any
) -> None:
    for part in (1, 2):
        ledger.add_batch(f"s-part{part}of2", {"x": {}})
        ledger.complete(f"s-part{part}of2")
        ledger.add(f"j{part}", JobStatus="Complete")
    names = [page["JobName"].tolist() for page in pages(client, state="complete", limit=2)]
    assert names[:2] == [["j2", "s"], ["j1"]]


def test_filter_without_a_match(client: JobsClient, many: Any) -> None:
    empty = client.jobs(state="running")
    assert empty.empty
    assert frame_text(empty) == "No job matches."
    with pytest.raises(InputError, match=r'There is no state "runing" .did you mean "Running"'):
        client.jobs(state="runing")
    with pytest.raises(InputError, match=r'The service has no tool "fld" .did you mean "fold"'):
        client.jobs(tool="fld")
    assert client.jobs(tool="batch").empty
    assert list(client.iter_jobs(state="running")) == []
    for unknown in ({"state": "runing"}, {"tool": "fld"}):
        with pytest.raises(InputError, match="did you mean"):
            list(client.iter_jobs(**unknown))


def test_jobs_of_a_batch_are_filtered(client: JobsClient, ledger: Any) -> None:
    client.submit_batch("few", "fold", FRAME.head(4), {"sequence": "A"}, "name", MAPPING)
    ledger.rows["few-h1"]["JobStatus"] = "Stopped"
    ledger.rows["few-h3"]["JobStatus"] = "Stopped"
    failed = client.jobs(batch="few", state="failed")
    assert failed["Name"].tolist() == ["h1", "h3"]
    assert failed["n"].tolist() == [FRAME["n"].iloc[1], FRAME["n"].iloc[3]]
    assert client.jobs(batch="few", state="failed", limit=1)["Name"].tolist() == ["h1"]
    assert len(client.jobs(batch="few", state="queued")) == 2


ORCHIDS = [f"gi|{2765658 - n}|emb|Z{78533 - n}.1|CIZ{78533 - n}" for n in range(13)]
SEQS = pd.DataFrame(
    {
        "id": [f"seq_{n:03}" for n in range(16)],
        "name": ["pBAD30", "a b", "a.b", *ORCHIDS],
        "bases": ["ACGT"] * 16,
    }
)
JOB = "gi-2765658-emb-Z78533-1-CIZ78533"


def send_adapted(client: JobsClient) -> Any:
    return client.submit_batch(
        "digests", "fold", SEQS, name_column="name", mapping={"sequence": "bases"}
    )


def test_adapted_and_original_names_are_listed(client: JobsClient, ledger: Any) -> None:
    done = send_adapted(client)
    assert '15 names were adapted: "a b" is a-b-' in done.message
    jobs = [job for of in ledger.members.values() for job in of]
    assert f"digests-part1of2-{JOB}" in jobs
    assert "digests-part1of2-pBAD30" in jobs
    assert len(set(jobs)) == 16
    assert done.frame["name"].tolist() == SEQS["name"].tolist()
    rows = client.jobs(batch="digests")
    assert rows.columns[:3].tolist() == ["Name", "name", "Type"]
    assert rows["name"].tolist() == SEQS["name"].tolist()
    assert rows["id"].tolist() == SEQS["id"].tolist()
    assert rows.set_index("name").loc[ORCHIDS[0], "Name"] == JOB


def test_rows_are_joined_by_original_names(
    client: JobsClient, ledger: Any, tmp_path: Any, elsewhere: Any
) -> None:
    send_adapted(client)
    some = SEQS.iloc[[5, 2, 0]].assign(mass=[1, 2, 3]).drop(columns="bases")

    def check(frame: pd.DataFrame) -> None:
        assert frame["name"].tolist()[:3] == some["name"].tolist()
        assert frame["mass"].tolist()[:3] == [1, 2, 3]
        assert frame["JobStatus"].notna().all()
        assert len(frame) == 16

    check(client.jobs(batch="digests", rows=some, name_column="name"))
    ledger.complete("digests-part1of2", "digests-part2of2")
    results = client.download("digests", tmp_path / "results")
    check(results.frame(some, "name"))
    assert results.frame()["name"].tolist() == SEQS["name"].tolist()
    other = elsewhere()
    assert "name" not in other.jobs(batch="digests")
    check(other.jobs(batch="digests", rows=some, name_column="name"))


def test_batch_with_adapted_names_is_resumed_from_the_journal(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    ledger.fail("submit-batch", None, ledger.answer(403, {"error": "no"}))
    with pytest.raises(LabextError):
        send_adapted(client)
    ledger.scripts.clear()
    done = later.resume("digests")
    assert done.frame["name"].tolist() == SEQS["name"].tolist()
    assert "15 names were adapted" in done.message
    assert sum(len(of) for of in ledger.members.values()) == 16
