"""Alignments and neighbour-joining trees, compared with worked examples."""

from __future__ import annotations

import gzip
import math
from io import StringIO
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import DATA, fasta, read_csv, run_tool

from labext.sandbox.jobs.tools import _inputs, msa_tree
from labext.sandbox.jobs.tools.tool import ToolError

TOOL = msa_tree.TOOL
needs_biotite = pytest.mark.skipif(
    bool(TOOL.missing_modules()), reason="biotite is in the tools extra"
)


def paths(tree: msa_tree.TreeNode) -> dict[tuple[str, str], float]:
    """Return the path length between each pair of leaves, by names in order."""
    distances_by_pair: dict[tuple[str, str], float] = {}

    def leaf_distances(node: msa_tree.TreeNode) -> dict[str, float]:
        if not node.branches:
            return {node.name: 0.0}
        sides = [
            {name: distance + length for name, distance in leaf_distances(child).items()}
            for child, length in node.branches
        ]
        for left, right in combinations(sides, 2):
            for a, b in ((a, b) for a in left for b in right):
                distances_by_pair[min(a, b), max(a, b)] = left[a] + right[b]
        return {name: distance for side in sides for name, distance in side.items()}

    leaf_distances(tree)
    return distances_by_pair


def branches(node: msa_tree.TreeNode):
    for child, length in node.branches:
        yield child, length
        yield from branches(child)


@st.composite
def trees(draw) -> msa_tree.TreeNode:
    size = draw(st.integers(3, 9))
    nodes = [msa_tree.TreeNode(f"t{i}") for i in range(size)]
    length = st.integers(1, 50).map(lambda tenths: tenths / 10)
    while len(nodes) > 2:
        first = nodes.pop(draw(st.integers(0, len(nodes) - 1)))
        second = nodes.pop(draw(st.integers(0, len(nodes) - 1)))
        nodes.append(msa_tree.TreeNode(branches=((first, draw(length)), (second, draw(length)))))
    return msa_tree.TreeNode(branches=tuple((node, draw(length)) for node in nodes))


@settings(deadline=None)
@given(trees())
def test_additive_distances_reconstruct_their_tree(tree):
    ways = paths(tree)
    names = sorted({name for pair in ways for name in pair})
    distances = np.zeros((len(names), len(names)))
    for (a, b), way in ways.items():
        i, j = names.index(a), names.index(b)
        distances[i, j] = distances[j, i] = way
    joined = msa_tree.join_neighbours(distances, names)
    assert paths(joined) == pytest.approx(ways)
    assert all(length > -1e-9 for _, length in branches(joined))


UNEVEN = [[0, 9, 1, 9], [9, 0, 1, 2], [1, 1, 0, 9], [9, 2, 9, 0]]
"""Distances of no tree: neighbour joining gives negative branch lengths."""


def test_negative_branch_lengths_are_set_to_zero_and_reported():
    raw = msa_tree.join_neighbours(np.array(UNEVEN), list("abcd"))
    lengths = [length for _, length in branches(raw)]
    below = [length for length in lengths if length < 0]
    assert below, "the example has negative lengths"
    tree, negative = msa_tree.without_negative_lengths(raw)
    assert sorted(negative) == sorted(below)
    assert [length for _, length in branches(tree)] == [max(0.0, length) for length in lengths]
    assert [node.name for node, _ in branches(tree)] == [node.name for node, _ in branches(raw)]
    assert "-" not in msa_tree.to_newick(tree)


def test_length_that_rounds_to_zero_is_not_reported():
    leaves = ((msa_tree.TreeNode("a"), -1e-9), (msa_tree.TreeNode("b"), -0.0))
    tree, negative = msa_tree.without_negative_lengths(msa_tree.TreeNode(branches=leaves))
    assert negative == []
    assert msa_tree.to_newick(tree) == "(a:0.000000,b:0.000000);"


def test_newick_round_trips_unusual_names():
    Phylo = pytest.importorskip("Bio.Phylo", reason="biopython is in the sandbox extra")
    names = ["plain", "two words", "a(b):c,d;", "[x]", "x|1.2"]
    tree = msa_tree.join_neighbours(np.ones((5, 5)) - np.eye(5), names)
    read = Phylo.read(StringIO(msa_tree.to_newick(tree)), "newick")
    assert sorted(leaf.name for leaf in read.get_terminals()) == sorted(names)
    assert len(read.root.clades) == 3
    # a quote within a quoted name is doubled; Biopython before 1.85 does not read that
    assert msa_tree.to_newick(msa_tree.TreeNode("it's")) == "'it''s';"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ACGT", "sequences: it is not FASTA; a record starts with > and a name."),
        ("\n\n", "sequences: it is empty."),
        (">a\nACGT\n>\nACGT", "sequences: record 2 has no name."),
        (
            ">a\nACGT\n>a x\nACGT",
            "sequences: the name a occurs twice; a name ends at the first space.",
        ),
        (">a\n--\n", "sequences: a has no letters."),
        (">a\nAC\nXT", "sequences, a: invalid DNA base 'X' at 3 (allowed: ACGTN)."),
    ],
)
def test_invalid_fasta_is_an_error(text, message):
    with pytest.raises(ToolError) as caught:
        _inputs.parse_fasta(text, "sequences", _inputs.DNA + "N", 9)
    assert str(caught.value) == message


def test_fasta_is_normalized():
    text = "\ufeff\n>a first\r\nac-g\r\nT.\r\n\r\n>b\nAC GT*\n"
    assert _inputs.parse_fasta(text, "x", _inputs.DNA, 9) == {"a": "ACGT", "b": "ACGT"}


def test_records_are_counted_before_they_are_read():
    text = ">invalid\nX\n" + ">a\nA\n" * 9
    with pytest.raises(ToolError, match=r"^x: 10 sequences; at most 9 are allowed\.$"):
        _inputs.parse_fasta(text, "x", _inputs.DNA, 9)


def test_only_a_line_starts_a_record():
    text = ">a c.524G>A\nACGT\n >b->c\nACGA\n"
    assert _inputs.parse_fasta(text, "x", _inputs.DNA, 9) == {"a": "ACGT", "b->c": "ACGA"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_gzipped_file_is_read(tmp_path, encoding):
    path = tmp_path / "reads.fa.gz"
    path.write_bytes(gzip.compress(">a\nACGT\n".encode(encoding)))
    assert _inputs.read_file(path, "sequences") == ">a\nACGT\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"A" * 2_000_000, mtime=0), "is larger than 1 MB"),
        (gzip.compress(b">a\nACGT\n", mtime=0)[:-9], "can't be unpacked by gzip"),
        (b"\x89PNG\r\n\x1a\n\x00", "is not a text file"),
    ],
)
def test_unreadable_file_is_refused(tmp_path, content, message):
    path = tmp_path / "reads.fa.gz"
    path.write_bytes(content)
    with pytest.raises(ToolError, match=rf"^sequences: the file {message}\.$"):
        _inputs.read_file(path, "sequences", 1_000_000)


def run(out: Path, text: str, **options):
    (out / "in.fasta").write_text(text)
    inputs = {"sequences": out / "in.fasta"}
    score = run_tool(TOOL, out, inputs, sequences="in.fasta", **options)
    aligned = {
        record.split("\n")[0]: "".join(record.split("\n")[1:])
        for record in (out / "alignment.fasta").read_text().split(">")[1:]
    }
    table = {row.pop("name"): row for row in read_csv(out / "distances.csv")}
    distances = {(a, b): float(value) for a, row in table.items() for b, value in row.items()}
    return score, aligned, distances, (out / "tree.nwk").read_text()


@needs_biotite
def test_small_alignment_by_hand(tmp_path):
    score, aligned, distances, _ = run(
        tmp_path, fasta(a="ACGTACGTACGT", b="ACGTACGACGT", c="ACGTTCGTACGT"), gapOpen=4
    )
    assert aligned == {"a": "ACGTACGTACGT", "b": "ACGTACG-ACGT", "c": "ACGTTCGTACGT"}
    assert distances["a", "b"] == 0
    assert distances["a", "c"] == pytest.approx(1 / 12, abs=1e-6)
    assert distances["b", "c"] == pytest.approx(1 / 11, abs=1e-6)
    assert score["columns"] == 12
    assert score["sequences"] == 3
    assert score["mean_identity"] == pytest.approx(100 * (1 + 11 / 12 + 10 / 11) / 3, abs=0.01)
    assert score["min_identity"] == pytest.approx(100 * 10 / 11, abs=0.01)


@needs_biotite
@pytest.mark.parametrize(
    ("molecule", "a", "b"),
    [("DNA", "ACGTRCGTNNNN", "ACGTACGANNCC"), ("protein", "MKTAYIBXXW", "MKTAFIDXAW")],
)
def test_ambiguous_letters_are_neither_equal_nor_different(tmp_path, molecule, a, b):
    score, _, distances, _ = run(tmp_path, fasta(a=a, b=b, c=a), molecule=molecule, gapOpen=50)
    assert distances["a", "b"] == pytest.approx(1 / 7, abs=1e-6)
    assert score["min_identity"] == pytest.approx(100 * 6 / 7, abs=0.01)


@needs_biotite
def test_negative_branch_lengths_are_in_the_score_and_the_log(tmp_path, capsys):
    text = fasta(a="AAAAAAAAAA", b="AAAAACCCCC", c="CCCCCAAAAA", d="CCCCCCCCCC", e="AACCAACCAA")
    score, _, distances, tree = run(tmp_path, text, gapOpen=50)
    matrix = np.array([[distances[a, b] for b in "abcde"] for a in "abcde"])
    raw = [length for _, length in branches(msa_tree.join_neighbours(matrix, list("abcde")))]
    below = [length for length in raw if length < -1e-6]
    assert below, "the example has negative lengths"
    assert score["negative_branches"] == len(below)
    assert "-" not in tree
    log = capsys.readouterr().out
    assert f"{min(below):.6f}" in log
    assert "set to 0 in tree.nwk" in log


@needs_biotite
def test_corrected_distances(tmp_path):
    text = fasta(a="ACGTACGTAC", b="ACGTACGTAT", c="ACGTACGTAC")
    _, _, distances, _ = run(tmp_path, text, distance="corrected")
    assert distances["a", "b"] == pytest.approx(-0.75 * math.log(1 - 4 / 30), abs=1e-6)
    protein = fasta(a="MKTAYIAKQR", b="MKTAYIAKQK", c="MKTAYIAKQR")
    _, _, distances, _ = run(tmp_path, protein, distance="corrected", molecule="protein")
    assert distances["a", "b"] == pytest.approx(-math.log(1 - 0.1 - 0.01 / 5), abs=1e-6)


@needs_biotite
def test_distance_too_large_to_correct_is_an_error(tmp_path):
    text = fasta(a="AAAAAAAA", b="CCCCCCCC", c="AAAAAAAA")
    with pytest.raises(ToolError, match=r"^distance: a and b differ in 100% of the sites"):
        run(tmp_path, text, distance="corrected", gapOpen=50)
    assert run(tmp_path, text, gapOpen=50)[0]["min_identity"] == 0


@needs_biotite
@given(st.lists(st.text("ACGTN", min_size=1, max_size=25), min_size=3, max_size=6))
def test_alignment_keeps_every_letter(tmp_path_factory, sequences):
    out = tmp_path_factory.mktemp("msa")
    named = {f"s{i}": letters for i, letters in enumerate(sequences)}
    score, aligned, distances, tree = run(out, fasta(**named))
    assert {name: row.replace("-", "") for name, row in aligned.items()} == named
    assert {len(row) for row in aligned.values()} == {score["columns"]}
    assert all(set(column) != {"-"} for column in zip(*aligned.values(), strict=True))
    for a, b in combinations(named, 2):
        columns = zip(aligned[a], aligned[b], strict=True)
        both = [column for column in columns if not {*"-N"} & {*column}]
        differ = sum(x != y for x, y in both) / len(both) if both else 1
        assert distances[a, b] == distances[b, a] == pytest.approx(differ, abs=1e-6)
    assert tree.endswith(";\n")
    assert all(f"{name}:" in tree for name in named)


@needs_biotite
def test_orchids_of_a_genus_are_monophyletic(tmp_path):
    Phylo = pytest.importorskip("Bio.Phylo", reason="biopython is in the sandbox extra")
    outgroup = "Z78533"
    genera = ("Z78499", "Z78490", "Z78440"), ("Z78513", "Z78508", "Z78501")
    names = (outgroup, *genera[0], *genera[1])
    records = (DATA / "its.fasta").read_text().split(">")[1:]
    text = "".join(f">{record}" for record in records if record.startswith(names))
    score, _, _, tree = run(tmp_path, text)
    assert score["sequences"] == 7
    assert 70 < score["min_identity"] <= score["mean_identity"] < 100
    read = Phylo.read(StringIO(tree), "newick")
    leaves = {leaf.name.split(".")[0]: leaf for leaf in read.get_terminals()}
    read.root_with_outgroup(leaves[outgroup])
    for genus in genera:
        assert read.is_monophyletic([leaves[name] for name in genus])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequences": fasta(a="ACGT", b="ACGT")}, "2 sequences; 3 to 60 are allowed."),
        ({"sequences": fasta(**{f"s{i}": "A" for i in range(61)})}, "61 sequences; at most 60 are"),
        (
            {"sequences": fasta(a="A", b="A", c="A" * 3001)},
            "c: it has 3,001 letters; 1 to 3,000 are",
        ),
        (
            {"sequences": fasta(**{f"s{i}": "ACGT" * 500 for i in range(40)})},
            "40 sequences of this length are too many",
        ),
        ({"sequences": ">a\nMEV\n>b\nA\n>c\nA", "molecule": "DNA"}, "invalid DNA base"),
        ({"gapOpen": 0}, "gapOpen: 0 is outside 1 to 100."),
        ({"gapExtend": 11}, "gapExtend: 11 is more than gapOpen, 10."),
        ({"distance": "far"}, "distance: 'far' is not one of identity, corrected."),
    ],
)
def test_invalid_setting_is_named(options, message):
    settings_error = TOOL.check({"sequences": "its.fasta", **options})
    assert settings_error is not None
    assert message in settings_error


def test_uploaded_file_is_checked_when_the_job_runs(tmp_path):
    (tmp_path / "in.fasta").write_text(">a\nACGT\n")
    with pytest.raises(ToolError, match=r"^sequences: 1 sequence; 3 to 60 are allowed\.$"):
        run(tmp_path, ">a\nACGT\n")
