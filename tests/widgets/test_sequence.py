"""The sequence viewer in Python: selection, search, display, and messages for invalid records."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from widget_fakes import Placeholders

import labext_widgets
from labext.errors import InputError
from labext_widgets.core import placeholder
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.sequence import MAX_LIVE_BASES, Selection, sequence_viewer
from labext_widgets.sequence.molecule import parse_molecule

CIRCLE = {
    "id": "seq_1",
    "name": "pTiny",
    "bases": "AAAACCCCAGGTTTTTGAATTCA",
    "isCircular": True,
    "annotations": [
        {"name": "over", "type": "CDS", "start": 20, "end": 3, "strand": -1, "color": "#ff0000"},
        {"name": "cs", "type": "misc", "start": 4, "end": 8, "strand": 1, "color": None},
    ],
    "translations": [{"start": 4, "end": 10, "strand": 1, "aminoAcids": "PR"}],
}
LINE = CIRCLE | {"isCircular": False}


@pytest.fixture
def placeholders(placeholders: Placeholders, set_front_end: Any) -> Placeholders:
    """The placeholders of an interactive notebook."""
    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    return placeholders


def test_viewer_is_a_lazy_export() -> None:
    assert labext_widgets.sequence_viewer is sequence_viewer
    assert labext_widgets.Selection is Selection
    with pytest.raises(AttributeError, match="no attribute 'sequence_viewr'"):
        labext_widgets.sequence_viewr  # noqa: B018


@pytest.mark.parametrize(
    ("start", "end", "strand", "bases"),
    [
        (4, 8, 1, "CCCC"),
        (4, 8, -1, "GGGG"),
        (2, 6, -1, "GGTT"),
        (20, 3, 1, "TCAAAA"),
        (20, 3, -1, "TTTTGA"),
        (22, 0, 1, "A"),
        (0, 23, 1, CIRCLE["bases"]),
        (4, 4, 1, "CCCCAGGTTTTTGAATTCAAAAA"),
    ],
)
def test_selection_on_a_circle(start: int, end: int, strand: int, bases: str) -> None:
    viewer = sequence_viewer(CIRCLE)
    assert viewer.selection is None
    assert viewer.select(start, end, strand) == Selection(start, end, strand, bases)
    assert viewer.selection == Selection(start, end, strand, bases)
    viewer.deselect()
    assert viewer.selection is None


@pytest.mark.parametrize(("start", "end"), [(20, 3), (4, 4), (-1, 3), (3, 24), (0.5, 3), (True, 3)])
def test_invalid_range_on_a_line_is_refused(start: Any, end: Any) -> None:
    viewer = sequence_viewer(LINE)
    with pytest.raises(InputError, match=r"is not a range of pTiny, which has 23 bases"):
        viewer.select(start, end)
    assert viewer.selection is None


def test_invalid_strand_is_refused() -> None:
    with pytest.raises(InputError, match=r"0 is not a strand. Use 1 or -1\."):
        sequence_viewer(CIRCLE).select(0, 3, 0)


@pytest.mark.parametrize("bases", [None, "", "  ", float("nan")])
def test_record_without_bases_names_the_column_to_request(bases: Any) -> None:
    with pytest.raises(InputError, match="pTiny: the record has no bases") as error_info:
        sequence_viewer(CIRCLE | {"bases": bases})
    assert "name `bases` among the columns" in error_info.value.next_step


def test_invalid_record_is_refused() -> None:
    with pytest.raises(InputError, match='"1" is not a letter of a sequence'):
        sequence_viewer(CIRCLE | {"bases": "1 acgt"})
    with pytest.raises(InputError, match="not str"):
        sequence_viewer("ACGT")


def test_viewer_accepts_a_row_of_a_frame() -> None:
    frame = pd.DataFrame([CIRCLE, LINE])
    assert "circular, 2 annotations" in repr(sequence_viewer(frame.iloc[0]))
    assert "23 bp, linear" in repr(sequence_viewer(frame.iloc[1]))


def test_end_0_on_a_line_means_the_sequence_end() -> None:
    mark = {"name": "tail", "start": 2, "end": 0}
    (read,) = parse_molecule({"name": "x", "bases": "ACGTA", "annotations": [mark]}).annotations
    assert (read.start, read.end) == (2, 5)


def test_annotations_outside_the_sequence_are_counted() -> None:
    odd = [
        {"name": "far", "start": 30, "end": 40},
        {"name": "back", "start": 8, "end": 4},
        {"name": "words", "start": "4", "end": 8},
        "nothing",
        {"name": "good", "start": 4, "end": 8, "color": '"/><script>'},
    ]
    viewer = sequence_viewer(LINE | {"annotations": odd, "translations": None})
    assert "1 annotation, 4 marks outside the sequence omitted" in str(viewer)


def test_default_enzymes_are_common_unique_cutters() -> None:
    viewer = sequence_viewer(CIRCLE)
    assert viewer.enzymes == ("EcoRI",)
    (site,) = viewer.sites
    assert (site.start, site.end, site.cut, site.lower_cut) == (16, 22, 17, 21)
    assert "EcoRI" in viewer.unique_cutters()
    viewer.enzymes = "bamhi, EcoRI ecori"
    assert viewer.enzymes == ("BamHI", "EcoRI")
    with pytest.raises(InputError, match=r"\"EcoR1\" .* Did you mean EcoRI\?"):
        viewer.enzymes = ["EcoR1"]
    assert viewer.enzymes == ("BamHI", "EcoRI")


def test_selection_is_synchronized_with_the_browser(placeholders: Placeholders) -> None:
    viewer = sequence_viewer(CIRCLE)
    viewer._ipython_display_()
    viewer._ipython_display_()
    first_placeholder, two = placeholders
    first_placeholder.message(do="select", start=20, end=3, strand=-1, sender="a")
    assert viewer.selection == Selection(20, 3, -1, "TTTTGA")
    expected = {"selection": {"start": 20, "end": 3, "strand": -1, "sender": "a"}}
    assert (first_placeholder.changes, two.changes) == ([expected], [expected]), (
        "the other cell's map follows"
    )
    first_placeholder.message(do="select", start=None, sender="a")
    assert viewer.selection is None
    viewer.select(0, 4)
    assert first_placeholder.changes[-1] == {
        "selection": {"start": 0, "end": 4, "strand": 1, "sender": ""}
    }
    for nonsense in (
        {"do": "select", "start": 99, "end": 3, "strand": 1},
        {"do": "select", "start": "0", "end": 3, "strand": 1},
        {"do": "select", "start": 0, "end": 3, "strand": 7},
        {"do": "else", "start": None},
    ):
        first_placeholder.message(**nonsense)
    assert viewer.selection == Selection(0, 4, 1, "AAAA")
    first_placeholder.close()
    viewer.select(4, 8)
    assert len(first_placeholder.changes) == 3
    assert len(two.changes) == 4
    viewer.close()
    viewer.select(0, 8)
    assert len(two.changes) == 4


def test_live_view_gets_the_complete_state(placeholders: Placeholders) -> None:
    viewer = sequence_viewer(CIRCLE, enzymes="EcoRI")
    viewer.select(4, 8)
    viewer._ipython_display_()
    (placeholder,) = placeholders
    assert placeholder.view == "sequence"
    assert placeholder.state["bases"] == CIRCLE["bases"]
    assert placeholder.state["circular"] is True
    assert [annotation["name"] for annotation in placeholder.state["annotations"]] == ["cs", "over"]
    assert placeholder.state["translations"][0]["start"] == 4
    assert [site["enzyme"] for site in placeholder.state["sites"]] == ["EcoRI"]
    assert {item["enzyme"] for item in placeholder.state["unique"]} == set(viewer.unique_cutters())
    assert placeholder.state["selection"] == {"start": 4, "end": 8, "strand": 1, "sender": ""}
    viewer.enzymes = "SmaI"
    assert placeholder.changes == [{"sites": []}], "it does not cut"
    assert "cut once by EcoRI" in placeholder.saved[0][1]
    assert "cut once by" not in placeholder.saved[-1][1], "the saved picture follows"


def test_very_long_sequence_has_no_live_map(
    placeholders: Placeholders,
) -> None:
    sequence_viewer(
        {"name": "long", "bases": "ACGTT" * (MAX_LIVE_BASES // 5 + 1)}
    )._ipython_display_()
    (placeholder,) = placeholders
    assert placeholder.states == []
    assert "The interactive map supports up to 100,000 bases" in placeholder.saved[0][0]


def test_terminal_prints_the_annotations(
    set_front_end: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    set_front_end(FrontEnd.TERMINAL, placeholder)
    sequence_viewer(CIRCLE)._ipython_display_()
    assert capsys.readouterr().out.splitlines() == [
        "pTiny: 23 bp, circular, 2 annotations; cut once by EcoRI",
        "    5-8 + cs (misc)",
        "   21-3 - over (CDS)",
    ]


def test_executed_notebook_gets_the_picture_alone(set_front_end: Any, record_displays: Any) -> None:
    set_front_end(FrontEnd.EXECUTED, placeholder)
    displayed = record_displays(placeholder)
    sequence_viewer(CIRCLE)._ipython_display_()
    ((html, text),) = displayed
    assert html.count("<img ") == 1
    assert "\n" not in text
