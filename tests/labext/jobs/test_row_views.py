"""Text and HTML views of job frames and of the tool catalogue."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labext.frames import conversion
from labext.frames.views import frame_html, frame_text
from labext.jobs import frames
from labext.jobs.frames import JOBS, SUBMITTED, UNFINISHED
from labext.jobs.records import job_columns, jobs_frame
from labext.jobs.tools import Tool

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


def displayed(*records: dict[str, object]) -> pd.DataFrame:
    return JOBS.show(conversion.records_to_frame(records, job_columns()))


def test_single_row_is_shown_as_fields() -> None:
    assert frame_text(displayed(RELAX)).splitlines() == [
        "JobName    relax1",
        "Type       peptide_relax",
        "JobStatus  Stopped",
        "Reason     Stopped by hand.",
        "Created    2026-11-20 18:31:14 UTC",
        "Settings   sequence: GIGKFLHSAKKFGKAFVGEIMNS, restrain: true",
    ]
    html = frame_html(displayed(RELAX))
    assert "batchStatus" not in html
    assert ">2026-11-20 18:31:14 UTC</div>" in html


def test_reason_is_shown_in_full_and_settings_are_shortened() -> None:
    reason = "Stage 2 (Scoring PDB) failed: p1-stage2: " + "no atoms, " * 60
    long = {**RELAX, "Reason": reason, "Settings": {"pdbFile": "ATOM\n" * 2000}}
    text = " ".join(frame_text(displayed(long)).split())
    assert reason.strip() in text
    assert text.endswith("…")
    assert len(text) < len(reason) + 800


def test_table_shows_important_columns_and_names_the_others() -> None:
    frame = displayed(RELAX, FOLDS)
    lines = frame_text(frame).splitlines()
    assert lines[0].split() == ["JobName", "Type", "JobStatus", "batchStatus", "Reason"]
    assert lines[1].split() == ["0", "relax1", "peptide_relax", "Stopped", "Stopped", "by", "hand."]
    assert lines[2].split() == ["1", "folds", "batch", "Complete", "Complete"]
    assert " ".join(lines[4:]) == (
        "[2 rows x 12 columns; times in UTC; not shown: Created, WeightedHours, Settings]"
    )
    html = frame_html(frame)
    assert html.count("2026-11-20 18:31:14") == 2
    assert "AggregationError" not in html
    assert "NaN" not in html + frame_text(frame)
    assert "NaT" not in html + frame_text(frame)


def test_jobs_of_a_batch_start_with_their_name() -> None:
    frame = conversion.records_to_frame([RELAX, {**RELAX, "JobName": "relax2"}], job_columns())
    frame.insert(1, "Name", ["1", "2"])
    frame["score.energy"] = [-1.5, None]
    frame = JOBS.show(frame)
    assert frame_text(frame).split()[:5] == ["Name", "Type", "JobStatus", "Reason", "score.energy"]
    assert "JobName" in str(frame_html(frame))


def test_wide_terminal_shows_all_columns() -> None:
    with pd.option_context("display.width", 200):
        assert "not shown" not in frame_text(displayed(RELAX, FOLDS))


def test_empty_list_has_a_message() -> None:
    assert frame_text(displayed()) == "There are no jobs."
    assert frame_html(displayed()) == "<p>There are no jobs.</p>"
    assert frame_text(UNFINISHED.show(pd.DataFrame({"Name": []}))).startswith(
        "No unfinished batches "
    )


def test_job_frame_is_a_plain_frame_with_state_first() -> None:
    frame = displayed(RELAX, FOLDS)
    frame.attrs |= {"statuses": {"Complete": 1}}
    assert list(frame.columns)[:6] == [
        "JobName", "Type", "JobStatus", "batchStatus", "AggregationError", "Reason",
    ]  # fmt: skip
    assert list(frame.columns)[-5:] == [
        "Created",
        "Started",
        "Completed",
        "WeightedHours",
        "Settings",
    ]
    assert type(frame) is pd.DataFrame
    assert pickle.loads(pickle.dumps(frame)).attrs == frame.attrs


@pytest.mark.parametrize(
    "derive",
    [
        lambda frame: frame.sort_values("Created", ascending=False),
        lambda frame: frame[frame["JobStatus"] != "Running"],
        lambda frame: frame.query("JobName != 'x'").head(2).copy(),
        lambda frame: frame.assign(note="x"),
    ],
)
def test_derived_frames_keep_the_order_and_the_view(derive: Any) -> None:
    frame = displayed(RELAX, FOLDS)
    derived = derive(frame)
    assert list(derived.columns)[:12] == list(frame.columns)
    text, html = frame_text(derived), str(frame_html(derived))
    assert text.split()[:5] == ["JobName", "Type", "JobStatus", "batchStatus", "Reason"]
    assert "2026-11-20 18:31:14<" in html
    assert "AggregationError" not in html
    assert "NaN" not in html + text


@pytest.mark.parametrize(
    "derive",
    [
        lambda frame: frame.describe(),
        lambda frame: frame.set_index("JobName"),
        lambda frame: frame.groupby("Type", observed=True).first(),
        lambda frame: frame.T,
    ],
)
def test_summaries_are_displayed_by_pandas(derive: Any) -> None:
    derived = derive(displayed(RELAX, FOLDS))
    assert frame_text(derived) == repr(derived)


def test_filtered_frame_without_rows_has_a_message() -> None:
    none = displayed(RELAX, FOLDS).query("JobName == 'x'")
    assert frame_text(none) == "None of the 2 rows matches."


def test_empty_columns_are_hidden() -> None:
    unnamed = [{**row, "JobName": "", "Type": None} for row in (RELAX, FOLDS)]
    frame = displayed(*unnamed)
    for text in (frame_text(frame), str(frame_html(frame))):
        assert "JobName" not in text
        assert "Type" not in text
    assert "12 columns, 6 empty ones not shown" in str(frame_html(frame))


def test_sequences_are_monospaced_and_texts_left_aligned() -> None:
    bases, pairs = "GGGGAAAACCCC", "((((....))))"
    rows_ = [{"JobName": f"a{n}", "bases": bases, "structure": pairs} for n in (1, 2)]
    html = str(frame_html(displayed(*rows_)))
    for sequence in (bases, pairs):
        cells = re.findall(rf'<div style="([^"]*)">{re.escape(sequence)}</div>', html)
        assert len(cells) == 2
        assert all("text-align:left" in cell and "monospace" in cell for cell in cells)
    assert '<div style="text-align:left">bases</div>' in html
    name = re.findall(r'<div style="([^"]*)">a1</div>', html)
    assert "text-align:left" in name[0]
    assert "monospace" not in name[0]
    first = str(frame_html(displayed(rows_[0])))
    assert re.search(rf'monospace[^"]*">{bases}<', first)


def test_pandas_options_apply() -> None:
    settings = '{"pdbFile": "' + "ATOM " * 100 + '"}'
    frame = displayed({**RELAX, "Settings": settings}, FOLDS)
    assert "ATOM " * 20 not in str(frame_html(frame))
    with pd.option_context("display.max_colwidth", None):
        assert "ATOM " * 20 in str(frame_html(frame))
    with pd.option_context("display.notebook_repr_html", False):
        assert frame_html(frame) is None


def test_markup_is_shown_as_text() -> None:
    mark = "<script>alert(1)</script>&"
    bad = {**RELAX, "JobName": mark, "Reason": mark, mark: mark, "Settings": {mark: [mark, {}]}}
    for frame in (
        displayed(bad),
        displayed(bad, bad),
        displayed(bad, bad).set_index(pd.Index([mark, "b"])),
    ):
        html = frame_html(frame)
        assert "<script" not in html
        assert html.count("&lt;script&gt;") >= 5


def test_long_list_is_truncated_like_pandas() -> None:
    many = displayed(*({**RELAX, "JobName": f"job{n}"} for n in range(3000)))
    lines = frame_text(many).splitlines()
    assert [line.split()[1] for line in (lines[1], lines[11])] == ["job0", "job2999"]
    assert set(lines[6].split()[0]) == {"."}
    assert "3,000 rows" in lines[-2] + lines[-1]
    assert str(frame_html(many)).count("<tr") < 20


cells = st.none() | st.text(max_size=60) | st.floats() | st.integers() | st.booleans()
anything = (
    cells | st.lists(cells, max_size=3) | st.dictionaries(st.text(max_size=9), cells, max_size=3)
)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["JobName", "Type", "Reason", "Created", "Score", "x", "y"])
            | st.text(max_size=9),
            anything,
            max_size=5,
        ),
        max_size=3,
    )
)
@settings(max_examples=10)
def test_arbitrary_records_can_be_shown(records: list[dict[str, object]]) -> None:
    frame = displayed(*records)
    frame_html(frame)
    assert max(map(len, frame_text(frame).splitlines())) <= 80 or not all(
        map(str.isascii, _texts(records))
    )


def _texts(records: list[dict[str, object]]) -> list[str]:
    return [str(text) for record in records for pair in record.items() for text in pair]


def test_submitted_job_is_shown_in_one_line() -> None:
    row = {"JobName": "helix1", "Type": "peptide_build", "JobStatus": "In Queue"}
    settings = {"sequence": "ACD" * 40, "conformation": "<b>helix</b>"}
    queued = SUBMITTED.show(jobs_frame([row | {"Settings": settings}]))
    assert frame_text(queued).startswith("helix1 · peptide_build · In Queue · sequence: ACDACD")
    assert "\n" not in frame_text(queued)
    assert len(frame_text(queued)) <= 80
    html = frame_html(queued) or ""
    assert html.count("<div") == 1
    assert "<table" not in html
    assert "&lt;b&gt;helix&lt;/b&gt;" in html
    scored = jobs_frame(
        [row | {"JobStatus": "Complete", "Settings": settings, "Score": {"atoms": 5}}]
    )
    assert frame_text(SUBMITTED.show(scored)) == "helix1 · peptide_build · Complete · atoms: 5"
    stopped = jobs_frame([row | {"JobStatus": "Stopped", "Reason": "Out of time."}])
    assert frame_text(SUBMITTED.show(stopped)) == "helix1 · peptide_build · Stopped · Out of time."
    pipeline = jobs_frame(
        [{"JobName": "p", "Type": "pipeline", "JobStatus": "Running", "Stage": "1 of 2"}]
    )
    assert frame_text(SUBMITTED.show(pipeline)) == "p · pipeline · Running · 1 of 2"
    assert SUBMITTED.show(scored)["JobName"].tolist() == ["helix1"]
    with pd.option_context("display.notebook_repr_html", False):
        assert frame_html(queued) is None


LONG = "Degrees from -180 to 180, one a residue, " * 5 + "and no more <b>."
FOLD = Tool(
    {
        "name": "fold",
        "displayName": "Fold",
        "description": LONG,
        "paper": "https://doi.org/10.1000/1",
        "settings": [
            {"name": "sequence", "required": True, "type": "string", "description": LONG},
            {"name": "mode", "required": False, "default": "a", "options": ["a", "b"]},
        ],
    }
)


def test_parameter_description_is_shown_in_full() -> None:
    frame = frames.parameters_frame(FOLD)
    html = frame_html(frame)
    assert (
        html.count(
            f'max-width:32em;overflow-wrap:anywhere">{LONG.replace("<b>", "&lt;b&gt;")}</div></td>'
        )
        == 1
    )
    assert LONG in " ".join(frame_text(frame).split())
    assert max(map(len, frame_text(frame).splitlines())) <= 88


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("Folds an RNA of E. coli (W. et al.) at 37.5 °C. Energies.", 0),
        ("Folds an RNA (fast). Energies.", 20),
        ("folds an rna", 12),
        ("Folds. It", 6),
    ],
)
def test_list_of_tools_has_the_first_sentence_of_each_description(
    description: str, shown: int
) -> None:
    tools = frames.tools_frame([Tool({"name": "fold", "description": description})])
    sentence = description[:shown] or description[: -len(" Energies.")]
    assert f">{sentence}</" in frame_html(tools)
    assert frame_text(tools).endswith(f"\n    {sentence}")
    assert tools["description"].tolist() == [description]


def test_text_view_has_fields_of_each_parameter() -> None:
    lines = frame_text(frames.parameters_frame(FOLD)).splitlines()
    assert lines[:2] == ["sequence", "    required; type string"]
    assert lines[-2:] == ["mode", "    type enum; default a; options a, b"]
    assert (
        frame_text(frames.tools_frame([FOLD]))
        .splitlines()[1]
        .startswith("    displayName Fold; requ")
    )


def test_tool_frames_are_plain_frames() -> None:
    frame = frames.parameters_frame(FOLD)
    assert type(frame) is pd.DataFrame
    assert frame.columns.tolist()[1:4] == ["required", "type", "default"]
    tools = frames.tools_frame([FOLD])
    assert tools.columns.tolist()[:4] == ["name", "displayName", "required", "description"]
    assert frame.attrs["displayName"] == "Fold"
    part = frame.loc[frame["required"], ["name", "description"]]
    assert part["name"].tolist() == ["sequence"]
    assert frame_text(frames.tools_frame([])) == "No tools match."
    assert frame_text(frame.drop(columns="name")) == repr(frame.drop(columns="name"))


def test_missing_parameter_types_are_inferred() -> None:
    settings: list[dict[str, object]] = [
        {"name": "mode", "required": False, "default": "a", "options": ["a", "b"]},
        {"name": "circular", "required": False, "default": False},
        {"name": "weights", "required": False, "default": [1.0]},
        {"name": "cutoff", "required": False, "default": 0.5},
        {"name": "pdbFile", "required": True},
        {"name": "known", "required": True, "type": "sequence"},
        {"name": "other", "required": True},
    ]
    frame = frames.parameters_frame(Tool({"name": "t", "settings": settings}))
    types = dict(zip(frame["name"], frame["type"], strict=True))
    assert pd.isna(types.pop("other"))
    assert types == {
        "mode": "enum",
        "circular": "boolean",
        "weights": "list",
        "cutoff": "number",
        "pdbFile": "file",
        "known": "sequence",
    }
