"""Batches before submission: jobs from frames, names, limits, parts and identity."""

from __future__ import annotations

import json
import math
import string
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.jobs import JobsClient, identity
from labext.jobs.batch import draft
from labext.jobs.batch.merge_parts import merge_part_rows, merge_phases
from labext.jobs.batch.plan import BatchLimits, BatchPlan, max_job_name_length, named_settings
from labext.jobs.batch.report import plan_overview
from labext.jobs.frames import original_names
from labext.jobs.identity import (
    adapt_names,
    adapted_names_message,
    canonical_json,
    find_adapted_name,
    submission_difference,
    submission_digest,
)
from labext.jobs.tools import Tool

TOOL = Tool(
    {
        "name": "fold",
        "settings": [
            {"name": "sequence", "required": True},
            {"name": "temperature", "required": False},
        ],
    }
)


def read(frame: pd.DataFrame, **options: Any) -> dict[str, dict[str, Any]]:
    arguments = {"name_column": "name", "mapping": {"sequence": "bases"}, "constants": {}}
    rows = draft.draft_from_frame("b", TOOL, BatchLimits(), frame, **(arguments | options))
    for error in rows.errors.values():
        raise error
    return dict(zip(rows.names, rows.settings, strict=True))


FRAME = pd.DataFrame({"name": ["a", "b"], "bases": ["AC", "GU"], "t": [37.0, 38.0]})


@given(st.integers(1, 1234), st.floats(0.01, 1e6))
def test_plan_divides_jobs_and_budget_completely(count: int, budget: float) -> None:
    jobs = {f"j{n}": {"n": n} for n in range(count)}
    plan = BatchPlan("b", "fold", jobs, BatchLimits(None, budget))
    assert [job for part in plan.parts for job in part.jobs] == list(jobs)
    assert all(1 <= len(part.jobs) <= 100 for part in plan.parts)
    assert len(plan.parts) == math.ceil(count / 100)
    assert sum(part.budget or 0 for part in plan.parts) == pytest.approx(budget)
    assert [part.name for part in plan.parts][:1] == ["b" if count <= 100 else plan.parts[0].name]
    for part in plan.parts:
        body = plan.body(part)
        assert len(body["jobNames"]) == len(body["settings"])
        assert "gpuType" not in body


def test_frame_rows_become_jobs() -> None:
    assert read(FRAME) == {"a": {"sequence": "AC"}, "b": {"sequence": "GU"}}
    both = read(FRAME, mapping={"sequence": "bases", "temperature": "t"}, constants={"x": 1})
    assert both["b"] == {"x": 1, "sequence": "GU", "temperature": 38.0}
    unnamed = read(FRAME, name_column=None)
    assert list(unnamed) == ["1", "2"]
    plain = FRAME.rename(columns={"bases": "sequence", "t": "temperature"})
    assert read(plain, mapping=None)["a"] == {"sequence": "AC", "temperature": 37.0}


@pytest.mark.parametrize("numbers", [[1, 2], [1.0, 2.0], pd.Series([1, 2], dtype="Int64")])
def test_whole_numbers_name_jobs_without_a_fraction(numbers: Any) -> None:
    """Pandas reads a column of integers with empty cells as floats."""
    frame = FRAME.assign(name=numbers)
    assert list(read(frame)) == ["1", "2"]
    assert original_names(frame, "name") == ["1", "2"]
    assert BatchPlan("b", "fold", read(frame), rows=frame, name_column="name").originals == {}


@pytest.mark.parametrize("dtype", ["float16", "float32", "Float32"])
def test_settings_of_single_precision_have_their_shortest_digits(dtype: str) -> None:
    frame = FRAME.assign(t=pd.Series([0.1, None], dtype=dtype))
    jobs = read(frame, mapping={"sequence": "bases", "temperature": "t"})
    assert jobs == {"a": {"sequence": "AC", "temperature": 0.1}, "b": {"sequence": "GU"}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mapping": {"sequence": "base"}},
            r'no column "base" for sequence \(did you mean "bases"',
        ),
        ({"name_column": "nam"}, r'no column "nam" for the jobs\' names \(did you mean "name"'),
        ({"mapping": None}, "bases, t are not settings of fold"),
        ({"constants": {"sequence": "A"}}, "sequence is set both for all jobs and by a column"),
    ],
)
def test_columns_that_do_not_match_the_tool_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(FRAME, **options)


def test_only_unknown_column_is_suggested_for_the_names_of_the_jobs() -> None:
    frame = FRAME[["name", "bases"]].rename(columns={"bases": "sequence"})
    with pytest.raises(InputError) as raised:
        read(frame, name_column=None, mapping=None)
    assert raised.value.next_step == (
        'Add `name_column="name"` if it names the jobs. Name the columns with settings: '
        '`mapping={"sequence": "column"}`.'
    )


def test_column_in_the_index_is_refused_with_the_way_out() -> None:
    indexed = FRAME.set_index(["name", "bases"])
    for call in (lambda: read(indexed), lambda: original_names(indexed, "name")):
        with pytest.raises(InputError, match='no column "name"') as raised:
            call()
        assert "`frame.reset_index()`" in raised.value.next_step
    with pytest.raises(InputError, match='no column "bases"') as raised:
        read(indexed.reset_index("name"))
    assert "`frame.reset_index()`" in raised.value.next_step


def test_duplicate_column_is_refused() -> None:
    twice = pd.DataFrame([["a", "AC", "GU"]], columns=["name", "bases", "bases"])
    with pytest.raises(InputError, match='2 columns called "bases"'):
        read(twice)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_value_of_an_optional_setting_is_not_sent(missing: Any) -> None:
    mapping = {"sequence": "bases", "temperature": "t"}
    frame = FRAME.assign(t=pd.Series([37.0, missing], dtype=object))
    jobs = read(frame, mapping=mapping)
    assert jobs == {"a": {"sequence": "AC", "temperature": 37.0}, "b": {"sequence": "GU"}}


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_empty_cells_are_reported_by_column_and_row(missing: Any) -> None:
    frame = FRAME.astype(object)
    frame.loc[1, "bases"] = missing
    frame.loc[0, "name"] = missing
    with pytest.raises(InputError) as raised:
        read(frame)
    assert 'olumn "name" has an empty cell (row 0)' in raised.value.message
    assert 'column "bases" has an empty cell (row 1)' in raised.value.message
    assert raised.value.next_step == (
        "Fill them, or drop the rows: frame.dropna(subset=['name', 'bases'])."
    )
    frame.loc[0, "name"] = "a"
    with pytest.raises(InputError, match="Fill it, or drop the row"):
        read(frame)


def test_empty_frame_and_duplicate_names_are_refused() -> None:
    with pytest.raises(InputError, match="no rows"):
        read(FRAME.head(0))
    with pytest.raises(InputError, match='"name" has 1 name more than once: a') as raised:
        read(FRAME.assign(name="a", id=["seq_1", "seq_2"]))
    assert raised.value.next_step == (
        'Give each job a unique name, or omit `name_column="name"`: the jobs are then numbered.'
    )
    with pytest.raises(InputError, match=r"2 names more than once: a b, c."):
        read(pd.DataFrame({"name": ["a b", "a b", "c", "c"], "bases": "AC"}))


def test_repeated_long_names_are_shortened() -> None:
    frame = pd.DataFrame({"name": ["A" * 5000] * 2, "bases": "AC"})
    for call in (lambda: read(frame), lambda: original_names(frame, "name")):
        with pytest.raises(InputError, match="AAA…") as raised:
            call()
        assert len(str(raised.value)) < 300


def test_sparse_numbers_are_settings() -> None:
    frame = FRAME.assign(t=pd.arrays.SparseArray([30.5, np.nan]))
    jobs = read(frame, mapping={"sequence": "bases", "temperature": "t"})
    assert jobs == {"a": {"sequence": "AC", "temperature": 30.5}, "b": {"sequence": "GU"}}


def test_mapping_the_wrong_way_round_is_corrected() -> None:
    with pytest.raises(InputError, match='no column "sequence" for bases') as raised:
        read(FRAME, mapping={"bases": "sequence"})
    assert 'Write the setting first: `mapping={"sequence": "bases"}`.' in raised.value.next_step


def test_settings_joined_by_commas_are_corrected() -> None:
    frame = FRAME.rename(columns={"bases": "sequence"})
    from labext.actions import use_style
    from labext_magics.core.actions import MAGIC_STYLE

    with use_style(MAGIC_STYLE), pytest.raises(InputError, match="no column") as raised:
        read(frame, mapping={"sequence": "sequence,temperature=t"})
    assert raised.value.next_step == (
        "Give each setting alone: `--map sequence=sequence` `--map temperature=t`."
    )
    with pytest.raises(InputError, match='no column "base"') as raised:
        read(frame, mapping={"sequence": "base"})
    assert "Write the setting first" not in raised.value.next_step


@pytest.mark.parametrize("empty", ["", " \n"])
def test_blank_text_is_an_empty_cell_of_a_required_parameter(empty: str) -> None:
    frame = FRAME.assign(bases=["AC", empty], t=["37", empty])
    with pytest.raises(InputError, match=r'olumn "bases" has an empty cell .row 1') as raised:
        read(frame, mapping={"sequence": "bases", "temperature": "t"})
    code = raised.value.next_step.removesuffix(".").partition(": ")[2]
    assert eval(code, {"frame": frame})["name"].tolist() == ["a"]
    assert eval(code, {"frame": frame.assign(bases=[None, "G"])})["name"].tolist() == ["b"]
    assert (
        read(frame, mapping={"sequence": "name", "temperature": "t"})["b"]["temperature"] == empty
    )
    with pytest.raises(InputError, match=r'olumn "name" has an empty cell .row 0'):
        read(FRAME.assign(name=[empty, "b"]))


def test_mapping_arrays_and_list_define_the_same_jobs() -> None:
    expected = {"a": {"t": 1, "s": "x"}, "b": {"t": 2}}
    arrays = {"jobNames": ["a", "b"], "settings": [{"s": "x"}, {"t": 2}]}
    rows = [{"jobName": "a", "settings": {"s": "x"}}, {"jobName": "b", "settings": {"t": 2}}]
    for form in ({"a": {"s": "x"}, "b": {"t": 2}}, arrays, rows, {"jobs": rows}):
        assert named_settings(form, {"t": 1}) == expected


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"jobNames": ["a", "b"], "settings": [{}]}, "2 job names and settings for 1 job"),
        ({"jobNames": ["a", "a"], "settings": [{}, {}]}, "more than once"),
        ({"jobNames": ["a"], "settings": ["x"]}, "unsupported format"),
        ({"jobNames": ["a"]}, "unsupported format"),
        ({"a": 5}, "unsupported format"),
        ([5], "unsupported format"),
        ([{"sequence": "AC"}], "unsupported format"),
        ([{"jobName": "a", "sequence": "AC"}], "unsupported format"),
        ("text", "unsupported format"),
        (5, "unsupported format"),
    ],
)
def test_other_definitions_of_jobs_are_refused(form: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        named_settings(form, {})


@pytest.mark.parametrize(("seconds", "budget"), [(60, 2), (np.int64(60), np.float32(2)), (60, 2.0)])
def test_numpy_limits_are_sent_as_numbers(seconds: Any, budget: Any) -> None:
    plan = BatchPlan("b", "fold", {"a": {}}, BatchLimits(seconds, budget))
    body = json.loads(json.dumps(plan.body(plan.parts[0])))
    assert (body["maxRuntimeSeconds"], body["weightedHoursBudget"]) == (60, 2)


@pytest.mark.parametrize("seconds", [0, -1, 1.0, True, "60", np.float64(60), np.bool_(True)])
def test_time_limit_is_a_positive_integer(seconds: Any) -> None:
    with pytest.raises(InputError, match="time limit"):
        BatchLimits(seconds)


@pytest.mark.parametrize("budget", [0, -1, True, "1", math.nan, np.inf, 10**400, np.bool_(True)])
def test_budget_is_a_positive_finite_number(budget: Any) -> None:
    with pytest.raises(InputError, match="budget"):
        BatchLimits(None, budget)


@pytest.mark.parametrize(
    ("words", "missing", "whole"),
    [
        (["Complete", "Complete"], [], "Complete"),
        (["Complete", "Complete"], ["p3"], "Stopped"),
        (["Complete", "Running"], [], "Running"),
        (["Complete", "Aggregating"], [], "Aggregating"),
        (["Running", "Aggregating"], [], "Running"),
        (["Complete", "Hibernating"], [], "Hibernating"),
        (["Running", "Hibernating"], [], "Running"),
        (["Complete", "AggregationFailed"], [], "AggregationFailed"),
        (["Running", "AggregationFailed"], [], "Running"),
        (["Complete", "Stopped"], [], "Stopped"),
    ],
)
def test_phase_of_a_split_batch(words: list[str], missing: list[str], whole: str) -> None:
    assert merge_phases(words, missing) == whole


def test_row_of_a_split_batch_merges_its_parts() -> None:
    parts = {
        "b-part1of3": {
            "JobName": "b-part1of3",
            "batchStatus": "Complete",
            "Created": "2026-01-01T00:00:00Z",
            "Completed": "2026-01-01T00:05:00Z",
            "WeightedHours": 0.5,
            "Settings": '{"type": "fold", "jobs": 100, "weightedHoursBudget": 0.1}',
            "statuses": {"Complete": 100},
        },
        "b-part2of3": {
            "JobName": "b-part2of3",
            "batchStatus": "Running",
            "Created": "2026-01-01T00:00:01Z",
            "Settings": '{"type": "fold", "jobs": 3, "weightedHoursBudget": 0.2}',
            "statuses": {"Complete": 1, "Running": 2},
        },
        "b-part3of3": None,
    }
    row = merge_part_rows("b", parts, {"b-part3of3": 7})
    assert row["batchStatus"] == "Running"
    assert row["statuses"] == {"Complete": 101, "Running": 2, "not sent": 7}
    assert row["Created"] == "2026-01-01T00:00:00Z"
    assert "Completed" not in row
    assert row["WeightedHours"] == 0.5
    assert row["parts"] == list(parts)
    assert json.loads(row["Settings"]) == {"type": "fold"}


def test_settings_of_the_parts_are_merged() -> None:
    def part(settings: str) -> Any:
        return {"JobName": "b", "batchStatus": "Running", "Settings": settings}

    first = part(
        '{"type": "fold", "jobs": 100, "maxRuntimeSeconds": 60, "weightedHoursBudget": 0.1}'
    )
    second = part(
        '{"type": "fold", "jobs": 3, "maxRuntimeSeconds": 60, "weightedHoursBudget": 0.2}'
    )
    row = merge_part_rows("b", {"b-part1of2": first, "b-part2of2": second}, {})
    assert json.loads(row["Settings"]) == {
        "type": "fold",
        "jobs": 103,
        "maxRuntimeSeconds": 60,
        "weightedHoursBudget": 0.3,
    }
    unread = merge_part_rows("b", {"b-part1of2": first, "b-part2of2": part("{half a JS")}, {})
    assert "Settings" not in unread


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        (["Stopped by hand.", "Stopped by hand.", "Stopped by hand."], "Stopped by hand."),
        (
            ["By hand.", "By hand", "Budget."],
            "b-part1of3, b-part2of3: By hand; b-part3of3: Budget.",
        ),
        (["", "Budget.", None], "b-part2of3: Budget."),
        ([None, None, None], None),
    ],
)
def test_identical_reasons_of_parts_are_merged(reasons: list[Any], message: str | None) -> None:
    parts: dict[str, Any] = {
        f"b-part{n}of3": {"JobName": f"b-part{n}of3", "batchStatus": "Stopped", "Reason": reason}
        for n, reason in enumerate(reasons, start=1)
    }
    assert merge_part_rows("b", parts, {}).get("Reason") == message


ORCHID = "gi|2765658|emb|Z78533.1|CIZ78533"
NAMES = st.lists(st.text(min_size=1, max_size=120), unique=True, min_size=1, max_size=12)
CLOSE = st.lists(st.text("aAb.|-", min_size=1, max_size=5), unique=True, min_size=1, max_size=40)


def test_invalid_characters_become_dashes() -> None:
    given_names = [ORCHID, "pBAD30", "pUC19 (copy)"]
    adapted = ["gi-2765658-emb-Z78533-1-CIZ78533", "pBAD30", "pUC19--copy-"]
    assert adapt_names(given_names) == adapted
    assert adapt_names(["x" * 120, "y"], 30) == ["x" * 30, "y"]


@given(NAMES | CLOSE, st.integers(20, 100))
def test_adapted_names_are_valid_and_unique(originals: list[str], most: int) -> None:
    adapted = adapt_names(originals, most)
    assert all(identity.name_fault(name) is None and len(name) <= most for name in adapted)
    assert len({name.lower() for name in adapted}) == len(adapted)
    valid = [name for name in originals if identity.name_fault(name) is None and len(name) <= most]
    lower = [name.lower() for name in valid]
    for original, name in zip(originals, adapted, strict=True):
        if original in valid and lower.count(original.lower()) == 1:
            assert name == original


def test_names_that_differ_only_in_case_are_adapted(client: JobsClient, ledger: Any) -> None:
    frame = pd.DataFrame({"name": ["Aa", "aA", "b"], "sequence": ["AC", "GU", "GG"]})
    for _ in range(2):
        submission = client.submit_batch("folds", "fold", frame, None, "name")
        first, second, third = submission.frame["Name"]
        assert first.startswith("Aa-")
        assert second.startswith("aA-")
        assert third == "b"
        assert first[3:] != second[3:]
    assert "already exists" in submission.message
    assert ledger.count("submit-batch") == 1
    table = client.jobs(batch="folds", rows=frame, name_column="name")
    assert table["name"].tolist() == ["Aa", "aA", "b"]
    client._journal.forget("folds")  # as on another machine
    assert "already exists" in client.submit_batch("folds", "fold", frame, None, "name").message
    table = client.jobs(batch="folds", rows=frame, name_column="name")
    assert table["name"].tolist() == ["Aa", "aA", "b"]
    with pytest.raises(InputError, match="2 job names of the batch differ only in case: Aa, aA"):
        client.submit_batch("more", "fold", {"Aa": {"sequence": "A"}, "aA": {"sequence": "A"}})


@given(CLOSE, st.randoms())
def test_adapted_names_are_independent_of_order(originals: list[str], random: object) -> None:
    shuffled = list(originals)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    both = dict(zip(originals, adapt_names(originals), strict=True))
    assert both == dict(zip(shuffled, adapt_names(shuffled), strict=True))


@given(CLOSE)
@example(["a.", "a-"])
def test_job_is_found_by_its_original_name_alone(originals: list[str]) -> None:
    jobs = adapt_names(originals)
    # "a." gets another job name if "a-" exists; it is found also without "a-".
    for original, job in zip(originals, jobs, strict=True):
        assert find_adapted_name(original, jobs, 100) == job
        assert find_adapted_name(original, {job}, 100) == job


def test_message_lists_adapted_names() -> None:
    assert adapted_names_message({}) == ""
    assert adapted_names_message({"a-b": "a b"}) == '1 name was adapted: "a b" is a-b.'
    many = {f"n-{n}": f"n.{n}" for n in range(1200)}
    assert adapted_names_message(many).startswith('1,200 names were adapted: "n.0" is n-0, ')
    assert adapted_names_message(many).endswith(" and 1,197 more.")


@given(st.text(string.ascii_letters, min_size=1, max_size=79), st.integers(1, 2500))
def test_job_names_leave_room_for_the_part_name(batch: str, jobs: int) -> None:
    most = max_job_name_length(batch, jobs)
    plan = BatchPlan(batch, "digest", {f"j{n}": {} for n in range(jobs)})
    longest = max(len(part.name) for part in plan.parts)
    assert most in (identity.MAX_NAME_LENGTH - longest - 1, identity.MAX_NAME_LENGTH)
    assert (most == identity.MAX_NAME_LENGTH) == (longest > 79)


@pytest.mark.parametrize(
    ("column", "label"), [("name", "name"), ("Name", "Name.input"), ("Part", "Part.input")]
)
def test_overview_shows_the_original_name_beside_the_job_name(column: str, label: str) -> None:
    rows = pd.DataFrame({"bases": ["AC", "GT"], column: [ORCHID, "pBAD30"], "n": [1, 2]})
    jobs = dict(zip(adapt_names([ORCHID, "pBAD30"]), [{}, {}], strict=True))
    frame = plan_overview(BatchPlan("b", "digest", jobs, rows=rows, name_column=column))
    assert frame.columns.tolist() == ["Name", label, "bases", "n", "Part", "JobName"]
    assert frame[label].tolist() == [ORCHID, "pBAD30"]
    assert frame["Name"].tolist() == ["gi-2765658-emb-Z78533-1-CIZ78533", "pBAD30"]
    assert frame.attrs["adapted"].startswith("1 name was adapted: ")
    plain = plan_overview(
        BatchPlan(
            "b",
            "digest",
            {"x": {}, "y": {}},
            rows=rows.assign(**{column: ["x", "y"]}),
            name_column=column,
        )
    )
    assert plain.columns.tolist() == ["Name", "bases", "n", "Part", "JobName"]
    assert plain.attrs["adapted"] == ""


GOOD = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=100)


@given(st.text(max_size=130))
def test_name_rule_is_1_to_100_letters_digits_dashes_underscores(name: str) -> None:
    allowed = set(string.ascii_letters + string.digits + "_-")
    keeps = 1 <= len(name) <= 100 and set(name) <= allowed
    assert (identity.name_fault(name) is None) == keeps


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a b", "contains a space"),
        ("x" * 101, "has 101 characters"),
        ("", "is empty"),
        ("é", "contains 'é'"),
        ("a\n", r"contains '\\n'"),
        (5, "is not text"),
    ],
)
def test_invalid_name_is_explained(name: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        identity.check_name(name)
    assert "letters, digits" in raised.value.next_step


@given(GOOD, st.integers(1, 99), st.integers(0, 99))
def test_part_names_round_trip(batch: str, number: int, more: int) -> None:
    name = identity.part_name(batch, number, number + more)
    assert identity.parse_part_name(name) == (batch, number, number + more)
    assert identity.strip_batch_name(f"{name}-job", name) == "job"


@pytest.mark.parametrize(
    "name",
    ["folds", "folds-part0of3", "folds-part4of3", "-part1of", "a-part1of02", "a-part1of20260301"],
)
def test_other_names_are_not_part_names(name: str) -> None:
    assert identity.parse_part_name(name) is None


def test_job_names_of_a_batch_are_checked() -> None:
    identity.check_job_names(["a", "b"], ["x-a", "x-b"], "x")
    with pytest.raises(InputError, match='2 job names of x are invalid: "a b" contains a space'):
        identity.check_job_names(["a b", "", "c"], [], "x")
    with pytest.raises(InputError, match="1 job name of x is used more than once: a"):
        identity.check_job_names(["a", "b", "a"], [], "x")
    long = "x" * 60 + "-" + "j" * 45
    with pytest.raises(InputError, match="has 106 characters, at most 100 are allowed") as raised:
        identity.check_job_names(["j" * 45], [long], "x" * 60)
    assert "by 6" in raised.value.next_step


@given(st.text(min_size=1, max_size=150), st.dictionaries(st.text(), st.integers()))
def test_generated_name_is_valid_and_deterministic(type: str, settings: dict[str, int]) -> None:
    name = identity.generate_name(type, settings)
    assert identity.name_fault(name) is None
    assert name == identity.generate_name(type, dict(reversed(settings.items())))


def test_numbered_names_sort_numerically() -> None:
    assert identity.numbered_names(2) == ["1", "2"]
    assert identity.numbered_names(1000) == sorted(identity.numbered_names(1000))


def test_project_tag_is_checked() -> None:
    assert identity.check_project_tag("proj_7f") == "proj_7f"
    assert identity.check_project_tag(None) is None
    for tag in ("7f", "proj_", "proj_a b"):
        with pytest.raises(InputError, match="is not a project identifier"):
            identity.check_project_tag(tag)


TEXT = st.text(max_size=5)
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)
SETTINGS = st.dictionaries(TEXT, JSON, max_size=3)


def row(settings: Any, type: str = "fold") -> dict[str, Any]:
    return {"JobName": "f1", "Type": type, "Settings": settings}


@given(SETTINGS)
def test_settings_equal_themselves_after_serialization(settings: dict[str, Any]) -> None:
    backwards = dict(reversed(settings.items()))
    assert submission_difference("fold", settings, row(json.dumps(backwards))) is None
    assert submission_digest("fold", settings) == submission_digest(
        "fold", json.loads(json.dumps(backwards))
    )


@given(SETTINGS, SETTINGS)
def test_digests_are_equal_for_equal_settings_only(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    same = canonical_json(one) == canonical_json(other)
    assert (submission_digest("fold", one) == submission_digest("fold", other)) == same


def test_numbers_are_compared_by_value() -> None:
    assert submission_difference("fold", {"t": 37}, row('{"t": 37.0}')) is None
    assert submission_difference("fold", {"t": 37}, row('{"t": 37.5}')) == "it has t=37.5, not 37"
    assert submission_difference("fold", {"t": True}, row('{"t": 1}')) == "it has t=1, not true"
    shared = "ACGT" * 500
    difference = submission_difference("fold", {"t": f"{shared}A"}, row(f'{{"t": "{shared}C"}}'))
    assert difference == 'it has t=…GTACGTACGTC", not …GTACGTACGTA"'
    assert submission_difference("fold", {}, row("[" * 10**5)) == "its settings can't be read"


def test_internal_fields_are_ignored() -> None:
    stored = '{"t": 1, "submit_method": "api", "msa": "x", "monomer_msa": null}'
    assert submission_difference("fold", {"t": 1}, row(stored)) is None


def test_difference_names_the_setting() -> None:
    assert submission_difference("fold", {}, row("{}", "other")) == "its type is other, not fold"
    assert submission_difference("fold", {"a": 1}, row("{}")) == "it has no a"
    assert submission_difference("fold", {}, row('{"a": "x"}')) == 'it has a="x"'
    assert submission_difference("fold", {}, row("{half")) == "its settings can't be read"
    assert submission_difference("fold", {}, row(None)) == "its settings can't be read"
    many = {f"k{n}": n for n in range(9)}
    assert str(submission_difference("fold", many, row("{}"))).endswith("and 6 more")
