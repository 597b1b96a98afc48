"""Voices of speakers by engine, and text normalized for them."""

from __future__ import annotations

import itertools
import sys
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from labext_test_sounds import pitch
from starlette.exceptions import HTTPException

from labext.sandbox.nb.speech import normalization, synthesis
from labext.sandbox.nb.speech.voices import assign_voices

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus")
SAID = "The cells grew for six hours, and then they were counted."


@pytest.fixture
def assignment_error(site):
    """Return the reason why speakers can't get voices."""

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
    first = synthesis.default_voices(site, espeak)[0]
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
    assert voice == synthesis.default_voices(site, espeak)[0]


def test_unknown_voice_and_language_model_are_refused(assignment_error, espeak, built_in):
    assert "no voice robin. It has en-us+f2" in assignment_error({"Ada": (espeak, "robin")})
    cast = {"Ada": (built_in("extractive", "llm"), None)}
    assert "does not synthesize speech" in assignment_error(cast)


@pytest.mark.parametrize("package", ["espeakng_loader", "soundfile"])
def test_missing_speech_extra_has_a_hint(assignment_error, espeak, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert 'pip install "labext-jupyter[speech]"' in assignment_error({"Ada": (espeak, None)})


def test_remote_model_accepts_any_voice(site, remote):
    model = remote()
    assert synthesis.list_voices(site, model) == {}
    cast = {"Ada": (model, None), "Ben": (model, "zoe"), "Cleo": (model, None)}
    voices = [voice for _model, voice in assign_voices(site, cast).values()]
    assert voices[1] == "zoe"
    assert len(set(voices)) == 3


def test_each_model_assigns_its_own_voices(site, espeak, remote):
    result = assign_voices(site, {"Ada": (espeak, None), "Ben": (remote(), None)})
    assert result["Ada"][0] is espeak
    assert result["Ben"][1] == "nova"


def test_flite_voices_have_distinct_pitches(site, flite):
    pitches = []
    for voice in synthesis.list_voices(site, flite):
        sound = synthesis.synthesize(site, flite, voice, SAID)
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
    with pytest.raises(HTTPException, match="flite can't synthesize speech"):
        synthesis.synthesize(site, built_in("flite"), "slt", SAID)


def test_espeak_voices_speak_in_several_languages(site, espeak):
    voices = synthesis.default_voices(site, espeak)
    assert len(voices) == len(set(voices))
    others = ("de+f2", "fr+m3", "es+m8", "pl+Annie", "ru+f2")
    for voice in [*voices[:6], *others]:
        assert voice in voices
        assert synthesis.synthesize(site, espeak, voice, "1 2 3").seconds > 0.3


def test_unknown_espeak_voice_does_not_break_the_next(site, espeak):
    with pytest.raises(HTTPException, match="no voice"):
        synthesis.synthesize(site, espeak, "xx+zz", SAID)
    assert synthesis.synthesize(site, espeak, "en-us+f2", SAID).seconds > 2


def test_speech_markup_is_not_interpreted(site, espeak):
    plain = synthesis.synthesize(site, espeak, "en-us+f2", "Five and six.")
    text = 'Five <break time="5s"/> and [[bla]] six.'
    marked = synthesis.synthesize(site, espeak, "en-us+f2", text)
    assert plain.seconds < marked.seconds < plain.seconds + 5


PRIMER = "ATGACTAGCAAAGGAGAAGAACTTTTC"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("2 mM arabinose", "2 millimolar arabinose"),
        ("5 µM and 5 μM", "5 micromolar and 5 micromolar"),
        ("1 µl, 2 uL, 3 ml", "1 microliter, 2 microliters, 3 milliliters"),
        ("50 µg/ml", "50 micrograms per milliliter"),
        ("37 °C for 6 h", "37 degrees Celsius for 6 hours"),
        ("4–10 °C", "4 to 10 degrees Celsius"),
        ("-80 °C", "minus 80 degrees Celsius"),
        ("1 h", "1 hour"),
        ("720 bp", "720 base pairs"),
        ("12,000 x g", "12000 times gravity"),
        ("10⁻³ M", "ten to the minus 3 molar"),
        ("5 × 10⁵ cells", "5 times ten to the 5 cells"),
        ("an E-value of 3e-20", "an E-value of 3 times ten to the minus 20"),
        ("OD600 of 0.6", "O D 600 of 0.6"),
        ("pH 7.4", "p H 7.4"),
        ("± 2", "plus or minus 2"),
        ("E. coli grew.", "E coli grew."),
        ("araBAD and lacZ", "ara B A D and lac Z"),
        ("pBAD drives GFP", "p BAD drives GFP"),
        ("α-helix", "alpha -helix"),
        ("e.g. glucose, i.e. a sugar", "for example glucose, that is a sugar"),
        ("0.45 h⁻¹ or h−1, 10 s-1", "0.45 per hour or per hour, 10 per second"),
        ("6 µmol m⁻² s⁻¹", "6 micromoles per square meter per second"),
        ("3 M−1s−1, 2 µg mL^-1", "3 per molar per second, 2 micrograms per milliliter"),
        ("E. coli K-12 in 5 cm²", "E coli K-12 in 5 square centimeters"),
        ("10^6 cells/mL and/or 1/10", "ten to the 6 cells per milliliter and or or 1 over 10"),
        ("a 1:50 dilution at 1:30 pm", "a 1 to 50 dilution at 1:30 p m"),
        ("10 000 rpm on 03/05/2026", "10000 revolutions per minute on 03/05/2026"),
        ("a 4.9-kb plasmid", "a 4.9 kilobase plasmid"),
        ("5 % (v/v), 1 % (w/v)", "5 percent by volume, 1 percent weight per volume"),
        ("$5 or €1,200.50", "5 dollars or 1200.50 euros"),
        ("ΔlacZ, OH−, SO4^2-, a 3′ end", "delta lac Z, OH minus, SO4 2 minus, a 3 prime end"),
        ("Smith et al. found", "Smith and others found"),
        ("**bold**, `code` and [a page](https://x.org/y?z=1)", "bold, code and a page"),
        ("# Heading", "Heading"),
        ("as said [1], [2, 3]", "as said,"),
        ("see https://www.example.org/a/b?c=d#e", "see the page at example.org"),
        (f"the primer 5'-{PRIMER}-3'", "the primer a sequence of 27 bases"),
        (f"the primer {PRIMER.lower()} binds", "the primer a sequence of 27 bases binds"),
        ("ATGC ATGC ATGC ATGC ATGC", "a sequence of 20 bases"),
        ("MSKGEELFTGVVPILVELDGDVNG", "a sequence of 24 residues"),
        ("TATAAT is a box", "TATAAT is a box"),
        ("salt & pepper < 5", "salt and pepper less than 5"),
        ("a🧬b\x07\u200b", "a b"),
        ("", ""),
    ],
)
def test_text_is_normalized_for_speech(written, message):
    assert normalization.normalize_text(written) == message


def test_other_languages_get_no_english_words():
    german = "Bei 37 °C wächst E. coli."
    assert normalization.normalize_text(german, "de") == german
    assert normalization.normalize_text("**5 %** & mehr", "German") == "5 % & mehr"
    assert normalization.normalize_text("5 %", "English (US)") == "5 percent"


def test_long_tokens_are_not_spelled_out():
    message = normalization.normalize_text(f"the key {'ab1c' * 100} is long")
    assert len(message) < 60
    genome = "ACGT" * 25_000
    assert normalization.normalize_text(f"It is {genome}.") == "It is a sequence of 100000 bases."


def test_speech_pieces_end_at_sentences():
    text = " ".join(f"This is sentence number {number} of a long turn." for number in range(100))
    pieces = list(normalization.split_for_speech(text))
    assert " ".join(pieces) == text
    assert all(piece.endswith(".") for piece in pieces)
    assert max(map(len, pieces)) <= normalization.MAX_PIECE_LENGTH


ODD = st.one_of(
    st.text(max_size=300),
    st.text(alphabet="<>&[]()*_`#/\\^{}|~.,:;!?-–—'\"0123456789 eEµ°×⁻ACGTN\n", max_size=300),
    st.lists(st.sampled_from(["a.", "5 mM ", "🧬", "\x00", "\ud800", "<break/>", "E. coli "])).map(
        "".join
    ),
)


@given(ODD)
@example("𝟙𝟚 ①②")
@example("<speak>&amp;<break time='9s'/></speak>")
def test_pieces_of_arbitrary_text_are_short_and_speakable(text):
    for piece in normalization.split_for_speech(text):
        assert 0 < len(piece) <= normalization.MAX_PIECE_LENGTH
        assert piece == " ".join(piece.split())
        assert any(letter.isalnum() for letter in piece)
        assert not any(unicodedata.category(letter) in ("Cc", "Cs", "Co") for letter in piece)
        piece.encode()


@pytest.mark.parametrize(
    "piece",
    ["a", "a ", "word. ", "1", "1,", "[", "()", "*_`#", "ACG ", "5'-", " ", "\n\n> ", "a–", "10^",
     "http://"],
)  # fmt: skip
def test_normalization_is_linear(piece):
    started_at = time.process_time()
    for part in normalization.split_for_speech(piece * (15_000 // len(piece))):
        assert len(part) <= normalization.MAX_PIECE_LENGTH
    assert time.process_time() - started_at < 5  # would take minutes if it were not linear
