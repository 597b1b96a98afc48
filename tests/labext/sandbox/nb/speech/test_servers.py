"""Speech synthesis and recognition by an OpenAI-compatible server."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from labext_test_documents import spoken
from labext_test_sounds import pitch
from openai_server import respond_with
from starlette.exceptions import HTTPException

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import readers as reader
from labext.sandbox.nb.ingestion.reading import SourceFile
from labext.sandbox.nb.podcasts import recording
from labext.sandbox.nb.podcasts.script import Turn
from labext.sandbox.nb.speech import engine, transcription


def ignore(*_stage):
    pass


def tone(hertz, rate, seconds=1.0, channels=1, kind="WAV"):
    import soundfile

    wave = 0.2 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)
    out = io.BytesIO()
    soundfile.write(out, np.stack([wave] * channels, axis=1), rate, format=kind)
    return out.getvalue()


@pytest.mark.parametrize(
    ("rate", "channels", "kind"),
    [(24_000, 1, "WAV"), (44_100, 2, "MP3"), (16_000, 1, "FLAC"), (48_000, 2, "OGG")],
)
def test_remote_speech_keeps_pitch_and_length(
    site, remote, provider, tmp_path, rate, channels, kind
):
    import soundfile

    provider.sound = lambda _body: tone(220, rate, 1.0, channels, kind)
    target = tmp_path / "episode.mp3"
    (turn,) = recording.record_dialogue(
        site, [Turn("Ada", "2 mM of it.")], {"Ada": (remote(), "zoe")}, target, ignore
    )
    assert turn.end - turn.start == pytest.approx(1.0, abs=0.06)
    samples, decoded_rate = soundfile.read(target, dtype="float32")
    segment = samples[int(turn.start * decoded_rate) : int(turn.end * decoded_rate)]
    assert pitch(segment, decoded_rate) == pytest.approx(220, rel=0.03)
    (request,) = provider.speeches()
    assert request.body["voice"] == "zoe"
    assert request.body["input"] == "2 millimolar of it."


def test_server_failure_fails_the_recording(site, remote, provider, tmp_path):
    provider.faults = [None, respond_with(500, {"error": {"message": "out of memory"}})]
    turns = [Turn("Ada", f"Turn {number}.") for number in range(6)]
    with pytest.raises(HTTPException, match="out of memory") as caught:
        recording.record_dialogue(
            site, turns, {"Ada": (remote(), None)}, tmp_path / "e.mp3", ignore
        )
    assert caught.value.status_code == 502
    assert list(tmp_path.iterdir()) == []


def test_unreadable_speech_is_502(site, remote, provider):
    provider.sound = lambda _body: b"RIFF\x10\0\0\0WAVEnothing at all"
    with pytest.raises(HTTPException, match="readable audio") as caught:
        engine.synthesize(site, remote(), "nova", "Hello.")
    assert caught.value.status_code == 502


def test_audio_is_sent_as_a_small_mono_mp3(site, remote, provider, tmp_path):
    import soundfile

    transcript = []
    provider.transcribe = lambda content: transcript.append(content) or "What was said."
    path = tmp_path / "original"  # as a source's file, without a suffix
    path.write_bytes(tone(440, 44_100, 3.0, 2))
    stages = []
    result = transcription.transcribe(site, remote("ear", "stt"), path, stages.append)
    assert result.text == "What was said."
    samples, rate = soundfile.read(io.BytesIO(transcript[0]))
    assert (rate, samples.ndim) == (16_000, 1)
    assert len(samples) / rate == pytest.approx(3, abs=0.01)
    assert len(transcript[0]) < 30_000
    assert "ear" in stages[-1]


def test_slot_model_transcribes_a_source(site, remote, provider, slot, tmp_path):
    provider.transcribe = lambda _content: "What was said."
    slot(remote("ear", "stt"))
    path = tmp_path / "original"
    path.write_bytes(tone(440, 8_000))
    file = SourceFile(
        path,
        "talk.wav",
        hear=lambda *transcript: transcription.transcribe_by_default(site, *transcript),
    )
    assert reader.read_audio(file, ignore).text == "What was said."
    provider.faults = [respond_with(500, {"error": {"message": "no ears"}})]
    with pytest.raises(UnreadableError, match="no ears"):
        reader.read_audio(file, ignore)


def test_empty_slot_is_refused_with_a_hint(site, tmp_path, monkeypatch):
    with pytest.raises(UnreadableError, match="models default speech_to_text NAME"):
        transcription.transcribe_by_default(site, tmp_path / "original", ignore)
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    with pytest.raises(UnreadableError, match="labext-jupyter"):
        transcription.transcribe_by_default(site, tmp_path / "original", ignore)


def test_built_in_slot_model_transcribes(site, slot, built_in, tmp_path):
    slot(built_in("pocketsphinx", "stt"))
    path = tmp_path / "original"
    path.write_bytes(spoken("Two three four five six."))
    assert "three four five" in transcription.transcribe_by_default(site, path, ignore).text


def test_invalid_audio_is_not_sent(site, remote, provider, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "original"
    path.write_bytes(b"no sound")
    with pytest.raises(UnreadableError, match="ffmpeg"):
        transcription.transcribe(site, remote("ear", "stt"), path, ignore)
    assert provider.requests == []
