"""Settings are validated and converted by a tool's parameters."""

from __future__ import annotations

import enum
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.jobs.tools import (
    MISSING,
    Parameter,
    Tool,
    cast,
    file_values,
    looks_like_file_name,
    normalize_settings,
    split_file_path,
)

TOOL = Tool(
    {
        "name": "fold",
        "settings": [
            {"name": "sequence", "required": True, "type": "string"},
            {"name": "temperature", "required": False, "type": "number", "default": 37},
            {"name": "steps", "required": False, "type": "integer"},
            {"name": "circular", "required": False, "default": False},
            {"name": "mode", "required": False, "options": ["fast", "slow"]},
            {"name": "model", "required": False, "options": [{"value": 1}, {"value": 2}]},
            {"name": "angles", "required": False},
            {"name": "pdbFile", "required": False, "type": "pdb"},
        ],
    }
)


class Mode(enum.StrEnum):
    FAST = "fast"


def faults(**settings: Any) -> list[str]:
    return normalize_settings(TOOL, {"sequence": "A", **settings})[1]


def test_valid_settings_are_unchanged() -> None:
    settings = {"sequence": "A", "temperature": 37.5, "steps": 3, "mode": "slow", "angles": [1, 2]}
    assert normalize_settings(TOOL, settings) == (settings, [])


def test_all_errors_are_reported_together() -> None:
    _, errors = normalize_settings(
        TOOL, {"sequnce": "A", "temperature": "warm", "mode": "fats", "msa": "x", "steps": None}
    )
    assert errors == [
        'sequnce is not a setting (did you mean "sequence"?)',
        'temperature takes a number, not "warm"',
        'mode can\'t be "fats" (did you mean "fast"?)',
        "msa is set by the service itself and can't be sent",
        "steps has no value; omit it instead",
        "sequence is missing",
    ]


@pytest.mark.parametrize("name", ["submit_method", "monomer_msa", "msa"])
def test_internal_fields_are_refused(name: str) -> None:
    tool = Tool({"name": "t", "settings": [{"name": name, "required": True}]})
    sent, errors = normalize_settings(tool, {name: "x"})
    assert not sent
    assert errors == [f"{name} is set by the service itself and can't be sent"]


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (np.float64(1.5), 1.5),
        (np.float32(1.5), 1.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (Mode.FAST, "fast"),
        (np.array([1, 2]), [1, 2]),
        (pd.Series([1.0, 2.0]), [1.0, 2.0]),
        ((1, 2), [1, 2]),
        ({1: np.int8(2)}, {"1": 2}),
        ([{"a": None}], [{"a": None}]),
    ],
)
def test_values_are_converted_to_json(value: Any, sent: Any) -> None:
    result, errors = normalize_settings(TOOL, {"sequence": "A", "angles": value})
    assert errors == []
    assert result["angles"] == sent
    assert type(result["angles"]) is type(sent)


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, np.float32("nan"), [1, math.nan], pd.NA, pd.NaT, {1, 2}, b"x"),
        *(Path("x"), np.datetime64("2026-01-01", "ns"), np.array([1], "timedelta64[ns]")),
    ],
)
def test_values_that_are_not_json_are_refused(value: Any) -> None:
    (fault,) = faults(angles=value)
    assert fault.startswith("angles is ")


def test_empty_cell_is_missing_and_infinity_is_infinite() -> None:
    assert faults(angles=math.nan) == ["angles is missing (NaN)"]
    assert faults(angles=-math.inf) == ["angles is infinite"]


def test_missing_values_in_a_row_of_a_frame_are_left_out() -> None:
    frame = pd.DataFrame({"sequence": ["A", None], "temperature": [math.nan, 40.0]})
    assert normalize_settings(TOOL, frame.iloc[0]) == ({"sequence": "A"}, [])
    assert normalize_settings(TOOL, frame.iloc[1]) == (
        {"temperature": 40.0},
        ["sequence is missing"],
    )


def test_circular_value_is_refused() -> None:
    """A list that contains itself or is deeply nested causes no RecursionError."""
    endless: list[Any] = []
    endless.append({"again": endless})
    assert faults(angles=endless) == ["angles is nested more than 100 deep"]


@given(st.floats() | st.integers() | st.text() | st.lists(st.floats()) | st.none())
def test_normalized_settings_are_json(value: Any) -> None:
    import json

    sent, _ = normalize_settings(TOOL, {"sequence": "A", "angles": value})
    json.dumps(sent, allow_nan=False)


def test_text_is_converted_to_numbers_and_booleans() -> None:
    sent, errors = normalize_settings(
        TOOL, {"sequence": "A", "temperature": "37", "steps": 4.0, "circular": "true"}
    )
    assert errors == []
    assert sent == {"sequence": "A", "temperature": 37, "steps": 4, "circular": True}
    assert type(sent["steps"]) is int


def test_options_match_by_value() -> None:
    assert faults(model=2) == []
    assert faults(model="2") == []
    assert faults(model=3) == ['model can\'t be "3" (one of 1, 2)']
    assert faults(mode=["fast", "slow"]) == []
    assert faults(mode="warp") == ['mode can\'t be "warp" (one of fast, slow)']


def test_file_path_with_an_account_is_refused() -> None:
    (fault,) = faults(pdbFile="student@sandbox.local/1A8O.pdb")
    assert fault.endswith("use the plain name of the uploaded file, 1A8O.pdb")


def test_file_values_are_recognized() -> None:
    settings = {"sequence": "x.pdb", "pdbFile": "1A8O.pdb"}
    assert file_values(TOOL, settings) == {"pdbFile": "1A8O.pdb"}
    assert file_values(TOOL, {"pdbFile": "ATOM 1\nEND"}) == {}
    assert looks_like_file_name("1A8O.pdb")
    assert not looks_like_file_name("ACDE")
    assert not looks_like_file_name("a/b.pdb")
    assert split_file_path("f1/out/rank_1.pdb") == ("f1", "out/rank_1.pdb")
    assert split_file_path("set.1/my file.pdb") == ("set.1", "my file.pdb")
    assert split_file_path("1A8O.pdb") is None
    assert split_file_path("/1A8O.pdb") is None
    assert split_file_path("a b/1A8O.pdb") is None


PARAMETERS = {
    "number": Parameter("p", type="number"),
    "integer": Parameter("p", type="int"),
    "boolean": Parameter("p", type="boolean"),
    "list": Parameter("p", type="list"),
    "numbers": Parameter("p", type="list[number]"),
    "array default": Parameter("p", default=[1.5]),
    "string": Parameter("p", type="string", default=37),
    "default number": Parameter("p", default=37),
    "default text": Parameter("p", default="x"),
    "number options": Parameter("p", options=(1, 2)),
    "object": Parameter("p", type="object"),
    "bare": Parameter("p"),
    "smiles": Parameter("p", type="smiles"),
}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("number", "37", 37),
        ("number", "3.5", 3.5),
        ("number", "-1e-3", -0.001),
        ("integer", "4.0", 4),
        ("boolean", "Yes", True),
        ("boolean", "0", False),
        ("list", "EcoRI,HindIII", ["EcoRI", "HindIII"]),
        ("list", "EcoRI", ["EcoRI"]),
        ("list", '["a", 1]', ["a", 1]),
        ("list", "", []),
        ("numbers", "1, 2.5", [1, 2.5]),
        ("array default", "1,2", [1, 2]),
        ("string", "37", "37"),
        ("default number", "37", 37),
        ("default text", "37", "37"),
        ("number options", "2", 2),
        ("object", '{"a": 1}', {"a": 1}),
        ("bare", "37", "37"),
        ("bare", "[1, 2]", [1, 2]),
        ("bare", "[Na+].[Cl-]", "[Na+].[Cl-]"),
        ("bare", "a,b", "a,b"),
        ("smiles", "[Na+].[Cl-]", "[Na+].[Cl-]"),
    ],
)
def test_text_is_cast_to_the_parameter_type(kind: str, text: str, value: Any) -> None:
    result = cast(PARAMETERS[kind], text)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("number", "warm"),
        ("number", "nan"),
        ("number", "inf"),
        ("integer", "3.5"),
        ("boolean", "perhaps"),
        ("list", "[1,"),
        ("numbers", "1,x"),
        ("object", "{"),
    ],
)
def test_text_that_cannot_be_cast_is_refused(kind: str, text: str) -> None:
    with pytest.raises(InputError, match="p takes"):
        cast(PARAMETERS[kind], text)


def test_parameter_record_needs_only_name_and_required() -> None:
    bare = Parameter.from_record({"name": "x", "required": False})
    assert (bare.type, bare.default, bare.options, bare.kind) == (None, MISSING, (), None)
    assert Tool({"name": "t"}).parameters == {}
    assert Tool({"name": "t", "settings": [{"required": True}, "x"]}).parameters == {}
    assert Tool({"name": "t", "settings": 5}).parameters == {}
    for options in (5, True, "fast"):
        assert Parameter.from_record({"name": "x", "options": options}).options == ()
    assert Parameter("receptorFile").is_file
    assert Parameter("x", type="pdb_file").is_file
    assert not Parameter("receptorFile", type="string").is_file
