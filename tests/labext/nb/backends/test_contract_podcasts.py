"""The contract's backend for podcasts and profiles, driven by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
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
talk = ContractBackend()

ODD = st.sampled_from([None, True, -1, 7, 2.5, float("nan"), float("inf"), "word", [], {}, [None]])
PROGRESS = ODD | st.fixed_dictionaries(
    {}, optional={key: ODD | st.just(["word", 3]) for key in records.PROGRESS}
)
LINES = ODD | st.lists(ODD | st.fixed_dictionaries({}, optional=dict.fromkeys(records.LINE, ODD)))


def generate(name: str | None = "Episode 1", speakers: list[str] | None = None) -> Any:
    return talk.generate("notebook:1", "episode_profile:1", speakers, name, None)


class TestGenerating:
    def test_what_is_sent(self, drive):
        answer = {"job_id": "command:1", "status": "submitted", "episode_id": "episode:1"}
        done = drive(generate(speakers=["speaker:1", "speaker:2"]), [], answer)
        before, sent = done.requests
        assert before.op.repeat is RetryMode.ALWAYS
        assert sent.op.repeat is RetryMode.UNSENT
        assert sent.json == {
            "notebook_id": "notebook:1",
            "episode_profile_id": "episode_profile:1",
            "speaker_profile_ids": ["speaker:1", "speaker:2"],
            "episode_name": "Episode 1",
        }
        assert list(done.result) == list(records.EPISODE_SUBMISSION)
        assert done.result["job_id"] == "command:1"

    def test_a_lost_answer_is_settled_by_what_has_come_since(self, drive):
        older = EPISODE | {"id": "episode:0"}  # of the same name: two may have it
        done = drive(generate(), [older], LOST, [EPISODE, older])
        assert done.result == {
            "job_id": "command:1",
            "status": "running",
            "message": None,
            "episode_id": "episode:1",
            "episode_name": "Episode 1",
        }
        assert sum(request.op.method == "POST" for request in done.requests) == 1

    def test_one_without_a_name_is_known_by_its_notebook(self, drive):
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
    def test_what_can_not_be_settled_is_told(self, drive, since):
        with pytest.raises(OutcomeUnknownError):
            drive(generate(), [], LOST, since)


class TestRetrying:
    def test_it_is_sent_once(self, drive):
        done = drive(talk.retry_episode("episode:1"), {"job_id": "command:2", "message": "Again."})
        assert done.line == ("POST", "/podcasts/episodes/episode%3A1/retry")
        assert done.only.op.repeat is RetryMode.UNSENT
        assert done.result == {
            "job_id": "command:2",
            "message": "Again.",
            "episode_id": "episode:1",
        }

    def test_a_lost_answer_is_settled_by_the_episode(self, drive):
        taken_up = EPISODE | {"job_id": "command:2", "job_status": "new"}
        done = drive(talk.retry_episode("episode:1"), LOST, taken_up)
        assert (done.result["job_id"], done.result["episode_id"]) == ("command:2", "episode:1")
        with pytest.raises(OutcomeUnknownError):
            drive(talk.retry_episode("episode:1"), LOST, EPISODE | {"job_status": "failed"})


class TestReading:
    def test_an_episode_with_what_is_said_in_it(self, drive):
        said = {"speaker": "Ada", "dialogue": "Glucose.", "start": 0, "end": 1.5, "more": 1}
        part = {"name": "Sugar", "description": "", "size": "short"}
        done = drive(
            talk.episode("episode:1"),
            EPISODE | {"outline": {"segments": [part]}, "transcript": {"transcript": [said]}},
        )
        assert list(done.result) == list(records.EPISODE_DETAIL)
        assert done.result["outline"] == {"segments": [part]}
        (line,) = done.result["transcript"]["transcript"]
        assert line == {"speaker": "Ada", "dialogue": "Glucose.", "start": 0.0, "end": 1.5}

    def test_a_server_without_times_and_progress(self, drive):
        said = {"transcript": [{"speaker": "Ada", "dialogue": "Glucose."}]}
        record = drive(talk.episode("episode:1"), EPISODE | {"transcript": said}).result
        assert record["transcript"]["transcript"][0]["start"] is None
        assert record["progress"] is None
        job = drive(
            talk.podcast_job("command:1"),
            {"job_id": "command:1", "status": "running", "result": {}, "progress": None},
        ).result
        assert list(job) == list(records.JOB)
        assert (job["progress"], job["status"]) == (None, "running")

    def test_a_key_in_a_reason_is_masked(self, drive):
        told = EPISODE | {"job_status": "failed", "error_message": f"401 of {KEY}"}
        assert drive(talk.episodes(), [told]).result[0]["error_message"] == f"401 of {MASK}"
        job = {"status": "failed", "error_message": f"401 of {KEY}", "stage": KEY}
        assert KEY not in repr(drive(talk.podcast_job("command:1"), job).result)

    @given(progress=PROGRESS, outline=LINES, transcript=LINES)
    @settings(max_examples=60, deadline=None)
    def test_odd_pieces_are_left_out(self, progress, outline, transcript):
        steps = talk.episode("episode:1")
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
        at = record["progress"]
        if at is not None:
            assert list(at) == list(records.PROGRESS)
            assert at["stage"] == "word"
            assert all(at[key] is None or at[key] >= 0 for key in ("done", "total"))
            assert all(isinstance(each, str) for each in at["stages"])
        for line in (record["transcript"] or {"transcript": []})["transcript"]:
            assert list(line) == list(records.LINE)
            assert all(line[key] is None or 0 <= line[key] < 100 for key in ("start", "end"))
            assert isinstance(line["dialogue"], str)

    @pytest.mark.parametrize("answer", [None, 3, "words", [], {}, [3], {"id": ""}])
    def test_no_episode_is_an_error(self, drive, answer):
        with pytest.raises(ServiceError):
            drive(talk.episode("episode:1"), answer)


SPEAKER = {"name": "Ada", "voice_id": None, "backstory": "", "personality": ""}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "episode": ("/episode-profiles", {"id": "episode_profile:1", "name": "interview"}),
    "speaker": ("/speaker-profiles", {"id": "speaker:1", "name": "host", "speakers": [SPEAKER]}),
}
PROFILES = {"episode": EPISODE_PROFILES, "speaker": SPEAKER_PROFILES}


@pytest.mark.parametrize("kind", KINDS)
class TestProfiles:
    def call(self, verb: str, kind: str, *given: Any) -> Any:
        return getattr(talk, f"{verb}_profile")(PROFILES[kind], *given)

    def test_both_kinds_have_the_six_operations(self, drive, kind):
        path, answer = KINDS[kind]
        one = f"{path}/{kind}%3A1"
        listed = drive(talk.profiles(PROFILES[kind]), [answer])
        assert listed.line == ("GET", path)
        record = listed.result[0]
        looked = drive(talk.profile(PROFILES[kind], f"{kind}:1"), answer)
        assert (looked.line, looked.result) == (("GET", one), record)
        new = drive(self.call("new", kind, {"name": "a"}), answer)
        assert (new.line, new.only.json) == (("POST", path), {"name": "a"})
        changed = drive(self.call("change", kind, f"{kind}:1", {"name": "a"}), answer)
        assert changed.line == ("PUT", one)
        copied = drive(self.call("copy", kind, f"{kind}:1"), answer)
        assert (copied.line, copied.only.op.repeat) == (
            ("POST", f"{one}/duplicate"),
            RetryMode.UNSENT,
        )
        assert drive(self.call("delete", kind, f"{kind}:1"), None).line == ("DELETE", one)

    def test_a_lost_answer_is_settled_by_the_name(self, drive, kind):
        _, answer = KINDS[kind]
        steps = self.call("new", kind, {"name": answer["name"]})
        assert drive(steps, LOST, [answer]).result["id"] == answer["id"]
        with pytest.raises(OutcomeUnknownError):
            drive(self.call("new", kind, {"name": "another"}), LOST, [answer])
        body = {"name": answer["name"], "description": "mine"}
        with pytest.raises(OutcomeUnknownError):  # it was there before, and is another one
            drive(self.call("new", kind, body), LOST, [answer])

    @pytest.mark.parametrize("answer", [None, [], {"name": "a"}, {"id": "x", "speakers": [3]}])
    def test_no_profile_is_an_error(self, drive, kind, answer):
        if kind == "episode" and answer and "id" in answer:
            return  # nobody looks for speakers in it
        with pytest.raises(LabextError, match=r"is invalid|has no identifier"):
            drive(talk.profile(PROFILES[kind], "x"), answer)
