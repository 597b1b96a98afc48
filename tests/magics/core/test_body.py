"""The body of a cell, YAML or JSON, and values cast to the types of the tool."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.jobs import Tool
from labext_magics.core import cell_body
from labext_magics.core.cell_body import cast_settings, merge_pairs
from labext_magics.core.namespace import Namespace
from labext_magics.core.value_types import SETTING, BareText, Raw
from labext_magics.jobs import cell_body as jobs_body
from labext_magics.jobs.cell_body import Batch, Job

LINE = Job("digest", None, {}, None)
BATCH = Batch("folds", "rna_fold")


def meant(text: str) -> Any:
    return cell_body.untyped(cell_body.parse_body(text))


def refused(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        cell_body.parse_body(text)
    assert "\n" not in str(caught.value)
    assert caught.value.next_step
    return caught.value


@pytest.mark.parametrize(
    "word",
    ["NO", "no", "on", "Off", "yes", "Y", "1e5", "12:30", "1_000", "007", "0x1F", "2024-01-01",
     "ACGU", ".5", "5.", "+3", "=", "<<", "Null", "TRUE", "1.0e3", "nan", ".inf"],
)  # fmt: skip
def test_word_keeps_its_spelling(word: str) -> None:
    assert cell_body.parse_body(f"a: {word}") == {"a": BareText(word, word)}


def test_json_like_word_is_a_number_or_a_string() -> None:
    assert meant("{a: 3, b: -0.5, c: true, d: null, e: [1, x], f: '3', g: , h: 0}") == {
        "a": 3, "b": -0.5, "c": True, "d": None, "e": [1, "x"], "f": "3", "g": None, "h": 0,
    }  # fmt: skip
    assert cell_body.parse_body("a: 3")["a"] == BareText("3", 3)
    assert cell_body.parse_body("a: '3'")["a"] == "3"


def test_blocks_and_anchors() -> None:
    assert meant("a: |\n  >x\n  ACGT\nb: &b {c: 1}\nd: *b\n") == {
        "a": ">x\nACGT\n", "b": {"c": 1}, "d": {"c": 1},
    }  # fmt: skip


def test_names_stay_strings() -> None:
    assert list(cell_body.parse_body("1: a\nNO: b\n2.50: c")) == ["1", "NO", "2.50"]


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.integers() | st.text() | st.booleans() | st.none(),
            lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(), x, max_size=3),
            max_leaves=8,
        ),
        min_size=1,
    )
)
def test_json_body_is_accepted(value: dict[str, Any]) -> None:
    assert cell_body.parse_body(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ("\n  \n", "empty"),
        ("a: 1\na: 2", "`a` occurs twice"),
        ('{"a": 1, "a": 2}', "`a` occurs twice"),
        ("a: [1", "not valid YAML"),
        ("a: b: c", "line 2, column 5"),
        ("\tb: 1", "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        ("a: &x [*x]", "a cycle"),
        ("a: !!python/object:os.system x", "the tag"),
        ("a: {b}", "contains {b}, but takes no Python expressions"),
        ("a: 1\nb: {df.seq[1:3].iloc[0]}", "contains {df.seq[1:3].iloc[0]}, but takes no Python"),
        ('a: {df["seq"][0]}', 'contains {df["seq"][0]}, but takes no Python'),
        ("a: {b: [1}", "not valid YAML"),
        ("? [1]\n: 2", "a list or a mapping"),
        ("a: *b", "not valid YAML"),
        ("--- a\n--- b", "not valid YAML"),
    ],
)
def test_unreadable_body_is_one_line(text: str, expected_message: str) -> None:
    assert expected_message in refused(text).message


@given(st.text())
def test_body_reader_handles_any_text(text: str) -> None:
    with contextlib.suppress(InputError):
        cell_body.parse_body(text)


def test_job_body_may_be_settings_only() -> None:
    job = jobs_body.parse_job("sequence: GAATTC\nenzymes: [EcoRI]", LINE)
    assert job.tool == "digest"
    assert job.settings == {
        "sequence": BareText("GAATTC", "GAATTC"),
        "enzymes": [BareText("EcoRI", "EcoRI")],
    }


def test_job_body_may_be_complete() -> None:
    text = (
        '{"type": "digest", "name": "cut", "settings": {"sequence": "A"}, "projectTag": "proj_1"}'
    )
    job = jobs_body.parse_job(text, Job(None, None, {"enzymes": "x"}, None))
    assert job == Job("digest", "cut", {"sequence": "A", "enzymes": "x"}, "proj_1")


@pytest.mark.parametrize(
    ("text", "line", "expected_message"),
    [
        ("- a", LINE, "not a mapping"),
        ("a: 1", Job("t", None, {"a": 2}, None), "`a` is set both on the line and in the body"),
        ("{type: other, settings: {a: 1}}", LINE, "The line sets digest"),
        ("{settings: {a: 1}, nmae: x}", LINE, "`nmae`"),
        ("{settings: {a: 1}, gpuType: x}", LINE, "not supported"),
        ("{type: t, settings: x}", Job(None, None, {}, None), "no mapping `settings`"),
        ("{type: t, sequence: A}", Job(None, None, {}, None), "no mapping `settings`"),
    ],
)
def test_invalid_job_body_is_refused(text: str, line: Job, expected_message: str) -> None:
    with pytest.raises(InputError) as caught:
        jobs_body.parse_job(text, line)
    assert expected_message in caught.value.message


JOBS = {"a": {"bases": "ACGU"}, "1": {"bases": "NO"}}


@pytest.mark.parametrize(
    "text",
    [
        "a: {bases: ACGU}\n1: {bases: NO}",
        "- {name: a, settings: {bases: ACGU}}\n- {name: 1, settings: {bases: NO}}",
        "- jobName: a\n  settings: {bases: ACGU}\n- jobName: '1'\n  settings: {bases: NO}",
        "batchName: folds\ntype: rna_fold\njobNames: [a, 1]\n"
        "settings: [{bases: ACGU}, {bases: NO}]",
        "tool: rna_fold\njobs:\n- {jobName: a, settings: {bases: ACGU}}\n"
        "- {jobName: 1, settings: {bases: NO}}",
        "type: rna_fold\njobs:\n  a: {bases: ACGU}\n  1: {bases: NO}",
    ],
)
def test_batch_body_forms(text: str) -> None:
    batch = jobs_body.parse_batch(text, BATCH)
    assert (batch.name, batch.tool) == ("folds", "rna_fold")
    assert {name: cell_body.untyped(own) for name, own in batch.jobs.items()} == JOBS


def test_batch_body_may_have_limits() -> None:
    text = (
        "{type: t, batchName: b, jobNames: [a], settings: [{}],"
        " maxRuntimeSeconds: 5, weightedHoursBudget: 0.5}"
    )
    batch = jobs_body.parse_batch(text, Batch(None, None))
    assert (batch.name, batch.tool, batch.max_runtime, batch.budget) == ("b", "t", 5, 0.5)


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ("[]", "no jobs"),
        ("jobNames: [a, b]\nsettings: [{}]", "2 jobNames and 1 settings"),
        ("- {name: a, settings: {}}\n- {name: a, settings: {}}", "a is used twice"),
        ("a: {}\na: {}", "`a` occurs twice"),
        ("- {nmae: a}", "Job 1 of the body"),
        ("- {name: a, bases: ACGU}", "Job 1 of the body"),
        ("- a", "Job 1 of the body"),
        ("a: ACGU", "The settings of a are not a mapping"),
        ("jobs: {a: {bases: NO}, b: ACGU}", "The settings of b are not a mapping"),
        ("{jobNames: [a], settings: [{}], gpuType: x}", "not supported"),
        ("{jobNames: [a], settings: [{}], type: other}", "The line sets rna_fold"),
        ("ACGU", "no jobs"),
    ],
)
def test_invalid_batch_body_is_refused(text: str, expected_message: str) -> None:
    with pytest.raises(InputError) as caught:
        jobs_body.parse_batch(text, BATCH)
    assert expected_message in caught.value.message


TOOL = Tool(
    {
        "name": "t",
        "settings": [
            {"name": "sequence", "required": True, "type": "string"},
            {"name": "count", "required": False, "type": "integer"},
            {"name": "ratio", "required": False, "type": "number"},
            {"name": "circular", "required": False, "default": False},
            {"name": "angles", "required": False, "type": "list[number]"},
            {"name": "extra", "required": False, "type": "object"},
            {"name": "untyped", "required": False},
            {"name": "mode", "required": False, "options": ["on", "off", 3]},
        ],
    }
)


def on_the_line(name: str, text: str) -> Any:
    settings = SETTING.convert(Raw(f"{name}={text}"), Namespace({}))
    return cast_settings(TOOL, settings)[name]


def in_a_body(name: str, text: str) -> Any:
    return cast_settings(TOOL, cell_body.parse_body(f"{name}: {text}"))[name]


@pytest.mark.parametrize("read", [on_the_line, in_a_body])
@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("sequence", "1e5", "1e5"),
        ("sequence", "true", "true"),
        ("sequence", "CC#N", "CC#N"),
        ("sequence", r"C/C=C\C", r"C/C=C\C"),
        ("count", "3", 3),
        ("count", "3.0", 3),
        ("ratio", "1e-3", 0.001),
        ("circular", "yes", True),
        ("mode", "on", "on"),
        ("mode", "3", 3),
        ("untyped", "1e5", "1e5"),
        ("count", "many", "many"),
        ("unheard", "of", "of"),
    ],
)
def test_word_is_converted_to_the_parameter_type(
    read: Any, name: str, text: str, value: object
) -> None:
    result = read(name, text)
    assert result == value
    assert type(result) is type(value)


def test_lists_and_objects() -> None:
    assert on_the_line("angles", "-57,-47.5") == [-57, -47.5]
    assert on_the_line("angles", "[1, 2]") == [1, 2]
    assert in_a_body("angles", "[-57, -47.5]") == [-57, -47.5]
    assert on_the_line("extra", '{"a": 1}') == {"a": 1}
    assert in_a_body("extra", "{a: 1, b: [true, NO]}") == {"a": 1, "b": [True, "NO"]}
    assert in_a_body("untyped", "3") == 3
    assert in_a_body("untyped", "'3'") == "3"
    for name, text in {"angles": "1,x", "extra": "{half"}.items():
        with pytest.raises(InputError, match=name):
            on_the_line(name, text)


def test_objects_are_passed_on() -> None:
    frame = object()
    assert cast_settings(TOOL, {"untyped": frame, "count": "3"}) == {"untyped": frame, "count": "3"}


def test_duplicate_setting_is_refused() -> None:
    assert merge_pairs([{"a": 1}, {"b": 2}]) == {"a": 1, "b": 2}
    with pytest.raises(InputError, match="`a` is set twice"):
        merge_pairs([{"a": 1}, {"a": 2}])
