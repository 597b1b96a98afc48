"""Names of jobs, batches, parts and projects."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.jobs import identity

GOOD = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=100)


@given(GOOD)
def test_valid_name_is_accepted(name: str) -> None:
    assert identity.check_name(name) == name


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
    "name", ["folds", "folds-part0of3", "folds-part4of3", "-part1of", "a-part1of02"]
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
