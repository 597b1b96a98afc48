"""Alignment and tree views: parsing, layout, colors, size, and errors."""

from __future__ import annotations

import base64
import gzip
import random
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from widget_fakes import contrast

from labext.errors import InputError
from labext_widgets.alignment import alignment_view, tree_view
from labext_widgets.alignment import viewer as module
from labext_widgets.alignment.drawing import render_html
from labext_widgets.alignment.rows import (
    NUCLEOTIDE_CLASSES,
    PROTEIN_CLASSES,
    parse_alignment,
    residue_classes,
    residue_color,
)
from labext_widgets.alignment.tree import parse_newick

DATA = Path(__file__).parents[2] / "example_notebooks" / "data"
NEWICK = "((A:0.1,B:0.3):0.2,(C:0.1,(D:0.2,E:0.2):0.1):0.1,F:0.5);"
FASTA = ">A\nACGT\n>B\nAC-T\n>C\nACGT\n>D\nGCGT\n>E\nACTT\n>F x\nACGA\n"


def fasta(rows: int, columns: int, letters: str = "ACDEFGHIKLMNPQRSTVWY") -> str:
    source = random.Random(3)
    return "".join(
        f">sequence_{row}_{'x' * 50}\n{''.join(source.choices(letters, k=columns))}\n"
        for row in range(rows)
    )


def test_rows_are_in_the_order_of_the_ladderized_tree() -> None:
    view = tree_view(NEWICK, FASTA, name="t")
    assert list(view.sequences) == view.tree.leaves == ["F", "A", "B", "C", "D", "E"]
    assert view.sequences["D"] == "GCGT"


def test_leaves_lie_at_the_sum_of_their_branch_lengths() -> None:
    tree = parse_newick(NEWICK)
    distances = {node.name: node.x for node in tree.root.walk() if not node.children}
    assert distances == pytest.approx({"A": 0.3, "B": 0.5, "C": 0.2, "D": 0.4, "E": 0.4, "F": 0.5})
    svg = tree_view(NEWICK, name="t").svg
    labels = {
        element.text: float(element.get("x"))
        for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    }
    scale = (labels["B"] - labels["A"]) / 0.2
    assert labels["F"] - labels["C"] == pytest.approx(0.3 * scale, abs=0.3)
    bar = re.search(r'd="M4 [\d.]+v6m0 -3H([\d.]+)', svg)
    assert (float(bar[1]) - 4) / scale == pytest.approx(tree.scale_bar(), abs=0.001)
    assert tree.scale_bar() == pytest.approx(0.1)


def test_negative_branch_lengths_are_drawn_as_0() -> None:
    view = tree_view("((A:0.2,B:-0.1):0.1,C:0.3);", name="t")
    assert {node.name: node.x for node in view.tree.root.walk() if node.name} == pytest.approx(
        {"A": 0.3, "B": 0.1, "C": 0.3}
    )
    assert "1 negative branch length drawn as 0" in repr(view)
    assert "tree of 1 leaf" in repr(tree_view("(A:0.2);", name="t"))


@pytest.mark.parametrize("label", ["95", "0.98", "clade", "100/97"])
def test_tree_states_that_support_values_are_not_shown(label: str) -> None:
    note = "labels of inner nodes not shown"
    assert note in repr(tree_view(f"((A:1,B:1){label}:1,C:2);"))
    assert note not in repr(tree_view("((A:1,B:1):1,C:2);"))


def test_tree_without_lengths_is_drawn_by_branches_without_scale_bar() -> None:
    tree = parse_newick("((A,B),C);")
    assert {node.name: node.x for node in tree.root.walk() if node.name} == {"A": 2, "B": 2, "C": 1}
    assert tree.scale_bar() == 0


def test_a_very_deep_tree_is_drawn() -> None:
    newick = "(" * 600 + "A0:1" + "".join(f",A{i}:1):1" for i in range(1, 601)) + ";"
    assert len(tree_view(newick, name="deep").tree.leaves) == 601


@pytest.mark.parametrize(
    ("residue", "kind", "color"),
    [
        ("k", "protein", PROTEIN_CLASSES["positive"][1]),
        ("R", "protein", PROTEIN_CLASSES["positive"][1]),
        ("A", "protein", PROTEIN_CLASSES["hydrophobic"][1]),
        ("A", "DNA", NUCLEOTIDE_CLASSES["A"][1]),
        ("U", "RNA", NUCLEOTIDE_CLASSES["T"][1]),
        ("X", "protein", "#dddddd"),
        ("-", "DNA", None),
    ],
)
def test_residues_are_colored_by_class(residue: str, kind, color: str | None) -> None:
    assert residue_color(residue, kind) == color


def test_letters_are_readable_on_their_colors() -> None:
    for _, color in [*PROTEIN_CLASSES.values(), *NUCLEOTIDE_CLASSES.values()]:
        assert contrast(color, "#111111") >= 4.5
    assert set(residue_classes("protein")) == set("ACDEFGHIKLMNPQRSTVWY")


def test_kinds_consensus_and_conservation() -> None:
    alignment = parse_alignment(">a\nMKV-\n>b\nMRV-\n>c\nMKW-\n>d\nM-WL\n")
    assert alignment.kind == "protein"
    assert alignment.consensus == "MKV-"
    assert alignment.conservation == [1.0, 0.5, 0.5, 0.0]
    assert parse_alignment(FASTA).kind == "DNA"
    assert parse_alignment(">a\nACGUN\n>b\nAC--U\n").kind == "RNA"


@pytest.mark.parametrize(
    ("changed", "share"),
    [(0, "100%"), (1, "over 99%"), (6, "99%"), (500, "50%"), (999, "under 1%")],
)
def test_summary_states_the_share_of_identical_columns(changed: int, share: str) -> None:
    text = f">a\n{'A' * 1000}\n>b\n{'C' * changed}{'A' * (1000 - changed)}\n"
    assert f", {share} identical" in repr(alignment_view(text))


def test_clustal_alignment_is_read() -> None:
    text = "CLUSTAL W (1.83)\n\n\na  MKV-\nb  MRVL 4\n   *:* \n\na  WW 5\nb  W- 5\n   * \n"
    assert alignment_view(text, name="c").sequences == {"a": "MKV-WW", "b": "MRVLW-"}
    for invalid, message in (("\n\n", "has no sequences"), ("\n\nabc\n", "not valid Clustal")):
        with pytest.raises(InputError, match=message):
            alignment_view(f"CLUSTAL W{invalid}", name="c")


def test_text_has_blocks_of_60_columns_and_the_tree() -> None:
    text = str(alignment_view(fasta(3, 130), name="p"))
    blocks = [line.split()[2] for line in text.splitlines() if "sequence_0" in line]
    assert [*map(len, blocks)] == [60, 60, 10]
    assert str(tree_view("((A:1,B:1):1,C:2);", name="t")).splitlines()[2:] == [
        f"┌{'─' * 49} C",
        "│",
        f"│{' ' * 23}┌{'─' * 25} A",
        f"└{'─' * 23}┤",
        f"{' ' * 24}└{'─' * 25} B",
    ]


def test_markup_in_names_is_escaped() -> None:
    name = "<script>alert(1)</script>"
    view = tree_view(f"('{name}':1,B:2);", f">{name}\nAC\n>B\nAC\n", name=name)
    html, text = view._render()
    assert view.tree.leaves == [name, "B"]
    assert "<script" not in html
    assert name in text
    drawing = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]).decode()
    assert "<script" not in drawing
    assert f"{name[:11]}…{name[-12:]}" in "".join(ET.fromstring(drawing).itertext())


@pytest.mark.parametrize(("rows", "columns"), [(300, 3000), (60, 2000), (200, 80), (6, 20_000)])
def test_saved_view_is_below_200_kb(rows: int, columns: int) -> None:
    view = alignment_view(fasta(rows, columns), name="large")
    html = render_html("large", None, view._alignment)
    assert len(html) < 200_000
    assert (f"the first 60 of {rows}" in html) == (rows > 60)
    assert (f"the first 2,000 of {columns:,} columns" in html) == (columns > 2000)


def test_selection_is_in_the_order_of_display() -> None:
    view = tree_view(NEWICK, FASTA, name="t")
    view._receive({"do": "select", "names": ["E", "F", "unknown", 3], "sender": "x"}, [])
    assert view.selection == ["F", "E"]
    assert view.select("B") == ["B"]
    with pytest.raises(InputError, match="has no sequence"):
        view.select(["Q"])
    assert view.selection == ["B"]


def test_alignment_too_large_for_the_live_view_is_static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LIVE_CELLS", 10)
    assert "this view is static" in alignment_view(FASTA, name="a")._render()[0]


def test_large_tree_with_its_alignment_is_read_in_linear_time() -> None:
    def newick(first: int, last: int) -> str:
        if last - first == 1:
            return f"s{first}:1"
        middle = (first + last) // 2
        return f"({newick(first, middle)},{newick(middle, last)}):1"

    rows = "".join(f">s{n}\n{'ACGT' * 10}\n" for n in range(12_000))
    began = time.process_time()
    view = tree_view(newick(0, 12_000) + ";", rows)
    assert time.process_time() - began < 5
    assert len(view.sequences) == 12_000


@pytest.mark.parametrize(
    ("newick", "message"),
    [
        ("hello", "starts with a parenthesis"),
        ("(A:1,B:2)", "ends with a semicolon"),
        ("(A:1,(B:2);", "not valid Newick"),
        ("(A:x,B:2);", '"x" is not a branch length'),
        ("(A:1,A:2);", "two leaves called"),
        ("(A:1,:2);", "leaf without a name"),
        ("(A:nan,B:2);", "is not a branch length"),
        ("(A:1e999,B:2);", "a branch length is infinite"),
        ("", "not Newick"),
    ],
)
def test_invalid_tree_is_refused_in_one_line(newick: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        tree_view(newick, name="t")
    assert "\n" not in str(error.value)
    assert error.value.next_step


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ACGT", "not FASTA"),
        (">a\nACGT\n>b\nACG\n", 'not aligned: "a" has 4 columns, "b" has 3'),
        (">a\nAC\n>a\nAC\n", "occurs twice"),
        (">\nAC\n", "has no name"),
        (">a\nA1\n", "'1', which is not a residue"),
        (">a\n>b\n", "has no sequence"),
    ],
)
def test_invalid_alignment_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        alignment_view(text, name="a")
    assert "\n" not in str(error.value)


def test_tree_and_alignment_of_different_sequences_are_refused() -> None:
    with pytest.raises(InputError, match="The alignment has no"):
        tree_view("(A:1,Z:1);", ">A\nAC\n>B\nAC\n", name="t")
    with pytest.raises(InputError, match="The tree has no"):
        tree_view("(A:1,B:1);", ">A\nAC\n>B\nAC\n>C\nAC\n", name="t")


def test_paths_are_read_and_the_tree_file_names_the_view(tmp_path: Path) -> None:
    tree, aligned = tmp_path / "t.nwk", tmp_path / "t.fasta"
    tree.write_text("(A:1,B:1);")
    aligned.write_text(">B\nAC\n>A\nAG\n")
    assert tree_view(tree, aligned).name == "t.nwk"
    assert alignment_view(aligned).sequences == {"B": "AC", "A": "AG"}
    aligned.write_bytes(gzip.compress(aligned.read_bytes()))
    assert alignment_view(aligned).sequences == {"B": "AC", "A": "AG"}
    aligned.write_bytes(aligned.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"^t\.fasta can't be unpacked by gzip\."):
        alignment_view(aligned)


@pytest.mark.parametrize("columns", [14, 200])
def test_label_above_short_names_is_whole(columns: int) -> None:
    svg = alignment_view(f">a\n{'A' * columns}\n>b\n{'A' * columns}\n").svg
    (x, label), *_ = re.findall(r'<text x="([\d.]+)"[^>]*>(cons\w+)<', svg)
    assert float(x) >= 6.7 * len(label)
