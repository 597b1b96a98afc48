"""Pieces of messages that every part of labext shares."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest

from labext import messages


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("sequnce", "sequence"),
        ("SEQ", "sequence"),
        ("helix", "helix1"),
        ("se", None),
        ("zzz", None),
        ("", None),
    ],
)
def test_the_nearest_word_is_one_that_is_begun_or_spelt_alike(word: str, meant: str | None) -> None:
    among = ["sequence", "sequence_of_bases", "helix10", "helix1"]
    assert messages.closest_match(word, among) == meant
    assert messages.did_you_mean(word, among) == (f' (did you mean "{meant}"?)' if meant else "")


@pytest.mark.parametrize(
    ("word", "similarity", "match"),
    [
        ("ssece", 0.615, "sequence"),
        ("sqnc", 0.667, "sequence"),
        ("seqce", 0.769, "sequence"),
        ("enc", 0.545, None),
        ("hilex", 0.545, None),
    ],
)
def test_a_suggestion_needs_a_similarity_of_at_least_0_6(
    word: str, similarity: float, match: str | None
) -> None:
    names = ["sequence", "helix1"]
    ratios = [SequenceMatcher(None, word, name).ratio() for name in names]
    assert max(ratios) == pytest.approx(similarity, abs=0.001)
    assert messages.closest_match(word, names) == match


def test_counts_and_lists() -> None:
    assert messages.pluralize(1, "file") == "1 file"
    assert messages.pluralize(1200, "file") == "1,200 files"
    assert messages.join_words("abc", 3) == "a, b, c"
    assert messages.join_words("abcd", 2) == "a, b and 2 more"


def test_a_long_value_is_cut() -> None:
    assert messages.quote_value("a") == '"a"'
    assert messages.quote_value(3) == '"3"'
    assert len(messages.quote_value("x" * 1000)) == 60


def test_a_noun_has_its_article_and_a_sentence_its_capital() -> None:
    assert messages.with_article("key") == "a key"
    assert messages.with_article("ID token") == "an ID token"
    assert messages.capitalize_first("ID token of an app") == "ID token of an app"
    assert messages.capitalize_first("unknown") == "Unknown"
    assert messages.capitalize_first("") == ""
