"""Names of rows that break the job names' rule: adapted, told, and found again."""

from __future__ import annotations

import string

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.jobs import names
from labext.jobs.adapting import adapted, found, told
from labext.jobs.batch.plan import Plan, room
from labext.jobs.batch.report import overview

ORCHID = "gi|2765658|emb|Z78533.1|CIZ78533"
NAMES = st.lists(st.text(min_size=1, max_size=120), unique=True, min_size=1, max_size=12)
CLOSE = st.lists(st.text("ab.|-", min_size=1, max_size=5), unique=True, min_size=1, max_size=40)


def test_what_breaks_the_rule_becomes_a_dash() -> None:
    given_names = [ORCHID, "pBAD30", "pUC19 (copy)"]
    made = ["gi-2765658-emb-Z78533-1-CIZ78533", "pBAD30", "pUC19--copy-"]
    assert adapted(given_names) == made
    assert adapted(["x" * 120, "y"], 30) == ["x" * 30, "y"]


@given(NAMES | CLOSE, st.integers(20, 100))
def test_every_name_keeps_the_rule_and_is_another(originals: list[str], most: int) -> None:
    made = adapted(originals, most)
    assert all(names.fault(name) is None and len(name) <= most for name in made)
    assert len(set(made)) == len(made)
    for original, name in zip(originals, made, strict=True):
        if names.fault(original) is None and len(original) <= most:
            assert name == original


@given(CLOSE, st.randoms())
def test_a_name_depends_on_no_order(originals: list[str], random: object) -> None:
    shuffled = list(originals)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    both = dict(zip(originals, adapted(originals), strict=True))
    assert both == dict(zip(shuffled, adapted(shuffled), strict=True))


@given(CLOSE)
def test_a_job_is_found_by_the_original_without_the_others(originals: list[str]) -> None:
    jobs = adapted(originals)
    # Where "a-" was there too, "a." was told apart: alone it is still found.
    for original, job in zip(originals, jobs, strict=True):
        among = set(jobs) if names.fault(original) is None else set(jobs) - set(originals)
        assert found(original, among, 100) in {job, adapted([original])[0]}
        assert found(original, {job}, 100) == job


def test_what_was_adapted_is_told() -> None:
    assert told({}) == ""
    assert told({"a-b": "a b"}) == '1 name was adapted: "a b" is a-b.'
    many = {f"n-{n}": f"n.{n}" for n in range(1200)}
    assert told(many).startswith('1,200 names were adapted: "n.0" is n-0, ')
    assert told(many).endswith(" and 1,197 more.")


@given(
    st.text(string.ascii_letters, min_size=1, max_size=79),
    st.integers(1, 2500),
)
def test_names_fit_behind_the_batchs_or_its_parts(batch: str, jobs: int) -> None:
    most = room(batch, jobs)
    plan = Plan(batch, "digest", {f"j{n}": {} for n in range(jobs)})
    longest = max(len(part.name) for part in plan.parts)
    assert most in (names.LONGEST - longest - 1, names.LONGEST)
    assert (most == names.LONGEST) == (longest > 79)


@pytest.mark.parametrize(
    ("column", "shown"), [("name", "name"), ("Name", "Name.input"), ("Part", "Part.input")]
)
def test_the_original_stands_beside_the_jobs_name(column: str, shown: str) -> None:
    rows = pd.DataFrame({"bases": ["AC", "GT"], column: [ORCHID, "pBAD30"], "n": [1, 2]})
    jobs = dict(zip(adapted([ORCHID, "pBAD30"]), [{}, {}], strict=True))
    frame = overview(Plan("b", "digest", jobs, rows=rows, name_column=column))
    assert frame.columns.tolist() == ["Name", shown, "bases", "n", "Part", "JobName"]
    assert frame[shown].tolist() == [ORCHID, "pBAD30"]
    assert frame["Name"].tolist() == ["gi-2765658-emb-Z78533-1-CIZ78533", "pBAD30"]
    assert frame.attrs["adapted"].startswith("1 name was adapted: ")
    plain = overview(
        Plan(
            "b",
            "digest",
            {"x": {}, "y": {}},
            rows=rows.assign(**{column: ["x", "y"]}),
            name_column=column,
        )
    )
    assert plain.columns.tolist() == ["Name", "bases", "n", "Part", "JobName"]
    assert plain.attrs["adapted"] == ""
