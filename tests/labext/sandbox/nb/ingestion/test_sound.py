"""Speech recognition of sound and video, and missing programs."""

from __future__ import annotations

import sys
from statistics import mean

import pytest
from labext_test_documents import spoken

from labext.sandbox.nb import background_tasks
from labext.sandbox.nb.search.ranking import MIN_CONFIDENCE
from labext.sandbox.nb.speech import transcription
from labext.sandbox.nb.speech.transcription import Transcript

SAID = "Two three four five six."
FILM = b"\0\0\0\x18ftypmp42\0\0\0\0"


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """The only folder on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def ffmpeg(programs):
    """A program instead of ffmpeg that returns the bytes after the first 16 of a video."""
    program = programs / "ffmpeg"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "film = sys.argv[sys.argv.index('-i') + 1]\n"
        "sys.stdout.buffer.write(open(film, 'rb').read()[16:])\n"
    )
    program.chmod(0o700)


@pytest.fixture
def no_speech_model(monkeypatch):
    """Fail if the speech recognition model is loaded, which takes seconds."""
    monkeypatch.setattr("pocketsphinx.Decoder", None)


def test_transcript_has_progress_and_a_confidence_that_is_low_for_unknown_words(read):
    stages: list[str] = []
    result = read(spoken(SAID, "OGG"), "talk.ogg", stages=stages)
    assert "three four five" in result.text
    assert stages[-1] == "listening, minute 1 of 1"
    clear = result.transcript
    assert clear.model == "pocketsphinx"
    assert len(clear.confidences) == len(clear.text.split())
    rough = read(spoken("Ribulokinase phosphorylates ribulose.", "OGG"), "talk.ogg").transcript
    assert mean(rough.confidences) < MIN_CONFIDENCE < mean(clear.confidences)


def test_silence_is_refused(read_error, no_speech_model):
    import io

    import numpy as np
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, np.zeros((8000, 2)), 8000, format="FLAC")
    assert "No speech was recognized" in read_error(out.getvalue(), "silence.flac")


def test_audio_of_a_video_is_transcribed(read, ffmpeg, monkeypatch):
    samples = bytes(range(256)) * 400

    def recognize(sound, _tell):
        assert b"".join(sound.blocks) == samples
        return Transcript("what was said", "fake", (0.9, 0.8, 0.7))

    monkeypatch.setattr(transcription, "recognize", recognize)
    assert read(FILM + samples, "film.mp4").text == "what was said"


def test_video_without_audio_is_refused(read_error, ffmpeg, no_speech_model):
    assert "no audio" in read_error(FILM, "film.mp4")


def test_missing_ffmpeg_is_refused_with_a_hint(read_error, programs, no_speech_model):
    assert "apt install ffmpeg" in read_error(FILM + bytes(100), "film.mp4")
    assert "ffmpeg" in read_error(b"ID3\x04" + bytes(100), "broken.mp3")


def test_missing_speech_extra_is_refused_with_a_hint(read_error, monkeypatch):
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    for content, name in ((spoken("Time."), "talk.wav"), (FILM, "film.mp4")):
        assert "labext-jupyter[speech]" in read_error(content, name)


def test_progress_writer_limits_updates_of_a_stage(tmp_path, monkeypatch):
    monkeypatch.setattr(background_tasks, "_MIN_INTERVAL", 60)  # for slow disks
    assert background_tasks.read_stage(tmp_path) is None
    set_stage = background_tasks.ProgressWriter(tmp_path).set_stage
    set_stage("page 1 of 9")
    set_stage("page 2 of 9")  # a moment later
    assert background_tasks.read_stage(tmp_path) == "page 1 of 9"
    set_stage("embedding")
    assert background_tasks.read_stage(tmp_path) == "embedding"
