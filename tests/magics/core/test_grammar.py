"""Parsing of a line by a declaration, and messages for invalid lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labext.errors import CommandInterrupted, InputError
from labext.jobs import frames
from labext.redaction import MASK, mask
from labext_magics.core import grammar, help, output, value_types
from labext_magics.core.dispatch import magic_named
from labext_magics.core.grammar import Command, Magic, Parameter, ParsedLine
from labext_magics.core.line import iter_tokens, tokenize
from labext_magics.core.namespace import Namespace
from labext_magics.core.secrets import refuse_name, refuse_options, refuse_value
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
                Parameter("with", value_types.comma_separated("A,B,…"), "other names"),
                Parameter("set", value_types.SETTING, "a setting", many=True, dest="settings"),
                Parameter("map", value_types.MAPPING, "a column", many=True),
                Parameter("limit", value_types.INTEGER, "how many"),
                Parameter("budget", value_types.POSITIVE, "how much"),
                Parameter("from", value_types.VARIABLE, "rows"),
                Parameter("to", value_types.PATH, "a folder"),
                Parameter("rate", value_types.choice("named", "off"), "limits"),
                Parameter("max-runtime", value_types.INTEGER, "seconds"),
                Parameter("keep", value_types.YES_NO, "whether to keep it"),
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
        Command("say", "Say it.", nothing, [Parameter("TEXT", value_types.prose(), "a text")]),
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
        "with_": None,
        "settings": [],
        "map": [],
        "limit": None,
        "budget": None,
        "from_": None,
        "to": None,
        "rate": None,
        "max_runtime": None,
        "keep": None,
        "yes": False,
    }


def test_options_are_accepted_at_any_position_and_in_both_forms() -> None:
    for line in (
        "run digest --name cut --yes",
        "run --yes --name=cut digest",
        'run --name="cut" --yes "digest"',
    ):
        parsed = values(line)
        assert (parsed["tool"], parsed["name"], parsed["yes"]) == ("digest", "cut", True)


def test_values_have_types() -> None:
    typed = "run x --limit 5 --budget 0.5 --to out/x --max-runtime=60 --rate off"
    expected = {"limit": 5, "budget": 0.5, "to": Path("out/x"), "max_runtime": 60, "rate": "off"}
    assert values(typed).items() >= expected.items()
    objects = values("run {t} --limit {n} --name {i} --to={p}", t="digest", n=7.0, i=3, p=Path("o"))
    expected = {"tool": "digest", "limit": 7, "name": "3", "to": Path("o")}
    assert objects.items() >= expected.items()


def test_numpy_scalars_are_accepted_like_those_of_python() -> None:
    variables = {"n": np.int64(3), "yes": np.bool_(True)}
    parsed = values("run {n} --name={n} --limit {n} --to {n} --keep {yes}", **variables)
    expected = {"tool": "3", "name": "3", "limit": 3, "to": Path("3"), "keep": True}
    assert parsed.items() >= expected.items()
    assert "not `{yes}`" in refused("run x --name {yes}", **variables).message


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


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("a,b", ["a", "b"]),
        ("'a b , c'", ["a b", "c"]),
        ("""'"a,b", #hash'""", ["a,b", "#hash"]),
        ('''"'a,b',c d"''', ["a,b", "c d"]),
        ("5',3'", ["5'", "3'"]),
        ("{names}", ["a,b", "c"]),
    ],
)
def test_words_of_a_list_are_split_at_commas_outside_quotes(typed: str, words: list[str]) -> None:
    assert values(f"run x --with {typed}", names=np.array(["a,b", "c"]))["with_"] == words


def test_path_in_the_home_of_an_unknown_user_is_refused() -> None:
    assert values("run x --to ~/out")["to"] == Path.home() / "out"
    with pytest.raises(InputError, match="is not a path"):
        values("run x --to ~nobody-has-this-name/out")


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
    "line",
    [
        "{}",
        "box {}",
        "run x {}",
        "run x --{}",
        "run x -{}",
        "run x --name a {}",
        "run x --name {} a",
        "run x --limit {}",
        "run x --limit '{{frame}}{}'",
        "run x --from {}",
        "run x --from a.{}",
    ],
)
def test_long_words_are_shortened_in_messages(line: str) -> None:
    error = refused(line.format("GATTACA" * 100), frame=1)
    assert len(str(error)) < 300


@pytest.mark.parametrize("service", ["lab", "jobs", "nb"])
def test_help_fits_a_terminal_of_80_columns(service: str) -> None:
    magic = magic_named(service)
    for command in magic.commands:
        lines = help.help_text(magic, command.name).splitlines()
        examples = [f"    {example}" for example in command.examples]
        assert [text for text in lines if len(text) > 80 and text not in examples] == []


@pytest.mark.parametrize("service", ["lab", "jobs", "nb"])
def test_help_of_every_command_has_an_example(service: str) -> None:
    magic = magic_named(service)
    for command in magic.commands:
        text = help.help_text(magic, command.name)
        assert re.search(rf"^    (\w+ = )?%%?{service} {command.name}\b", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "expected_message", "step"),
    [
        ("rnu digest", "no subcommand `rnu`", "%demo run"),
        ("box strat", "no subcommand `box strat`", "%demo box start"),
        ("run x --nmae y", "no option `--nmae`", "`--name`"),
        ("run x --max 5", "no option `--max`", "`--max-runtime`"),
        ("run x --name{frame} y", "no option `--name{frame}`", "`--name`"),
        (
            "run x --sequence ACGT",
            "no option `--sequence`",
            "`--set sequence=…` or `--map sequence=…`? `%demo run --help`",
        ),
        ("box start --sequence A", "no option `--sequence`", "`%demo box start --help` lists"),
        ("run x --yes{frame}", "no option `--yes{frame}`", "`--yes`"),
        ("run x --name", "`--name` needs a value", "--name NAME"),
        ("run x --name --yes", "`--name` needs a value", "--name NAME"),
        ("run x --yes=true", "takes no value", "--yes"),
        ("run x --name a --name b", "given twice", "one of them"),
        ("run x y", "does not take `y`", "`--from y`"),
        ("run x --from frame y", "does not take `y`", "shows its arguments"),
        ("run x --name two words", "does not take `words`", "`--name 'two words'`"),
        ("run x -n", "has no option `-n`", "--help"),
        ("run x -limit 1", "has no option `-limit`", "`--limit`"),
        ("run x \N{EM DASH}limit 1", "has no option `\N{EM DASH}limit`", "`--limit`"),
        ("run x --limit = 1", "does not take `1`", "Write `=` without spaces"),
        ("run x --set a= 1", "does not take `1`", "Write `=` without spaces"),
        ("run x --set a = 1", "does not take `=`", "Write `=` without spaces"),
        ("run x --with a , b --yes", "does not take `,`", "`--with a,b`"),
        ("run x --with a, b", "does not take `b`", "`--with a,b`"),
        ("run x --with a,", "comma-separated words, or {a list}, not `a,`", "--help"),
        ("""run x --with '"a,b'""", 'not `"a,b`', "--help"),
        ("""run x --with '"a"b'""", 'not `"a"b`', "--help"),
        ("run x --with {table}", "not `{table}`", "--help"),
        ("run x --from nothing", "`nothing` is None", "Check the cell"),
        ("run x --from {nothing}", "`{nothing}` is None", "Check the cell"),
        ("say why not", "does not take `not`", '`%demo say "…"`'),
        ("run x --name a's b", "does not take `b`", '`--name "a\'s b"`'),
        ("run x --name a's\"c b", "does not take `b`", "`--name {'a\\'s\"c b'}`"),
        ("run x --name fold {frame}", "does not take `{frame}`", '`--name {f"fold {frame}"}`'),
        ('run x --name {d["a"]} b', "does not take `b`", "`--name {f'{d[\"a\"]} b'}`"),
        ("say why {frame}?", "does not take `{frame}?`", '`%demo say {f"…"}`'),
        ("say why not {frame}?", "does not take `not`", '`%demo say {f"…"}`'),
        ("run", "needs TOOL: the tool", "%demo run digest"),
        ("need", "needs A and --b", "--help"),
        ("run x --limit 0", "not `0`", "--help"),
        ("run x --limit 1.5", "not `1.5`", "--help"),
        ("run x --limit {True}", "not `{True}`", "--help"),
        ("run x --budget inf", "above 0, not `inf`", "--help"),
        ("run x --budget nan", "not `nan`", "--help"),
        ("run x --name ''", "takes a text, not an empty text", "--help"),
        ("run x --limit=", "an integer from 1, not an empty text", "--help"),
        ("run x --name a={1}", "not `a={1}`", "--help"),
        ("run x --rate of", "named or off, not `of`", "`off`"),
        ("run x --set a", "SETTING=VALUE", "--help"),
        ("run x --set {5}", "not `{5}`", "--help"),
        ("run x --map a=", "SETTING=COLUMN", "--help"),
        ("run x --from fraem", "no variable `fraem`", "`frame`"),
        ("run x --from a.b", "`a.b` is not a valid variable name", "`{a.b}`"),
        ("run x --from {frame}.b", "`{frame}.b` is not a valid variable name", "`{frame.b}`"),
        ("run x --set a={fraem}", "no variable `fraem`", "`frame`"),
        ("run x --set a={1/0}", "ZeroDivisionError: division by zero", "separate cell"),
        ("run x --set a={1 +}", "not a Python expression", "between the braces"),
        ("run x --name a{}", "{} is not a Python expression", "between the braces"),
        ("run x --name a{fraem}", "no variable `fraem` in {fraem}", "`frame`"),
        ("run x --set p=N-{P}-[ST]", "no variable `P` in {P}", "quote a text with braces"),
        ("run x --limit a{frame}", "an integer from 1, not `a{frame}`", "--help"),
        ("{zzz}", "no subcommand `{zzz}`", "lists"),
    ],
)
def test_invalid_value_is_one_line_with_a_next_step(
    line: str, expected_message: str, step: str
) -> None:
    error = refused(line, frame=1, nothing=None, table=pd.DataFrame({"a": ["b"]}))
    assert expected_message in error.message
    assert step in error.next_step


def test_cell_body_is_refused_by_a_line_command() -> None:
    assert "takes no cell body" in refused("remove a", has_body=True).message
    assert parse("run x", has_body=True).command is not None


def test_expressions_of_an_invalid_line_are_not_evaluated() -> None:
    received: list[int] = []
    refused("run x --set a={seen.append(1)} --bogus", seen=received)
    assert not received


def test_interrupted_expression_is_one_line() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(CommandInterrupted, match=r"^\{slow\(\)\} was interrupted") as caught:
        parse("run x --set a={slow()}", slow=interrupt)
    assert len(caught.value._render_traceback_()) == 1


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
    # Duplicated, since a line is parsed before the client is imported.
    assert (listing.STATISTICS, listing.SCOPES) == (frames.STATISTICS, frames.SCOPES)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("fold_{i}", "fold_7"),
        ("{i}_{gene}.csv", "7_lacZ.csv"),
        ("{i:03}/{gene!r:>8}", "007/  'lacZ'"),
        ("x{ d['a}b'] }{d[\"a}b\"]}", "x11"),
        ("a}{i}}b", "a}7}b"),
        ("{{i}}_{i}", "{i}_7"),
        ("a\\n{i}", "a\\n7"),
        ("{i:03}", "007"),
        ("{gene!r}", "'lacZ'"),
        ("{x:.1f}", "2.5"),
        ("{i=}", "i=7"),
        ("{x:g}", "2.46"),
        ("{ d['a}b'] :3}", "  1"),
    ],
)
def test_word_with_braces_is_formatted_as_an_f_string(word: str, value: str) -> None:
    variables = {"i": 7, "gene": "lacZ", "d": {"a}b": 1}, "x": 2.46}
    assert values(f"run {word}", **variables)["tool"] == value
    assert values(f"run x --name={word}", **variables)["name"] == value
    settings = values(f"run x --set c={word} --set {{gene}}=a=b", **variables)["settings"]
    assert settings == [{"c": BareText(value, value)}, {"lacZ": BareText("a=b", "a=b")}]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("run x --name 'night {n}'", '`{f"night {n}"}`'),
        ('run "{n:03}"', '`{f"{n:03}"}`'),
        ('run x --to "my dir/{n}"', '`{f"my dir/{n}"}`'),
        ('run x --set "a=b=c {n}"', '`a={f"b=c {n}"}`'),
    ],
)
def test_quoted_name_with_a_variable_in_braces_is_refused(line: str, step: str) -> None:
    error = refused(line, n=1)
    assert "braces between quotes are not evaluated" in error.message
    assert step in error.next_step
    parse(line)  # without such a variable, the braces are text


def test_free_text_keeps_its_braces() -> None:
    assert values("say 'Why {n}?'", n=1)["text"] == "Why {n}?"


def test_typed_word_with_braces_is_converted() -> None:
    parsed = values("run x --limit 1{n} --from frame{n};", n=0, frame0=[1])
    assert parsed["limit"] == 10
    assert parsed["from_"] == [1]


@pytest.mark.parametrize(("key", "masked"), [("abcdefghijkl", True), ("abcdefghijk", False)])
def test_key_on_a_line_is_masked_afterwards_from_12_characters_on(key: str, masked: bool) -> None:
    with pytest.raises(InputError):
        refuse_options([*iter_tokens(f"connect --api-key={key}")], "jobs")
    assert (mask(f"it is {key}") == f"it is {MASK}") is masked


def test_password_in_an_address_is_masked_afterwards() -> None:
    with pytest.raises(InputError):
        refuse_value("https://ada:sword-and-fish@lab.example", "jobs")
    assert mask("it is sword-and-fish") == f"it is {MASK}"
    with pytest.raises(InputError):
        refuse_value("http://127.0.0.1/api/?key=short", "jobs")


def test_name_that_looks_like_a_key_is_refused() -> None:
    with pytest.raises(InputError):
        refuse_name("abcdefgh12345678", "nb", "connect")
    refuse_name("a-very-long-name-of-2026", "nb", "connect")


def test_unconfirmed_deletion_names_all_objects() -> None:
    names = [f"job{n}" for n in range(7)]
    with pytest.raises(InputError, match=", ".join(names)):
        output.confirm_destruction("delete", names, yes=False, preview=False)


def test_recursive_pattern_follows_no_links_to_folders_and_finds_no_hidden_files(
    tmp_path: Path,
) -> None:
    for name in ("a[1]/b/c.txt", "a[1]/.hidden/c.txt", "d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for link in ("up", "again"):
        (tmp_path / "a[1]" / link).symlink_to(tmp_path)
    (tmp_path / "link.txt").symlink_to("d.txt")
    everything = [tmp_path / name for name in ("a[1]/b/c.txt", "d.txt", "link.txt")]
    for pattern in ("**/*.txt", "**", "**/**/*.txt"):
        assert value_types.expand_pattern(tmp_path / pattern) == everything
    assert value_types.expand_pattern(tmp_path / "a*/up/*.txt") == [
        tmp_path / "a[1]/up/d.txt",
        tmp_path / "a[1]/up/link.txt",
    ]
