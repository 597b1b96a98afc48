"""A dialogue as it is heard: its file is decoded, and measured."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from labext_test_sounds import loudness, pitch, silences
from starlette.exceptions import HTTPException

from labext.sandbox.nb.podcasts import recording
from labext.sandbox.nb.podcasts import recording as podcasts_recording
from labext.sandbox.nb.podcasts.script import Turn
from labext.sandbox.nb.speech import engine, transcription
from labext.sandbox.nb.speech.audio import RATE, Sound

SAID = [0, 1, 2, 4, 5]
"""The turns of the episode that can be said."""


def ignore(*_stage):
    pass


def test_the_transcript_is_the_dialogue_as_it_stands_without_what_cannot_be_said(episode):
    assert [each.speaker for each in episode.spoken] == ["Ada", "Ben", "Cleo", "Dan", "Ada"]
    assert "37 °C" in episode.spoken[2].dialogue
    assert not any("🧬" in each.dialogue for each in episode.spoken)


def test_the_times_are_those_of_the_sound(episode):
    heard = silences(episode.samples, episode.rate)
    gaps = [(before.end, after.start) for before, after in itertools.pairwise(episode.spoken)]
    for end, start in gaps:
        (found,) = [each for each in heard if each[0] < start and each[1] > end]
        assert found == pytest.approx((end, start), abs=0.12)
    assert episode.spoken[0].start == pytest.approx(heard[0][1], abs=0.05)
    assert episode.spoken[-1].end == pytest.approx(heard[-1][0], abs=0.12)
    seconds = len(episode.samples) / episode.rate
    assert seconds == pytest.approx(episode.spoken[-1].end + recording.SILENCE_AFTER, abs=0.01)


def test_there_is_more_silence_between_segments_than_between_turns(episode):
    pauses = [after.start - before.end for before, after in itertools.pairwise(episode.spoken)]
    turn, segment = recording.SILENCE_BETWEEN_TURNS, recording.SILENCE_BETWEEN_SEGMENTS
    assert pauses == pytest.approx([turn, turn, segment, turn], abs=0.002)


def test_every_speaker_has_a_pitch_of_its_own_and_keeps_it(episode):
    pitches = [pitch(episode.of(each), episode.rate) for each in episode.spoken]
    assert pitches[0] == pytest.approx(pitches[4], rel=0.1)
    four = sorted(pitches[:4])
    assert all(higher > 1.2 * lower for lower, higher in itertools.pairwise(four))
    assert four[1] < 150 < four[2]  # two men, two women


def test_it_is_as_loud_as_a_podcast_and_so_is_every_speaker(episode):
    assert loudness(episode.samples, episode.rate) == pytest.approx(-19, abs=1.0)
    for each in episode.spoken:
        assert loudness(episode.of(each), episode.rate) == pytest.approx(-19, abs=1.5)


def test_nothing_is_clipped(episode):
    assert 0.3 < np.abs(episode.samples).max() < 0.99


def test_what_was_said_is_recognised(tmp_path, espeak, site):
    target = tmp_path / "episode.mp3"
    turns = [Turn("Ada", "Two three four five six.")]
    recording.record_dialogue(site, turns, {"Ada": (espeak, "en-us+m3")}, target, ignore)
    heard = transcription.transcribe_built_in(target, ignore).split()
    assert len({"two", "three", "four", "five", "six"} & set(heard)) >= 3


def test_the_stages_are_told_in_their_order(episode):
    stages = [stage for stage, _done, _total in episode.told]
    assert list(dict.fromkeys(stages)) == ["speech", "encoding"]
    assert stages == sorted(stages, key=["speech", "encoding"].index)
    assert episode.told[0] == ("speech", 0, 6)
    assert ("speech", 6, 6) in episode.told
    seconds = int(len(episode.samples) / episode.rate)
    assert episode.told[-1] == ("encoding", seconds, seconds)
    for _stage, told in itertools.groupby(episode.told, key=lambda each: each[0]):
        counts = [done for _stage, done, _total in told]
        assert counts == sorted(counts)


def test_the_file_is_an_mp3_without_its_part_beside_it(episode):
    import soundfile

    assert soundfile.info(str(episode.path)).format == "MP3"
    assert list(episode.path.parent.iterdir()) == [episode.path]


def test_a_voice_that_fails_in_the_middle_leaves_nothing(monkeypatch, tmp_path, espeak, site):
    target = tmp_path / "episode.mp3"
    target.write_bytes(b"what was there")

    def say(_site, _model, _voice, text, _line):
        if "third" in text:
            raise HTTPException(502, "The server is down.")
        return Sound(np.full(RATE, 0.1, np.float32), RATE)

    monkeypatch.setattr(engine, "synthesize", say)
    turns = [Turn("Ada", f"This is the {each} turn.") for each in ("first", "second", "third")]
    with pytest.raises(HTTPException, match="down"):
        recording.record_dialogue(site, turns, {"Ada": (espeak, None)}, target, ignore)
    assert target.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_leaves_nothing_and_says_so(tmp_path, espeak, site):
    import resource
    import signal

    target = tmp_path / "episode.mp3"
    turns = [Turn("Ada", "A sentence that is said for a while, and then some more.")] * 3
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        with pytest.raises(podcasts_recording.AudioWriteError, match="free disk space"):
            recording.record_dialogue(site, turns, {"Ada": (espeak, None)}, target, ignore)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dialogue", ["", "   ", "🧬🎉", "\x00\x07\u200b", "***", "…", "`` ``"])
def test_a_dialogue_that_cannot_be_said_at_all_is_refused(dialogue, tmp_path, espeak, site):
    with pytest.raises(HTTPException, match="Nothing of the dialogue can be spoken") as caught:
        recording.record_dialogue(
            site, [Turn("Ada", dialogue)], {"Ada": (espeak, None)}, tmp_path / "e.mp3", ignore
        )
    assert caught.value.status_code == 400
    assert list(tmp_path.iterdir()) == []


def test_a_long_episode_takes_no_more_memory(monkeypatch, tmp_path, espeak, site):
    written = 0

    @contextmanager
    def slowly(_target):
        def write(samples):
            nonlocal written
            time.sleep(0.002)
            written += len(samples)

        yield write

    speech = np.tile(np.sin(np.arange(RATE) * 0.05).astype(np.float32) * 0.1, 10)
    monkeypatch.setattr(podcasts_recording, "write_mp3", slowly)
    monkeypatch.setattr(engine, "synthesize", lambda *_said: Sound(speech.copy(), RATE))
    turns = [Turn("Ada", "Ten seconds.")] * 120
    tracemalloc.start()
    try:
        recording.record_dialogue(site, turns, {"Ada": (espeak, None)}, tmp_path / "e.mp3", ignore)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written > 120 * 9.9 * RATE  # 100 MB of samples
    assert most < 45 << 20
