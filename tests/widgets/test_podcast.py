"""Generation of a podcast: its stages on each front end, and the Retry button."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import wait_until
from widget_fakes import Placeholders, words

import labext_widgets
from labext.errors import UnreachableError, WatchInterrupted
from labext.progress import Outcome, Progress
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.podcasts import generation
from labext_widgets.progress import background, static_view, watch

AGAIN = '%nb episodes wait "Episode 1"'


def looked(stage: str = "", phase: str = "Running", **more: Any) -> Progress:
    return Progress("Episode 1", "podcast", phase, stage=stage, **more)


WAITING = looked(phase="In Queue")
SPEECH = looked("3 of 4: speech, turn 12 of 40", elapsed=42.0)
FAILED = looked(phase="Failed", outcome=Outcome.FAILED, reason="The model answered <502>.")
COMPLETE = looked(phase="Complete", outcome=Outcome.COMPLETE, elapsed=83.0)


class TestDrawing:
    def test_stages_with_the_current_turn(self) -> None:
        assert "✓ Outline ✓ Dialogue ● Speech, turn 12 of 40 ○ Encoding" in words(
            static_view.render_html(SPEECH)
        )
        assert "watched 0:42" in static_view.render_html(SPEECH)
        assert static_view.render_text(SPEECH) == (
            "Episode 1: Stage 3 of 4: speech, turn 12 of 40 (podcast, watched 0:42)"
        )

    def test_bar_shows_the_fraction(self) -> None:
        html = static_view.render_html(SPEECH)
        assert 'aria-valuemax="100" aria-valuenow="57"' in html
        assert "flex:0 1 57.00%" in html

    @pytest.mark.parametrize(
        ("stage", "share"),
        [
            ("1 of 4: outline", 0.0),
            ("2 of 4: dialogue, segment 5 of 5", 0.5),
            ("2 of 4: dialogue, segment 9 of 5", 0.5),
            ("3 of 4: speech, turn 0 of 0", 0.5),
            ("1 of 3: recording", 0.0),
            ("pondering", None),
            ("", None),
        ],
    )
    def test_podcast_fraction(self, stage: str, share: float | None) -> None:
        assert static_view.podcast_fraction(looked(stage)) == share

    def test_job_without_stage_is_only_running(self) -> None:
        silent = looked(elapsed=95.0, unchanged=90.0)
        output = words(static_view.render_html(silent))
        assert "✓ In Queue ● Running ○ Complete" in output
        assert "No progress for 1:30." in output
        assert "labext-indeterminate" in static_view.render_html(silent)
        assert "Outline" not in output
        assert static_view.render_text(silent) == (
            "Episode 1: Running (podcast, watched 1:35, no progress for 1:30)"
        )

    def test_unknown_stages_are_shown_unchanged(self) -> None:
        assert "● Stage 2 of 3: mixing" in words(static_view.render_html(looked("2 of 3: mixing")))
        assert "● Stage 2 of 4: mixing" in words(static_view.render_html(looked("2 of 4: mixing")))
        assert "● warming up" in words(static_view.render_html(looked("warming up")))
        assert "● Pondering" in words(
            static_view.render_html(looked("3 of 4: x", phase="Pondering"))
        )

    def test_queued_podcast_ignores_its_stage(self) -> None:
        assert "● In Queue ○ Running" in words(
            static_view.render_html(looked("1 of 4: outline", "In Queue"))
        )


@pytest.fixture
def placeholders(placeholders: Placeholders, set_front_end: Any) -> Iterator[Placeholders]:
    """The placeholders of an interactive notebook."""
    set_front_end(FrontEnd.INTERACTIVE, generation, watch)
    yield placeholders
    background.end_all()


def follow(*snapshots: Progress, **more: Any) -> Progress | None:
    return labext_widgets.follow_podcast(iter(snapshots), again=AGAIN, **more)


class TestRetry:
    def test_failed_podcast_shows_its_stage_and_offers_retry(
        self, placeholders: Placeholders
    ) -> None:
        last = follow(WAITING, SPEECH, FAILED, retry=lambda: iter([COMPLETE]))
        assert last is not None
        assert (last.outcome, last.reason) == (Outcome.FAILED, FAILED.reason)
        (output,) = placeholders
        message = words(output.html)
        assert "✓ Dialogue ✕ Failed in speech, turn 12 of 40 ○ Encoding" in message
        assert "The model answered <502>." in message
        assert output.buttons == ["Retry"]
        assert "<button" not in output.html, "the saved picture has none"

    def test_retried_run_uses_the_same_output(self, placeholders: Placeholders) -> None:
        gate = threading.Event()

        def again() -> Iterator[Progress]:
            yield looked("1 of 4: outline")
            gate.wait(60)
            yield COMPLETE

        follow(SPEECH, FAILED, retry=again)
        (output,) = placeholders
        output.message(do="retry")
        output.message(do="retry")
        wait_until(lambda: output.buttons == ["Stop watching"])
        assert "● Outline ○ Dialogue" in words(output.state["html"])
        wait_until(lambda: FAILED.reason not in output.text)  # nor does the saved notebook
        gate.set()
        wait_until(lambda: "✓ Complete" in words(output.html))
        assert not output.state["busy"]
        assert output.buttons == []
        assert len(placeholders) == 1

    def test_podcast_can_be_retried_repeatedly(self, placeholders: Placeholders) -> None:
        runs = [[COMPLETE], [FAILED], [SPEECH, FAILED]]
        follow(FAILED, retry=lambda: iter(runs.pop()), background=True)
        for left in (2, 1, 0):
            wait_until(lambda: placeholders[0].buttons == ["Retry"])
            placeholders[0].message(do="retry")
            wait_until(lambda left=left: len(runs) == left)
            wait_until(lambda: "labext-retry" not in {item.name for item in threading.enumerate()})
        wait_until(lambda: "Complete" in placeholders[0].text)

    def test_run_after_a_late_click_on_stop_watching_is_watched(
        self, placeholders: Placeholders
    ) -> None:
        follow(FAILED, retry=lambda: iter([SPEECH, COMPLETE]), background=True)
        wait_until(lambda: placeholders[0].buttons == ["Retry"])
        placeholders[0].message(do="stop watching")
        placeholders[0].message(do="retry")
        wait_until(lambda: "Complete" in placeholders[0].text)

    @pytest.mark.parametrize(
        ("error", "expected_message"),
        [
            (UnreachableError("No service answers.", "Start it."), "No service answers. Start it."),
            (KeyError("job_id"), "KeyError: 'job_id'"),
        ],
    )
    def test_failed_retry_shows_the_reason_and_can_be_repeated(
        self, placeholders: Placeholders, error: Exception, expected_message: str
    ) -> None:
        answers: list[Any] = [error, iter([COMPLETE])]

        def again() -> Any:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        follow(FAILED, retry=again)
        placeholders[0].message(do="retry")
        wait_until(lambda: f"Retry failed: {expected_message}" in placeholders[0].text)
        assert placeholders[0].buttons == ["Retry"]
        placeholders[0].message(do="retry")
        wait_until(lambda: "Complete" in placeholders[0].text and not placeholders[0].state["busy"])
        assert "Retry failed" not in placeholders[0].text

    def test_retried_run_can_be_unwatched(self, placeholders: Placeholders) -> None:
        def forever() -> Iterator[Progress]:
            while True:
                yield SPEECH
                time.sleep(0.01)

        follow(FAILED, retry=forever)
        placeholders[0].message(do="retry")
        wait_until(lambda: placeholders[0].buttons == ["Stop watching"])
        placeholders[0].message(do="stop watching")
        wait_until(lambda: f"`{AGAIN}` resumes watching." in placeholders[0].text)

    def test_complete_or_stopped_podcast_offers_no_retry(self, placeholders: Placeholders) -> None:
        follow(COMPLETE, retry=lambda: iter([]))
        follow(looked(phase="Canceled", outcome=Outcome.STOPPED), retry=lambda: iter([]))
        assert [placeholder.buttons for placeholder in placeholders] == [[], []]

    def test_no_retry_button_without_retry_callback(self, placeholders: Placeholders) -> None:
        follow(SPEECH, FAILED)
        assert placeholders[0].buttons == []

    def test_interrupt_ends_only_the_watch(self, placeholders: Placeholders) -> None:
        def interrupted() -> Iterator[Progress]:
            yield SPEECH
            raise KeyboardInterrupt

        with pytest.raises(WatchInterrupted, match="the podcast continues"):
            labext_widgets.follow_podcast(interrupted(), again=AGAIN, retry=lambda: iter([]))
        assert placeholders[0].buttons == []


RECORD = {
    "name": "Episode 1",
    "duration": 7.0,
    "transcript": [{"speaker": "Host", "dialogue": "Why?", "start": 0, "end": 1}],
}


class TestMade:
    @pytest.mark.parametrize("background", [False, True])
    def test_player_replaces_the_stages(self, placeholders: Placeholders, background: bool) -> None:
        follow(SPEECH, COMPLETE, result=lambda: (RECORD, lambda: b"MP3"), background=background)
        wait_until(lambda: placeholders[0].view == "player")
        (output,) = placeholders
        assert output.text.splitlines() == ["Episode 1: 0:07 · Host · 1 turn", "[0:00] Host: Why?"]
        assert output.state["title"] == "Episode 1"
        output.message(do="audio", player="a7")
        wait_until(lambda: output.sent[1:] == [({"audio": "a7"}, [b"MP3"])])

    def test_player_replaces_the_stages_after_a_retry(self, placeholders: Placeholders) -> None:
        follow(FAILED, retry=lambda: iter([SPEECH, COMPLETE]), result=lambda: (RECORD, bytes))
        assert placeholders[0].view == "progress"
        placeholders[0].message(do="retry")
        wait_until(lambda: placeholders[0].view == "player")

    def test_failed_podcast_shows_no_player(self, placeholders: Placeholders) -> None:
        follow(SPEECH, FAILED, result=lambda: (RECORD, bytes))
        assert placeholders[0].view == "progress"

    def test_unavailable_episode_is_no_failure(self, placeholders: Placeholders) -> None:
        def gone() -> Any:
            raise UnreachableError("No service answers.", "Start it.")

        last = follow(SPEECH, COMPLETE, result=gone)
        assert last is COMPLETE
        assert "complete, but cannot be shown here: No service answers." in placeholders[0].text
