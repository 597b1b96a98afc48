"""Settings with the value `"pipe"`, and the outputs that a job passes on."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.sandbox.jobs.pipelines import piping
from labext.sandbox.jobs.pipelines.piping import OutputFile, TextInput
from labext.sandbox.jobs.tools.tool import Parameter, Tool

TOOL = Tool(
    "t", "T", "", "", "",
    parameters=(
        Parameter("pdbFile", type="pdb"),
        Parameter("table", type="file"),
        Parameter("sequence", type="string"),
        Parameter("plain"),
        Parameter("list", type="array"),
        Parameter("number", type="number"),
        Parameter("count", type="integer"),
        Parameter("switch", type="boolean"),
    ),
    passes=("rank_*.pdb", "more/*.fasta"),
)  # fmt: skip
ONE = ">a first\nACGT\nAC GT\n"
TWO = ">a\r\nAC\r\n>b\r\nGT\r\n"


def output(tmp_path, name, content):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return OutputFile(f"job/{name}", file)


def fill(setting, piece):
    return piping.fill_pipes(TOOL, {setting: "pipe", "other": "kept"}, piece)[setting]


@pytest.mark.parametrize(
    ("setting", "name", "content", "expected"),
    [
        ("pdbFile", "a.pdb", "ATOM", "job/a.pdb"),
        ("table", "a.fasta", ONE, "job/a.fasta"),
        ("sequence", "a.fasta", ONE, "ACGTACGT"),
        ("plain", "a.FA", ONE, "ACGTACGT"),
        ("sequence", "a.nwk", "(a,b);\n", "(a,b);\n"),
        ("sequence", "a.dbn", ">a\nACGU\n....\n", ">a\nACGU\n....\n"),
        ("list", "a.fasta", TWO, ["AC", "GT"]),
        ("list", "a.txt", "AC\nGT\n", ["AC", "GT"]),
    ],
)
def test_output_is_converted_to_the_type_of_the_setting(tmp_path, setting, name, content, expected):
    assert fill(setting, output(tmp_path, name, content)) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.fasta", TWO, "takes one sequence, but a.fasta has 2"),
        ("a.fasta", "", "takes one sequence, but a.fasta has 0"),
        ("a.txt", b"\xff\xfe", "takes text, but a.txt is not a text file"),
        ("a.txt", b"A" * (piping.MAX_TEXT_BYTES + 1), "at most 1,048,576 bytes"),
    ],
)
def test_unsuitable_output_is_refused_by_name(tmp_path, name, content, message):
    with pytest.raises(HTTPException) as caught:
        fill("sequence", output(tmp_path, name, content))
    assert message in caught.value.detail
    assert caught.value.detail.startswith("Setting sequence ")


def test_deleted_output_is_refused_by_name(tmp_path):
    with pytest.raises(HTTPException, match=r"a\.txt was deleted"):
        fill("sequence", OutputFile("job/a.txt", tmp_path / "a.txt"))


@pytest.mark.parametrize(
    ("setting", "text", "expected"),
    [
        ("pdbFile", "mine.pdb", "mine.pdb"),
        ("sequence", ">a\nACGT", ">a\nACGT"),
        ("plain", "37", "37"),
        ("list", ONE + TWO, ["ACGTACGT", "AC", "GT"]),
        ("list", "AC GT", ["AC", "GT"]),
        ("number", " 37.5 ", 37.5),
        ("count", "3", 3),
        ("switch", "True", True),
        ("switch", "false", False),
    ],
)
def test_text_input_is_parsed_to_the_type_of_the_setting(setting, text, expected):
    value = fill(setting, TextInput(text))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e999", "1_0x", "yes"])
@pytest.mark.parametrize("setting", ["number", "count", "switch"])
def test_invalid_number_or_boolean_is_refused_by_name(setting, text):
    with pytest.raises(HTTPException, match=f"Setting {setting} is not of type "):
        fill(setting, TextInput(text))


def test_only_settings_with_the_value_pipe_are_replaced():
    settings = {"sequence": "pipe", "plain": ["pipe"], "list": ["a"], "unknown": "pipe"}
    assert piping.piped_settings(settings) == ["sequence", "unknown"]
    assert piping.fill_pipes(TOOL, settings, TextInput("pipe")) == settings
    assert piping.fill_pipes(TOOL, settings, TextInput("A")) == settings | {"sequence": "A"}
    assert settings["sequence"] == "pipe"


def test_piped_files_are_in_numeric_order(tmp_path):
    for name in ("rank_10.pdb", "rank_2.pdb", "rank_1.pdb", "other.pdb", "more/x.fasta"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "rank_3.pdb").mkdir()
    (tmp_path / "rank_4.pdb").symlink_to(tmp_path / "rank_1.pdb")
    pieces = piping.files_to_pipe(TOOL, "p-stage1-t", tmp_path)
    names = ["more/x.fasta", "rank_1.pdb", "rank_2.pdb", "rank_10.pdb"]
    assert [piece.reference for piece in pieces] == [f"p-stage1-t/{name}" for name in names]
    assert [piece.file for piece in pieces] == [tmp_path / name for name in names]
    assert piping.files_to_pipe(TOOL, "j", tmp_path / "none") == []


def test_structure_setting_accepts_only_structures(tmp_path):
    pieces = [output(tmp_path, "a.pdb", "x"), output(tmp_path, "a.csv", "x"), TextInput("x")]
    assert piping.accepted_values(TOOL, {"pdbFile": "pipe"}, pieces) == [pieces[0], pieces[2]]
    assert piping.accepted_values(TOOL, {"table": "pipe"}, pieces) == pieces
    assert piping.accepted_values(TOOL, {"table": "pipe", "pdbFile": "pipe"}, pieces[1:]) == [
        pieces[2]
    ]


KINDS = Tool(
    "k", "K", "", "", "",
    parameters=(
        Parameter("sequence", type="string", content=("{molecule}", "{molecule} alignment")),
        Parameter("molecule", default="DNA", options=("DNA", "protein")),
        Parameter("any", type="string"),
    ),
    passes=("out.fasta",),
    passes_content="{molecule} alignment",
)  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "passed", "taken"),
    [
        ({}, "DNA alignment", ["DNA", "DNA alignment"]),
        ({"molecule": "protein"}, "protein alignment", ["protein", "protein alignment"]),
        ({"molecule": "pipe"}, None, []),
        ({"molecule": 7}, None, []),
    ],
)
def test_content_kind_depends_on_a_setting(settings, passed, taken):
    assert piping.output_content(KINDS, settings) == passed
    assert piping.accepted_content(KINDS, settings, KINDS.parameters[0]) == taken
    assert piping.accepted_content(KINDS, settings, KINDS.parameters[2]) == []


def test_setting_accepts_only_its_kinds_of_content(tmp_path):
    file = tmp_path / "out.fasta"
    file.write_text(ONE)
    (dna,) = piping.files_to_pipe(KINDS, "j", tmp_path, {})
    (protein,) = piping.files_to_pipe(KINDS, "j", tmp_path, {"molecule": "protein"})
    unknown = OutputFile("j/out.fasta", file)
    pieces = [dna, protein, unknown, TextInput("x")]
    settings = {"sequence": "pipe"}
    assert piping.accepted_values(KINDS, settings, pieces) == [dna, unknown, TextInput("x")]
    settings["molecule"] = "protein"
    assert piping.accepted_values(KINDS, settings, pieces) == [protein, unknown, TextInput("x")]
    assert piping.accepted_values(KINDS, {"any": "pipe"}, pieces) == pieces


@given(st.lists(st.text("ACGT-", min_size=1), max_size=5), st.integers(1, 7))
def test_fasta_sequences_round_trip(sequences, width):
    lines = []
    for place, sequence in enumerate(sequences):
        lines.append(f">s{place} a comment")
        lines += [sequence[at : at + width] for at in range(0, len(sequence), width)]
    assert piping.fasta_sequences("\n".join(lines)) == sequences


@given(st.text())
def test_any_text_is_converted_or_refused(text):
    piping.fasta_sequences(text)
    for parameter in TOOL.parameters:
        with suppress(HTTPException):
            fill(parameter.name, TextInput(text))
