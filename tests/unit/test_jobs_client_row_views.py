"""Rows of jobs, as they are shown: in a terminal of 80 columns, and as HTML."""

from __future__ import annotations

import copy
import io
import pickle

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext import frames
from labext.jobs import rows
from labext.jobs.rowviews import JobRows, SubmittedRow, Unfinished

RELAX = {
    "JobName": "relax1",
    "Type": "peptide_relax",
    "JobStatus": "Stopped",
    "Created": "2026-11-20T18:31:14.123+00:00",
    "Settings": '{"sequence": "GIGKFLHSAKKFGKAFVGEIMNS", "restrain": true}',
    "Reason": "Stopped by hand.",
}
FOLDS = {
    "JobName": "folds",
    "Type": "batch",
    "JobStatus": "Complete",
    "batchStatus": "Complete",
    "Created": "2026-11-20T19:31:14+01:00",
    "WeightedHours": 0.5,
    "Settings": "{}",
}


def shown(*records: dict[str, object]) -> JobRows:
    return JobRows(frames.frame(records, rows.columns()))


def test_one_row_is_a_list_of_its_fields() -> None:
    assert repr(shown(RELAX)).splitlines() == [
        "JobName    relax1",
        "Type       peptide_relax",
        "JobStatus  Stopped",
        "Reason     Stopped by hand.",
        "Created    2026-11-20 18:31:14 UTC",
        "Settings   sequence: GIGKFLHSAKKFGKAFVGEIMNS, restrain: true",
    ]
    html = shown(RELAX)._repr_html_()
    assert html is not None
    assert "batchStatus" not in html
    assert ">2026-11-20 18:31:14 UTC</div>" in html


def test_a_reason_is_told_whole_and_long_settings_are_not() -> None:
    reason = "Stage 2 (Scoring PDB) failed: p1-stage2: " + "no atoms, " * 60
    long = {**RELAX, "Reason": reason, "Settings": {"pdbFile": "ATOM\n" * 2000}}
    said = " ".join(repr(shown(long)).split())
    assert reason.strip() in said
    assert said.endswith("…")
    assert len(said) < len(reason) + 800


def test_a_table_has_what_tells_most_and_names_the_rest() -> None:
    frame = shown(RELAX, FOLDS)
    lines = repr(frame).splitlines()
    assert lines[0].split() == ["JobName", "Type", "JobStatus", "batchStatus", "Reason"]
    assert lines[1].split() == ["0", "relax1", "peptide_relax", "Stopped", "Stopped", "by", "hand."]
    assert lines[2].split() == ["1", "folds", "batch", "Complete", "Complete"]
    assert " ".join(lines[4:]) == (
        "[2 rows x 12 columns; times in UTC; not shown: Created, WeightedHours, Settings]"
    )
    html = frame._repr_html_()
    assert html is not None
    assert html.count("2026-11-20 18:31:14") == 2
    assert "AggregationError" not in html
    assert "NaN" not in html + repr(frame)
    assert "NaT" not in html + repr(frame)


def test_the_jobs_of_a_batch_begin_with_their_own_names() -> None:
    frame = shown(RELAX, {**RELAX, "JobName": "relax2"})
    frame.insert(0, "Name", ["1", "2"])
    frame["score.energy"] = [-1.5, None]
    assert repr(frame).split()[:5] == ["Name", "Type", "JobStatus", "Reason", "score.energy"]
    assert "JobName" in str(frame._repr_html_())


def test_a_wide_terminal_shows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with pd.option_context("display.width", 200):
        assert "not shown" not in repr(shown(RELAX, FOLDS))


def test_an_empty_list_says_so() -> None:
    assert repr(shown()) == "There are no jobs."
    assert shown()._repr_html_() == "<p>There are no jobs.</p>"
    assert repr(Unfinished({"Name": []})).startswith("No batch ")


def test_what_is_made_of_it_is_a_plain_frame() -> None:
    frame = shown(RELAX, FOLDS)
    frame.attrs = {"statuses": {"Complete": 1}}
    assert list(frame.columns)[:11] == [name for name, _ in rows.columns()]
    same = pd.DataFrame(frame)
    read = pickle.loads(pickle.dumps(frame))
    made = [frame.copy(), copy.deepcopy(frame), read, frame.iloc[:1], frame[["JobName"]]]
    made += [pd.concat([frame, frame]), frame.assign(a=1), frame.reset_index()]
    made += [frame.loc[frame["JobStatus"] == "Stopped"], frame.sort_values("JobName")]
    assert {type(each) for each in made} == {pd.DataFrame}
    assert read.attrs == frame.attrs
    pd.testing.assert_frame_equal(read, same)
    assert frame.to_csv() == same.to_csv()
    assert len(pd.read_csv(io.StringIO(frame.to_csv()))) == 2
    assert frame.groupby("Type", observed=True).size().to_dict() == {"batch": 1, "peptide_relax": 1}


def test_markup_is_shown_as_text() -> None:
    mark = "<script>alert(1)</script>&"
    bad = {**RELAX, "JobName": mark, "Reason": mark, mark: mark, "Settings": {mark: [mark, {}]}}
    for frame in (shown(bad), shown(bad, bad), shown(bad, bad).set_index(pd.Index([mark, "b"]))):
        html = JobRows(frame)._repr_html_()
        assert html is not None
        assert "<script" not in html
        assert html.count("&lt;script&gt;") >= 5


def test_a_long_list_is_cut_as_pandas_cuts_it() -> None:
    many = shown(*({**RELAX, "JobName": f"job{n}"} for n in range(3000)))
    lines = repr(many).splitlines()
    assert [line.split()[1] for line in (lines[1], lines[11])] == ["job0", "job2999"]
    assert set(lines[6].split()[0]) == {"."}
    assert "3,000 rows" in lines[-2] + lines[-1]
    assert str(many._repr_html_()).count("<tr") < 20


cells = st.none() | st.text(max_size=60) | st.floats() | st.integers() | st.booleans()
anything = cells | st.lists(cells, max_size=3) | st.dictionaries(st.text(max_size=9), cells)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["JobName", "Type", "Reason", "Created", "Score", "x", "y"])
            | st.text(),
            anything,
        ),
        max_size=4,
    )
)
def test_whatever_a_service_says_can_be_shown(records: list[dict[str, object]]) -> None:
    frame = shown(*records)
    frame._repr_html_()
    assert max(map(len, repr(frame).splitlines())) <= 80 or not all(
        map(str.isascii, _texts(records))
    )


def _texts(records: list[dict[str, object]]) -> list[str]:
    return [str(each) for record in records for pair in record.items() for each in pair]


def test_a_submitted_row_is_shown_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"JobName": "helix1", "Type": "peptide_build", "JobStatus": "In Queue"}
    settings = {"sequence": "ACD" * 40, "conformation": "<b>helix</b>"}
    queued = SubmittedRow(rows.table([row | {"Settings": settings}]))
    assert repr(queued).startswith("helix1 · peptide_build · In Queue · sequence: ACDACD")
    assert "\n" not in repr(queued)
    assert len(repr(queued)) <= 80
    html = queued._repr_html_() or ""
    assert html.count("<div") == 1
    assert "<table" not in html
    assert "&lt;b&gt;helix&lt;/b&gt;" in html
    scored = rows.table(
        [row | {"JobStatus": "Complete", "Settings": settings, "Score": {"atoms": 5}}]
    )
    assert repr(SubmittedRow(scored)) == "helix1 · peptide_build · Complete · atoms: 5"
    stopped = rows.table([row | {"JobStatus": "Stopped", "Reason": "Out of time."}])
    assert repr(SubmittedRow(stopped)) == "helix1 · peptide_build · Stopped · Out of time."
    pipeline = rows.table(
        [{"JobName": "p", "Type": "pipeline", "JobStatus": "Running", "Stage": "1 of 2"}]
    )
    assert repr(SubmittedRow(pipeline)) == "p · pipeline · Running · 1 of 2"
    assert SubmittedRow(scored)["JobName"].tolist() == ["helix1"]
    assert type(SubmittedRow(scored).copy()) is pd.DataFrame
    with pd.option_context("display.notebook_repr_html", False):
        assert queued._repr_html_() is None


def test_control_characters_in_a_submitted_row_are_removed() -> None:
    row = {"JobName": "a\x1b[31m", "Type": "digest", "JobStatus": "Stopped", "Reason": "x\u202ey"}
    shown = SubmittedRow(rows.table([row]))
    for text in (repr(shown), shown._repr_html_() or ""):
        assert "\x1b" not in text
        assert "\u202e" not in text
