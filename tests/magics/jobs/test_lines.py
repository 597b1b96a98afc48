"""The body of `%%jobs pipeline`, and suggestions for wrong words, never destructive."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import InputError
from labext_magics.core.dispatch import magic_named
from labext_magics.core.grammar import parse
from labext_magics.core.line import tokenize
from labext_magics.core.namespace import Namespace
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


SERVICES = ("lab", "jobs", "nb")


def _hint(line: str) -> str:
    magic, _, rest = line.removeprefix("%").partition(" ")
    with pytest.raises(InputError) as caught:
        parse(magic_named(magic), tokenize(rest), Namespace({}, None))
    return caught.value.next_step


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("%jobs cancel cut", "%jobs stop"),
        ("%jobs info cut", "%jobs show"),
        ("%jobs logs cut", "%jobs log"),
        ("%jobs history", "%jobs list"),
        ("%jobs search fold", "%jobs tools"),
        ("%jobs ls", "%jobs list"),
        ("%jobs list cut", "%jobs show cut"),
        ("%jobs status cut", "%jobs show cut"),
        ("%jobs remove cut", "%jobs delete"),
        ("%jobs delte cut", "%jobs delete"),
        ("%jobs sumbit", "%jobs submit"),
        ("%lab list", "%lab sequences"),
        ("%lab history", "%lab sequences"),
        ("%lab search pBAD", "%lab sequences --name-includes"),
        ("%lab sequences pBAD", "%lab sequences --name-includes pBAD"),
        ("%lab logs", "%lab status"),
        ("%nb list", "%nb sources"),
        ("%nb history", "%nb sessions"),
        ("%nb log", "%nb commands"),
        ("%nb cancel", "%nb commands cancel"),
        ("%nb retry S", "%nb sources retry"),
        ("%nb summarize S", "%nb transform"),
        ("%nb open S", "%nb view"),
        ("%nb query S", "%nb search"),
        ("%nb answer S", "%nb ask"),
        ("%nb rename S T", "%nb sources edit"),
        ("%nb watch S", "%nb sources wait"),
        ("%jobs rerun cut", "%jobs submit"),
        ("%lab open pBAD30", "%lab show"),
        ("%nb sources remove S", "%nb sources delete"),
        ("%nb notes add", "%nb notes new"),
    ],
)
def test_common_synonym_suggests_the_command(line: str, meant: str) -> None:
    assert _hint(line) == f"Did you mean `{meant}`?"


def test_list_verb_suggests_the_noun_alone() -> None:
    assert _hint("%nb sources list") == "Run `%nb sources` alone."


@pytest.mark.parametrize(
    "line",
    [
        *("%jobs form", "%jobs arm", "%jobs rn", "%jobs step2", "%jobs deltas", "%jobs restore"),
        *("%lab delete", "%lab cancel", "%lab logos", "%nb dilute", "%nb sources select S"),
    ],
)
def test_suggestion_is_never_destructive(line: str) -> None:
    hint = _hint(line)
    destructive = [
        f"`%{magic} {command.name}`"
        for magic in SERVICES
        for command in magic_named(magic).commands
        if command.is_destructive
    ]
    assert not any(command in hint for command in destructive)


@pytest.mark.parametrize(
    ("line", "topic"), [("help", ""), ("help submit", "submit"), ("help submit digest", "submit")]
)
def test_help_is_a_command_too(line: str, topic: str) -> None:
    parsed = parse(magic_named("jobs"), tokenize(line), Namespace({}, None))
    assert (parsed.topic, parsed.command) == (topic, None)


def test_destructive_commands_are_listed() -> None:
    known = {command.name for command in magic_named("jobs").commands if command.is_destructive}
    assert known == {"stop", "delete", "rm", "logout"}


@pytest.mark.parametrize(
    ("command", "takes_dict"), [("batch", True), ("list", False), ("results", False)]
)
def test_help_names_a_dict_only_where_from_takes_one(command: str, takes_dict: bool) -> None:
    declared = magic_named("jobs").find([command])
    assert declared is not None
    (option,) = (option for option in declared.options if option.name == "from")
    assert "DataFrame" in option.help
    assert ("dict" in option.help) is takes_dict
