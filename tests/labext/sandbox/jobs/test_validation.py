"""Validation of settings, names, body fields, query fields and pages."""

from __future__ import annotations

import re
import unicodedata

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.jobs import schemas, service
from labext.sandbox.jobs.names import file_name_error, name_error, project_error
from labext.sandbox.jobs.tables import COMPLETE, Job, current_timestamp
from labext.sandbox.jobs.tools.tool import (
    INTERNAL_PARAMETERS,
    Parameter,
    Settings,
    Tool,
    ToolError,
    normalize_settings,
    settings_error,
)


def _read_grain(settings: Settings) -> None:
    if settings["grain"] == "sand":
        raise ToolError("grain: it is sand.")


TOOL = Tool(
    name="mill",
    display_name="Mill",
    description="",
    github="",
    paper="",
    parameters=(
        Parameter("grain", required=True, type="string"),
        Parameter("mode", options=("fine", "coarse", "stone"), default="fine"),
        Parameter("stone", type="string", when=("mode", ("stone",)), required=True),
        Parameter("grit", type="integer", when=("mode", ("coarse", "stone")), default=3),
        Parameter("speed", type="number", default=1.5),
        Parameter("wet", type="boolean", default=False),
        Parameter("sieves", type="array"),
        Parameter("anything"),
        Parameter("secret", type="number", gate="advanced", default=7.0),
    ),
    read=_read_grain,
)

GOOD = [
    {"grain": "rye"},
    {"grain": "", "mode": "coarse", "grit": 4},
    {"grain": "rye", "mode": "coarse", "grit": 4.0},
    {"grain": "rye", "mode": "stone", "stone": "basalt", "grit": 0},
    {"grain": "rye", "speed": 2, "wet": True, "sieves": [], "anything": {"a": [1]}},
    {"grain": "rye", "anything": False},
]
BAD = [
    ({}, "grain"),
    ({"grain": None}, "grain"),
    ({"grain": 1}, "grain"),
    ({"grain": "rye", "mode": "stone"}, "stone"),
    ({"grain": "rye", "mode": "medium"}, "mode"),
    ({"grain": "rye", "mode": ["fine"]}, "mode"),
    ({"grain": "rye", "mode": None}, "mode"),
    ({"grain": "rye", "grit": 4}, "grit applies only if mode is coarse or stone"),
    ({"grain": "rye", "mode": "fine", "stone": "basalt"}, "stone"),
    ({"grain": "rye", "mode": "coarse", "grit": 4.5}, "grit"),
    ({"grain": "rye", "mode": "coarse", "grit": True}, "grit"),
    ({"grain": "rye", "speed": "2"}, "speed"),
    ({"grain": "rye", "speed": False}, "speed"),
    ({"grain": "rye", "speed": float("inf")}, "speed"),
    ({"grain": "rye", "wet": 0}, "wet"),
    ({"grain": "rye", "wet": "true"}, "wet"),
    ({"grain": "rye", "sieves": "a,b"}, "sieves"),
    ({"grain": "rye", "anything": None}, "anything"),
    ({"grain": "rye", "secret": 1.0}, "secret"),
    ({"grain": "rye", "Mode": "fine"}, "Mode"),
    ({"grain": "sand"}, "sand"),
    *[({"grain": "rye", name: 1}, name) for name in INTERNAL_PARAMETERS],
]


@pytest.mark.parametrize("settings", GOOD)
def test_valid_settings_have_no_error(settings):
    assert settings_error(TOOL, settings, ()) is None


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_error_names_the_setting(settings, message):
    error = settings_error(TOOL, settings, ())
    assert error is not None
    assert message in error
    assert error.endswith(".")


def test_gated_setting_is_unknown_without_the_permission():
    unknown = settings_error(TOOL, {"grain": "rye", "nothing": 1}, ())
    gated = settings_error(TOOL, {"grain": "rye", "secret": 1}, ())
    assert unknown is not None
    assert gated == unknown.replace("nothing", "secret")
    assert settings_error(TOOL, {"grain": "rye", "secret": 1}, ("advanced",)) is None


def test_normalized_settings_have_the_visible_defaults_that_apply():
    echo = normalize_settings(TOOL, {"grain": "rye"}, ())
    assert echo == {
        "grain": "rye",
        "mode": "fine",
        "speed": 1.5,
        "wet": False,
        "submit_method": "api",
    }
    assert normalize_settings(TOOL, {"grain": "rye", "mode": "coarse"}, ("advanced",))["grit"] == 3
    assert normalize_settings(TOOL, {"grain": "rye"}, ("advanced",))["secret"] == 7.0


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
names = st.sampled_from([p.name for p in TOOL.parameters]) | st.text(max_size=8)


@given(st.dictionaries(names, values))
def test_any_settings_are_validated_without_an_exception(settings):
    error = settings_error(TOOL, settings, ())
    assert error is None or (error and "\n" not in error)
    if error is None:
        assert set(settings) <= {p.name for p in TOOL.visible(())}


@given(st.text(max_size=120) | st.from_regex(r"\A[a-zA-Z0-9_-]{1,101}\Z"))
def test_job_name_matches_the_pattern(name):
    good = re.fullmatch(r"[a-zA-Z0-9_-]{1,100}", name) is not None
    error = name_error("jobName", name)
    assert (error is None) == good
    assert error is None or error.startswith("jobName ")
    assert error is None or len(error) < 200


@given(st.text(max_size=300))
def test_file_name_is_a_plain_name(name):
    if file_name_error("filename", name) is None:
        assert 1 <= len(name.encode()) <= 255
        assert not set(name) & set("/\\\0\n")
        assert name not in (".", "..")
        assert all(unicodedata.category(letter) != "Cc" for letter in name)


@given(st.text(max_size=120) | st.from_regex(r"\Aproj_\w{0,5}\Z"))
def test_project_tag_matches_the_pattern(tag):
    good = re.fullmatch(r"proj_[a-zA-Z0-9_-]{1,100}", tag) is not None
    assert (project_error(tag) is None) == good


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("True", True), ("FALSE", False), (None, False)]
)
def test_query_flag_ignores_case_and_defaults_to_false(text, expected):
    assert schemas.query_flag({} if text is None else {"x": text}, "x") is expected


@given(st.integers(1, 10**17))
def test_query_count_is_capped(number):
    assert schemas.query_count({"limit": str(number)}, "limit", 1000) == min(number, 1000)


def test_page_has_a_maximum_of_rows_and_a_start_key_unless_it_is_the_last(
    site, student, monkeypatch
):
    assert service.MAX_PAGE_SIZE == 1000
    monkeypatch.setattr(service, "MAX_PAGE_SIZE", 3)
    with site.database.write() as session:
        session.add_all(
            Job(
                account_id=student.id,
                name=f"f{number}",
                type="digest",
                tool="digest",
                status=COMPLETE,
                created=current_timestamp(),
                settings="{}",
            )
            for number in range(4)
        )
    first = orjson.loads(service.list_jobs(site, student, {"limit": "4"}))
    assert [row["JobName"] for row in first["jobs"]] == ["f3", "f2", "f1"]
    assert first["statuses"]["Complete"] == 4
    rest = orjson.loads(service.list_jobs(site, student, {"startKey": first["startKey"]}))
    assert [row["JobName"] for row in rest["jobs"]] == ["f0"]
    assert rest["startKey"] == ""
    with site.database.write() as session:
        session.delete(session.get_one(Job, 1))
    full = orjson.loads(service.list_jobs(site, student, {}))
    assert len(full["jobs"]) == 3
    assert full["startKey"] == ""
