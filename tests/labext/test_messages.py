"""Helpers for messages: suggestions, counts, lists and quoted values."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest

from labext import messages


@pytest.mark.parametrize(
    ("word", "match"),
    [
        ("sequnce", "sequence"),
        ("SEQ", "sequence"),
        ("helix", "helix1"),
        ("se", None),
        ("zzz", None),
        ("", None),
    ],
)
def test_closest_match_by_prefix_or_similarity(word: str, match: str | None) -> None:
    among = ["sequence", "sequence_of_bases", "helix10", "helix1"]
    assert messages.closest_match(word, among) == match
    assert messages.did_you_mean(word, among) == (f' (did you mean "{match}"?)' if match else "")


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


def test_pluralize_and_join_words() -> None:
    assert messages.pluralize(1, "file") == "1 file"
    assert messages.pluralize(1200, "file") == "1,200 files"
    assert messages.join_words("abc", 3) == "a, b, c"
    assert messages.join_words("abcd", 2) == "a, b and 2 more"


def test_quoted_value_is_shortened() -> None:
    assert messages.quote_value("a") == '"a"'
    assert messages.quote_value(3) == '"3"'
    assert len(messages.quote_value("x" * 1000)) == 60


def test_article_and_capitalization() -> None:
    assert messages.with_article("key") == "a key"
    assert messages.with_article("ID token") == "an ID token"
    assert messages.capitalize_first("ID token of an app") == "ID token of an app"
    assert messages.capitalize_first("unknown") == "Unknown"
    assert messages.capitalize_first("") == ""
