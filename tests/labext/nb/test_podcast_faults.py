"""Episodes by a service that is cut off, stalls or lies: no sound that is none, nothing twice."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from labext.errors import (
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    OutcomeUnknownError,
    ServiceError,
    SetupError,
)
from labext.progress import Outcome

pytestmark = pytest.mark.faults

SOUND = bytes(range(256)) * 2000
EPISODE = {
    "id": "episode:1",
    "name": "Ep: 1/2",
    "notebook_id": "notebook:1",
    "job_id": "command:1",
    "job_status": "completed",
    "audio_file": "episodes/1.mp3",
    "audio_bytes": len(SOUND),
}
KEY = "sk-abcdefghijklmnop1234"
ORDER = ("notebook:1", "episode_profile:1", None, "Ep: 1/2")


class TestSound:
    def test_it_comes_under_the_episodes_name(self, faulty, client_of, tmp_path):
        server = faulty(faulty.answer(EPISODE), faulty.answer(SOUND, kind="audio/mpeg"))
        told: list[tuple[int, int | None]] = []
        where = client_of(server).podcasts.audio(
            "episode:1", tmp_path, on_bytes=lambda *each: told.append(each)
        )
        assert where == tmp_path / "Ep- 1-2.mp3"
        assert where.read_bytes() == SOUND
        assert told[-1] == (len(SOUND), len(SOUND))
        assert server.received[1].path == "/api/podcasts/episodes/episode%3A1/audio"

    def test_one_that_is_cut_in_the_middle_goes_on_there(self, faulty, client_of, tmp_path):
        half = len(SOUND) // 2
        head = (
            f'HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nETag: "v1"\r\n'
            f"Content-Length: {len(SOUND)}\r\n\r\n"
        ).encode()
        rest = (
            f'HTTP/1.1 206 Partial Content\r\nETag: "v1"\r\n'
            f"Content-Range: bytes {half}-{len(SOUND) - 1}/{len(SOUND)}\r\n"
            f"Content-Length: {len(SOUND) - half}\r\n\r\n"
        ).encode()
        cut = faulty.raw(head + SOUND[:half])
        server = faulty(faulty.answer(EPISODE), cut, faulty.raw(rest + SOUND[half:]))
        assert client_of(server).podcasts.sound("episode:1") == SOUND
        assert server.received[2].headers["range"] == f"bytes={half}-"

    @pytest.mark.parametrize(
        ("sound", "kind", "length"),
        [
            (SOUND[:1000], "audio/mpeg", len(SOUND)),  # cut off again and again
            (SOUND[:1000], "audio/mpeg", None),  # it says that this is all
            (b"", "audio/mpeg", None),
            (b"<html><title>Sign in</title></html>", "text/html", None),
        ],
        ids=["cut", "short", "empty", "page"],
    )
    def test_what_is_not_whole_is_not_there(self, faulty, client_of, tmp_path, sound, kind, length):
        server = faulty(faulty.answer(EPISODE), faulty.answer(sound, kind=kind, length=length))
        with pytest.raises(ServiceError) as caught:
            client_of(server).podcasts.audio("episode:1", tmp_path / "a.mp3")
        assert caught.value.next_step
        assert list(tmp_path.iterdir()) == []

    def test_a_stalled_one_goes_on(self, faulty, client_of, tmp_path):
        def stalls(connection: socket.socket, request: Any) -> bool:
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(SOUND)}\r\n\r\n"
            connection.sendall(head.encode() + SOUND[:1000])
            connection.recv(1)  # until the client has given up
            return False

        server = faulty(faulty.answer(EPISODE), stalls, faulty.answer(SOUND, kind="audio/mpeg"))
        client = client_of(server)
        transport = client._executor.http
        transport._options = replace(transport._options, timeout=(1, 0.2))
        assert client.podcasts.sound("episode:1") == SOUND

    @pytest.mark.parametrize(
        ("told", "kind", "said", "step"),
        [
            ({"job_status": "running"}, NotReadyError, "still being generated", "podcasts.wait"),
            (
                {"job_status": "failed", "error_message": f"401 of {KEY}."},
                JobFailedError,
                "has failed: 401 of •••.",
                "podcasts.retry",
            ),
            ({}, JobFailedError, "no audio", "podcasts.retry"),
        ],
        ids=["running", "failed", "completed without"],
    )
    def test_no_sound_is_told_before_it_is_asked_for(
        self, faulty, client_of, told, kind, said, step
    ):
        silent = EPISODE | {"audio_file": None, "audio_bytes": None} | told
        server = faulty(faulty.answer(silent))
        with pytest.raises(kind) as caught:
            client_of(server).podcasts.sound("episode:1")
        assert said in caught.value.message
        assert f'`nb.{step}("Ep: 1/2")`' in caught.value.next_step
        assert server.count == 1

    def test_the_services_own_reason_is_told(self, faulty, client_of):
        server = faulty(
            faulty.answer(EPISODE), faulty.answer({"detail": "The sound is gone."}, 404)
        )
        with pytest.raises(NotFoundError, match="The sound is gone") as caught:
            client_of(server).podcasts.sound("episode:1")
        assert caught.value.next_step == "See `nb.podcasts.episodes()`."


class TestGenerating:
    @pytest.mark.parametrize("lost", ["silence", "reset"])
    def test_a_lost_answer_is_settled_and_sent_once(self, faulty, client_of, lost):
        server = faulty(faulty.answer([]), getattr(faulty, lost), faulty.answer([EPISODE]))
        told = client_of(server).podcasts.generate(*ORDER)
        assert (told["episode_id"], told["job_id"]) == ("episode:1", "command:1")
        assert [each.method for each in server.received] == ["GET", "POST", "GET"]

    def test_what_can_not_be_settled_is_told_and_sent_once(self, faulty, client_of):
        server = faulty(faulty.answer([EPISODE]), faulty.silence, faulty.answer([EPISODE]))
        with pytest.raises(OutcomeUnknownError, match="may or may not") as caught:
            client_of(server).podcasts.generate(*ORDER)
        assert "`nb.podcasts.episodes()`" in caught.value.next_step
        assert [each.method for each in server.received].count("POST") == 1

    @pytest.mark.parametrize(
        ("status", "detail", "kind", "step"),
        [
            (400, "The notebook is empty.", InputError, 'nb.sources.add("FILE")'),
            (400, "5 speakers are too many: at most 4.", InputError, "speakers="),
            (404, "There is no episode profile x.", NotFoundError, "nb."),
            (422, "The profile has no model.", SetupError, '"podcast": '),
            (
                422,
                "Nothing can speak. Run `pip install 'labext-jupyter[speech]'`.",
                SetupError,
                "pip install 'labext-jupyter[speech]'",
            ),
        ],
    )
    def test_a_refusal_is_one_line_and_a_next_step(
        self, faulty, client_of, status, detail, kind, step
    ):
        server = faulty(faulty.answer([]), faulty.answer({"detail": detail}, status))
        with pytest.raises(kind) as caught:
            client_of(server).podcasts.generate(*ORDER)
        assert "\n" not in caught.value.message
        assert step in caught.value.next_step


class TestWatching:
    def test_a_completed_one_without_sound_is_failed(self, faulty, client_of):
        silent = EPISODE | {"audio_file": None, "audio_bytes": 0}
        client = client_of(faulty(faulty.answer(silent)))
        (seen,) = client.podcasts.watch("episode:1")
        assert seen.outcome is Outcome.FAILED
        with pytest.raises(JobFailedError, match="no audio") as caught:
            client.podcasts.wait("episode:1")
        assert '`nb.podcasts.retry("Ep: 1/2")`' in caught.value.next_step

    def test_a_job_is_followed_to_its_episode(self, faulty, client_of):
        job = {"status": "completed", "result": {"episode_id": "episode:1"}}
        client = client_of(faulty(faulty.answer(job), faulty.answer(EPISODE)))
        assert client.podcasts.wait("command:1")["name"] == "Ep: 1/2"

    @pytest.mark.parametrize("answer", [[], "no JSON", {"name": "x"}])
    def test_an_answer_that_makes_no_sense_at_first_is_told(self, faulty, client_of, answer):
        with pytest.raises(ServiceError):
            next(client_of(faulty(faulty.answer(answer))).podcasts.watch("episode:1"))
