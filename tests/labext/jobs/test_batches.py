"""Batches before submission: jobs from frames and mappings, limits and parts."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.jobs.batch import draft
from labext.jobs.batch.merge_parts import merge_part_rows, merge_phases
from labext.jobs.batch.plan import BatchLimits, BatchPlan, named_settings
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
    rows = draft.read_rows(frame, TOOL, **(arguments | options))
    if rows.error is not None:
        raise rows.error
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
    numbers = FRAME.assign(name=[1, 2])
    assert list(read(numbers)) == ["1", "2"]


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


def test_duplicate_column_is_refused() -> None:
    twice = pd.DataFrame([["a", "AC", "GU"]], columns=["name", "bases", "bases"])
    with pytest.raises(InputError, match='2 columns called "bases"'):
        read(twice)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_empty_cells_are_reported_by_column_and_row(missing: Any) -> None:
    frame = FRAME.astype(object)
    frame.loc[1, "bases"] = missing
    frame.loc[0, "name"] = missing
    with pytest.raises(InputError) as raised:
        read(frame)
    assert 'olumn "name" has an empty cell (row 0)' in raised.value.message
    assert 'column "bases" has an empty cell (row 1)' in raised.value.message
    assert raised.value.next_step.startswith("Fill them, or drop the rows: frame.dropna")
    frame.loc[0, "name"] = "a"
    with pytest.raises(InputError, match="Fill it, or drop the row"):
        read(frame)


def test_empty_frame_and_duplicate_names_are_refused() -> None:
    with pytest.raises(InputError, match="no rows"):
        read(FRAME.head(0))
    with pytest.raises(InputError, match='"name" has 1 name more than once: a') as raised:
        read(FRAME.assign(name="a", id=["seq_1", "seq_2"]))
    assert raised.value.next_step.endswith('`name_column="bases"`.'), "the first that tells apart"
    with pytest.raises(InputError, match=r"2 names more than once: a b, c.") as raised:
        read(pd.DataFrame({"name": ["a b", "a b", "c", "c"], "bases": "AC"}))
    assert raised.value.next_step == "Give each job a unique name."


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
        ({"jobNames": ["a", "b"], "settings": [{}]}, "2 job names and settings for 1 jobs"),
        ({"jobNames": ["a", "a"], "settings": [{}, {}]}, "more than once"),
        ({"jobNames": ["a"], "settings": ["x"]}, "unsupported type"),
        ({"jobNames": ["a"]}, "unsupported type"),
        ({"a": 5}, "unsupported type"),
        ([5], "unsupported type"),
        ("text", "unsupported type"),
        (5, "unsupported type"),
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


BUDGETS = [0, -1, True, "1", float("nan"), float("inf"), np.inf, np.nan, 10**400, np.bool_(True)]


@pytest.mark.parametrize("budget", BUDGETS)
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
