"""A podcast while it is made: its stages, on each front end, and tried again by a button."""

from __future__ import annotations

import io
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import labext_widgets
from labext.errors import UnreachableError, WatchInterrupted
from labext.progress import Outcome, Progress
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.podcasts import generation
from labext_widgets.progress import background, live_view, static_view

AGAIN = '%nb episodes wait "Episode 1"'


def looked(stage: str = "", phase: str = "Running", **more: Any) -> Progress:
    return Progress("Episode 1", "podcast", phase, stage=stage, **more)


WAITING = looked(phase="In Queue")
SPEECH = looked("3 of 4: speech, turn 12 of 40", elapsed=42.0)
FAILED = looked(phase="Failed", outcome=Outcome.FAILED, reason="The model answered <502>.")
COMPLETE = looked(phase="Complete", outcome=Outcome.COMPLETE, elapsed=83.0)


def words(html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", html).split())


class TestDrawing:
    def test_the_stages_apart_and_the_turn_it_is_at(self) -> None:
        assert "✓ Outline ✓ Dialogue ● Speech, turn 12 of 40 ○ Encoding" in words(
            static_view.render_html(SPEECH)
        )
        assert "watched 0:42" in static_view.render_html(SPEECH)
        assert static_view.render_text(SPEECH) == (
            "Episode 1: Stage 3 of 4: speech, turn 12 of 40 (podcast, watched 0:42)"
        )

    def test_the_bar_is_how_far_it_has_come(self) -> None:
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
    def test_how_far(self, stage: str, share: float | None) -> None:
        assert static_view.podcast_fraction(looked(stage)) == share

    def test_a_job_that_reports_nothing_is_running_and_no_more_is_claimed(self) -> None:
        silent = looked(elapsed=95.0, unchanged=90.0)
        said = words(static_view.render_html(silent))
        assert "✓ In Queue ● Running ○ Complete" in said
        assert "No progress for 1:30." in said
        assert "labext-indeterminate" in static_view.render_html(silent)
        assert "Outline" not in said
        assert static_view.render_text(silent) == (
            "Episode 1: Running (podcast, watched 1:35, no progress for 1:30)"
        )

    def test_stages_nobody_foresaw_are_shown_in_the_services_words(self) -> None:
        assert "● Stage 2 of 3: mixing" in words(static_view.render_html(looked("2 of 3: mixing")))
        assert "● Stage 2 of 4: mixing" in words(static_view.render_html(looked("2 of 4: mixing")))
        assert "● warming up" in words(static_view.render_html(looked("warming up")))
        assert "● Pondering" in words(
            static_view.render_html(looked("3 of 4: x", phase="Pondering"))
        )

    def test_that_it_waits_is_said_whatever_its_stage_is(self) -> None:
        assert "● In Queue ○ Running" in words(
            static_view.render_html(looked("1 of 4: outline", "In Queue"))
        )

    @given(st.text(max_size=60), st.text(max_size=20), st.sampled_from([None, *Outcome]))
    def test_whatever_is_told_is_text(self, stage: str, phase: str, outcome: Any) -> None:
        for of in (stage, f"3 of 4: speech{stage}"):
            html = static_view.render_html(looked(of, phase, outcome=outcome))
            bare = static_view.render_html(looked("x", "x", outcome=outcome))
            assert set(re.findall(r"<(\w+)", html)) <= set(re.findall(r"<(\w+)", bare))
            assert "\n" not in static_view.render_text(looked(of, phase, outcome=outcome))


class Shown:
    """Stands for a placeholder: keeps what it was given, and clicks."""

    def __init__(self, html: str, text: str, *, on_close: Any = None) -> None:
        self.html, self.text, self.on_close = html, text, on_close
        self.state: dict[str, Any] = {}
        self.sent: list[tuple[Any, list[bytes]]] = []

    def live(self, view: str, state: dict[str, Any], receive: Callable[..., None]) -> bool:
        self.view, self.state, self.receive = view, state, receive
        return True

    def send(self, content: Any, buffers: list[bytes] | None = None) -> None:
        self.sent.append((content, buffers or []))

    def set_state(self, state: dict[str, Any]) -> None:
        self.state = state

    def update(self, html: str, text: str) -> None:
        self.html, self.text = html, text

    def click(self, what: str) -> None:
        self.receive({"do": what}, [])

    @property
    def buttons(self) -> list[str]:
        return [each["label"] for each in self.state["controls"]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Shown]]:
    """The placeholders, as in a notebook that somebody looks at."""
    from labext_widgets.core import placeholder
    from labext_widgets.progress import watch

    shown: list[Shown] = []

    def make(*given: Any, **more: Any) -> Shown:
        shown.append(Shown(*given, **more))
        return shown[-1]

    monkeypatch.setattr(placeholder, "Placeholder", make)
    for module in (generation, watch):
        monkeypatch.setattr(module, "front_end", lambda: FrontEnd.INTERACTIVE)
    yield shown
    background.end_all()


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def follow(*seen: Progress, **more: Any) -> Progress | None:
    return labext_widgets.follow_podcast(iter(seen), again=AGAIN, **more)


class TestRetry:
    def test_a_failed_one_says_in_which_stage_and_offers_another_try(
        self, made: list[Shown]
    ) -> None:
        last = follow(WAITING, SPEECH, FAILED, retry=lambda: iter([COMPLETE]))
        assert last is not None
        assert (last.outcome, last.reason) == (Outcome.FAILED, FAILED.reason)
        (output,) = made
        said = words(output.html)
        assert "✓ Dialogue ✕ Failed in speech, turn 12 of 40 ○ Encoding" in said
        assert "The model answered &lt;502&gt;." in said
        assert output.buttons == ["Retry"]
        assert "<button" not in output.html, "the saved picture has none"

    def test_the_new_run_is_shown_in_the_same_output(self, made: list[Shown]) -> None:
        gate = threading.Event()

        def again() -> Iterator[Progress]:
            yield looked("1 of 4: outline")
            gate.wait(60)
            yield COMPLETE

        follow(SPEECH, FAILED, retry=again)
        (output,) = made
        output.click("retry")
        output.click("retry")
        until(lambda: output.buttons == ["Stop watching"])
        assert "● Outline ○ Dialogue" in words(output.state["html"])
        assert FAILED.reason not in output.text, "the file no longer says that it failed"
        gate.set()
        until(lambda: not output.state["busy"])
        assert "✓ Complete" in words(output.html)
        assert output.buttons == []
        assert len(made) == 1

    def test_it_may_fail_and_be_tried_again_and_again(self, made: list[Shown]) -> None:
        runs = [[COMPLETE], [FAILED], [SPEECH, FAILED]]
        follow(FAILED, retry=lambda: iter(runs.pop()), background=True)
        for left in (2, 1, 0):
            until(lambda: made[0].buttons == ["Retry"])
            made[0].click("retry")
            until(lambda left=left: len(runs) == left)
        until(lambda: "Complete" in made[0].text)

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (UnreachableError("No service answers.", "Start it."), "No service answers. Start it."),
            (KeyError("job_id"), "KeyError: 'job_id'"),
        ],
    )
    def test_a_retry_that_fails_says_why_and_may_be_asked_for_again(
        self, made: list[Shown], error: Exception, said: str
    ) -> None:
        answers: list[Any] = [error, iter([COMPLETE])]

        def again() -> Any:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        follow(FAILED, retry=again)
        made[0].click("retry")
        until(lambda: f"Retry failed: {said}" in made[0].text)
        assert made[0].buttons == ["Retry"]
        made[0].click("retry")
        until(lambda: "Complete" in made[0].text and not made[0].state["busy"])
        assert "Not tried" not in made[0].text

    def test_in_a_new_run_watching_can_be_stopped(self, made: list[Shown]) -> None:
        def forever() -> Iterator[Progress]:
            while True:
                yield SPEECH
                time.sleep(0.01)

        follow(FAILED, retry=forever)
        made[0].click("retry")
        until(lambda: made[0].buttons == ["Stop watching"])
        made[0].click("stop watching")
        until(lambda: f"`{AGAIN}` resumes watching." in made[0].text)

    def test_what_went_well_or_was_stopped_offers_nothing(self, made: list[Shown]) -> None:
        follow(COMPLETE, retry=lambda: iter([]))
        follow(looked(phase="Canceled", outcome=Outcome.STOPPED), retry=lambda: iter([]))
        assert [each.buttons for each in made] == [[], []]

    def test_without_a_way_to_retry_there_is_no_button(self, made: list[Shown]) -> None:
        follow(SPEECH, FAILED)
        assert made[0].buttons == []

    def test_an_interrupt_ends_the_watching_alone(self, made: list[Shown]) -> None:
        def interrupted() -> Iterator[Progress]:
            yield SPEECH
            raise KeyboardInterrupt

        with pytest.raises(WatchInterrupted, match="the podcast continues"):
            labext_widgets.follow_podcast(interrupted(), again=AGAIN, retry=lambda: iter([]))
        assert made[0].buttons == []


RECORD = {
    "name": "Episode 1",
    "duration": 7.0,
    "transcript": [{"speaker": "Host", "dialogue": "Why?", "start": 0, "end": 1}],
}


class TestMade:
    @pytest.mark.parametrize("background", [False, True])
    def test_the_player_takes_the_place_of_the_stages(
        self, made: list[Shown], background: bool
    ) -> None:
        follow(SPEECH, COMPLETE, result=lambda: (RECORD, lambda: b"MP3"), background=background)
        until(lambda: made[0].view == "player")
        (output,) = made
        assert output.text.splitlines() == ["Episode 1: 0:07 · Host · 1 turn", "[0:00] Host: Why?"]
        assert output.state["title"] == "Episode 1"
        output.receive({"do": "audio", "player": "a7"}, [])
        until(lambda: output.sent[1:] == [({"audio": "a7"}, [b"MP3"])])

    def test_after_a_retry_too(self, made: list[Shown]) -> None:
        follow(FAILED, retry=lambda: iter([SPEECH, COMPLETE]), result=lambda: (RECORD, bytes))
        assert made[0].view == "progress"
        made[0].click("retry")
        until(lambda: made[0].view == "player")

    def test_a_failed_one_has_none(self, made: list[Shown]) -> None:
        follow(SPEECH, FAILED, result=lambda: (RECORD, bytes))
        assert made[0].view == "progress"

    def test_that_it_cannot_be_shown_is_no_failure(self, made: list[Shown]) -> None:
        def gone() -> Any:
            raise UnreachableError("No service answers.", "Start it.")

        last = follow(SPEECH, COMPLETE, result=gone)
        assert last is COMPLETE
        assert "complete, but cannot be shown here: No service answers." in made[0].text


def test_in_a_terminal_it_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    follow(SPEECH, FAILED, retry=lambda: iter([]))
    assert stream.getvalue().splitlines() == [
        "Episode 1: Stage 3 of 4: speech, turn 12 of 40 (podcast, watched 0:42)",
        "Episode 1: Failed: The model answered <502>. (podcast, watched 0:00)",
    ]


def test_an_executed_notebook_has_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    from labext_widgets.progress import watch

    shown: list[str] = []
    monkeypatch.setattr(live_view, "display_html", lambda _html, text: shown.append(text))
    for module in (generation, watch):
        monkeypatch.setattr(module, "front_end", lambda: FrontEnd.EXECUTED)
    follow(WAITING, SPEECH, COMPLETE, retry=lambda: iter([]), background=True)
    assert shown == [
        "Episode 1: Complete (podcast, watched 1:23)",
    ]
