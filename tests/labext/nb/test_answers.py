"""An episode is watched to its end, which is a sound; whatever the service tells on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_clock import Clock

from labext.errors import JobFailedError, NotFoundError, NotReadyError, UnreachableError
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.episode_generation import EpisodeWatch, build_snapshot
from labext.nb.polling import MAX_OUTAGE_SECONDS
from labext.progress import Outcome, Progress

GONE = UnreachableError("No notebook service answers.", "Start it.")
STAGES = ["outline", "dialogue", "speech", "encoding"]


class Studio:
    """A service with one episode, which is as a test says at which time."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.episode: dict[str, Any] = {"id": "episode:1", "name": "Ep 1", "job_id": "command:1"}
        self.asked: list[str] = []
        self.away = False
        self.lists_it = True

    def send(self, request: Any, on_bytes: Any = None) -> Any:
        address = request.op.address("", request.path)
        self.asked.append(address)
        if self.away:
            raise GONE
        if address == "/podcasts/episodes":
            return [self.episode] if self.episode and self.lists_it else []
        if not self.episode or not address.endswith(("episode%3A1", "command%3A1")):
            raise NotFoundError("There is no such thing.", "Look again.", status=404)
        if "/jobs/" not in address:
            return self.episode
        return {
            "status": self.episode.get("job_status"),
            "result": {"episode_id": "episode:1"} if self.lists_it else {},
            **{key: self.episode.get(key) for key in ("stage", "progress", "error_message")},
        }

    def at(self, when: float, **fields: Any) -> None:
        self.clock.at(when, lambda: self.episode.update(fields))


@pytest.fixture
def studio(clock: Clock, wire: RequestExecutor) -> Studio:
    studio = Studio(clock)
    wire.send = studio.send
    return studio


@pytest.fixture
def watch(wire: RequestExecutor, clock: Clock) -> Callable[..., list[Progress]]:
    def seen(what: str = "episode:1") -> list[Progress]:
        watch = EpisodeWatch(wire, ContractBackend(), what, clock)
        return list(watch.watch(sleep=clock.sleep))

    return seen


def at(stage: str, done: Any = None, total: Any = None, stages: Any = STAGES) -> dict[str, Any]:
    return {"stage": stage, "done": done, "total": total, "stages": stages}


@pytest.mark.parametrize("what", ["episode:1", "command:1"])
def test_an_episode_is_followed_to_its_sound(studio, watch, what):
    studio.episode |= {"job_status": "new"}
    studio.at(2, job_status="running", progress=at("outline", 0, 1))
    studio.at(5, progress=at("speech", 12, 40))
    studio.at(9, job_status="completed", progress=None, audio_url="/a", audio_bytes=9)
    seen = watch(what)
    assert list(dict.fromkeys((each.phase, each.stage) for each in seen)) == [
        ("In Queue", ""),
        ("Running", "1 of 4: outline"),
        ("Running", "3 of 4: speech, turn 12 of 40"),
        ("Complete", ""),
    ]
    assert {(each.subject, each.kind) for each in seen} == {("Ep 1", "podcast")}
    assert [each.outcome for each in seen if each.outcome] == [Outcome.COMPLETE]
    assert seen[-1].elapsed == pytest.approx(9, abs=1.5)


@pytest.mark.parametrize(
    ("status", "after", "meaning"), [("new", 60, "no worker"), ("running", 900, "has stopped")]
)
def test_what_stands_still_is_told_with_what_that_usually_means(
    studio, watch, status, after, meaning
):
    studio.episode |= {"job_status": status, "progress": None}
    studio.at(after + 40, job_status="failed", error_message="It was killed off.")
    *going, last = watch()
    said = [each for each in going if each.reason]
    assert said[0].unchanged == pytest.approx(after, abs=1.5)
    assert {meaning in each.reason for each in said} == {True}
    assert said[-1].outcome is None
    assert last.reason == "It was killed off."


def test_a_service_that_tells_nothing_is_told_of_truly(studio, watch):
    studio.episode |= {"job_status": "running", "progress": None}
    studio.at(100, job_status="failed", error_message="")
    seen = watch()
    before = [each for each in seen if each.outcome is None]
    assert {(each.phase, each.stage, each.reason) for each in before} == {("Running", "", "")}
    assert before[-1].unchanged == pytest.approx(100, abs=3)
    assert seen[-1].outcome is Outcome.FAILED


@pytest.mark.parametrize("word", ["rendering", "", None, "COMPLETED?"])
def test_a_word_unheard_of_ends_nothing(studio, watch, word):
    studio.episode |= {"job_status": word}
    studio.at(30, job_status="Completed", audio_file="a.mp3")
    seen = watch()
    assert seen[0].phase == (word or "unknown")
    assert seen[0].outcome is None
    assert seen[-1].outcome is Outcome.COMPLETE
    assert len(studio.asked) < 40  # it does not ask more often either


@pytest.mark.parametrize("what", ["episode:1", "command:1"])
@pytest.mark.parametrize("sound", [{}, {"audio_url": "/a", "audio_bytes": 0}])
def test_completed_without_a_sound_is_failed(studio, watch, what, sound):
    studio.episode |= {"job_status": "completed"} | sound
    (seen,) = watch(what)
    assert (seen.phase, seen.outcome) == ("Failed", Outcome.FAILED)
    assert "no audio" in seen.reason


def test_a_job_that_completes_into_no_episode_is_failed(studio, watch):
    studio.lists_it = False
    studio.episode |= {"job_status": "completed", "audio_url": "/a"}
    (seen,) = watch("command:1")
    assert (seen.subject, seen.outcome) == ("command:1", Outcome.FAILED)


def test_looks_that_fail_in_between_are_told_and_made_again(studio, watch, clock):
    studio.episode |= {"job_status": "running", "progress": at("dialogue", 2, 5)}
    clock.at(5, lambda: setattr(studio, "away", True))
    clock.at(60, lambda: setattr(studio, "away", False))
    studio.at(70, job_status="completed", audio_url="/a")
    seen = watch()
    silent = [each for each in seen if each.reason]
    assert {each.reason for each in silent} == {
        "No response, trying again. No notebook service answers."
    }
    assert {each.stage for each in silent} == {"2 of 4: dialogue, segment 2 of 5"}
    assert (seen[-1].outcome, seen[-1].reason) == (Outcome.COMPLETE, "")


def test_no_answer_at_first_or_for_long_is_raised(studio, watch, clock):
    studio.away = True
    with pytest.raises(UnreachableError):
        watch()
    studio.away = False
    studio.episode |= {"job_status": "running"}
    clock.at(clock.elapsed + 5, lambda: setattr(studio, "away", True))
    with pytest.raises(UnreachableError):
        watch()
    assert clock.elapsed > MAX_OUTAGE_SECONDS


def test_one_that_is_deleted_meanwhile_is_an_end(studio, watch):
    with pytest.raises(NotFoundError):
        watch("episode:2")
    studio.episode |= {"job_status": "running", "progress": at("speech", 1, 40)}
    clock.at(5, studio.episode.clear)
    last = watch()[-1]
    assert (last.phase, last.outcome, last.stage) == ("Deleted", Outcome.STOPPED, "")
    assert last.reason == "It was deleted."


@pytest.mark.parametrize(
    ("progress", "words", "stage"),
    [
        (at("speech", 0, 40), "speech", "3 of 4: speech, turn 0 of 40"),
        (at("speech", 12, 12_000), "", "3 of 4: speech, turn 12 of 12,000"),
        (at("encoding", 1, 1), "", "4 of 4: encoding"),
        (at("speech", 41, 40), "", "3 of 4: speech"),  # it lies
        (at("speech", None, 40), "", "3 of 4: speech"),
        (at("mixing", 1, 2), "", "mixing, 1 of 2"),
        (at("speech", 1, 2, []), "", "speech, turn 1 of 2"),
        (None, "speaking", "speaking"),
        (None, None, ""),
    ],
)
def test_what_it_is_at(progress, words, stage):
    told = {"stage": words, "progress": progress, "error_message": None}
    assert build_snapshot("Ep 1", "running", told, None).stage == stage


def test_progress_that_goes_backwards_is_shown_and_has_changed(studio, watch):
    studio.episode |= {"job_status": "running", "progress": at("speech", 30, 40)}
    studio.at(20, progress=at("dialogue", 1, 5))
    studio.at(40, job_status="completed", audio_url="/a")
    seen = watch()
    stages = list(dict.fromkeys(each.stage for each in seen if each.outcome is None))
    assert stages == ["3 of 4: speech, turn 30 of 40", "2 of 4: dialogue, segment 1 of 5"]
    assert next(each for each in seen if each.stage == stages[1]).unchanged == 0


class TestWaiting:
    def wait(
        self, wire: RequestExecutor, clock: Clock, what: str = "episode:1", timeout: Any = None
    ) -> Any:
        watch = EpisodeWatch(wire, ContractBackend(), what, clock)
        watch.wait(timeout, sleep=clock.sleep)
        return watch.episode

    @pytest.mark.parametrize("what", ["episode:1", "command:1"])
    def test_the_episode_is_returned_with_what_is_said(self, studio, wire, clock, what):
        studio.episode |= {"job_status": "running"}
        said = {"transcript": [{"speaker": "Ada", "dialogue": "Yes."}]}
        studio.at(3, job_status="completed", audio_url="/a", transcript=said)
        record = self.wait(wire, clock, what)
        assert record["transcript"]["transcript"][0]["dialogue"] == "Yes."

    def test_a_failure_is_told_with_its_reason_and_the_way_on(self, studio, wire, clock):
        studio.episode |= {"job_status": "failed", "error_message": "It refused. Check the key."}
        with pytest.raises(JobFailedError) as caught:
            self.wait(wire, clock)
        assert caught.value.message == '"Ep 1" has failed: It refused.'
        assert caught.value.next_step == 'Check the key, then `nb.podcasts.retry("Ep 1")`.'

    def test_one_that_is_deleted_is_not_to_be_retried(self, studio, wire, clock):
        studio.episode |= {"job_status": "running"}
        clock.at(5, studio.episode.clear)
        with pytest.raises(JobFailedError, match="It was deleted") as caught:
            self.wait(wire, clock)
        assert '"PROFILE", name="Ep 1")`' in caught.value.next_step

    def test_a_timeout_tells_what_it_is_at_and_for_how_long(self, studio, wire, clock):
        studio.episode |= {"job_status": "running", "progress": at("speech", 12, 40)}
        with pytest.raises(NotReadyError) as caught:
            self.wait(wire, clock, timeout=30)
        assert "running (3 of 4: speech, turn 12 of 40)" in caught.value.message
        assert "unchanged for 30 seconds" in caught.value.message
