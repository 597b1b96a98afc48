"""Helpers for messages: suggestions, counts, lists, quoted values and byte sizes."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext import messages
from labext.errors import InputError


@pytest.mark.parametrize(
    ("word", "match"),
    [
        ("sequnce", "sequence"),
        ("SEQ", "sequence"),
        ("helix", "helix1"),
        ("se", None),
        ("zzz", None),
        ("ssece", "sequence"),  # a similarity of 0.615
        ("enc", None),  # 0.545
        ("", None),
    ],
)
def test_closest_match_by_prefix_or_similarity(word: str, match: str | None) -> None:
    among = ["sequence", "sequence_of_bases", "helix10", "helix1"]
    assert messages.closest_match(word, among) == match
    assert messages.did_you_mean(word, among) == (f' (did you mean "{match}"?)' if match else "")
    hint = f"Did you mean `--{match}`?" if match else "See the list."
    assert messages.suggest(word, among, "See the list.", "`--{}`") == hint


def test_long_text_is_compared_quickly() -> None:
    started = time.process_time()
    assert messages.closest_match("z" * 10_000_000, ["sequence"]) is None
    assert time.process_time() - started < 0.5


def test_pluralize_and_join_words() -> None:
    assert messages.pluralize(1, "file") == "1 file"
    assert messages.pluralize(1200, "file") == "1,200 files"
    assert messages.join_words("abc", 3) == "a, b, c"
    assert messages.join_words("abcd", 2) == "a, b and 2 more"
    assert [messages.join_all(words, "or") for words in ("a", "ab", "abc")] == [
        "a",
        "a or b",
        "a, b or c",
    ]


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (1500.0, 3, "1,500"),
        (1234567.5, 3, "1,230,000"),
        (1234567.5, 6, "1,234,570"),
        (3.2e-05, 3, "0.000032"),
        (3.9, 3, "3.9"),
        (10.0, 6, "10"),
        (0.0, 3, "0"),
    ],
)
def test_number_has_no_exponent(number: float, digits: int, text: str) -> None:
    assert messages.format_number(number, digits) == text


def test_one_second_is_singular() -> None:
    assert [messages.format_seconds(n) for n in (0, 1, 1.0, 1.5, 60)] == [
        "0 seconds",
        "1 second",
        "1 second",
        "1.5 seconds",
        "60 seconds",
    ]


def test_quoted_value_is_shortened() -> None:
    assert messages.quote_value("a") == '"a"'
    assert messages.quote_value(3) == '"3"'
    assert len(messages.quote_value("x" * 1000)) == 60


def test_article_and_capitalization() -> None:
    assert messages.with_article("key") == "a key"
    assert messages.with_article("ID token") == "an ID token"
    assert messages.with_article("ndarray") == "an ndarray"
    assert messages.capitalize_first("ID token of an app") == "ID token of an app"
    assert messages.capitalize_first("unknown") == "Unknown"
    assert messages.capitalize_first("") == ""


UNITS = {"": 1, "B": 1, "kB": 1000, "MB": 1000**2, "G": 1000**3, "KiB": 1024, "gib": 1024**3}


@given(st.integers(0, 10**6), st.sampled_from(sorted(UNITS)), st.sampled_from(["", " "]))
def test_size_is_number_times_unit(number, unit, blank):
    assert messages.parse_size(f"{number}{blank}{unit}") == number * UNITS[unit]


@given(st.text(max_size=12))
def test_arbitrary_text_is_a_size_or_an_error(text):
    size = 0
    with contextlib.suppress(InputError):
        size = messages.parse_size(text)
    assert 0 <= size < 1 << 63


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e400", "9e18GB", "GB", "1 2", "1XB"])
def test_invalid_size_is_refused(text):
    with pytest.raises(InputError):
        messages.parse_size(text)


def test_size_may_have_thousands_separators():
    assert messages.parse_size("1,073,741,824") == 1 << 30
    assert messages.parse_size("9007199254740993") == 9007199254740993


@given(st.integers(0, 10**18))
def test_formatted_size_parses_back(size):
    assert messages.parse_size(messages.format_size(size).replace(" bytes", "")) == pytest.approx(
        size, rel=1e-3
    )


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (10**10, "10 GB"),
        (10 << 30, "10 GiB"),
        (5000, "5 kB"),
        (123456, "120.6 KiB"),
    ],
)
def test_size_is_formatted_in_the_rounder_unit(size, text):
    assert messages.format_size(size) == text
