"""Job names derived from row names that are not valid job names."""

from __future__ import annotations

import string

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.jobs import identity
from labext.jobs.batch.plan import BatchPlan, max_job_name_length
from labext.jobs.batch.report import plan_overview
from labext.jobs.identity import adapt_names, adapted_names_message, find_adapted_name

ORCHID = "gi|2765658|emb|Z78533.1|CIZ78533"
NAMES = st.lists(st.text(min_size=1, max_size=120), unique=True, min_size=1, max_size=12)
CLOSE = st.lists(st.text("ab.|-", min_size=1, max_size=5), unique=True, min_size=1, max_size=40)


def test_invalid_characters_become_dashes() -> None:
    given_names = [ORCHID, "pBAD30", "pUC19 (copy)"]
    adapted = ["gi-2765658-emb-Z78533-1-CIZ78533", "pBAD30", "pUC19--copy-"]
    assert adapt_names(given_names) == adapted
    assert adapt_names(["x" * 120, "y"], 30) == ["x" * 30, "y"]


@given(NAMES | CLOSE, st.integers(20, 100))
def test_adapted_names_are_valid_and_unique(originals: list[str], most: int) -> None:
    adapted = adapt_names(originals, most)
    assert all(identity.name_fault(name) is None and len(name) <= most for name in adapted)
    assert len(set(adapted)) == len(adapted)
    for original, name in zip(originals, adapted, strict=True):
        if identity.name_fault(original) is None and len(original) <= most:
            assert name == original


@given(CLOSE, st.randoms())
def test_adapted_names_are_independent_of_order(originals: list[str], random: object) -> None:
    shuffled = list(originals)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    both = dict(zip(originals, adapt_names(originals), strict=True))
    assert both == dict(zip(shuffled, adapt_names(shuffled), strict=True))


@given(CLOSE)
def test_job_is_found_by_its_original_name_alone(originals: list[str]) -> None:
    jobs = adapt_names(originals)
    # Where "a-" was there too, "a." was told apart: alone it is still found.
    for original, job in zip(originals, jobs, strict=True):
        among = set(jobs) if identity.name_fault(original) is None else set(jobs) - set(originals)
        assert find_adapted_name(original, among, 100) in {job, adapt_names([original])[0]}
        assert find_adapted_name(original, {job}, 100) == job


def test_message_lists_adapted_names() -> None:
    assert adapted_names_message({}) == ""
    assert adapted_names_message({"a-b": "a b"}) == '1 name was adapted: "a b" is a-b.'
    many = {f"n-{n}": f"n.{n}" for n in range(1200)}
    assert adapted_names_message(many).startswith('1,200 names were adapted: "n.0" is n-0, ')
    assert adapted_names_message(many).endswith(" and 1,197 more.")


@given(
    st.text(string.ascii_letters, min_size=1, max_size=79),
    st.integers(1, 2500),
)
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
