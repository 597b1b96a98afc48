"""Settings are validated and converted by a tool's parameters; their files are looked up."""

from __future__ import annotations

import array
import enum
import json
import math
import pickle
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError, NotFoundError
from labext.jobs import input_files
from labext.jobs.api import JobsApi
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
        (np.float32(0.1), 0.1),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (Mode.FAST, "fast"),
        (np.array([1, 2]), [1, 2]),
        (np.array([[0.1, 2]], np.float16), [[0.1, 2.0]]),
        (pd.Series([1.0, 2.0]), [1.0, 2.0]),
        (pd.Series([0.1, 2.0], dtype="Float32"), [0.1, 2.0]),
        (array.array("d", [1.5]), [1.5]),
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
    sent, _ = normalize_settings(TOOL, {"sequence": "A", "angles": value})
    json.dumps(sent, allow_nan=False)


def test_text_is_converted_to_numbers_and_booleans() -> None:
    sent, errors = normalize_settings(
        TOOL, {"sequence": "A", "temperature": "37", "steps": 4.0, "circular": "true"}
    )
    assert errors == []
    assert sent == {"sequence": "A", "temperature": 37, "steps": 4, "circular": True}
    assert type(sent["steps"]) is int


@pytest.mark.parametrize(
    ("number", "sent"), [(0, False), (1, True), (np.int64(1), True), (1.0, True)]
)
def test_zero_and_one_are_booleans_of_a_boolean_setting(number: Any, sent: bool) -> None:
    settings = {"sequence": "A", "circular": number, "steps": 1}
    assert normalize_settings(TOOL, settings) == ({**settings, "circular": sent}, [])
    assert normalize_settings(TOOL, settings)[0]["circular"] is sent


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


def test_tool_without_defaults_can_be_pickled() -> None:
    restored = pickle.loads(pickle.dumps(TOOL))
    assert restored.parameters == TOOL.parameters
    assert any(parameter.default is MISSING for parameter in restored.parameters.values())


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


class Stored:
    """A service with uploaded files by folder, and jobs by name."""

    def __init__(self, files: dict[str, list[str]], jobs: dict[str, str] | None = None) -> None:
        self._files = files
        self._jobs = jobs or {}
        self.listed: list[str | None] = []

    def files(self, folder: str | None = None, *, include_folders: bool = False) -> list[str]:
        self.listed.append(folder)
        if folder is not None:
            if folder not in self._files:
                raise NotFoundError("no such folder")
            return self._files[folder]
        folders = [f"{name}/" for name in self._files if name] if include_folders else []
        return [*folders, *self._files.get("", [])]

    def find(self, name: str) -> dict[str, Any] | None:
        state = self._jobs.get(name)
        return None if state is None else {"JobName": name, "Type": "fold", "JobStatus": state}


def resolve(service: Stored, *values: str) -> input_files.FileReferences:
    return input_files.resolve_references(
        typing.cast(JobsApi, service),
        TOOL,
        [{"pdbFile": value, "sequence": "a/b"} for value in values],
    )


UPLOADED = {
    "": ["top.pdb", "both.pdb", "no extension"],
    "one": ["both.pdb", "amb.pdb", "single.pdb"],
    "two": ["amb.pdb"],
    "job1": ["mine.pdb"],
}
JOBS = {"job1": "Complete", "job2": "Running", "two": "Running"}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("top.pdb", "top.pdb"),
        ("both.pdb", "both.pdb"),
        ("single.pdb", "one/single.pdb"),
        ("one/both.pdb", "one/both.pdb"),
        ("two/amb.pdb", "two/amb.pdb"),
        ("no extension", "no extension"),
    ],
)
def test_value_resolves_to_an_uploaded_file(value: str, path: str) -> None:
    references = resolve(Stored(UPLOADED, JOBS), value)
    assert references.uploaded == {value: path}
    assert not references.faults


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("amb.pdb", "the name of 2 uploaded files; use one/amb.pdb or two/amb.pdb"),
        ("tops.pdb", 'no such file has been uploaded (did you mean "top.pdb"?)'),
        ("one/top.pdb", 'no job is called "one", and no file "top.pdb" has been uploaded to a'),
        ("nobody/x.pdb", 'no job is called "nobody"'),
        ("job2/x.pdb", "an output of job2, which is not complete (Running)"),
    ],
)
def test_missing_or_ambiguous_file_is_an_error(value: str, fault: str) -> None:
    references = resolve(Stored(UPLOADED, JOBS), value)
    assert fault in references.faults[value]
    assert not references.uploaded
    with pytest.raises(InputError, match="The settings of fold are invalid"):
        input_files.check_references(
            typing.cast(JobsApi, Stored(UPLOADED, JOBS)), TOOL, [{"pdbFile": value}]
        )


@pytest.mark.parametrize("folder", ["sub", "./sub", "sub/deep", "{absolute}"])
def test_path_on_this_machine_is_an_error_with_its_upload(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value = f"{folder.format(absolute=tmp_path)}/mine.pdb"
    Path(value).parent.mkdir(parents=True, exist_ok=True)
    Path(value).write_text("END\n")
    references = resolve(Stored(UPLOADED, JOBS), value)
    assert (
        'a file on this machine; settings name uploaded files, here "mine.pdb"'
        in (references.faults[value])
    )
    assert references.next_step == f'Correct the name, or upload it: `jobs.upload("{value}")`.'


def test_job_output_takes_precedence_over_an_uploaded_file() -> None:
    references = resolve(Stored(UPLOADED, JOBS), "job1/mine.pdb")
    assert references.outputs["job1/mine.pdb"] == {
        "JobName": "job1",
        "Type": "fold",
        "JobStatus": "Complete",
    }
    assert not references.uploaded


def test_file_content_is_not_looked_up() -> None:
    service = Stored(UPLOADED)
    references = resolve(service, "ATOM 1\nEND\n", "A" * 300)
    assert references == input_files.FileReferences()
    assert service.listed == []


def test_file_in_an_unlisted_folder_is_left_to_the_service() -> None:
    many = Stored({f"f{n}": ["x.pdb"] if n == 30 else [] for n in range(31)})
    assert not resolve(many, "x.pdb").faults
    few = Stored({f"f{n}": [] for n in range(20)})
    assert "no such file" in resolve(few, "x.pdb").faults["x.pdb"]


def test_outputs_of_many_jobs_are_left_to_the_service() -> None:
    values = [f"job{n}/x.pdb" for n in range(11)]
    references = resolve(Stored({}), *values)
    assert references.outputs == dict.fromkeys(values)
    assert not references.faults


def test_next_step_names_missing_files() -> None:
    references = resolve(Stored(UPLOADED), "gone.pdb", "lost.pdb")
    assert references.next_step == (
        'Correct the name, or upload it: `jobs.upload("gone.pdb")`, `jobs.upload("lost.pdb")`.'
    )
    assert resolve(Stored(UPLOADED), "gone.pdb", "amb.pdb").next_step is None
