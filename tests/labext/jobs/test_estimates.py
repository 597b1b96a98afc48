"""The expected time and cost of jobs, from earlier runs of their tool."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labext.errors import AccessError, InputError
from labext.jobs import JobsClient
from labext.jobs.estimates import (
    MIN_RUNS,
    Estimate,
    Run,
    estimate,
    find_runs,
    format_duration,
    parse_budget_left,
)

SETTINGS = st.dictionaries(
    st.sampled_from("abc"),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.lists(st.integers()),
)


def _runs(count: int, seed: int = 1) -> list[Run]:
    """Return runs of 1 s and 0.1 ms for each squared letter, with a tenth of noise."""
    numbers = random.Random(seed)
    runs = []
    for _ in range(count):
        size = int(10 ** numbers.uniform(1, 3))
        seconds = (1 + 1e-4 * size**2) * math.exp(numbers.gauss(0, 0.1))
        runs.append(Run({"sequence": "A" * size, "file": f"{size}.pdb"}, seconds, seconds / 1800))
    return runs


def test_80_percent_of_jobs_take_the_expected_time_within_a_factor_of_two() -> None:
    hits = []
    for seed in range(10):
        jobs = _runs(20, seed + 100)
        expected = estimate(_runs(20, seed), [job.settings for job in jobs], ["file"])
        hits += [
            0.5 <= seconds / job.seconds <= 2
            for seconds, job in zip(expected.seconds, jobs, strict=True)
        ]
    assert sum(hits) / len(hits) >= 0.8


def test_factor_covers_80_percent_of_jobs() -> None:
    jobs = _runs(200, 3)
    expected = estimate(_runs(100), [job.settings for job in jobs], ["file"])
    ratios = [seconds / job.seconds for seconds, job in zip(expected.seconds, jobs, strict=True)]
    inside = [1 / expected.factor <= ratio <= expected.factor for ratio in ratios]
    assert 0.7 <= sum(inside) / len(inside) <= 0.9


def test_weighted_hours_follow_the_time() -> None:
    expected = estimate(_runs(30), [{"sequence": "A" * 500}] * 3)
    assert expected.weighted_hours == pytest.approx(expected.total_seconds / 1800)


def test_few_runs_give_their_median() -> None:
    runs = [Run({"n": n}, seconds, None) for n, seconds in enumerate([1.0, 2.0, 10.0])]
    assert len(runs) < MIN_RUNS
    expected = estimate(runs, [{"n": 5}, {"n": 500}])
    assert expected.seconds == pytest.approx([2.0, 2.0])
    assert expected.weighted_hours is None


def test_no_run_gives_no_estimate() -> None:
    assert estimate([], [{"n": 1}]) is None


def test_estimate_depends_on_choices() -> None:
    runs = [Run({"mode": mode}, 10.0 if mode == "slow" else 1.0, None) for mode in ("slow", "fast")]
    expected = estimate(runs * 10, [{"mode": "slow"}, {"mode": "fast"}])
    assert expected.seconds[0] > 5 * expected.seconds[1]


def test_names_of_files_do_not_matter() -> None:
    runs = [Run({"file": "x" * n}, float(n), None) for n in range(1, 21)]
    expected = estimate(runs, [{"file": "x"}, {"file": "x" * 20}], ["file"])
    assert expected.seconds[0] == expected.seconds[1]


def test_estimate_depends_on_the_sizes_of_named_files_and_of_content() -> None:
    sizes = {f"f{n}": 1000 * n for n in range(1, 21)}
    runs = [Run({"file": name}, size / 1000, None) for name, size in sizes.items()]
    sizes |= {"small": 2000, "large": 18000}
    jobs = [{"file": "small"}, {"file": "large"}, {"file": "x\n" * 9000}, {"file": "unknown"}]
    expected = estimate(runs, jobs, ["file"], sizes)
    small, large, content, unknown = expected.seconds
    assert small == pytest.approx(2, rel=0.3)
    assert large == pytest.approx(18, rel=0.3)
    assert content == pytest.approx(large)
    assert small < unknown < large


@given(st.lists(SETTINGS, min_size=10, max_size=20), st.lists(SETTINGS, min_size=1, max_size=3))
@settings(max_examples=10)
def test_any_settings_give_finite_times(known: list[Any], jobs: list[Any]) -> None:
    runs = [Run(values, 1.0 + number, None) for number, values in enumerate(known)]
    expected = estimate(runs, jobs)
    assert all(math.isfinite(seconds) and seconds > 0 for seconds in expected.seconds)


def test_number_beyond_the_range_of_floats_is_ignored() -> None:
    runs = [Run({"seed": 10**400 if n else 1}, 2.0, None) for n in range(10)]
    expected = estimate(runs, [{"seed": 10**400}])
    assert expected.seconds == pytest.approx([2.0])


def test_runs_are_complete_jobs_of_the_tool() -> None:
    times = {"Started": "2026-01-01T00:00:00Z", "Completed": "2026-01-01T00:00:09Z"}
    row = {"Type": "fold", "JobStatus": "Complete", "Settings": '{"n": 1}', **times}
    rows = [
        row,
        {**row, "Type": "cut"},
        {**row, "JobStatus": "Failed"},
        {**row, "Started": None},
        {**row, "Settings": "{"},
        {**row, "WeightedHours": 0.5},
    ]
    assert find_runs(rows, "fold", 9) == [Run({"n": 1}, 9.0, None), Run({"n": 1}, 9.0, 0.5)]
    assert len(find_runs(rows, "fold", 1)) == 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.01, "under 0.1 s"), (0.52, "0.52 s"), (119.0, "2 min"), (720, "12 min"), (12600, "3.5 h")],
)
def test_duration_has_two_digits(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_estimate_has_a_range_unless_both_ends_are_equal() -> None:
    assert str(Estimate([9.0], 3.0, None, 1)) == (
        "Expected: 9 s of computing (3 s to 27 s), by 1 earlier run."
    )
    assert str(Estimate([0.01], 3.0, None, 1)) == (
        "Expected: under 0.1 s of computing, by 1 earlier run."
    )


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ({"budgetLeft": 1.5}, 1.5),
        ({}, None),
        ({"budgetLeft": "x"}, None),
        ({"budgetLeft": 10**400}, None),
        (5, None),
    ],
)
def test_budget_left_is_a_number(answer: Any, left: float | None) -> None:
    assert parse_budget_left(answer) == left


FRAME = pd.DataFrame({"name": ["a", "b"], "sequence": ["AC", "GU"]})


def _submit(client: JobsClient, budget: float | None, **options: Any) -> Any:
    return client.submit_batch(
        "folds", "fold", FRAME, None, "name", weighted_hours_budget=budget, **options
    )


@pytest.mark.faults
def test_batch_over_its_budget_is_refused_before_it_is_sent(used: Any, client: JobsClient) -> None:
    with pytest.raises(InputError, match=r"need 4 weighted hours .*is 3\.9") as refusal:
        _submit(client, 3.9)
    assert "over_budget=True" in refusal.value.next_step
    assert used.count("submit-batch") == 0
    assert _submit(client, 4.0).name == "folds"
    assert used.count("submit-batch") == 1


@pytest.mark.faults
def test_batch_over_its_budget_is_sent_if_requested(used: Any, client: JobsClient) -> None:
    _submit(client, 1.0, over_budget=True)
    assert "already exists" in _submit(client, 1.0).message
    client._journal.forget("folds")  # as on another machine
    assert "already exists" in _submit(client, 1.0).message
    assert used.count("submit-batch") == 1


@pytest.mark.faults
def test_budget_applies_to_a_batch_that_another_client_deleted(
    used: Any, client: JobsClient
) -> None:
    _submit(client, 4.0)
    client._service.delete("folds")
    with pytest.raises(InputError, match=r"its budget is 3\.9"):
        _submit(client, 3.9)


@pytest.mark.faults
def test_other_limits_of_a_running_batch_are_reported(ledger: Any, client: JobsClient) -> None:
    _submit(client, 4.0)
    ledger.rows["folds"] |= {"Settings": '{"weightedHoursBudget": 4.0}', "batchStatus": "Running"}
    for options in ({"budget": 5.0}, {"budget": None}, {"budget": 4, "max_runtime_seconds": 9}):
        assert "keep their budget and time limit" in _submit(client, **options).message
    assert "keep" not in _submit(client, 4.0).message
    ledger.rows["folds"]["batchStatus"] = "Complete"
    assert "keep" not in _submit(client, 5.0).message


@pytest.mark.faults
def test_batch_over_the_budget_left_is_refused_before_it_is_sent(
    used: Any, client: JobsClient
) -> None:
    used.usage = {"total": 6.0, "budgetLeft": 3.5}
    for budget in (None, 9.0):
        with pytest.raises(InputError, match=r"need 4 weighted hours .*; 3\.5 of your budget are"):
            _submit(client, budget)
    assert used.count("submit-batch") == 0
    _submit(client, None, over_budget=True)
    assert used.count("submit-batch") == 1


@pytest.mark.faults
def test_check_of_a_batch_gives_the_time_and_the_budget_left(used: Any, client: JobsClient) -> None:
    checked = client.check_batch("folds", "fold", FRAME, None, "name")
    assert checked["ExpectedSeconds"].tolist() == pytest.approx([3600.0, 3600.0])
    assert checked.attrs["estimate"]["budget_left"] == 8.0
    expected = client.estimate("fold", [{"sequence": "AC"}] * 2)
    assert str(expected) == (
        "Expected: 2 h of computing (60 min to 4 h), 4 weighted hours, by 3 earlier runs. "
        "8 weighted hours of the budget are left."
    )
    for left, expected_end in ((3.9, "Only 3.9 weighted hours"), (1500.0, " 1,500 weighted hours")):
        used.usage = {"budgetLeft": left}
        expected = client.estimate("fold", [{"sequence": "AC"}] * 2)
        assert str(expected).endswith(f"{expected_end} of the budget are left.")


@pytest.mark.faults
def test_check_says_that_the_estimate_exceeds_the_budget_of_the_batch(
    used: Any, client: JobsClient
) -> None:
    def estimated(budget: float | None) -> str:
        checked = client.check_batch(
            "folds", "fold", FRAME, None, "name", weighted_hours_budget=budget
        )
        return str(Estimate(**checked.attrs["estimate"]))

    assert "This exceeds the batch's budget of 3.9 weighted hours." in estimated(3.9)
    for budget in (None, 4.0):
        assert "exceeds" not in estimated(budget)


@pytest.mark.faults
def test_service_without_usage_statistics_gives_no_budget(used: Any, client: JobsClient) -> None:
    used.not_served["usage-statistics"] = used.answer(404, {"error": "not found"})
    expected = client.estimate("fold", [{"sequence": "AC"}])
    assert expected.budget_left is None


@pytest.mark.faults
def test_used_up_budget_is_no_fault_of_the_jobs(ledger: Any, client: JobsClient) -> None:
    used_up = ledger.answer(403, {"error": "Your budget is used up."})
    ledger.not_served |= dict.fromkeys(("validate-job", "submit-batch", "submit-pipeline"), used_up)
    stages = [{"task": "Fold", "toolSettings": {"fold": {"sequence": "pipe"}}}]
    for attempt in (
        lambda: client.validate("fold", {"sequence": "ACGU"}),
        lambda: client.check_batch("folds", "fold", FRAME, None, "name"),
        lambda: client.check_batch("folds", "fold", FRAME, None, "name", skip_invalid=True),
        lambda: _submit(client, None),
        lambda: _submit(client, None, skip_invalid=True),
        lambda: client.check_pipeline("p", stages, ["ACGU"]),
        lambda: client.submit_pipeline("p", stages, ["ACGU"]),
    ):
        with pytest.raises(AccessError, match="used up") as refusal:
            attempt()
        assert "administrator" in refusal.value.next_step
    assert client.unfinished().empty


@pytest.mark.faults
def test_used_up_budget_of_a_sandbox_names_the_command_that_raises_it(
    ledger: Any, client: JobsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "connection.json").write_text(json.dumps({"jobs": {"base_url": ledger.url}}))
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(tmp_path))
    used_up = ledger.answer(403, {"error": "The budget of the organization sandbox is used up."})
    ledger.usage = {"budgetLeft": 0.0}
    with pytest.raises(AccessError, match="of your account") as estimated:
        _submit(client, None)
    ledger.usage = {"budgetLeft": 5.0}
    ledger.not_served |= {"submit-batch": used_up}
    with pytest.raises(AccessError) as refused:
        _submit(client, None)
    checks = {"valid": False, "error": "The budget of the organization sandbox is used up."}
    ledger.not_served |= {"validate-job": ledger.answer(200, checks)}
    with pytest.raises(AccessError, match="would refuse") as checked:
        client.validate("fold", {"sequence": "ACGU"})
    for refusal in (refused, checked, estimated):
        assert "labext sandbox jobs budgets set" in refusal.value.next_step
        assert "administrator" not in refusal.value.next_step
