"""Voices of speakers by engine, and missing engines."""

from __future__ import annotations

import itertools
import sys

import pytest
from labext_test_sounds import pitch
from starlette.exceptions import HTTPException

from labext.sandbox.nb.speech import engine
from labext.sandbox.nb.speech.voices import assign_voices

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus")
SAID = "The cells grew for six hours, and then they were counted."


@pytest.fixture
def assignment_error(site):
    """Why a cast can't be given voices."""

    def assignment_error(requested):
        with pytest.raises(HTTPException) as caught:
            assign_voices(site, requested)
        assert caught.value.status_code == 422
        assert "\n" not in caught.value.detail
        return caught.value.detail

    return assignment_error


def test_speakers_without_a_voice_get_distinct_voices(site, espeak):
    result = assign_voices(site, dict.fromkeys(NAMES[:4], (espeak, None)))
    assert list(result) == list(NAMES[:4])
    assert len({voice for _model, voice in result.values()}) == 4


def test_requested_voice_is_reserved_for_its_speaker(site, espeak):
    first = engine.list_voices(site, espeak)[0]
    result = assign_voices(site, {"Ada": (espeak, None), "Ben": (espeak, first)})
    assert result["Ben"][1] == first
    assert result["Ada"][1] != first


@pytest.mark.parametrize("language", ["de", "de-DE", "de_AT", "German", "german"])
def test_voices_match_the_language(site, espeak, language):
    result = assign_voices(site, dict.fromkeys(NAMES[:4], (espeak, None)), language)
    assert {voice.partition("+")[0] for _model, voice in result.values()} == {"de"}
    assert len({voice for _model, voice in result.values()}) == 4


@pytest.mark.parametrize("language", [None, "en", "English", "en-GB", "Klingonish"])
def test_voices_are_english_by_default(site, espeak, language):
    ((_model, voice),) = assign_voices(site, {"Ada": (espeak, None)}, language).values()
    assert voice == engine.list_voices(site, espeak)[0]


def test_more_speakers_than_voices_are_refused(assignment_error, espeak):
    assert "no voice left for Gus" in assignment_error(dict.fromkeys(NAMES, (espeak, None)))


def test_unknown_voice_is_refused(assignment_error, espeak):
    assert "no voice robin. It has en-us+f2" in assignment_error({"Ada": (espeak, "robin")})


def test_language_model_cannot_speak(assignment_error, built_in):
    assert "does not speak" in assignment_error({"Ada": (built_in("extractive", "llm"), None)})


@pytest.mark.parametrize("package", ["espeakng_loader", "soundfile"])
def test_missing_speech_extra_has_a_hint(assignment_error, espeak, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert 'pip install "labext-jupyter[speech]"' in assignment_error({"Ada": (espeak, None)})


def test_remote_model_accepts_any_voice(site, remote):
    model = remote()
    assert engine.list_voices(site, model) == []
    result = assign_voices(
        site, {"Ada": (model, None), "Ben": (model, "zoe"), "Cleo": (model, None)}
    )
    voices = [voice for _model, voice in result.values()]
    assert voices[1] == "zoe"
    assert len(set(voices)) == 3


def test_each_model_assigns_its_own_voices(site, espeak, remote):
    result = assign_voices(site, {"Ada": (espeak, None), "Ben": (remote(), None)})
    assert result["Ada"][0] is espeak
    assert result["Ben"][1] == "nova"


def test_flite_voices_have_distinct_pitches(site, flite):
    pitches = []
    for voice in engine.list_voices(site, flite):
        sound = engine.synthesize(site, flite, voice, SAID)
        assert 2 < sound.seconds < 6
        pitches.append(pitch(sound.samples, sound.rate))
    low = sorted(pitches)
    assert all(higher > 1.15 * lower for lower, higher in itertools.pairwise(low))


def test_missing_flite_has_a_hint(assignment_error, built_in, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt install flite" in assignment_error({"Ada": (built_in("flite"), None)})


def test_failing_flite_is_reported(site, built_in, tmp_path, monkeypatch):
    program = tmp_path / "flite"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(HTTPException, match="flite fails to speak"):
        engine.synthesize(site, built_in("flite"), "slt", SAID)


def test_espeak_voices_speak_in_several_languages(site, espeak):
    voices = engine.list_voices(site, espeak)
    assert len(voices) == len(set(voices))
    others = ("de+f2", "fr+m3", "es+m8", "pl+Annie", "ru+f2")
    for voice in [*voices[:6], *others]:
        assert voice in voices
        assert engine.synthesize(site, espeak, voice, "1 2 3").seconds > 0.3


def test_unknown_espeak_voice_does_not_break_the_next(site, espeak):
    with pytest.raises(HTTPException, match="no voice"):
        engine.synthesize(site, espeak, "xx+zz", SAID)
    assert engine.synthesize(site, espeak, "en-us+f2", SAID).seconds > 2


def test_speech_markup_is_not_interpreted(site, espeak):
    plain = engine.synthesize(site, espeak, "en-us+f2", "Five and six.")
    marked = engine.synthesize(site, espeak, "en-us+f2", 'Five <break time="5s"/> and [[bla]] six.')
    assert plain.seconds < marked.seconds < plain.seconds + 5
