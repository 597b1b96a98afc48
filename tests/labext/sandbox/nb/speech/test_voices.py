"""Who speaks with which voice, by which engine; and what is missing."""

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
def refused(site):
    """Why a cast can't be given voices."""

    def refused(wanted):
        with pytest.raises(HTTPException) as caught:
            assign_voices(site, wanted)
        assert caught.value.status_code == 422
        assert "\n" not in caught.value.detail
        return caught.value.detail

    return refused


def test_speakers_without_a_voice_get_one_each(site, espeak):
    found = assign_voices(site, dict.fromkeys(NAMES[:4], (espeak, None)))
    assert list(found) == list(NAMES[:4])
    assert len({voice for _model, voice in found.values()}) == 4


def test_a_voice_that_is_wanted_is_kept_for_its_speaker(site, espeak):
    first = engine.list_voices(site, espeak)[0]
    found = assign_voices(site, {"Ada": (espeak, None), "Ben": (espeak, first)})
    assert found["Ben"][1] == first
    assert found["Ada"][1] != first


@pytest.mark.parametrize("language", ["de", "de-DE", "de_AT", "German", "german"])
def test_a_language_has_voices_of_its_own(site, espeak, language):
    found = assign_voices(site, dict.fromkeys(NAMES[:4], (espeak, None)), language)
    assert {voice.partition("+")[0] for _model, voice in found.values()} == {"de"}
    assert len({voice for _model, voice in found.values()}) == 4


@pytest.mark.parametrize("language", [None, "en", "English", "en-GB", "Klingonish"])
def test_otherwise_they_are_english(site, espeak, language):
    ((_model, voice),) = assign_voices(site, {"Ada": (espeak, None)}, language).values()
    assert voice == engine.list_voices(site, espeak)[0]


def test_more_speakers_than_voices_are_refused(refused, espeak):
    assert "no voice left for Gus" in refused(dict.fromkeys(NAMES, (espeak, None)))


def test_a_voice_that_is_not_there_is_refused(refused, espeak):
    assert "no voice robin. It has en-us+f2" in refused({"Ada": (espeak, "robin")})


def test_a_model_that_does_not_speak_is_refused(refused, built_in):
    assert "does not speak" in refused({"Ada": (built_in("extractive", "llm"), None)})


@pytest.mark.parametrize("package", ["espeakng_loader", "soundfile"])
def test_without_the_extra_it_says_what_to_install(refused, espeak, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert 'pip install "labext-jupyter[speech]"' in refused({"Ada": (espeak, None)})


def test_a_server_s_model_takes_any_voice_and_has_some_of_its_own(site, remote):
    model = remote()
    assert engine.list_voices(site, model) == []
    found = assign_voices(
        site, {"Ada": (model, None), "Ben": (model, "zoe"), "Cleo": (model, None)}
    )
    voices = [voice for _model, voice in found.values()]
    assert voices[1] == "zoe"
    assert len(set(voices)) == 3


def test_two_models_are_cast_apart(site, espeak, remote):
    found = assign_voices(site, {"Ada": (espeak, None), "Ben": (remote(), None)})
    assert found["Ada"][0] is espeak
    assert found["Ben"][1] == "nova"


def test_flite_has_voices_that_are_told_apart(site, flite):
    pitches = []
    for voice in engine.list_voices(site, flite):
        sound = engine.synthesize(site, flite, voice, SAID)
        assert 2 < sound.seconds < 6
        pitches.append(pitch(sound.samples, sound.rate))
    low = sorted(pitches)
    assert all(higher > 1.15 * lower for lower, higher in itertools.pairwise(low))


def test_without_flite_it_says_what_to_do(refused, built_in, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt install flite" in refused({"Ada": (built_in("flite"), None)})


def test_flite_that_fails_is_told(site, built_in, tmp_path, monkeypatch):
    program = tmp_path / "flite"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(HTTPException, match="flite fails to speak"):
        engine.synthesize(site, built_in("flite"), "slt", SAID)


def test_every_english_voice_speaks_and_so_do_other_languages(site, espeak):
    voices = engine.list_voices(site, espeak)
    assert len(voices) == len(set(voices))
    others = ("de+f2", "fr+m3", "es+m8", "pl+Annie", "ru+f2")
    for voice in [*voices[:6], *others]:
        assert voice in voices
        assert engine.synthesize(site, espeak, voice, "1 2 3").seconds > 0.3


def test_a_voice_that_espeak_does_not_know_is_refused_and_the_next_one_speaks(site, espeak):
    with pytest.raises(HTTPException, match="no voice"):
        engine.synthesize(site, espeak, "xx+zz", SAID)
    assert engine.synthesize(site, espeak, "en-us+f2", SAID).seconds > 2


def test_markup_is_read_and_not_obeyed(site, espeak):
    plain = engine.synthesize(site, espeak, "en-us+f2", "Five and six.")
    marked = engine.synthesize(site, espeak, "en-us+f2", 'Five <break time="5s"/> and [[bla]] six.')
    assert plain.seconds < marked.seconds < plain.seconds + 5
