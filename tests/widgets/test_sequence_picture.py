"""The drawing is well formed and within its bounds, labels do not overlap, texts are escaped."""

from __future__ import annotations

import base64
import itertools
import random
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext_widgets.core.layout import spread
from labext_widgets.sequence.enzymes import COMMON, unique_cutters
from labext_widgets.sequence.maps import readable_color
from labext_widgets.sequence.molecule import Molecule, parse_molecule
from labext_widgets.sequence.viewer import (
    MAX_ANNOTATIONS,
    MAX_CUTS,
    MAX_LABELS,
    render_html,
    render_svg,
    render_text,
)

SVG = "{http://www.w3.org/2000/svg}"


def random_molecule(length: int, annotations: int, circular: bool, name: str = "p") -> Molecule:
    drawn = random.Random(1)
    marks = []
    for number in range(annotations):
        start = drawn.randrange(length)
        size = drawn.choice([1, 20, 400, length // 3])
        end = start + size
        if end > length:
            end = end - length if circular else length
        title = f"annotation {number} with a name that is long" if number % 3 else "bla"
        strand = drawn.choice([1, -1, 0])
        marks.append({"name": title, "start": start, "end": end, "strand": strand})
    record = {"name": name, "isCircular": circular, "annotations": marks}
    return parse_molecule({**record, "bases": "".join(drawn.choices("ACGT", k=length))})


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Return the boxes of the labels: left, top, right, bottom, with 5.6 pixels per letter."""
    labels = []
    for element in ET.fromstring(svg).iter(f"{SVG}text"):
        size = float(element.get("font-size", 11))
        if size != 11:
            continue
        wide = len(element.text or "") * 5.6 * size / 11
        anchor = element.get("text-anchor", "start")
        x = float(element.get("x", 0)) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        y = float(element.get("y", 0))
        labels.append((x, y - 9, x + wide, y + 1))
    return labels


@pytest.mark.parametrize("circular", [True, False])
@pytest.mark.parametrize(
    ("length", "annotations"), [(5, 0), (5, 2), (300, 4), (4900, 13), (9600, 30), (9600, 300)]
)
def test_labels_stay_inside_the_picture_and_do_not_overlap(
    length: int, annotations: int, circular: bool
) -> None:
    on = random_molecule(length, annotations, circular)
    svg = render_svg(on, unique_cutters(on, COMMON))
    root = ET.fromstring(svg)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    placed = boxes(svg)
    for left, top, right, bottom in placed:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
    for i, mark in enumerate(placed):
        for other in placed[:i]:
            apart = mark[0] >= other[2] or other[0] >= mark[2]
            assert apart or mark[1] >= other[3] or other[1] >= mark[3], (mark, other)
    assert len(root.findall(f"{SVG}path")) == min(len(on.annotations), 400)


def test_label_on_a_band_is_inside_it() -> None:
    mark = {"name": "replication origin of a broad host range", "start": 100, "end": 3500}
    record = {"name": "p", "bases": "ACGT" * 1000, "annotations": [{**mark, "strand": 1}]}
    svg = render_svg(parse_molecule(record), ())
    ((left, _, right, _),) = boxes(svg)
    (path,) = re.findall(r'<path d="([^"]+)"', svg)
    xs = [float(x) for x in re.findall(r"[ML]([\d.]+)", path)]
    assert min(xs) <= left < right <= max(xs) - 6  # the head


def test_circle_shows_size_and_truncated_name() -> None:
    name = "a very long name of a plasmid, longer than any circle"
    on = random_molecule(9600, 3, True, name=name)
    words = [element.text or "" for element in ET.fromstring(render_svg(on, ())).iter(f"{SVG}text")]
    assert "9,600 bp" in words
    assert any(messages.startswith("a very") and messages.endswith("…") for messages in words)


def test_picture_shows_only_unique_cutters() -> None:
    on = parse_molecule({"name": "x", "bases": "AAAAGAATTCAAAAGGATCCAAAAGGATCCAAAA"})
    svg = render_svg(on, ("EcoRI", "BamHI"))
    assert "EcoRI" in svg
    assert "BamHI" not in svg
    text = render_text(on, ("EcoRI", "BamHI"))
    assert text == "x: 34 bp, linear, 0 annotations; cut once by EcoRI"


@pytest.mark.parametrize(
    ("count", "note"),
    [
        (MAX_LABELS, None),
        (MAX_LABELS + 1, "Only the longest 40 annotations are labelled."),
        (MAX_ANNOTATIONS + 1, "Only the longest 400 annotations are drawn, and 40 labelled."),
    ],
)
def test_picture_states_that_annotations_have_no_label_or_are_not_drawn(
    count: int, note: str | None
) -> None:
    html = render_html(random_molecule(9600, count, True), ())
    assert ("Only the longest" in html) is (note is not None)
    assert (note or "annotations") in html


@pytest.mark.parametrize(("count", "crowded"), [(4, ""), (5, "1 annotation"), (6, "2 annotations")])
def test_picture_states_that_annotations_are_over_others(count: int, crowded: str) -> None:
    record = {"name": "p", "bases": "ACGT" * 100, "isCircular": True}
    record["annotations"] = [{"name": str(n), "start": n, "end": 300} for n in range(count)]
    note = f"Drawn over others in the innermost ring: {crowded}." if crowded else ""
    html = render_html(parse_molecule(record), ())
    assert re.findall(r"Drawn over[^<]*\.", html) == [note] * bool(crowded)
    assert "Drawn over" not in render_html(parse_molecule({**record, "isCircular": False}), ())


def test_picture_states_that_enzymes_are_not_drawn() -> None:
    on = random_molecule(4000, 0, True)
    cutters = unique_cutters(on)
    assert len(cutters) > MAX_CUTS
    note = f"Only the first 40 of {len(cutters)} enzymes are drawn."
    assert note in render_html(on, cutters)
    assert "enzymes are drawn" not in render_html(on, cutters[:MAX_CUTS])


@pytest.mark.parametrize("circular", [True, False])
def test_record_texts_are_escaped(circular: bool) -> None:
    hostile = '"><script>alert(1)</script>&<b a=\'"'
    mark: dict[str, Any] = dict.fromkeys(("name", "type", "color"), hostile)
    mark |= {"start": 1, "end": 9}
    on = parse_molecule(
        {"name": hostile, "bases": "ACGT" * 20, "isCircular": circular, "annotations": [mark]}
    )
    html = render_html(on, (), note=hostile)
    assert "<script" not in html
    assert "<b " not in html
    (encoded,) = re.findall(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"', html)
    svg = base64.b64decode(encoded).decode()
    assert {element.tag for element in ET.fromstring(svg).iter()} <= {
        f"{SVG}{name}" for name in ("svg", "text", "title", "path", "circle", "polyline")
    }


@given(st.from_regex(r"#([0-9a-f]{3}|[0-9a-f]{6})", fullmatch=True))
def test_colors_contrast_with_white_and_black(color: str) -> None:
    toned = readable_color(color)
    light = [int(toned[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    assert 0.4 <= (max(light) + min(light)) / 2 <= 0.68


@given(st.lists(st.floats(-200, 200), max_size=24).map(sorted), st.just(14.0))
def test_spread_keeps_gap_and_order(positions: list[float], gap: float) -> None:
    placed = spread(positions, gap, -200, 200)
    assert len(placed) == len(positions)
    assert all(b - a >= gap - 1e-6 for a, b in itertools.pairwise(placed))
    assert all(-200 - 1e-6 <= mark <= 200 + 1e-6 for mark in placed)
    if all(b - a >= gap for a, b in itertools.pairwise(positions)):
        assert placed == pytest.approx(positions), "labels without an overlap are not moved"
