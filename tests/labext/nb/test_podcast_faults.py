"""Podcasts of a service that drops connections, stalls or sends invalid responses."""

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

pytestmark = pytest.mark.faults

AUDIO = bytes(range(256)) * 2000
EPISODE = {
    "id": "episode:1",
    "name": "Ep: 1/2",
    "notebook_id": "notebook:1",
    "job_id": "command:1",
    "job_status": "completed",
    "audio_file": "episodes/1.mp3",
    "audio_bytes": len(AUDIO),
}
KEY = "sk-abcdefghijklmnop1234"
ORDER = ("notebook:1", "episode_profile:1", None, "Ep: 1/2")


class TestAudio:
    def test_audio_file_is_named_after_the_episode(self, faulty, client_of, tmp_path):
        server = faulty(faulty.answer(EPISODE), faulty.answer(AUDIO, kind="audio/mpeg"))
        fields: list[tuple[int, int | None]] = []
        written = client_of(server).podcasts.audio(
            "episode:1", tmp_path, on_bytes=lambda *counts: fields.append(counts)
        )
        assert written == tmp_path / "Ep- 1-2.mp3"
        assert written.read_bytes() == AUDIO
        assert fields[-1] == (len(AUDIO), len(AUDIO))
        assert server.received[1].path == "/api/podcasts/episodes/episode%3A1/audio"

    @pytest.mark.parametrize(
        ("sound", "kind", "length"),
        [
            (AUDIO[:1000], "audio/mpeg", len(AUDIO)),  # cut off again and again
            (AUDIO[:1000], "audio/mpeg", None),  # it says that this is all
            (b"", "audio/mpeg", None),
            (b"<html><title>Sign in</title></html>", "text/html", None),
        ],
        ids=["cut", "short", "empty", "page"],
    )
    def test_incomplete_audio_leaves_no_file(
        self, faulty, client_of, tmp_path, sound, kind, length
    ):
        server = faulty(faulty.answer(EPISODE), faulty.answer(sound, kind=kind, length=length))
        with pytest.raises(ServiceError) as caught:
            client_of(server).podcasts.audio("episode:1", tmp_path / "a.mp3")
        assert caught.value.next_step
        assert list(tmp_path.iterdir()) == []

    def test_stalled_download_is_retried(self, faulty, client_of, tmp_path):
        def stalls(connection: socket.socket, request: Any) -> bool:
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(AUDIO)}\r\n\r\n"
            connection.sendall(head.encode() + AUDIO[:1000])
            connection.recv(1)  # until the client has given up
            return False

        server = faulty(faulty.answer(EPISODE), stalls, faulty.answer(AUDIO, kind="audio/mpeg"))
        client = client_of(server)
        transport = client._executor.http
        transport._options = replace(transport._options, timeout=(1, 0.2))
        assert client.podcasts.sound("episode:1") == AUDIO

    @pytest.mark.parametrize(
        ("fields", "kind", "message", "step"),
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
    def test_missing_audio_is_reported_without_a_download(
        self, faulty, client_of, fields, kind, message, step
    ):
        silent = EPISODE | {"audio_file": None, "audio_bytes": None} | fields
        server = faulty(faulty.answer(silent))
        with pytest.raises(kind) as caught:
            client_of(server).podcasts.sound("episode:1")
        assert message in caught.value.message
        assert f'`nb.{step}("Ep: 1/2")`' in caught.value.next_step
        assert server.count == 1

    def test_download_error_has_the_server_message(self, faulty, client_of):
        server = faulty(
            faulty.answer(EPISODE), faulty.answer({"detail": "The sound is gone."}, 404)
        )
        with pytest.raises(NotFoundError, match="The sound is gone") as caught:
            client_of(server).podcasts.sound("episode:1")
        assert caught.value.next_step == "See `nb.podcasts.episodes()`."


class TestGenerating:
    def test_unresolved_lost_response_has_an_unknown_outcome(self, faulty, client_of):
        server = faulty(faulty.answer([EPISODE]), faulty.silence, faulty.answer([EPISODE]))
        with pytest.raises(OutcomeUnknownError, match="may or may not") as caught:
            client_of(server).podcasts.generate(*ORDER)
        assert "`nb.podcasts.episodes()`" in caught.value.next_step
        assert [request.method for request in server.received].count("POST") == 1

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
    def test_rejection_has_one_line_and_a_next_step(
        self, faulty, client_of, status, detail, kind, step
    ):
        server = faulty(faulty.answer([]), faulty.answer({"detail": detail}, status))
        with pytest.raises(kind) as caught:
            client_of(server).podcasts.generate(*ORDER)
        assert "\n" not in caught.value.message
        assert step in caught.value.next_step


class TestWatching:
    @pytest.mark.parametrize("answer", [[], "no JSON", {"name": "x"}])
    def test_invalid_response_is_an_error(self, faulty, client_of, answer):
        with pytest.raises(ServiceError):
            next(client_of(faulty(faulty.answer(answer))).podcasts.watch("episode:1"))
