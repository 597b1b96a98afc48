"""The body of `%%jobs pipeline`: inputs stay the words that were typed."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import InputError
from labext_magics.core.value_types import BareText
from labext_magics.jobs.cell_body import Pipeline, parse_pipeline

LINE = Pipeline(None, None)
STAGES = "stages:\n  - {task: Fold it, toolSettings: {fold: {sequence: pipe, temperature: 37}}}\n"


def inputs(text: str) -> Any:
    return parse_pipeline(f"{text}\n{STAGES}", LINE).inputs


def test_pipeline_body() -> None:
    pipeline = parse_pipeline(
        f"initialInputs: [ACDEFGHIKLMNPQRSTVWY]\n{STAGES}", Pipeline("p1", "proj_1")
    )
    assert (pipeline.name, pipeline.project) == ("p1", "proj_1")
    assert pipeline.inputs == ["ACDEFGHIKLMNPQRSTVWY"]
    (stage,) = pipeline.stages
    assert stage["task"].text == "Fold it"
    assert stage["toolSettings"]["fold"]["temperature"] == BareText("37", 37)


def test_pipeline_inputs_stay_strings() -> None:
    assert inputs("inputs: [NO, 12:30, 1_000, 007, true, ~, 'A B']") == [
        *("NO", "12:30", "1_000", "007", "true", "~", "A B")
    ]
    assert inputs("initialInputs:\n  - |\n    ATOM 1\n    END\n") == ["ATOM 1\nEND\n"]


def test_json_value_is_accepted() -> None:
    pipeline = parse_pipeline(
        '{"jobName": "p3", "initialInputs": ["GGG", 7], "stages": [{"task": "a"}]}', LINE
    )
    assert pipeline == Pipeline("p3", None, ["GGG", 7], [{"task": "a"}])


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ("- a\n- b", "not a mapping"),
        ("stages: []", "no `initialInputs`"),
        ("initialInputs: [A]", "no `stages`"),
        ("a: 1", "has `a`, which is not a field of `%%jobs pipeline`"),
        (f"inputs: [A]\ninitialInputs: [A]\n{STAGES}", "initialInputs and inputs"),
        (f"jobName: other\ninputs: [A]\n{STAGES}", "The line sets p1"),
        ("initialInputs: [A", "not valid YAML"),
    ],
)
def test_invalid_pipeline_body_is_refused(text: str, expected_message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_pipeline(text, Pipeline("p1", None))
    assert expected_message in raised.value.message
    assert raised.value.next_step
