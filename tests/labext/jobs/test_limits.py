"""Number formats that the client accepts for the limits of a batch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from labext.errors import InputError
from labext.jobs.batch.plan import BatchLimits, BatchPlan


@pytest.mark.parametrize(("seconds", "budget"), [(60, 2), (np.int64(60), np.float32(2)), (60, 2.0)])
def test_numbers_of_numpy_are_sent_as_numbers(seconds: Any, budget: Any) -> None:
    plan = BatchPlan("b", "fold", {"a": {}}, BatchLimits(seconds, budget))
    body = json.loads(json.dumps(plan.body(plan.parts[0])))
    assert (body["maxRuntimeSeconds"], body["weightedHoursBudget"]) == (60, 2)


@pytest.mark.parametrize("seconds", [0, -1, 1.0, True, "60", np.float64(60), np.bool_(True)])
def test_a_time_limit_is_whole_seconds(seconds: Any) -> None:
    with pytest.raises(InputError, match="time limit"):
        BatchLimits(seconds)


BUDGETS = [0, -1, True, "1", float("nan"), float("inf"), np.inf, np.nan, 10**400, np.bool_(True)]


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_is_a_finite_number_above_0(budget: Any) -> None:
    with pytest.raises(InputError, match="budget"):
        BatchLimits(None, budget)
