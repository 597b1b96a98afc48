"""Parsing a line by a declaration: parsed values, and messages for invalid lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labext.errors import InputError
from labext.jobs import frames
from labext_magics.core import grammar, help, value_types
from labext_magics.core.grammar import Command, Magic, Parameter, ParsedLine
from labext_magics.core.line import tokenize
from labext_magics.core.namespace import Namespace
from labext_magics.core.value_types import BareText
from labext_magics.jobs import listing


def nothing(*_: object, **__: object) -> None:
    """Replace a handler."""


DEMO = Magic(
    "demo",
    "A magic for the tests.",
    [
        Command(
            "run",
            "Run a tool.",
            nothing,
            [Parameter("TOOL", value_types.TOOL, "the tool", required=True)],
            [
                Parameter("name", value_types.NEW_NAME, "its name"),
                Parameter("set", value_types.SETTING, "a setting", many=True, dest="settings"),
                Parameter("map", value_types.MAPPING, "a column", many=True),
                Parameter("limit", value_types.INTEGER, "how many"),
                Parameter("budget", value_types.POSITIVE, "how much"),
                Parameter("from", value_types.VARIABLE, "rows"),
                Parameter("to", value_types.PATH, "a folder"),
                Parameter("rate", value_types.choice("named", "off"), "limits"),
                Parameter("max-runtime", value_types.INTEGER, "seconds"),
                Parameter("yes", None, "do it"),
            ],
            body="settings",
            examples=["%demo run digest"],
        ),
        Command(
            "remove",
            "Remove things.",
            nothing,
            [Parameter("NAME", value_types.JOB, "a job", required=True, many=True)],
        ),
        Command(
            "box start",
            "Start it.",
            nothing,
            options=[Parameter("data-dir", value_types.PATH, "where")],
        ),
        Command("box stop", "Stop it.", nothing),
        Command(
            "need",
            "Needs much.",
            nothing,
            [Parameter("A", value_types.JOB, "first", required=True)],
            [Parameter("b", value_types.JOB, "second", required=True)],
        ),
        Command(
            "open", "Open.", nothing, [Parameter("W", value_types.PROFILE, "where")], guarded=True
        ),
    ],
)


def parse(line: str, *, has_body: bool = False, **variables: Any) -> ParsedLine:
    return grammar.parse(DEMO, tokenize(line), Namespace(variables), has_body=has_body)


def values(line: str, **variables: Any) -> dict[str, Any]:
    return parse(line, **variables).values


def refused(line: str, *, has_body: bool = False, **variables: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        parse(line, has_body=has_body, **variables)
    assert "\n" not in str(caught.value)
    assert caught.value.next_step
    return caught.value


def test_missing_arguments_have_empty_values() -> None:
    assert values("run digest") == {
        "tool": "digest",
        "name": None,
        "settings": [],
        "map": [],
        "limit": None,
        "budget": None,
        "from_": None,
        "to": None,
        "rate": None,
        "max_runtime": None,
        "yes": False,
    }


@pytest.mark.parametrize(
    "line",
    [
        "run digest --name cut --yes",
        "run --yes --name=cut digest",
        'run --name="cut" --yes "digest"',
    ],
)
def test_options_stand_anywhere_and_in_both_forms(line: str) -> None:
    parsed_values = values(line)
    assert (parsed_values["tool"], parsed_values["name"], parsed_values["yes"]) == (
        "digest",
        "cut",
        True,
    )


def test_values_have_types() -> None:
    parsed_values = values("run x --limit 5 --budget 0.5 --to out/x --max-runtime=60 --rate off")
    assert (parsed_values["limit"], parsed_values["budget"], parsed_values["to"]) == (
        5,
        0.5,
        Path("out/x"),
    )
    assert (parsed_values["max_runtime"], parsed_values["rate"]) == (60, "off")


def test_expressions_pass_objects() -> None:
    parsed_values = values(
        "run {t} --limit {n} --name {i} --to={p}", t="digest", n=7.0, i=3, p=Path("o")
    )
    assert (
        parsed_values["tool"],
        parsed_values["limit"],
        parsed_values["name"],
        parsed_values["to"],
    ) == (
        "digest",
        7,
        "3",
        Path("o"),
    )


def test_repeated_settings_keep_strings_and_objects() -> None:
    line = 'run x --set a=1 --set b={[1, 2]} --set=c={"k": null} --set {more} --set d= --set e=x=y'
    assert values(line, more={"z": 0})["settings"] == [
        {"a": BareText("1", "1")},
        {"b": [1, 2]},
        {"c": {"k": None}},
        {"z": 0},
        {"d": BareText("", "")},
        {"e": BareText("x=y", "x=y")},
    ]


def test_columns_and_variables() -> None:
    frame = object()
    parsed_values = values(
        'run x --map "a=my column" --map {m} --from rows', m={"b": "c"}, rows=frame
    )
    assert parsed_values["map"] == [{"a": "my column"}, {"b": "c"}]
    assert parsed_values["from_"] is frame
    assert values("run x --from {[r]}", r=1)["from_"] == [1]


def test_many_arguments_and_the_end_of_options() -> None:
    assert values("remove a b -- --c -h")["name"] == ["a", "b", "--c", "-h"]
    assert values('remove "--c" -5 -x')["name"] == ["--c", "-5", "-x"]


@pytest.mark.parametrize(
    ("line", "topic"),
    [
        ("", ""),
        ("--help", ""),
        ("-h", ""),
        ("run --help", "run"),
        ("run digest --bogus 1 -h", "run"),
        ("box", "box"),
        ("box --help", "box"),
        ("box start --help", "box start"),
    ],
)
def test_help_at_every_level(line: str, topic: str) -> None:
    parsed = parse(line)
    assert parsed.command is None
    assert parsed.topic == topic
    assert help.help_text(DEMO, parsed.topic)


def test_help_names_every_command_and_option() -> None:
    overview = help.help_text(DEMO)
    assert all(command.name in overview for command in DEMO.commands)
    help_page = help.help_text(DEMO, "run")
    assert all(f"--{option.name}" in help_page for option in DEMO.commands[0].options)
    assert help_page.startswith("%demo run TOOL [options]")
    assert "%demo run digest" in help_page
    assert max(map(len, help_page.splitlines())) <= help.WIDTH


@pytest.mark.parametrize(
    ("line", "expected_message", "step"),
    [
        ("rnu digest", "no subcommand `rnu`", "%demo run"),
        ("zzz", "no subcommand `zzz`", "%demo` lists"),
        ("box strat", "no subcommand `box strat`", "%demo box start"),
        ("run x --nmae y", "no option `--nmae`", "`--name`"),
        ("run x --max 5", "no option `--max`", "`--max-runtime`"),
        ("run x --zzz", "no option `--zzz`", "--help"),
        ("run x --name", "`--name` needs a value", "--name NAME"),
        ("run x --name --yes", "`--name` needs a value", "--name NAME"),
        ("run x --yes=true", "takes no value", "--yes"),
        ("run x --name a --name b", "given twice", "one of them"),
        ("run x y", "does not take `y`", "--help"),
        ("run", "needs TOOL: the tool", "%demo run digest"),
        ("need", "needs A and --b", "--help"),
        ("run x --limit -1", "an integer from 1, not `-1`", "--help"),
        ("run x --limit 0", "not `0`", "--help"),
        ("run x --limit 1.5", "not `1.5`", "--help"),
        ("run x --limit {True}", "not `{True}`", "--help"),
        ("run x --limit {[]}", "not `{[]}`", "--help"),
        ("run x --budget inf", "above 0, not `inf`", "--help"),
        ("run x --budget nan", "not `nan`", "--help"),
        ("run x --budget -2", "not `-2`", "--help"),
        ("run x --name ''", "takes a text", "--help"),
        ("run x --name a={1}", "not `a={1}`", "--help"),
        ("run x --rate of", "named or off, not `of`", "`off`"),
        ("run x --set a", "SETTING=VALUE", "--help"),
        ("run x --set =1", "SETTING=VALUE", "--help"),
        ("run x --set {5}", "not `{5}`", "--help"),
        ("run x --map a=", "SETTING=COLUMN", "--help"),
        ("run x --from fraem", "no variable `fraem`", "`frame`"),
        ("run x --set a={fraem}", "no variable `fraem`", "`frame`"),
        ("run x --set a={1/0}", "ZeroDivisionError: division by zero", "separate cell"),
        ("run x --set a={1 +}", "not a Python expression", "between the braces"),
        ("{zzz}", "no subcommand `{zzz}`", "lists"),
    ],
)
def test_invalid_value_is_one_line_with_a_next_step(
    line: str, expected_message: str, step: str
) -> None:
    error = refused(line, frame=1)
    assert expected_message in error.message
    assert step in error.next_step


def test_cell_body_is_refused_by_a_line_command() -> None:
    assert "takes no cell body" in refused("remove a", has_body=True).message
    assert parse("run x", has_body=True).command is not None


def test_expressions_of_an_invalid_line_are_not_evaluated() -> None:
    received: list[int] = []
    refused("run x --set a={seen.append(1)} --bogus", seen=received)
    assert not received


def test_expression_sees_local_variables_and_json_literals() -> None:
    scope = Namespace({"x": 1, "y": 2}, {"x": 10})
    assert scope.evaluate("[x + y + z for z in (1,)]") == [13]
    assert scope.evaluate("[true, false, null]") == [True, False, None]
    assert Namespace({"null": 0}).evaluate("null") == 0
    assert Namespace({}).evaluate("sorted([2, 1])") == [1, 2]


@pytest.mark.parametrize(
    "line",
    [
        "run x --key 1234567890abcdefXYZ",
        "run x --api-key=1234567890abcdefXYZ",
        "run x --api_key 1234567890abcdefXYZ",
        "list --x-api-key 1234567890abcdefXYZ",
        "--token 1234567890abcdefXYZ",
        "open https://h/api/ 1234567890abcdefXYZ",
        "open --password=1234567890abcdefXYZ",
    ],
)
def test_key_on_a_line_is_refused_and_masked(line: str) -> None:
    error = refused(line)
    assert "history" in error.message
    assert "1234567890abcdefXYZ" not in str(error) + repr(error.__dict__)


def test_usage_choices_match_the_client() -> None:
    # Written twice, since a line is read before anything of the client is imported.
    assert (listing.STATISTICS, listing.SCOPES) == (frames.STATISTICS, frames.SCOPES)
