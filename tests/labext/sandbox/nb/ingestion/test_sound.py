"""Sound and video: what is said in them, or what is missing to hear it."""

from __future__ import annotations

import sys

import pytest
from labext_test_documents import spoken

from labext.sandbox.nb import task_process
from labext.sandbox.nb.speech import transcription

SAID = "Two three four five six."
FILM = b"\0\0\0\x18ftypmp42\0\0\0\0"


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder that alone is on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def ffmpeg(programs):
    """A program in ffmpeg's place, which hands out what stands behind a film's first 16 bytes."""
    program = programs / "ffmpeg"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "film = sys.argv[sys.argv.index('-i') + 1]\n"
        "sys.stdout.buffer.write(open(film, 'rb').read()[16:])\n"
    )
    program.chmod(0o700)


def test_what_is_said_is_heard_and_how_far_it_is_told(read):
    told: list[str] = []
    found = read(spoken(SAID, "OGG"), "talk.ogg", stages=told)
    assert "three four five" in found.text
    assert told[-1] == "listening, minute 1 of 1"


def test_silence_has_no_text(refused):
    import io

    import numpy as np
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, np.zeros((8000, 2)), 8000, format="FLAC")
    assert "No speech was recognized" in refused(out.getvalue(), "silence.flac")


def test_the_sound_of_a_video_is_heard(read, ffmpeg, monkeypatch):
    samples = bytes(range(256)) * 400

    def heard(sound, _tell):
        assert b"".join(sound.blocks) == samples
        return "what was said"

    monkeypatch.setattr(transcription, "recognize", heard)
    assert read(FILM + samples, "film.mp4").text == "what was said"


def test_a_video_without_sound_says_so(refused, ffmpeg):
    assert "no audio" in refused(FILM, "film.mp4")


def test_without_ffmpeg_it_says_what_to_install(refused, programs):
    assert "apt install ffmpeg" in refused(FILM + bytes(100), "film.mp4")
    assert "ffmpeg" in refused(b"ID3\x04" + bytes(100), "broken.mp3")


def test_without_the_extra_it_says_what_to_install(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    for content, name in ((spoken("Time."), "talk.wav"), (FILM, "film.mp4")):
        assert "labext-jupyter[speech]" in refused(content, name)


def test_a_stage_is_told_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(
        task_process, "_MIN_INTERVAL", 60
    )  # a slow disk may take longer than its own
    assert task_process.read_stage(tmp_path) is None
    tell = task_process.ProgressWriter(tmp_path).set_stage
    tell("page 1 of 9")
    tell("page 2 of 9")  # a moment later
    assert task_process.read_stage(tmp_path) == "page 1 of 9"
    tell("embedding")
    assert task_process.read_stage(tmp_path) == "embedding"
