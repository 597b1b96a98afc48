"""Which submissions are identical."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labext.jobs.identity import canonical_json, submission_difference, submission_digest

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
    assert submission_difference("fold", {"t": 37}, row('{"t": 37.5}')) == "its t is 37.5, not 37"
    assert submission_difference("fold", {"t": True}, row('{"t": 1}')) == "its t is 1, not true"


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
