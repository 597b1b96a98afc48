"""A pipeline is drawn like a batch whose jobs come stage by stage."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.progress import Outcome, Progress
from labext_widgets.progress import static_view

P1 = Progress(
    "p1",
    "pipeline",
    "Running",
    {"Complete": 2, "Running": 1},
    3,
    elapsed=7.0,
    stage="1 of 2: Structure Prediction",
)


def widths(progress: Progress) -> list[float]:
    return [
        float(each) for each in re.findall(r"flex:0 1 ([\d.]+)%", static_view.render_html(progress))
    ]


def words(progress: Progress) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", static_view.render_html(progress)).split())


def test_the_stage_is_told_in_the_place_of_the_phase() -> None:
    assert static_view.render_text(P1) == (
        "p1: Stage 1 of 2: Structure Prediction, 2 of 3 jobs so far complete, 1 Running "
        "(pipeline, watched 0:07)"
    )
    assert "✓ In Queue ● Stage 1 of 2: Structure Prediction ○ Complete" in words(P1)
    assert "p1 pipeline, 3 jobs so far watched 0:07" in words(P1)
    assert static_view.announcement(P1) == "p1: Stage 1 of 2: Structure Prediction"
    assert "Stage 1 of 2: Structure Prediction, 2 of 3 jobs so far" in static_view.render_html(P1)


def test_the_bar_leaves_room_for_the_stages_to_come() -> None:
    assert widths(P1) == pytest.approx([100 / 3, 50 / 3], abs=0.01)
    assert sum(widths(replace(P1, stage="2 of 2: Scoring PDB"))) == pytest.approx(100, abs=0.01)
    assert sum(widths(replace(P1, stage=""))) == pytest.approx(100, abs=0.01)


def test_after_the_last_stage_the_results_are_collected() -> None:
    last = replace(P1, states={"Complete": 3}, stage="2 of 2: Scoring PDB")
    assert "● Collecting results ○ Complete" in words(last)
    assert "Stage 1 of 2" in words(replace(P1, states={"Complete": 3}))
    assert "Running" in words(replace(last, stage=""))


def test_in_the_queue_no_stage_is_told() -> None:
    waits = replace(P1, phase="In Queue", states={"In Queue": 1}, total=1)
    assert "● In Queue ○ Running ○ Complete" in words(waits)


def test_the_end_is_complete_or_has_its_reason() -> None:
    done = replace(P1, phase="Complete", states={"Complete": 3}, outcome=Outcome.COMPLETE, stage="")
    assert static_view.render_text(done) == "p1: Complete, 3 of 3 complete (pipeline, watched 0:07)"
    assert "p1 pipeline of 3 watched" in words(done)
    assert "✓ In Queue ✓ Running ✓ Complete" in words(done)
    why = "Stage 2 (Scoring PDB) failed: p1-stage2-normal_modes: too small"
    failed = replace(P1, phase="Stopped", outcome=Outcome.STOPPED, reason=why, stage="")
    assert "■ Stopped" in words(failed)
    assert why in words(failed)
    assert static_view.render_text(failed).endswith(f"1 Running: {why} (pipeline, watched 0:07)")


def test_a_service_that_tells_neither_jobs_nor_stage() -> None:
    bare = Progress("p1", "pipeline", "Running")
    assert static_view.render_text(bare) == "p1: Running (pipeline, watched 0:00)"
    assert widths(bare) == [100.0]


@given(st.text(max_size=40) | st.from_regex(r"\d{1,6} of \d{1,6}: [a-z]*", fullmatch=True))
def test_whatever_a_service_calls_a_stage_is_drawn(stage: str) -> None:
    seen = replace(P1, stage=stage)
    assert 0 < static_view.fraction_reached(seen) <= 1
    assert static_view.current_stage(seen)
    assert "<script" not in static_view.render_html(replace(P1, stage=f"{stage}<script>"))
