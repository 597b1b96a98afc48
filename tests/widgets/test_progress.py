"""The static view of a progress, and its live view."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from widget_fakes import FakeClock, FakePlaceholder, ParsedHtml, Placeholders, words

import labext_widgets
from labext.progress import Outcome, Part, Progress
from labext.redaction import register_secret
from labext_widgets.core import placeholder
from labext_widgets.core.display import render_message
from labext_widgets.core.markup import clock, plain
from labext_widgets.progress import live_view, static_view
from labext_widgets.progress.live_view import (
    LIVE_INTERVAL,
    SAVE_INTERVAL,
    Control,
    FinalState,
    LiveView,
)

FOLDS = Progress(
    "folds",
    "batch",
    "Running",
    {"In Queue": 120, "Running": 8, "Complete": 120, "Stopped": 2},
    250,
    elapsed=42.9,
)
MB = 1_000_000
HELIX = Progress("helix1", "job", "Running", {"Running": 1, "Complete": 0}, elapsed=3)

hostile = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            '"><img src=x onerror=alert(1)>',
            "';color:red;background:url(http://x)",
            "</div></div><style>*{}</style>",
            "&lt;b&gt; $x$ \\(y\\) `z`",
            "\x1b[2J\r\n\x07\u202egnp.exe",
            "\ud800",
        ]
    ),
)
progresses = st.builds(
    Progress,
    subject=hostile,
    kind=st.one_of(st.sampled_from(["job", "batch", "pipeline", "podcast"]), hostile),
    phase=st.one_of(st.sampled_from(["Running", "Aggregating", "Complete", "Stopped"]), hostile),
    states=st.dictionaries(
        st.one_of(st.sampled_from(["Complete", "Running", "In Queue"]), hostile),
        st.integers(-3, 10_000),
        max_size=12,
    ),
    total=st.one_of(st.none(), st.integers(0, 10_000)),
    outcome=st.one_of(st.none(), st.sampled_from(Outcome)),
    reason=hostile,
    elapsed=st.floats(0, 1e6),
    unchanged=st.floats(0, 1e6),
    transferred=st.one_of(st.none(), st.integers(-3, 10**12)),
    size=st.one_of(st.none(), st.integers(0, 10**12)),
    stage=st.one_of(
        st.sampled_from(["", "1 of 2: Folding", "2 of 2"]),
        hostile,
        hostile.map("3 of 4: {}".format),
    ),
)


STYLE = re.compile(r"([a-z-]+:[a-z0-9#%.,() -]+;?)*")


@given(progresses, hostile)
def test_progress_texts_are_escaped(progress: Progress, note: str) -> None:
    read = ParsedHtml(static_view.render_html(progress, note, "2026-01-05 14:03"))
    assert read.tags <= {"div", "span"}
    assert read.depth == 0
    for name, value in read.attributes:
        assert name in {"style", "class", "role"} or name.startswith("aria-")
        if name == "style":
            assert STYLE.fullmatch(value), value
        if name == "class":
            assert value in {"labext-bar", "labext-bar labext-indeterminate", "labext-phase"}
    assert " ".join(plain(progress.subject).split()) in read.text
    if progress.reason:
        assert " ".join(plain(progress.reason).split()) in read.text


@given(progresses, hostile)
def test_progress_line_has_no_control_characters(progress: Progress, note: str) -> None:
    for line in (static_view.render_text(progress, note), static_view.announcement(progress)):
        assert line.isprintable() or not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]", line)
        line.encode()


def test_counts_have_thousands_separators() -> None:
    big = Progress("big", "batch", "Running", {"Running": 1088, "In Queue": 3912}, 5000)
    assert static_view.render_text(big).startswith(
        "big: Running, 0 of 5,000 complete, 1,088 Running, 3,912 "
    )
    text = ParsedHtml(static_view.render_html(big)).text
    assert "big batch of 5,000 watched 0:00" in text
    assert "■ 1,088 Running ■ 3,912 In Queue" in text


def test_running_batch() -> None:
    assert static_view.render_text(FOLDS) == (
        "folds: Running, 120 of 250 complete, 2 Stopped, 8 Running, 120 In Queue "
        "(batch, watched 0:42)"
    )
    read = ParsedHtml(static_view.render_html(FOLDS))
    assert "folds batch of 250 watched 0:42" in read.text
    assert "● Running ○ Aggregating ○ Complete" in read.text
    assert "■ 120 Complete ■ 2 Stopped ■ 8 Running ■ 120 In Queue" in read.text
    assert ("aria-valuenow", "120") in read.attributes
    assert ("aria-valuemax", "250") in read.attributes


@pytest.mark.parametrize(
    ("phase", "outcome", "marks"),
    [
        ("Aggregating", None, "✓ Running ● Aggregating ○ Complete"),
        ("Complete", Outcome.COMPLETE, "✓ Running ✓ Aggregating ✓ Complete"),
        ("AggregationFailed", Outcome.FAILED, "✓ Running ✕ AggregationFailed"),
        ("Stopped", Outcome.STOPPED, "■ Stopped"),
        ("Thawing", None, "● Thawing"),
    ],
)
def test_phases(phase: str, outcome: Outcome | None, marks: str) -> None:
    progress = Progress(
        "folds", "batch", phase, {"Complete": 3}, 3, outcome, "why" if outcome else ""
    )
    text = ParsedHtml(static_view.render_html(progress)).text
    assert marks in text
    assert ("why" in text) is (outcome is not None)


def test_unknown_state_is_sorted_between_running_and_queued() -> None:
    progress = Progress("folds", "batch", "Running", {"In Queue": 1, "Thawing": 2, "Running": 3}, 6)
    text = ParsedHtml(static_view.render_html(progress)).text
    assert "■ 3 Running ■ 2 Thawing ■ 1 In Queue" in text


def test_rare_states_are_grouped() -> None:
    progress = Progress("folds", "batch", "Running", {f"state {i}": 2 for i in range(30)}, 60)
    assert "■ 46 in other states" in ParsedHtml(static_view.render_html(progress)).text


def test_job_has_no_counts() -> None:
    assert static_view.render_text(HELIX) == "helix1: Running (job, watched 0:03)"
    text = ParsedHtml(static_view.render_html(HELIX)).text
    assert text == "helix1 job watched 0:03✓ In Queue ● Running ○ Complete"


def test_stalled_job_shows_the_time_without_progress() -> None:
    still = Progress("helix1", "job", "Running", elapsed=100, unchanged=70)
    assert "no progress for 1:10" in static_view.render_text(still)
    assert "No progress for 1:10." in ParsedHtml(static_view.render_html(still)).text
    assert "no progress" not in static_view.render_text(HELIX)


def test_timestamp_is_shown_only_before_the_end() -> None:
    done = Progress("helix1", "job", "Complete", outcome=Outcome.COMPLETE)
    assert "As of 14:03." in static_view.render_html(HELIX, seen_at="14:03")
    assert "As of" not in static_view.render_html(done, seen_at="14:03")


def test_transfer_of_known_size() -> None:
    progress = Progress(
        "folds", "results", "Fetching", elapsed=12, transferred=120 * MB, size=340 * MB
    )
    assert static_view.render_text(progress) == "folds: Fetching, 120 of 340 MB (0:12)"
    read = ParsedHtml(static_view.render_html(progress))
    assert read.text == "folds results 0:12● Fetching120 of 340 MB"
    assert ("aria-valuenow", str(120 * MB)) in read.attributes
    assert ("aria-valuemax", str(340 * MB)) in read.attributes
    assert ("aria-valuetext", "Fetching, 120 of 340 MB") in read.attributes
    assert static_view.announcement(progress) == "folds: Fetching", (
        "screen readers do not announce every byte"
    )


def test_transfer_of_unknown_size() -> None:
    progress = Progress(
        "folds", "results", "Fetching part 1 of 3", elapsed=12, transferred=120 * MB
    )
    assert static_view.render_text(progress) == "folds: Fetching part 1 of 3, 120 MB (0:12)"
    assert "labext-indeterminate" in static_view.render_html(progress)
    none = replace(progress, phase="Merging", transferred=0)
    assert static_view.render_text(none) == "folds: Merging (0:12)"


@pytest.mark.parametrize(
    ("transferred", "size", "expected"),
    [
        (0, 340 * MB, "0 of 340 MB"),
        (7, 999, "7 of 999 bytes"),
        (512, 1234, "0.51 of 1.23 kB"),
        (5 * MB, 34 * MB, "5.0 of 34.0 MB"),
        (300 * MB, 1024**3, "0.30 of 1.07 GB"),
        (2000 * 1000 * MB, None, "2,000 GB"),
        (9 * MB, 7 * MB, "9.00 of 7.00 MB"),
    ],
)
def test_format_bytes(transferred: int, size: int | None, expected: str) -> None:
    assert static_view.format_bytes(transferred, size) == expected


def test_secret_in_a_reason_is_masked() -> None:
    register_secret("hunter2-hunter2")
    progress = Progress(
        "a", "job", "Failed", outcome=Outcome.FAILED, reason="key hunter2-hunter2 bad"
    )
    for rendering in (
        static_view.render_html(progress),
        static_view.render_text(progress),
        static_view.announcement(progress),
    ):
        assert "hunter2" not in rendering


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3600, "1:00:00"), (-1, "0:00")],
)
def test_format_clock(seconds: float, expected: str) -> None:
    assert clock(seconds) == expected


def test_theme_color_has_a_plain_fallback_declaration() -> None:
    """The sanitizer of untrusted notebooks drops a declaration with `var()`."""
    failed = Progress("folds", "batch", "Failed", {"Failed": 3}, 3, Outcome.FAILED, "why")
    for style in re.findall(
        r'style="([^"]*)"', static_view.render_html(FOLDS) + static_view.render_html(failed)
    ):
        declarations = style.split(";")
        for before, after in pairwise(declarations):
            if "var(" in after:
                property_name, fallback = after.split(":")[0], after.split(",")[-1].rstrip(")")
                assert before.endswith(fallback)
                assert property_name.startswith(before.split(":")[0])
        assert "var(" not in declarations[0]


def test_running_job_has_an_indeterminate_bar_and_its_run_time() -> None:
    running = replace(HELIX, states={}, running=12.0)
    read = ParsedHtml(static_view.render_html(running))
    assert ("class", "labext-bar labext-indeterminate") in read.attributes
    assert not {"aria-valuenow", "aria-valuemax"} & {name for name, _ in read.attributes}
    assert any("repeating-linear-gradient" in value for _, value in read.attributes)
    assert "running 0:12" in read.text
    assert static_view.render_text(running) == "helix1: Running (job, running 0:12)"


@pytest.mark.parametrize(
    "snapshot",
    [
        replace(HELIX, states={}, phase="In Queue"),
        replace(HELIX, states={}, phase="Complete", outcome=Outcome.COMPLETE),
        replace(HELIX, states={}, phase="Stopped", outcome=Outcome.STOPPED),
        FOLDS,
    ],
    ids=["queued", "complete", "stopped", "batch"],
)
def test_other_bars_are_determinate(snapshot: Progress) -> None:
    read = ParsedHtml(static_view.render_html(snapshot))
    assert ("class", "labext-bar") in read.attributes
    assert "aria-valuenow" in {name for name, _ in read.attributes}


def test_reduced_motion_disables_the_animation() -> None:
    style = (Path(static_view.__file__).parents[2] / "js" / "style.css").read_text()
    moving, _, still = style.partition("@media (prefers-reduced-motion: reduce)")
    assert re.search(r"\.labext-indeterminate > div \{[^}]*animation: labext-stripes", moving)
    assert re.search(r"\.labext-indeterminate > div,[^}]*animation: none", still)


@pytest.mark.parametrize(
    ("rate", "remaining", "expected_text"),
    [
        (2.5, 12.0, "2.5 jobs/s, about 15 s left"),
        (0.2, 0.0, "12 jobs/min, about 5 s left"),
        (0.001, 3600 * 2.1, "3.6 jobs/h, about 2 h 10 min left"),
        (250.0, 56.0, "250 jobs/s, about 1 min left"),
    ],
)
def test_batch_shows_rate_and_remaining_time(
    rate: float, remaining: float, expected_text: str
) -> None:
    progress = replace(FOLDS, rate=rate, remaining=remaining)
    assert expected_text in static_view.render_text(progress)
    assert all(
        part in ParsedHtml(static_view.render_html(progress)).text
        for part in expected_text.split(", ")
    )


def test_view_of_an_ended_watch_shows_no_remaining_time() -> None:
    progress = replace(FOLDS, rate=0.5, remaining=40.0)
    note = "Watching stopped; the batch continues."
    for render in (static_view.render_html, static_view.render_text):
        assert "about 40 s left" in render(progress)
        assert "about 40 s left" not in render(progress, note)


def test_jobs_that_are_only_sent_are_not_called_complete() -> None:
    sending = Progress("folds", "submission", "Sending", states={"Complete": 200}, total=250)
    assert static_view.render_text(sending).startswith("folds: Sending, 200 of 250 jobs sent (")
    html = static_view.render_html(sending)
    assert "200 of 250 jobs sent" in html
    assert "Complete" not in html


def test_failed_jobs_are_listed_with_their_reasons() -> None:
    failed = (Part("b1", "Stopped", reason="Out of <time>."), Part("b2", "Failed"))
    progress = replace(FOLDS, parts=failed, phase="Complete", outcome=Outcome.COMPLETE)
    assert static_view.render_lines(progress).splitlines()[1:] == [
        "  b1: Out of <time>.",
        "  b2: Failed",
    ]
    text = ParsedHtml(static_view.render_html(progress)).text
    assert "b1" in text
    assert "Out of <time>." in text


@pytest.mark.parametrize(
    ("outcome", "red"), [(None, False), (Outcome.STOPPED, False), (Outcome.FAILED, True)]
)
def test_only_the_reason_of_a_failure_is_red(outcome: Outcome | None, red: bool) -> None:
    drawn = static_view.render_html(replace(FOLDS, reason="No response.", outcome=outcome))
    assert ("jp-error-color1" in drawn) is red


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
        float(match)
        for match in re.findall(r"flex:0 1 ([\d.]+)%", static_view.render_html(progress))
    ]


def test_stage_replaces_the_phase() -> None:
    assert static_view.render_text(P1) == (
        "p1: Stage 1 of 2: Structure Prediction, 2 of 3 jobs so far complete, 1 Running "
        "(pipeline, watched 0:07)"
    )
    assert "✓ In Queue ● Stage 1 of 2: Structure Prediction ○ Complete" in words(
        static_view.render_html(P1)
    )
    assert "p1 pipeline, 3 jobs so far watched 0:07" in words(static_view.render_html(P1))
    assert static_view.announcement(P1) == "p1: Stage 1 of 2: Structure Prediction"
    assert "Stage 1 of 2: Structure Prediction, 2 of 3 jobs so far" in static_view.render_html(P1)


@pytest.mark.parametrize(
    ("kind", "phase", "stage", "shown", "announced"),
    [
        (
            "podcast",
            "Running",
            "3 of 4: speech, turn 7 of 9",
            "Speech, turn 7 of 9",
            "Stage 3 of 4: speech",
        ),
        (
            "command",
            "Running",
            "Running, 1,200 of 3,000 items",
            "Running, 1,200 of 3,000 items",
            "Running",
        ),
        ("list", "Reading, 1,200 so far", "", "Reading, 1,200 so far", "Reading"),
    ],
)
def test_running_counts_are_shown_but_not_announced(
    kind: str, phase: str, stage: str, shown: str, announced: str
) -> None:
    progress = Progress("p1", kind, phase, stage=stage)
    assert f"● {shown}" in words(static_view.render_html(progress))
    assert static_view.announcement(progress) == f"p1: {announced}"


def test_bar_reserves_room_for_later_stages() -> None:
    assert widths(P1) == pytest.approx([100 / 3, 50 / 3], abs=0.01)
    assert sum(widths(replace(P1, stage="2 of 2: Scoring PDB"))) == pytest.approx(100, abs=0.01)
    assert sum(widths(replace(P1, stage=""))) == pytest.approx(100, abs=0.01)


def test_results_are_collected_after_the_last_stage() -> None:
    last = replace(P1, states={"Complete": 3}, stage="2 of 2: Scoring PDB")
    assert "● Collecting results ○ Complete" in words(static_view.render_html(last))
    assert "Stage 1 of 2" in words(static_view.render_html(replace(P1, states={"Complete": 3})))
    assert "Running" in words(static_view.render_html(replace(last, stage="")))


def test_queued_pipeline_shows_no_stage() -> None:
    waits = replace(P1, phase="In Queue", states={"In Queue": 1}, total=1)
    assert "● In Queue ○ Running ○ Complete" in words(static_view.render_html(waits))


def test_ended_pipeline_is_complete_or_has_a_reason() -> None:
    done = replace(P1, phase="Complete", states={"Complete": 3}, outcome=Outcome.COMPLETE, stage="")
    assert static_view.render_text(done) == "p1: Complete, 3 of 3 complete (pipeline, watched 0:07)"
    assert "p1 pipeline of 3 watched" in words(static_view.render_html(done))
    assert "✓ In Queue ✓ Running ✓ Complete" in words(static_view.render_html(done))
    why = "Stage 2 (Scoring PDB) failed: p1-stage2-normal_modes: too small"
    failed = replace(P1, phase="Stopped", outcome=Outcome.STOPPED, reason=why, stage="")
    assert "■ Stopped" in words(static_view.render_html(failed))
    assert why in words(static_view.render_html(failed))
    assert static_view.render_text(failed).endswith(f"1 Running: {why} (pipeline, watched 0:07)")


@given(st.text(max_size=40) | st.from_regex(r"\d{1,6} of \d{1,6}: [a-z]*", fullmatch=True))
def test_any_stage_name_is_rendered(stage: str) -> None:
    progress = replace(P1, stage=stage)
    assert 0 < static_view.fraction_reached(progress) <= 1
    assert static_view.current_stage(progress)
    assert "<script" not in static_view.render_html(replace(P1, stage=f"{stage}<script>"))


RUNNING = Progress("folds", "batch", "Running", {"Running": 9}, 9)
COMPLETE = Progress("folds", "batch", "Complete", {"Complete": 9}, 9, Outcome.COMPLETE)
STOP = Control(do="stop", label="Stop batch", description="Stop batch folds", question="Stop?")


def test_live_view_updates_ten_times_a_second_and_the_file_every_two_seconds(
    placeholders: Placeholders, clock: FakeClock
) -> None:
    picture = LiveView(clock=clock)
    for step in range(1001):
        clock.now = step * 0.01
        done = step // 2
        picture.show(replace(RUNNING, states={"Complete": done, "Running": 500 - done}, total=500))
    assert len(placeholders) == 1
    assert 90 <= len(placeholders[0].states) <= 10 / LIVE_INTERVAL + 2
    assert 5 <= len(placeholders[0].saved) <= 10 / SAVE_INTERVAL + 2


def test_static_view_has_the_time_in_utc(
    placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        times = [datetime.now(UTC)]
        LiveView(clock=FakeClock()).show(RUNNING)
        times.append(datetime.now(UTC))
    finally:
        monkeypatch.undo()
        time.tzset()
    shown = words(placeholders[0].html)
    assert any(shown.endswith(f"As of {now:%Y-%m-%d %H:%M} UTC.") for now in times), shown


def test_elapsed_time_updates_only_the_live_view(
    placeholders: Placeholders, clock: FakeClock
) -> None:
    picture = LiveView(clock=clock)
    for second in range(20):
        clock.now = float(second)
        picture.show(replace(RUNNING, elapsed=clock.now))
    assert len(placeholders[0].states) == 20
    assert len(placeholders[0].saved) == 1


def test_final_state_is_always_saved(placeholders: Placeholders) -> None:
    picture = LiveView([STOP], clock=FakeClock())
    picture.show(RUNNING)
    picture.finish(COMPLETE)
    assert "9 of 9 complete" in placeholders[0].saved[-1][1]
    assert placeholders[0].states[-1]["controls"] == []
    assert placeholders[0].states[0]["controls"] == [STOP]
    assert placeholders[0].view == "progress"


def test_file_is_saved_at_live_rate_without_live_view(
    placeholders: Placeholders, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePlaceholder, "can_live", False)
    picture = LiveView(clock=clock)
    for step in range(10):
        clock.now = step * 0.1001
        picture.show(replace(RUNNING, states={"Complete": step, "Running": 9 - step}))
    assert len(placeholders[0].saved) == 10


def test_static_view_is_the_fallback_without_widgets(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outputs: list[str] = []
    monkeypatch.setitem(sys.modules, "labext_widgets.core.hub", None)
    monkeypatch.delattr(labext_widgets.core, "hub", raising=False)  # another test has imported it
    monkeypatch.setattr(placeholder, "display_html", lambda html, text, name: outputs.append(text))
    monkeypatch.setattr(placeholder, "update_html", lambda html, text, name: outputs.append(text))
    picture = LiveView(clock=FakeClock())
    picture.show(RUNNING)
    picture.finish(COMPLETE)
    placeholder.close_all()
    assert [output.split(":")[1].split(",")[0] for output in outputs] == [" Running", " Complete"]
    assert "showing the static view" in caplog.text


def test_controls_and_notes(placeholders: Placeholders) -> None:
    messages: list[Any] = []
    picture = LiveView([STOP], on_message=messages.append, clock=FakeClock())
    picture.show(RUNNING)
    placeholders[0].message(do="stop")
    placeholders[0].receive("nonsense", [])
    assert messages == ["stop"]
    picture.set_note("", pending="Stopping…")
    assert placeholders[0].states[-1]["pending"] == "Stopping…"
    picture.set_note("Not stopped: no.")
    assert placeholders[0].states[-1]["pending"] == ""
    assert "Not stopped: no." in placeholders[0].states[-1]["html"]
    assert placeholders[0].states[-1]["controls"] == [STOP]


def test_message_replaces_the_picture(placeholders: Placeholders) -> None:
    picture = LiveView(clock=FakeClock())
    picture.show(replace(RUNNING, transferred=1, size=2))
    picture.replace_by_text("It is <b>there</b>.")
    last_output, closed = placeholders[0].saved[-2:]
    assert last_output == render_message("It is <b>there</b>.")
    assert "labext-bar" not in last_output[0]
    assert closed == ("closed", "")


def test_transfer_progress_is_saved_with_the_picture(
    placeholders: Placeholders, clock: FakeClock
) -> None:
    picture = LiveView(clock=clock)
    for second in range(10):
        clock.now = float(second)
        picture.show(Progress("folds", "results", "Fetching", transferred=second, size=10))
    assert [text for _, text in placeholders[0].saved] == [
        f"folds: Fetching, {n} of 10 bytes (0:00)" for n in range(0, 10, 2)
    ]


def test_final_state_displays_one_picture(record_displays: Any) -> None:
    displayed = record_displays(live_view)
    still = FinalState()
    still.show(RUNNING)
    still.show(replace(RUNNING, reason="No response, trying again."))
    still.show(COMPLETE)
    still.finish(COMPLETE)
    assert [text for _, text in displayed] == [
        "folds: Complete, 9 of 9 complete (batch, watched 0:00)"
    ]
