"""The viewer in Python: what is selected, searched and shown, and what a wrong record is told."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import labext_widgets
from labext.errors import InputError
from labext_widgets.core import placeholder
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.sequence import MAX_LIVE_BASES, Selection, sequence_viewer
from labext_widgets.sequence import viewer as module
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


class Shown:
    """A placeholder that remembers."""

    def __init__(self, html: str, text: str, on_close: Any = None) -> None:
        self.saved = [(html, text)]
        self.told: list[dict[str, Any]] = []
        self.state: dict[str, Any] | None = None
        self._on_close = on_close

    def live(self, view: str, state: dict[str, Any], on_message: Any = None) -> bool:
        assert view == "sequence"
        self.state, self.say = state, lambda **content: on_message(content, [])
        return True

    def update(self, html: str, text: str) -> None:
        self.saved.append((html, text))

    def update_state(self, change: dict[str, Any]) -> None:
        self.told.append(change)

    def close(self) -> None:
        self._on_close()


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[Shown]:
    """What cells of a notebook that somebody looks at show."""
    made: list[Shown] = []

    def make(*given: Any, **named: Any) -> Shown:
        made.append(Shown(*given, **named))
        return made[-1]

    monkeypatch.setattr(module, "front_end", lambda: FrontEnd.INTERACTIVE)
    monkeypatch.setattr(placeholder, "Placeholder", make)
    return made


def test_the_package_has_it_and_imports_it_late() -> None:
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
def test_a_range_of_a_circle_and_its_bases(start: int, end: int, strand: int, bases: str) -> None:
    viewer = sequence_viewer(CIRCLE)
    assert viewer.selection is None
    assert viewer.select(start, end, strand) == Selection(start, end, strand, bases)
    assert viewer.selection == Selection(start, end, strand, bases)
    viewer.deselect()
    assert viewer.selection is None


@pytest.mark.parametrize(("start", "end"), [(20, 3), (4, 4), (-1, 3), (3, 24), (0.5, 3), (True, 3)])
def test_a_range_that_is_none_on_a_line(start: Any, end: Any) -> None:
    viewer = sequence_viewer(LINE)
    with pytest.raises(InputError, match=r"is not a range of pTiny, which has 23 bases"):
        viewer.select(start, end)
    assert viewer.selection is None


def test_a_strand_is_one_of_two() -> None:
    with pytest.raises(InputError, match=r"0 is not a strand. Use 1 or -1\."):
        sequence_viewer(CIRCLE).select(0, 3, 0)


@pytest.mark.parametrize("bases", [None, "", "  ", float("nan")])
def test_a_row_without_bases_says_where_they_are(bases: Any) -> None:
    with pytest.raises(InputError, match="pTiny: the record has no bases") as told:
        sequence_viewer(CIRCLE | {"bases": bases})
    assert "name `bases` among the columns" in told.value.next_step


def test_what_is_no_sequence_or_no_record() -> None:
    with pytest.raises(InputError, match='"1" is not a letter of a sequence'):
        sequence_viewer(CIRCLE | {"bases": "1 acgt"})
    with pytest.raises(InputError, match="not str"):
        sequence_viewer("ACGT")


def test_a_row_of_a_frame_will_do() -> None:
    frame = pd.DataFrame([CIRCLE, LINE])
    assert "circular, 2 annotations" in repr(sequence_viewer(frame.iloc[0]))
    assert "23 bp, linear" in repr(sequence_viewer(frame.iloc[1]))


def test_an_end_of_0_on_a_line_is_the_end_of_the_sequence() -> None:
    mark = {"name": "tail", "start": 2, "end": 0}
    (read,) = parse_molecule({"name": "x", "bases": "ACGTA", "annotations": [mark]}).annotations
    assert (read.start, read.end) == (2, 5)


def test_marks_that_lie_outside_are_left_out_and_counted() -> None:
    odd = [
        {"name": "far", "start": 30, "end": 40},
        {"name": "back", "start": 8, "end": 4},
        {"name": "words", "start": "4", "end": 8},
        "nothing",
        {"name": "good", "start": 4, "end": 8, "color": '"/><script>'},
    ]
    viewer = sequence_viewer(LINE | {"annotations": odd, "translations": None})
    assert "1 annotation, 4 marks outside the sequence omitted" in str(viewer)


def test_the_enzymes_are_the_common_ones_that_cut_once_unless_they_are_named() -> None:
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


def test_what_is_selected_in_the_page_is_in_python(cells: list[Shown]) -> None:
    viewer = sequence_viewer(CIRCLE)
    viewer._ipython_display_()
    viewer._ipython_display_()
    one, two = cells
    one.say(do="select", start=20, end=3, strand=-1, sender="a")
    assert viewer.selection == Selection(20, 3, -1, "TTTTGA")
    expected = {"selection": {"start": 20, "end": 3, "strand": -1, "sender": "a"}}
    assert (one.told, two.told) == ([expected], [expected]), "the other cell's map follows"
    one.say(do="select", start=None, sender="a")
    assert viewer.selection is None
    viewer.select(0, 4)
    assert one.told[-1] == {"selection": {"start": 0, "end": 4, "strand": 1, "sender": ""}}
    for nonsense in (
        {"do": "select", "start": 99, "end": 3, "strand": 1},
        {"do": "select", "start": "0", "end": 3, "strand": 1},
        {"do": "select", "start": 0, "end": 3, "strand": 7},
        {"do": "else", "start": None},
    ):
        one.say(**nonsense)
    assert viewer.selection == Selection(0, 4, 1, "AAAA")
    one.close()
    viewer.select(4, 8)
    assert len(one.told) == 3
    assert len(two.told) == 4
    viewer.close()
    viewer.select(0, 8)
    assert len(two.told) == 4


def test_a_page_is_told_all_that_it_draws(cells: list[Shown]) -> None:
    viewer = sequence_viewer(CIRCLE, enzymes="EcoRI")
    viewer.select(4, 8)
    viewer._ipython_display_()
    (shown,) = cells
    assert shown.state is not None
    assert shown.state["bases"] == CIRCLE["bases"]
    assert shown.state["circular"] is True
    assert [each["name"] for each in shown.state["annotations"]] == ["cs", "over"]
    assert shown.state["translations"][0]["start"] == 4
    assert [each["enzyme"] for each in shown.state["sites"]] == ["EcoRI"]
    assert {each["enzyme"] for each in shown.state["unique"]} == set(viewer.unique_cutters())
    assert shown.state["selection"] == {"start": 4, "end": 8, "strand": 1, "sender": ""}
    viewer.enzymes = "SmaI"
    assert shown.told == [{"sites": []}], "it does not cut"
    assert "cut once by EcoRI" in shown.saved[0][1]
    assert "cut once by" not in shown.saved[-1][1], "the saved picture follows"


def test_what_is_very_long_has_a_picture_and_no_live_map(cells: list[Shown]) -> None:
    sequence_viewer(
        {"name": "long", "bases": "ACGTT" * (MAX_LIVE_BASES // 5 + 1)}
    )._ipython_display_()
    (shown,) = cells
    assert shown.state is None
    assert "The interactive map supports up to 100,000 bases" in shown.saved[0][0]


def test_a_terminal_has_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "front_end", lambda: FrontEnd.TERMINAL)
    sequence_viewer(CIRCLE)._ipython_display_()
    assert capsys.readouterr().out.splitlines() == [
        "pTiny: 23 bp, circular, 2 annotations; cut once by EcoRI",
        "    5-8 + cs (misc)",
        "   21-3 - over (CDS)",
    ]


def test_a_program_that_executes_it_gets_the_picture_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(module, "front_end", lambda: FrontEnd.EXECUTED)
    monkeypatch.setattr(module, "display_html", lambda html, text: shown.append((html, text)))
    sequence_viewer(CIRCLE)._ipython_display_()
    ((html, text),) = shown
    assert html.count("<img ") == 1
    assert "\n" not in text
