"""Normalization for speech: units, genes and numbers in words, without markup."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labext.sandbox.nb.podcasts import recording
from labext.sandbox.nb.podcasts.script import Turn
from labext.sandbox.nb.speech import normalization

PRIMER = "ATGACTAGCAAAGGAGAAGAACTTTTC"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("2 mM arabinose", "2 millimolar arabinose"),
        ("5 µM and 5 μM", "5 micromolar and 5 micromolar"),
        ("1 µl, 2 uL, 3 ml", "1 microliter, 2 microliters, 3 milliliters"),
        ("50 µg/ml", "50 micrograms per milliliter"),
        ("37 °C for 6 h", "37 degrees Celsius for 6 hours"),
        ("37°C", "37 degrees Celsius"),
        ("4–10 °C", "4 to 10 degrees Celsius"),
        ("-80 °C", "minus 80 degrees Celsius"),
        ("20%", "20 percent"),
        ("1 h", "1 hour"),
        ("720 bp", "720 base pairs"),
        ("27 kDa", "27 kilodaltons"),
        ("12,000 x g", "12000 times gravity"),
        ("1,000,000 cells", "1000000 cells"),
        ("10⁻³ M", "ten to the minus 3 molar"),
        ("10^6 cells", "ten to the 6 cells"),
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
    assert (
        normalization.normalize_text("Bei 37 °C wächst E. coli.", "de")
        == "Bei 37 °C wächst E. coli."
    )
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
    assert all(
        piece.endswith(".") and len(piece) <= normalization.MAX_PIECE_LENGTH for piece in pieces
    )


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
    for part in normalization.split_for_speech(piece * (30_000 // len(piece))):
        assert len(part) <= normalization.MAX_PIECE_LENGTH
    assert time.process_time() - started_at < 5  # minutes, were it not linear


@pytest.mark.parametrize(
    "text", ["<speak>Five & six</speak>", "a\x00b", "𝟙 ½ ③", "日本語のテスト", "ЁЖ"]
)
def test_unusual_texts_are_spoken(text, tmp_path, espeak, site):
    target = tmp_path / "episode.mp3"
    (turn,) = recording.record_dialogue(
        site, [Turn("Ada", text)], {"Ada": (espeak, None)}, target, lambda *_stage: None
    )
    assert turn.dialogue == text
    assert 0.1 < turn.end - turn.start < 10
