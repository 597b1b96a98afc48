"""Requests and records of podcasts and profiles in the contract backend."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import LabextError, OutcomeUnknownError, ServiceError
from labext.http import RetryMode
from labext.nb import records
from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.contract.podcasts import EPISODE_PROFILES, SPEAKER_PROFILES
from labext.redaction import MASK

LOST = OutcomeUnknownError("The answer was lost.", "See `nb.podcasts.episodes()`.")
KEY = "sk-abcdefghijklmnop1234"
EPISODE = {
    "id": "episode:1",
    "name": "Episode 1",
    "notebook_id": "notebook:1",
    "job_id": "command:1",
    "job_status": "running",
}
backend = ContractBackend()

ODD = st.sampled_from([None, True, -1, 7, 2.5, float("nan"), float("inf"), "word", [], {}, [None]])
PROGRESS = ODD | st.fixed_dictionaries(
    {}, optional={key: ODD | st.just(["word", 3]) for key in records.PROGRESS}
)
LINES = ODD | st.lists(ODD | st.fixed_dictionaries({}, optional=dict.fromkeys(records.LINE, ODD)))


def generate(name: str | None = "Episode 1", speakers: list[str] | None = None) -> Any:
    return backend.generate("notebook:1", "episode_profile:1", speakers, name, None)


class TestGenerating:
    def test_lost_response_is_resolved_by_the_new_episode(self, drive):
        older = EPISODE | {"id": "episode:0"}  # names need not be unique
        call = drive(generate(), [older], LOST, [EPISODE, older])
        assert call.result == {
            "job_id": "command:1",
            "status": "running",
            "message": None,
            "episode_id": "episode:1",
            "episode_name": "Episode 1",
        }
        assert sum(request.op.method == "POST" for request in call.requests) == 1

    def test_unnamed_episode_is_resolved_by_its_notebook(self, drive):
        named = EPISODE | {"name": "Episode 7"}
        elsewhere = EPISODE | {"id": "episode:2", "notebook_id": "notebook:2"}
        assert drive(generate(None), [], LOST, [named, elsewhere]).result["episode_id"] == (
            "episode:1"
        )

    @pytest.mark.parametrize(
        "since",
        [
            [],
            [EPISODE | {"name": "another"}],
            [EPISODE | {"notebook_id": "notebook:2"}],
            [EPISODE, EPISODE | {"id": "episode:2"}],
        ],
        ids=["nothing", "another name", "another notebook", "two"],
    )
    def test_unresolved_lost_response_has_an_unknown_outcome(self, drive, since):
        with pytest.raises(OutcomeUnknownError):
            drive(generate(), [], LOST, since)


class TestRetrying:
    def test_retry_is_sent_once(self, drive):
        call = drive(
            backend.retry_episode("episode:1"), {"job_id": "command:2", "message": "Again."}
        )
        assert call.line == ("POST", "/podcasts/episodes/episode%3A1/retry")
        assert call.only.op.repeat is RetryMode.UNSENT
        assert call.result == {
            "job_id": "command:2",
            "message": "Again.",
            "episode_id": "episode:1",
        }

    def test_lost_response_is_resolved_by_the_episode(self, drive):
        taken_up = EPISODE | {"job_id": "command:2", "job_status": "new"}
        call = drive(backend.retry_episode("episode:1"), LOST, taken_up)
        assert (call.result["job_id"], call.result["episode_id"]) == ("command:2", "episode:1")
        with pytest.raises(OutcomeUnknownError):
            drive(backend.retry_episode("episode:1"), LOST, EPISODE | {"job_status": "failed"})


class TestReading:
    def test_episode_has_outline_and_transcript(self, drive):
        line = {"speaker": "Ada", "dialogue": "Glucose.", "start": 0, "end": 1.5, "more": 1}
        part = {"name": "Sugar", "description": "", "size": "short"}
        call = drive(
            backend.episode("episode:1"),
            EPISODE | {"outline": {"segments": [part]}, "transcript": {"transcript": [line]}},
        )
        assert list(call.result) == list(records.EPISODE_DETAIL)
        assert call.result["outline"] == {"segments": [part]}
        (parsed,) = call.result["transcript"]["transcript"]
        assert parsed == {"speaker": "Ada", "dialogue": "Glucose.", "start": 0.0, "end": 1.5}

    def test_times_and_progress_are_optional(self, drive):
        transcript = {"transcript": [{"speaker": "Ada", "dialogue": "Glucose."}]}
        record = drive(backend.episode("episode:1"), EPISODE | {"transcript": transcript}).result
        assert record["transcript"]["transcript"][0]["start"] is None
        assert record["progress"] is None
        job = drive(
            backend.podcast_job("command:1"),
            {"job_id": "command:1", "status": "running", "result": {}, "progress": None},
        ).result
        assert list(job) == list(records.JOB)
        assert (job["progress"], job["status"]) == (None, "running")

    def test_key_in_an_error_message_is_masked(self, drive):
        failed_episode = EPISODE | {"job_status": "failed", "error_message": f"401 of {KEY}"}
        assert (
            drive(backend.episodes(), [failed_episode]).result[0]["error_message"]
            == f"401 of {MASK}"
        )
        job = {"status": "failed", "error_message": f"401 of {KEY}", "stage": KEY}
        assert KEY not in repr(drive(backend.podcast_job("command:1"), job).result)

    @given(progress=PROGRESS, outline=LINES, transcript=LINES)
    def test_invalid_parts_are_left_out(self, progress, outline, transcript):
        steps = backend.episode("episode:1")
        next(steps)
        with pytest.raises(StopIteration) as ended:
            steps.send(
                EPISODE
                | {
                    "progress": progress,
                    "outline": {"segments": outline},
                    "transcript": {"transcript": transcript},
                }
            )
        record = ended.value.value
        progress_record = record["progress"]
        if progress_record is not None:
            assert list(progress_record) == list(records.PROGRESS)
            assert progress_record["stage"] == "word"
            assert all(
                progress_record[key] is None or progress_record[key] >= 0
                for key in ("done", "total")
            )
            assert all(isinstance(stage, str) for stage in progress_record["stages"])
        for line in (record["transcript"] or {"transcript": []})["transcript"]:
            assert list(line) == list(records.LINE)
            assert all(line[key] is None or 0 <= line[key] < 100 for key in ("start", "end"))
            assert isinstance(line["dialogue"], str)

    @pytest.mark.parametrize("answer", [None, 3, "words", [], {}, [3], {"id": ""}])
    def test_invalid_episode_is_an_error(self, drive, answer):
        with pytest.raises(ServiceError):
            drive(backend.episode("episode:1"), answer)


SPEAKER = {"name": "Ada", "voice_id": None, "backstory": "", "personality": ""}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "episode": ("/episode-profiles", {"id": "episode_profile:1", "name": "interview"}),
    "speaker": ("/speaker-profiles", {"id": "speaker:1", "name": "host", "speakers": [SPEAKER]}),
}
PROFILES = {"episode": EPISODE_PROFILES, "speaker": SPEAKER_PROFILES}


@pytest.mark.parametrize("kind", KINDS)
class TestProfiles:
    def call(self, verb: str, kind: str, *arguments: Any) -> Any:
        return getattr(backend, f"{verb}_profile")(PROFILES[kind], *arguments)

    def test_lost_response_is_resolved_by_the_name(self, drive, kind):
        _, answer = KINDS[kind]
        steps = self.call("new", kind, {"name": answer["name"]})
        assert drive(steps, LOST, [answer]).result["id"] == answer["id"]
        with pytest.raises(OutcomeUnknownError):
            drive(self.call("new", kind, {"name": "another"}), LOST, [answer])
        body = {"name": answer["name"], "description": "mine"}
        with pytest.raises(OutcomeUnknownError):  # it existed before, and differs
            drive(self.call("new", kind, body), LOST, [answer])

    @pytest.mark.parametrize("answer", [None, [], {"name": "a"}, {"id": "x", "speakers": [3]}])
    def test_invalid_profile_is_an_error(self, drive, kind, answer):
        if kind == "episode" and answer and "id" in answer:
            return  # speakers are not looked up in it
        with pytest.raises(LabextError, match=r"is invalid|has no identifier"):
            drive(backend.profile(PROFILES[kind], "x"), answer)
