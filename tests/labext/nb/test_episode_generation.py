"""Watch the generation of an episode until it has audio; name its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_clock import Clock
from hypothesis import example, given
from hypothesis import strategies as st

from labext.errors import JobFailedError, NotFoundError, NotReadyError, UnreachableError
from labext.nb import polling
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.episode_generation import (
    EpisodeWatch,
    audio_file_name,
    build_snapshot,
    episode_error,
    find_episode_of_job,
)
from labext.nb.records import EPISODE, Record
from labext.progress import MAX_OUTAGE_SECONDS, Outcome, Progress

GONE = UnreachableError("No notebook service answers.", "Start it.")
STAGES = ["outline", "dialogue", "speech", "encoding"]


class Studio:
    """A service with one episode whose fields change at scheduled times."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.episode: dict[str, Any] = {"id": "episode:1", "name": "Ep 1", "job_id": "command:1"}
        self.requested: list[str] = []
        self.failure: Exception | None = None
        self.is_listed = True

    def send(self, request: Any, on_bytes: Any = None) -> Any:
        address = request.op.address("", request.path)
        self.requested.append(address)
        if self.failure is not None:
            raise self.failure
        if address == "/podcasts/episodes":
            return [self.episode] if self.episode and self.is_listed else []
        if not self.episode or not address.endswith(("episode%3A1", "command%3A1")):
            raise NotFoundError("There is no such thing.", "Look again.", status=404)
        if "/jobs/" not in address:
            return self.episode
        return {
            "status": self.episode.get("job_status"),
            "result": {"episode_id": "episode:1"} if self.is_listed else {},
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
    def snapshots(identifier: str = "episode:1") -> list[Progress]:
        watch = EpisodeWatch(wire, ContractBackend(), identifier, clock)
        return list(watch.watch(sleep=clock.sleep))

    return snapshots


def at(stage: str, done: Any = None, total: Any = None, stages: Any = STAGES) -> dict[str, Any]:
    return {"stage": stage, "done": done, "total": total, "stages": stages}


@pytest.mark.parametrize("identifier", ["episode:1", "command:1"])
def test_watch_reports_each_stage_until_complete(studio, watch, identifier):
    studio.episode |= {"job_status": "new"}
    studio.at(2, job_status="running", progress=at("outline", 0, 1))
    studio.at(5, progress=at("speech", 12, 40))
    studio.at(9, job_status="completed", progress=None, audio_url="/a", audio_bytes=9)
    snapshots = watch(identifier)
    assert list(dict.fromkeys((snapshot.phase, snapshot.stage) for snapshot in snapshots)) == [
        ("In Queue", ""),
        ("Running", "1 of 4: outline"),
        ("Running", "3 of 4: speech, turn 12 of 40"),
        ("Complete", ""),
    ]
    assert {(snapshot.subject, snapshot.kind) for snapshot in snapshots} == {("Ep 1", "podcast")}
    assert [snapshot.outcome for snapshot in snapshots if snapshot.outcome] == [Outcome.COMPLETE]
    assert snapshots[-1].elapsed == pytest.approx(9, abs=1.5)


@pytest.mark.parametrize(
    ("status", "after", "hint"), [("new", 60, "no worker"), ("running", 900, "has stopped")]
)
def test_stalled_episode_has_a_hint(studio, watch, status, after, hint):
    studio.episode |= {"job_status": status, "progress": None}
    studio.at(after + 40, job_status="failed", error_message="It was killed off.")
    *before, last = watch()
    hinted = [snapshot for snapshot in before if snapshot.reason]
    assert hinted[0].unchanged == pytest.approx(after, abs=1.5)
    assert {hint in snapshot.reason for snapshot in hinted} == {True}
    assert hinted[-1].outcome is None
    assert last.reason == "It was killed off."


def test_queued_episode_of_a_sandbox_hints_at_its_restart(studio, watch, monkeypatch):
    monkeypatch.setattr(polling, "is_sandbox", lambda url: url == "http://notebooks.test/api/")
    studio.episode |= {"job_status": "new", "progress": None}
    studio.at(80, job_status="completed", audio_url="/a", audio_bytes=9)
    (hint,) = {snapshot.reason for snapshot in watch()} - {""}
    assert "administrator" not in hint
    assert "`labext sandbox status`" in hint


@pytest.mark.parametrize("word", ["rendering", None])
def test_unknown_status_does_not_end_the_watch(studio, watch, word):
    studio.episode |= {"job_status": word}
    studio.at(30, job_status="Completed", audio_file="a.mp3")
    snapshots = watch()
    assert snapshots[0].phase == (word or "unknown")
    assert snapshots[0].outcome is None
    assert snapshots[-1].outcome is Outcome.COMPLETE
    assert len(studio.requested) < 40  # nor does the interval shrink


@pytest.mark.parametrize("identifier", ["episode:1", "command:1"])
@pytest.mark.parametrize("sound", [{}, {"audio_url": "/a", "audio_bytes": 0}])
def test_completed_without_audio_is_a_failure(studio, watch, identifier, sound):
    studio.episode |= {"job_status": "completed"} | sound
    (snapshots,) = watch(identifier)
    assert (snapshots.phase, snapshots.outcome) == ("Failed", Outcome.FAILED)
    assert "no audio" in snapshots.reason


def test_completed_job_without_an_episode_is_a_failure(studio, watch):
    studio.is_listed = False
    studio.episode |= {"job_status": "completed", "audio_url": "/a"}
    (snapshots,) = watch("command:1")
    assert (snapshots.subject, snapshots.outcome) == ("command:1", Outcome.FAILED)


def test_episode_without_a_name_is_named_by_its_job(studio, watch):
    studio.episode |= {"job_status": "completed", "audio_url": "/a", "name": None}
    assert watch("command:1")[-1].subject == "command:1"


@pytest.mark.parametrize("is_listed", [True, False])
def test_episode_is_found_by_its_job(studio, wire, is_listed):
    studio.is_listed = is_listed
    studio.episode |= {"job_status": "running"}
    if is_listed:
        assert find_episode_of_job(wire, ContractBackend(), "command:1") == "episode:1"
        return
    with pytest.raises(NotReadyError, match="not known yet: the job is running") as caught:
        find_episode_of_job(wire, ContractBackend(), "command:1")
    assert caught.value.next_step == 'Wait for it: `nb.podcasts.wait("command:1")`.'


def test_failed_job_without_an_episode_suggests_the_list(studio, wire, watch):
    studio.is_listed = False
    studio.episode |= {"job_status": "failed", "error_message": "No voice."}
    with pytest.raises(JobFailedError, match="No voice") as caught:
        find_episode_of_job(wire, ContractBackend(), "command:1")
    assert "nb.podcasts.episodes()" in caught.value.next_step
    studio.episode |= {"job_status": "canceled"}
    with pytest.raises(NotFoundError, match="no episode of command:1"):
        find_episode_of_job(wire, ContractBackend(), "command:1")


def test_failed_polls_are_reported_and_repeated(studio, watch, clock):
    studio.episode |= {"job_status": "running", "progress": at("dialogue", 2, 5)}
    clock.at(5, lambda: setattr(studio, "failure", GONE))
    clock.at(60, lambda: setattr(studio, "failure", None))
    studio.at(70, job_status="completed", audio_url="/a")
    snapshots = watch()
    failures = [snapshot for snapshot in snapshots if snapshot.reason]
    assert {snapshot.reason for snapshot in failures} == {
        "No response, trying again. No notebook service answers."
    }
    assert {snapshot.stage for snapshot in failures} == {"2 of 4: dialogue, segment 2 of 5"}
    assert (snapshots[-1].outcome, snapshots[-1].reason) == (Outcome.COMPLETE, "")


def test_outage_at_the_start_or_beyond_the_limit_is_raised(studio, watch, clock):
    studio.failure = GONE
    with pytest.raises(UnreachableError):
        watch()
    studio.failure = None
    studio.episode |= {"job_status": "running"}
    clock.at(clock.elapsed + 5, lambda: setattr(studio, "failure", GONE))
    with pytest.raises(UnreachableError):
        watch()
    assert clock.elapsed > MAX_OUTAGE_SECONDS


def test_failed_lookup_does_not_end_the_watch(studio, watch, clock):
    studio.episode |= {"job_status": "running"}
    failed = NotFoundError("There is no job, or its lookup failed.", "Look again.", status=500)
    clock.at(5, lambda: setattr(studio, "failure", failed))
    clock.at(60, lambda: setattr(studio, "failure", None))
    studio.at(70, job_status="completed", audio_url="/a")
    assert watch("command:1")[-1].outcome is Outcome.COMPLETE


def test_deletion_ends_the_watch(studio, watch, clock):
    with pytest.raises(NotFoundError):
        watch("episode:2")
    studio.episode |= {"job_status": "running", "progress": at("speech", 1, 40)}
    clock.at(5, studio.episode.clear)
    last = watch()[-1]
    assert (last.phase, last.outcome, last.stage) == ("Deleted", Outcome.STOPPED, "")
    assert last.reason == "It was deleted."


@pytest.mark.parametrize(
    ("progress", "text", "stage"),
    [
        (at("speech", 0, 40), "speech", "3 of 4: speech, turn 0 of 40"),
        (at("speech", 12, 12_000), "", "3 of 4: speech, turn 12 of 12,000"),
        (at("encoding", 1, 1), "", "4 of 4: encoding"),
        (at("speech", 41, 40), "", "3 of 4: speech"),  # more turns than the total
        (at("speech", None, 40), "", "3 of 4: speech"),
        (at("mixing", 1, 2), "", "mixing, 1 of 2"),
        (at("speech", 1, 2, []), "", "speech, turn 1 of 2"),
        (None, "speaking", "speaking"),
        (None, None, ""),
    ],
)
def test_stage_text(progress, text, stage):
    job = {"stage": text, "progress": progress, "error_message": None}
    assert build_snapshot("Ep 1", "running", job, None).stage == stage


def test_backward_progress_counts_as_a_change(studio, watch):
    studio.episode |= {"job_status": "running", "progress": at("speech", 30, 40)}
    studio.at(20, progress=at("dialogue", 1, 5))
    studio.at(40, job_status="completed", audio_url="/a")
    snapshots = watch()
    stages = list(
        dict.fromkeys(snapshot.stage for snapshot in snapshots if snapshot.outcome is None)
    )
    assert stages == ["3 of 4: speech, turn 30 of 40", "2 of 4: dialogue, segment 1 of 5"]
    assert next(snapshot for snapshot in snapshots if snapshot.stage == stages[1]).unchanged == 0


class TestWaiting:
    def wait(
        self,
        wire: RequestExecutor,
        clock: Clock,
        identifier: str = "episode:1",
        timeout: Any = None,
    ) -> Any:
        watch = EpisodeWatch(wire, ContractBackend(), identifier, clock)
        return watch.wait(timeout, sleep=clock.sleep)

    @pytest.mark.parametrize("identifier", ["episode:1", "command:1"])
    def test_wait_returns_the_episode_with_its_transcript(self, studio, wire, clock, identifier):
        studio.episode |= {"job_status": "running"}
        hinted = {"transcript": [{"speaker": "Ada", "dialogue": "Yes."}]}
        studio.at(3, job_status="completed", audio_url="/a", transcript=hinted)
        record = self.wait(wire, clock, identifier)
        assert record["transcript"]["transcript"][0]["dialogue"] == "Yes."

    def test_failure_has_its_reason_and_next_step(self, studio, wire, clock):
        studio.episode |= {"job_status": "failed", "error_message": "It refused. Check the key."}
        with pytest.raises(JobFailedError) as caught:
            self.wait(wire, clock)
        assert caught.value.message == '"Ep 1" has failed: It refused.'
        assert caught.value.next_step == 'Check the key, then `nb.podcasts.retry("Ep 1")`.'

    def test_deleted_episode_suggests_generating_it_again(self, studio, wire, clock):
        studio.episode |= {"job_status": "running"}
        clock.at(5, studio.episode.clear)
        with pytest.raises(JobFailedError, match="It was deleted") as caught:
            self.wait(wire, clock)
        assert '"PROFILE", name="Ep 1")`' in caught.value.next_step

    def test_timeout_states_the_stage_and_time_unchanged(self, studio, wire, clock):
        studio.episode |= {"job_status": "running", "progress": at("speech", 12, 40)}
        with pytest.raises(NotReadyError) as caught:
            self.wait(wire, clock, timeout=30)
        assert "running (3 of 4: speech, turn 12 of 40)" in caught.value.message
        assert "unchanged for 30 seconds" in caught.value.message


def episode(name: str | None, file: str | None = None) -> Record:
    return dict.fromkeys(EPISODE) | {"name": name, "audio_file": file}


@pytest.mark.parametrize(
    ("name", "file", "hinted"),
    [
        ("Episode 1", None, "Episode 1.mp3"),
        ("Episode 1", "/data/x.ogg", "Episode 1.ogg"),
        ("Episode 1", "/data/x.tar/../..", "Episode 1.mp3"),
        ("../../etc/passwd", None, "etc-passwd.mp3"),
        ("C:\\a?", None, "C-a.mp3"),
        ("..", None, "episode.mp3"),
        (None, None, "episode.mp3"),
    ],
)
def test_audio_file_name(name, file, hinted):
    assert audio_file_name(episode(name, file)) == hinted


@given(st.text(), st.none() | st.text())
@example("🧬" * 300, None)
@example("\ud800", None)
def test_audio_file_name_is_short_and_has_no_folder(name, file):
    file_name = audio_file_name(episode(name, file))
    assert Path(file_name).name == file_name
    assert len(file_name.encode()) < 240  # a download writes to `.NAME.part`
    assert file_name.isprintable() or not name.isprintable() or not (file or "").isprintable()


@pytest.mark.parametrize("name", ["Episode 1", 'The "best" talk', "-1", "it's", "{x}", "# 2"])
def test_suggested_command_quotes_the_episode_name(name):
    from labext.actions import use_style
    from labext_magics.core.actions import MAGIC_STYLE
    from labext_magics.core.line import tokenize

    with use_style(MAGIC_STYLE):
        line = episode_error(name, "").next_step.split("`")[1]
    *before, last = tokenize(line).tokens
    assert [token.text for token in before] == ["%nb", "episodes", "retry"]
    assert last.text == name
