"""Recorded dialogues, measured, and speech of an OpenAI-compatible server."""

from __future__ import annotations

import io
import itertools
import sys
import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from labext_test_sounds import loudness, pitch, silences
from openai_server import respond_with
from starlette.exceptions import HTTPException

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import readers as reader
from labext.sandbox.nb.ingestion.reading import SourceFile
from labext.sandbox.nb.podcasts import recording
from labext.sandbox.nb.podcasts.draft import Draft
from labext.sandbox.nb.podcasts.script import Segment, Turn
from labext.sandbox.nb.speech import synthesis, transcription
from labext.sandbox.nb.speech.audio import RATE, Sound
from labext.sandbox.nb.speech.transcription import Transcript

SAID = [0, 1, 2, 4, 5]
"""The speakable turns of the episode."""


def ignore(*_stage):
    pass


def test_transcript_skips_unspeakable_turns(episode):
    assert [item.speaker for item in episode.spoken] == ["Ada", "Ben", "Cleo", "Dan", "Ada"]
    assert "37 °C" in episode.spoken[2].dialogue
    assert not any("🧬" in item.dialogue for item in episode.spoken)


def test_turn_times_match_the_audio(episode):
    transcript = silences(episode.samples, episode.rate)
    gaps = [(before.end, after.start) for before, after in itertools.pairwise(episode.spoken)]
    for end, start in gaps:
        (result,) = [item for item in transcript if item[0] < start and item[1] > end]
        assert result == pytest.approx((end, start), abs=0.12)
    assert episode.spoken[0].start == pytest.approx(transcript[0][1], abs=0.05)
    assert episode.spoken[-1].end == pytest.approx(transcript[-1][0], abs=0.12)
    seconds = len(episode.samples) / episode.rate
    assert seconds == pytest.approx(episode.spoken[-1].end + recording.SILENCE_AFTER, abs=0.01)


def test_pauses_between_segments_are_longer(episode):
    pauses = [after.start - before.end for before, after in itertools.pairwise(episode.spoken)]
    turn, segment = recording.SILENCE_BETWEEN_TURNS, recording.SILENCE_BETWEEN_SEGMENTS
    assert pauses == pytest.approx([turn, turn, segment, turn], abs=0.002)


def test_speakers_have_distinct_constant_pitches(episode):
    pitches = [pitch(episode.of(item), episode.rate) for item in episode.spoken]
    assert pitches[0] == pytest.approx(pitches[4], rel=0.1)
    four = sorted(pitches[:4])
    assert all(higher > 1.2 * lower for lower, higher in itertools.pairwise(four))
    assert four[1] < 150 < four[2]  # two men, two women


def test_loudness_is_normalized_per_speaker(episode):
    assert loudness(episode.samples, episode.rate) == pytest.approx(-19, abs=1.0)
    assert 0.3 < np.abs(episode.samples).max() < 0.99  # not clipped
    for entry in episode.spoken:
        assert loudness(episode.of(entry), episode.rate) == pytest.approx(-19, abs=1.5)


def test_progress_stages_are_reported_in_order(episode):
    stages = [stage for stage, _done, _total in episode.stages]
    assert list(dict.fromkeys(stages)) == ["speech", "encoding"]
    assert stages == sorted(stages, key=["speech", "encoding"].index)
    assert episode.stages[0] == ("speech", 0, 6)
    assert ("speech", 6, 6) in episode.stages
    seconds = int(len(episode.samples) / episode.rate)
    assert episode.stages[-1] == ("encoding", seconds, seconds)
    for _stage, group in itertools.groupby(episode.stages, key=lambda item: item[0]):
        counts = [done for _stage, done, _total in group]
        assert counts == sorted(counts)


def test_failing_voice_leaves_the_target_unchanged(monkeypatch, tmp_path, espeak, site):
    target = tmp_path / "episode.mp3"
    target.write_bytes(b"what was there")

    def say(_site, _model, _voice, text, _line):
        if "third" in text:
            raise HTTPException(502, "The server is down.")
        return Sound(np.full(RATE, 0.1, np.float32), RATE)

    monkeypatch.setattr(synthesis, "synthesize", say)
    turns = [Turn("Ada", f"This is the {name} turn.") for name in ("first", "second", "third")]
    with pytest.raises(HTTPException, match="down"):
        recording.record_dialogue(site, turns, {"Ada": (espeak, None)}, target, ignore)
    assert target.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [target]


def test_full_disk_leaves_nothing_and_is_reported(tmp_path, espeak, site):
    import resource
    import signal

    target = tmp_path / "episode.mp3"
    turns = [Turn("Ada", "A sentence that is said for a while, and then some more.")] * 3
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        with pytest.raises(TaskError, match="free disk space"):
            recording.record_dialogue(site, turns, {"Ada": (espeak, None)}, target, ignore)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dialogue", ["", "🧬🎉", "\x00\x07\u200b", "***"])
def test_unspeakable_dialogue_is_refused(dialogue, tmp_path, espeak, site):
    with pytest.raises(HTTPException, match="Nothing of the dialogue can be spoken") as caught:
        recording.record_dialogue(
            site, [Turn("Ada", dialogue)], {"Ada": (espeak, None)}, tmp_path / "e.mp3", ignore
        )
    assert caught.value.status_code == 400
    assert list(tmp_path.iterdir()) == []


def test_memory_of_a_long_episode_is_bounded(monkeypatch, tmp_path, espeak, site):
    written = 0

    @contextmanager
    def slowly(_target):
        def write(samples):
            nonlocal written
            time.sleep(0.002)
            written += len(samples)

        yield write

    speech = np.tile(np.sin(np.arange(RATE) * 0.05).astype(np.float32) * 0.1, 10)
    monkeypatch.setattr(recording, "write_mp3", slowly)
    monkeypatch.setattr(recording, "normalize", lambda samples: samples)
    monkeypatch.setattr(synthesis, "synthesize", lambda *_arguments: Sound(speech.copy(), RATE))
    turns = [Turn("Ada", "Ten seconds.")] * 80
    tracemalloc.start()
    try:
        recording.record_dialogue(site, turns, {"Ada": (espeak, None)}, tmp_path / "e.mp3", ignore)
        _now, maximum = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written > 80 * 9.9 * RATE  # 70 MB of samples
    assert maximum < 45 << 20


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


def test_speech_of_a_draft_is_requested_again_only_if_it_is_damaged(
    site, remote, provider, tmp_path
):
    model, segments = remote(), [Segment("All", "of it")]
    turns = [Turn("Ada", "One.", opens=True, sources=("Digest",)), Turn("Ada", "One.")]
    provider.sound = lambda _body: tone(220, 16_000, 0.5)
    draft = Draft(tmp_path / "draft", "request")
    draft.save_script(segments, turns)
    assert draft.load_script() is None  # no speech is lost with it

    def record():
        voices = {"Ada": (model, "zoe")}
        recording.record_dialogue(site, turns, voices, tmp_path / "e.mp3", ignore, draft=draft)
        return len(provider.speeches())

    assert [record(), record()] == [2, 2]
    assert draft.load_script() == (segments, turns)
    assert Draft(tmp_path / "draft", "another request").load_script() is None
    for path in (tmp_path / "draft").iterdir():
        path.write_bytes(path.read_bytes()[:30])
    assert draft.load_script() is None
    assert [record(), record()] == [4, 4]


def floats(value, rate):
    import soundfile

    out = io.BytesIO()
    samples = np.full(8000, 0.2, np.float32)
    samples[100] = value
    soundfile.write(out, samples, rate, format="WAV", subtype="FLOAT")
    return out.getvalue()


@pytest.mark.parametrize(
    ("sound", "expected"),
    [
        (b"RIFF\x10\0\0\0WAVEnothing at all", "readable audio"),
        (tone(0, 16_000), "no sound for “Hello”"),
        (tone(220, 16_000, seconds=0), "no sound for “Hello”"),
        (floats(np.nan, 16_000), "readable audio"),
        (floats(np.inf, 16_000), "readable audio"),
        (floats(0.5, 7), "readable audio"),
        (floats(0.5, 2_147_483_629), "readable audio"),
    ],
    ids=["no audio", "zeros", "no samples", "not a number", "infinite", "low rate", "high rate"],
)
def test_unreadable_or_silent_speech_of_a_server_is_502(site, remote, provider, sound, expected):
    provider.sound = lambda _body: sound
    with pytest.raises(HTTPException, match=expected) as caught:
        synthesis.synthesize(site, remote(), "nova", "Hello")
    assert caught.value.status_code == 502


def test_audio_is_sent_as_a_small_mono_mp3(site, remote, provider, tmp_path):
    import soundfile

    transcript = []
    provider.transcribe = lambda content: transcript.append(content) or "What was said."
    path = tmp_path / "original"  # like a source's file, without a suffix
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


def test_built_in_slot_model_transcribes_a_source(site, slot, built_in, tmp_path, monkeypatch):
    slot(built_in("pocketsphinx", "stt"))
    heard = Transcript("What was said.", "pocketsphinx")
    monkeypatch.setattr(transcription, "recognize", lambda _sound, _tell: heard)
    path = tmp_path / "original"
    path.write_bytes(tone(440, 8_000))
    assert transcription.transcribe_by_default(site, path, ignore) is heard


def test_empty_slot_is_refused_with_a_hint(site, tmp_path, monkeypatch):
    with pytest.raises(UnreadableError, match="models default speech_to_text NAME"):
        transcription.transcribe_by_default(site, tmp_path / "original", ignore)
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    with pytest.raises(UnreadableError, match="labext-jupyter"):
        transcription.transcribe_by_default(site, tmp_path / "original", ignore)


@pytest.mark.parametrize("kind", ["FLAC", "MP3"])
def test_damaged_audio_is_refused(tmp_path, kind):
    import soundfile

    path = tmp_path / "original"
    noise = np.random.default_rng(1).normal(0, 0.2, 16_000 * 5)
    soundfile.write(path, noise, 16_000, format=kind)
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes(5000) + content[middle + 5000 :])
    with (
        pytest.raises(UnreadableError, match="audio is damaged"),
        transcription.decode_audio(path) as sound,
    ):
        list(sound.blocks)


def test_invalid_audio_is_not_sent(site, remote, provider, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "original"
    path.write_bytes(b"no sound")
    with pytest.raises(UnreadableError, match="ffmpeg"):
        transcription.transcribe(site, remote("ear", "stt"), path, ignore)
    assert provider.requests == []
