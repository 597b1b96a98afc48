"""No secret survives masking; innocent text does."""

from __future__ import annotations

import json
import logging
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.redaction import MASK, SHORTEST, keep_secret, logger, mask

# What a header can carry: printable ASCII.
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=SHORTEST)


@given(st.lists(SECRETS, min_size=1, max_size=4), st.text(), st.text())
def test_no_known_secret_survives_in_any_spelling(
    secrets: list[str], before: str, after: str
) -> None:
    for secret in secrets:
        keep_secret(secret)
    for secret in secrets:
        for spelling in (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)):
            assert secret not in mask(before + spelling + after)
            assert spelling not in mask(before + spelling + after)


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://ada:lovelace@lab.example/api", "lovelace"),
        ("GET /download/a.zip?expires=12&signature=c0ffee HTTP/1.1", "c0ffee"),
        ("https://store.example/k?X-Amz-Algorithm=A&X-Amz-Signature=c0ffee", "c0ffee"),
        ("https://store.example/k?se=2026&sig=c0ffee", "c0ffee"),
        ("Authorization: Bearer abcDEF123456", "abcDEF123456"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("{'x-api-key': 'swordfish'}", "swordfish"),
        ('{"client_secret": "two words"}', "two words"),
        (r"detail: {\"api_key\": \"two words\"}", "two words"),
        ("openai_api_key='swordfish', model=x", "swordfish"),
        ("PGPASSWORD=swordfish psql", "swordfish"),
        ("password=swordfish&user=ada", "swordfish"),
        ("Incorrect API key: swordfish1", "swordfish1"),
        ("provided: sk-proj1234567890abcdefg.", "sk-proj1234567890abcdefg"),
        ("ghp_abcdefghij1234567890", "ghp_abcdefghij1234567890"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig", "eyJzdWIi"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret not in mask(text)
    assert MASK in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "sequence key: value",
        "basic structure prediction of a peptide",
        "Bearer authentication required",
        "No API key: please sign in",
        "secretary: Ada",
        "sk-learn-like tools and pk_values",
        "/jobs?startKey=abc&limit=3",
        "/x?monkey=3",
        "Job fold1 is not complete. Status: In Queue",
        "https://lab.example:8443/api/v2/dna-sequences",
        ">seq1\nACDEFGHIKLMNPQRSTVWY",
    ],
)
def test_innocent_text_stays(text: str) -> None:
    assert mask(text) == text


def test_a_short_secret_would_blank_out_every_text_and_is_let_be() -> None:
    keep_secret("abc")
    keep_secret("")
    keep_secret(None)
    assert mask("abcdef") == "abcdef"


@pytest.mark.parametrize(
    "hostile", ["?", "/", "a?&", 'password="', "bearer ", "eyJ", "sk-", "://", "api key: ", "\\"]
)
def test_a_hostile_text_costs_no_more_than_its_length(hostile: str) -> None:
    began = time.process_time()
    mask(hostile * 10_000)
    assert time.process_time() - began < 2


def test_a_log_shows_neither_a_secret_nor_a_presigned_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keep_secret("swordfish")
    log = logger("labext.test")
    with caplog.at_level(logging.DEBUG, "labext.test"):
        try:
            raise ValueError("the key swordfish")
        except ValueError:
            log.exception("GET %s with %s", "/d?signature=c0ffee", "swordfish")
    assert "swordfish" not in caplog.text
    assert "c0ffee" not in caplog.text
    assert "ValueError" in caplog.text


def test_a_logger_is_filtered_once() -> None:
    assert logger("labext.test.once").filters == logger("labext.test.once").filters
    assert len(logger("labext.test.once").filters) == 1
