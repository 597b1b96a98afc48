"""Validation of settings with a test tool (JOBS-31 to JOBS-38)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.jobs.tools.tool import (
    INTERNAL_PARAMETERS,
    Parameter,
    Tool,
    normalize_settings,
    settings_error,
)

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
    check=lambda settings: "grain: it is sand." if settings["grain"] == "sand" else None,
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
