"""Positions in drawings of digests, RNA structures, primers and domains."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from math import hypot
from xml.etree import ElementTree

import pytest
from widget_fakes import contrast

from labext.errors import InputError
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.drawings import canvas, digest_view, domains_view, primers_view, rna_view
from labext_widgets.drawings.canvas import Drawing
from labext_widgets.drawings.digest import migration
from labext_widgets.drawings.restriction_map import Cut, draw_circle
from labext_widgets.drawings.rna_layout import PAIR, lay_out, overlaps

HOSTILE = '<script>alert("x")</script>&\x1b[31m'
TRNA = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
CLOVERLEAF = "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))...."
HITS = (
    "target,length,evalue,score,bias,domain,domains,domain_evalue,domain_score,domain_bias,"
    "profile_start,profile_end,start,end,envelope_start,envelope_end,strand,member"
)


def elements(drawn: Drawing, kind: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(drawn.svg)
    return [element for element in root.iter() if element.get("class") == kind]


def texts(drawn: Drawing, kind: str) -> list[str]:
    return [element.text or "" for element in elements(drawn, kind)]


def corners(element: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (point.split(",") for point in (element.get("points") or "").split())
    return [(float(x), float(y)) for x, y in pairs]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name) or "nan")


def table(header: str, rows: Iterable[Sequence[object]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header.split(","))
    writer.writerows(rows)
    return written.getvalue()


def fragments(ends: Sequence[int], enzyme: str = "EcoRI", *, circular: bool = False) -> str:
    """The table of a digest that cuts before the bases behind `ends`, except the last."""
    header = "fragment,start,end,length,left_enzyme,left_end,left_overhang,"
    header += "right_enzyme,right_end,right_overhang"
    rows: list[list[object]] = []
    start = 1
    for index, end in enumerate(ends):
        left = enzyme if index or circular else ""
        right = enzyme if index + 1 < len(ends) or circular else ""
        rows.append([index + 1, start, end, end - start + 1, left, "5'", "", right, "5'", ""])
        start = end + 1
    return table(header, rows)


def digest_of(ends: Sequence[int], *, circular: bool = False) -> Drawing:
    content = fragments(ends, circular=circular)
    return digest_view(content, name="cut1", length=None, circular=circular)


def label_rows(drawn: Drawing, kind: str) -> dict[str, list[float]]:
    """The heights of labels by the side on which they are."""
    sides: dict[str, list[float]] = {}
    for element in elements(drawn, kind):
        side = element.get("text-anchor") or "start"
        sides.setdefault(side, []).append(number(element, "y"))
    return sides


def test_bands_are_ordered_by_size_with_equal_sizes_marked() -> None:
    drawn = digest_of([1000, 2000, 3000, 3300, 5500, 5520])
    assert texts(drawn, "band-label") == ["2,200", "1,000 ×3", "300"]
    heights = [number(band, "y") for band in elements(drawn, "band")]
    assert heights == sorted(heights)
    assert "Run off the gel, &lt; 70 bp:" in drawn.svg
    thickness = [number(band, "height") for band in elements(drawn, "band")]
    assert thickness[1] > thickness[0]


def test_migration_falls_with_the_logarithm_of_the_size() -> None:
    distances = [migration(size, "1 kb") for size in (8000, 4000, 2000, 1000, 500)]
    steps = [b - a for a, b in itertools.pairwise(distances)]
    assert steps == pytest.approx([steps[0]] * 4)
    assert steps[0] > 0.1
    assert migration(50_000, "1 kb") == 0.0
    assert migration(5, "1 kb") == 1.0


@pytest.mark.parametrize("circular", [True, False])
def test_cuts_are_drawn_in_proportion(circular: bool) -> None:
    ends = [1000, 2000, 4000]
    drawn = digest_of(ends, circular=circular)
    middles = [
        ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        for a, b in (corners(cut) for cut in elements(drawn, "cut"))
    ]
    labels = texts(drawn, "cut-label")
    if circular:  # cuts at the top, at the right and at the bottom
        (top, right, bottom), x = middles, middles[0][0]
        assert sorted(labels) == ["EcoRI 1", "EcoRI 1,001", "EcoRI 2,001"]
        assert right[0] - x == pytest.approx((bottom[1] - top[1]) / 2, abs=1)
        assert bottom[0] == pytest.approx(x, abs=0.5)
    else:
        assert sorted(labels) == ["EcoRI 1,001", "EcoRI 2,001"]
        first, second = middles
        assert (second[0] - 30) / (first[0] - 30) == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize("circular", [True, False])
def test_labels_of_close_cuts_do_not_overlap(circular: bool) -> None:
    ends = [*range(100, 130, 3), *range(1500, 3000, 300), 5000]
    drawn = digest_of(ends, circular=circular)
    rows = label_rows(drawn, "cut-label")
    assert sum(map(len, rows.values())) == len(ends) - (not circular)
    kinds = [rows] if circular else []
    for sides in [*kinds, label_rows(drawn, "band-label"), label_rows(drawn, "ladder-label")]:
        for heights in sides.values():
            ordered = sorted(heights)
            assert all(b - a >= 11 for a, b in itertools.pairwise(ordered))
    if not circular:
        boxes = [
            (number(label, "x"), canvas.text_width(label.text or ""), number(label, "y"))
            for label in elements(drawn, "cut-label")
        ]
        for x, width, y in boxes:
            assert not any(x < other < x + width and y == same for other, _, same in boxes)


def test_frequent_cutters_are_colored_instead_of_labelled() -> None:
    drawn = digest_of([*range(50, 5000, 50), 5000], circular=True)
    assert texts(drawn, "cut-label") == []
    assert len(elements(drawn, "cut")) == 100
    assert "EcoRI: 100 cuts" in drawn.svg
    cuts = [Cut(position, f"E{position % 7}") for position in range(1, 351)]
    _, _, legend = draw_circle(400, cuts)
    assert ">1 other: 50 cuts<" in "".join(legend)


def test_picture_of_thousands_of_cuts_is_bounded() -> None:
    drawn = digest_of([*range(12, 60_000, 12), 60_000], circular=True)
    assert 500 < len(elements(drawn, "cut")) <= 1001
    assert len(drawn.svg) < 200_000


def test_uncut_circle_is_drawn_as_such() -> None:
    drawn = digest_view(fragments([400]), name="cut1", length=400, circular=True)
    assert "circular" in drawn.summary
    assert "0 cuts" in drawn.summary
    assert elements(drawn, "cut") == []


def test_each_base_pair_is_a_line_of_the_same_length() -> None:
    content = f">mfe -22.40 kcal/mol\n{TRNA}\n{CLOVERLEAF}\n>centroid\n{TRNA}\n{'.' * 76}\n"
    drawn = rna_view(content, None, None, name="trna")
    lines = [corners(element) for element in elements(drawn, "pair")]
    assert len(lines) == CLOVERLEAF.count("(") == 21
    lengths = [hypot(x2 - x1, y2 - y1) for (x1, y1), (x2, y2) in lines]
    assert lengths == pytest.approx([lengths[0]] * 21, abs=0.2)
    root = ElementTree.fromstring(drawn.svg)
    written = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "".join(letter or "" for letter in written).startswith(TRNA)
    assert {"5′", "3′", "MFE −22.40 kcal/mol"} <= {*written}
    assert CLOVERLEAF[:60] in str(drawn)


def test_numbers_of_bases_are_clear_of_the_bases() -> None:
    drawn = rna_view(f"{TRNA}\n{CLOVERLEAF}\n", None, None, name="trna")
    root = ElementTree.fromstring(drawn.svg)
    circles = [e for e in root.iter() if e.tag.endswith("circle")][: len(TRNA)]
    labels = [e for e in root.iter() if e.tag.endswith("text") and (e.text or "").isdigit()]
    assert [label.text for label in labels] == ["10", "20", "30", "40", "50", "60", "70"]
    for label in labels:
        half = canvas.text_width("10", canvas.SMALL) / 2
        shift = {"start": half, "end": -half}.get(label.get("text-anchor") or "start", 0.0)
        x, y = number(label, "x") + shift, number(label, "y") - 0.35 * canvas.SMALL
        distances = (hypot(x - number(c, "cx"), y - number(c, "cy")) for c in circles)
        assert min(distances) > 15


def test_pairs_are_colored_by_probability() -> None:
    pairs = "i,j,probability,in_mfe,in_centroid\n1,12,1.0,1,1\n2,11,0.5,1,1\n"
    drawn = rna_view("GGGGAAAACCCC\n((((....))))\n", pairs, None, name="hp")
    fills = re.findall(r'<circle[^>]* r="8.0" fill="(#\w+)"', drawn.svg)
    assert fills[0] == fills[11] == canvas.shade(1)
    assert fills[1] == canvas.shade(0.5)
    assert fills[2] == canvas.shade(0)
    assert fills[5] == "#ffffff"
    assert "Pair probability" in drawn.svg


@pytest.mark.parametrize("brackets", [CLOVERLEAF, "." * 76])
def test_thumbnail_has_a_dot_for_each_base_inside_the_picture(brackets: str) -> None:
    pairs = "i,j,probability\n1,72,1.0\n2,71,0.5\n"
    svg = rna_view(f"{TRNA}\n{brackets}\n", pairs, None, name="trna").thumbnail(300, 190)
    root = ElementTree.fromstring(svg)
    _, _, width, height = (float(value) for value in (root.get("viewBox") or "").split())
    dots: dict[str, list[tuple[int, int]]] = {}
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        x = y = 0
        for dx, dy in re.findall(r"m(-?\d+) ?(-?\d+)h0", path.get("d") or ""):
            x, y = x + int(dx), y + int(dy)
            dots.setdefault(path.get("stroke") or "", []).append((x, y))
    places = [place for found in dots.values() for place in found]
    assert len({*places}) == 76
    assert all(0 < x < width and 0 < y < 0.9 * height for x, y in places)
    if "(" in brackets:
        assert len(dots[canvas.shade(1)]) == len(dots[canvas.shade(0.5)]) == 2
        assert len(dots[canvas.shade(0)]) == 2 * (21 - 2)


@pytest.mark.parametrize(
    "brackets",
    [CLOVERLEAF, "((((..((...))..((...))..((...))..))))", "((((.....((((...))))..))))", "...."],
)
def test_bases_of_a_layout_are_apart_and_neighbours_close(brackets: str) -> None:
    opened: list[int] = []
    partners: list[int | None] = [None] * len(brackets)
    for index, symbol in enumerate(brackets):
        if symbol == "(":
            opened.append(index)
        elif symbol == ")":
            partner = opened.pop()
            partners[index], partners[partner] = partner, index
    points = lay_out(partners)
    assert not overlaps(points)
    for index, other in enumerate(partners):
        if other is not None:
            assert hypot(
                points[index][0] - points[other][0], points[index][1] - points[other][1]
            ) == pytest.approx(PAIR, abs=0.01)
    inside = range(1, len(points))
    steps = [hypot(*(a - b for a, b in zip(points[i], points[i - 1], strict=True))) for i in inside]
    assert max(steps) < 4


@pytest.mark.parametrize("brackets", [".", "()", "(.)", "((..[[..))..]]"])
def test_unusual_structures_are_drawn(brackets: str) -> None:
    drawn = rna_view(f"{'A' * len(brackets)}\n{brackets}\n", None, None, name="x")
    pairs = brackets.count("(") + brackets.count("[")
    assert len(elements(drawn, "pair")) == pairs
    assert "5′" in drawn.svg


def test_long_rna_is_shown_by_the_drawing_of_its_tool() -> None:
    content = f"{'A' * 700}\n{'.' * 700}\n"
    assert rna_view(content, None, "<svg>tool</svg>", name="long").svg == "<svg>tool</svg>"
    with pytest.raises(InputError, match="700 bases; up to 600 are drawn"):
        rna_view(content, None, None, name="long")


def primer_table(*ranges: tuple[int, int, int, int]) -> str:
    header = (
        "pair,penalty,product_start,product_end,product_size,dimer_tm,forward,forward_start,"
        "forward_end,forward_tm,forward_gc,forward_hairpin_tm,forward_self_dimer_tm,"
        "forward_penalty,reverse,reverse_start,reverse_end,reverse_tm,reverse_gc,"
        "reverse_hairpin_tm,reverse_self_dimer_tm,reverse_penalty"
    )
    rows = [
        [
            *(index, 0.1, first, last, last - first + 1, 0),
            *("ACGTACGTAC", first, left, 60.04, 50.0, 0, 0, 0),
            *("TTGCACGTAC", right, last, 59.5, 55.0, 0, 0, 0),
        ]
        for index, (first, left, right, last) in enumerate(ranges, 1)
    ]
    return table(header, rows)


def test_primer_arrows_are_in_proportion_and_point_at_each_other() -> None:
    drawn = primers_view(primer_table((101, 120, 881, 900)), "ACGT " * 250, name="pcr")
    assert drawn.window == (1, 1000)
    (forward,), (reverse,) = (
        [corners(arrow) for arrow in elements(drawn, side)] for side in ("forward", "reverse")
    )
    scale = 320 / 1000  # the width of the map
    assert forward[3][0] - reverse[3][0] == pytest.approx((120 - 880) * scale, abs=0.2)
    assert forward[3][0] - forward[0][0] == pytest.approx(20 * scale, abs=0.2)  # tip and tail
    assert reverse[0][0] - reverse[3][0] == pytest.approx(20 * scale, abs=0.2)
    assert texts(drawn, "product-size") == ["800 bp"]
    assert {">60.0<", ">59.5<", ">50<", ">55<"} <= {*re.findall(r">[\d.]+<", drawn.svg)}
    assert drawn.svg.count("ACGTACGTAC") == 1


def test_small_products_are_enlarged_below_their_place_on_the_template() -> None:
    drawn = primers_view(
        primer_table((5000, 5020, 5080, 5100)), f">template\n{'A' * 10_000}\n", name="pcr"
    )
    low, high = drawn.window
    assert 4900 < low < 5000 < 5100 < high < 5200
    assert "10,000 bp" in drawn.svg
    (arrow,) = elements(drawn, "forward")
    assert corners(arrow)[3][0] - corners(arrow)[0][0] > 40


def test_no_primers_are_no_error() -> None:
    drawn = primers_view(primer_table(), "ACGT", name="pcr")
    assert "No primer pairs." in drawn.svg


def hits(count: int, **changes: object) -> str:
    values: dict[str, object] = dict.fromkeys(HITS.split(","), 0)
    values |= {"length": 400, "domain_evalue": 1e-30, "profile_start": 1, "profile_end": 90}
    values |= {"start": 101, "end": 200, "strand": "", "member": "yes"}
    rows = [
        [*{**values, "target": f"seq{n}", "evalue": f"1e-{90 - n}", **changes}.values()]
        for n in range(count)
    ]
    return table(HITS, rows)


def test_long_names_of_sequences_that_differ_at_their_ends_are_told_apart() -> None:
    content = hits(2).replace("seq", "sequence_of_a_protein_with_a_very_long_name_")
    drawn = domains_view(content, name="search")
    assert [name[-1] for name in texts(drawn, "target")] == ["0", "1"]
    assert [line.split()[0][-1] for line in str(drawn).splitlines()[-2:]] == ["0", "1"]


def test_domain_boxes_are_in_proportion_and_labelled() -> None:
    content = hits(1) + hits(1, start=301, end=350, domain_evalue=2.0, member="no").split("\n")[1]
    drawn = domains_view(content, name="search")
    boxes = {element.get("fill"): corners(element) for element in elements(drawn, "domain")}
    (strong, weak) = boxes[canvas.SHADES[4]], boxes["#ffffff"]
    assert strong[1][0] - strong[0][0] == pytest.approx(100 * 560 / 400, abs=0.2)
    assert weak[1][0] - weak[0][0] == pytest.approx(50 * 560 / 400, abs=0.2)
    assert weak[0][0] - strong[0][0] == pytest.approx(200 * 560 / 400, abs=0.2)
    assert ">1e-30<" in drawn.svg
    assert "not a member of the family" in drawn.svg
    assert texts(drawn, "target") == ["seq0"]


def test_e_value_of_zero_is_written_as_zero() -> None:
    assert ">0<" in domains_view(hits(1, domain_evalue="0", start=1, end=390), name="x").svg


def test_best_forty_sequences_are_drawn() -> None:
    drawn = domains_view(hits(45), name="search")
    assert texts(drawn, "target") == [f"seq{n}" for n in range(40)]
    assert "Showing the best 40 of 45 sequences." in drawn.svg
    assert "Showing the best 40 of 45 sequences." in str(drawn)
    assert len(drawn.hits) == 45
    assert "No hits." in domains_view(hits(0), name="search").svg


def test_hits_on_the_other_strand_point_to_the_left() -> None:
    drawn = domains_view(hits(1, start=200, end=101, strand="-"), name="search")
    (box,) = map(corners, elements(drawn, "domain"))
    tip = min(box)
    assert sum(x == tip[0] for x, _ in box) == 1
    assert (drawn.hits[0].domains[0].start, drawn.hits[0].domains[0].end) == (101, 200)


def drawings(name: str) -> list[Drawing]:
    primer = primer_table((1, 20, 81, 100)).replace(
        "ACGTACGTAC", f'"{HOSTILE.replace(chr(34), "")}"'
    )
    return [
        digest_view(
            fragments([100, 300], HOSTILE.replace("\x1b", "")),
            name=name,
            length=300,
            circular=False,
        ),
        rna_view("GGGGAAAACCCC\n((((....)))) (-5.40)\n", None, None, name=name),
        primers_view(primer, "A" * 120, name=name),
        domains_view(hits(1, target=name), name=name),
    ]


@pytest.mark.parametrize("index", range(4))
def test_untrusted_text_is_escaped(index: int) -> None:
    drawn = drawings(HOSTILE)[index]
    for content in (drawn.svg, drawn.html()):
        assert "<script" not in content
        assert "\x1b" not in content
    assert "\x1b" not in str(drawn) + repr(drawn)
    ElementTree.fromstring(drawn.svg)
    assert "\n" not in repr(drawn)


def test_display_is_an_image_in_notebooks_and_a_table_in_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs: list[tuple[str, str]] = []
    monkeypatch.setattr(canvas, "display_html", lambda html, text: outputs.append((html, text)))
    drawn = digest_of([100, 300])
    monkeypatch.setattr(canvas, "front_end", lambda: FrontEnd.EXECUTED)
    drawn._ipython_display_()
    ((html, text),) = outputs
    images = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)"', html)
    assert [base64.b64decode(source).decode() for source, _ in images] == [*drawn.parts.values()]
    assert [alt.rpartition("; ")[2] for _, alt in images] == ["restriction map", "gel"]
    assert images[0][1].startswith("cut1: restriction digest of 300 bp of linear DNA, 1 cut, 2 fr")
    assert "<svg" not in html
    assert text == str(drawn)
    monkeypatch.setattr(canvas, "front_end", lambda: FrontEnd.TERMINAL)
    drawn._ipython_display_()
    assert capsys.readouterr().out.splitlines()[1:] == [
        " bp  start  end  cut by",
        "200    101  300  EcoRI – end",
        "100      1  100  end – EcoRI",
    ]


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (lambda: digest_view("a,b\n", name="x", length=1, circular=False), "no column start"),
        (lambda: digest_view(fragments([9]), name="x", length=8, circular=False), "9 bp, not 8"),
        (lambda: digest_view(fragments([]), name="x", length=8, circular=False), "no fragments"),
        (lambda: digest_view('a,"b\n', name="x", length=8, circular=False), "table"),
        (lambda: rna_view("ACGU\n(((.\n", None, None, name="x"), "opens at 1 is not closed"),
        (lambda: rna_view("ACGU\n..))\n", None, None, name="x"), "at 3 closes no pair"),
        (lambda: rna_view("ACGU\n...\n", None, None, name="x"), "4 bases have 3 symbols"),
        (lambda: rna_view(">only\n", None, None, name="x"), "no structure"),
        (lambda: rna_view("A\n.\n", "i,j,probability\n1,2,0.5\n", None, name="x"), "1, 2"),
        (lambda: primers_view(primer_table((1, 2, 8, 9)), "ACGT", name="x"), "ends at 9"),
        (lambda: domains_view(hits(1, start="x"), name="x"), 'start "x" is not a whole number'),
        (lambda: domains_view(hits(1, evalue="nan"), name="x"), '"nan" is not a number'),
        (lambda: domains_view(hits(1, end=500), name="x"), "behind the end"),
    ],
)
def test_invalid_files_are_refused_in_one_line(draw: Callable[[], Drawing], reason: str) -> None:
    with pytest.raises(InputError) as raised:
        draw()
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


def test_letters_have_contrast_on_every_shade() -> None:
    for step in range(101):
        shade = canvas.shade(step / 100)
        assert contrast(shade, canvas.ink_on(shade)) >= 4.5


def test_rna_of_one_base_has_one_base() -> None:
    view = rna_view(">x\nG\n. (0.00)\n", None, None, name="x")
    assert "of 1 base, 0 base pairs" in str(view)
