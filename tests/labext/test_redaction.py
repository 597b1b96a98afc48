"""Secrets are masked in every encoding, also in shortened text; other text is unchanged."""

from __future__ import annotations

import base64
import html
import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import requests
from hypothesis import example, given, settings
from hypothesis import strategies as st
from urllib3 import HTTPResponse

from labext import messages
from labext.errors import InputError, LabextError
from labext.http import Operation, RetryMode
from labext.http.event_stream import ServerSentEvent, read_events
from labext.http.responses import EXCERPT_BYTES, Response, server_message
from labext.jobs.identity import settings_difference
from labext.redaction import (
    MARGIN,
    MASK,
    MAX_LENGTH,
    MIN_SECRET_LENGTH,
    TRUNCATION_MARK,
    get_logger,
    mask,
    mask_line,
    mask_only,
    mask_start,
    register_secret,
)
from labext.sandbox.jobs.names import quote_value as shown_by_the_service
from labext_magics.core import line

# Characters of a header: printable ASCII.
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=MIN_SECRET_LENGTH)


# Further characters of a profile or a password.
WIDE_SECRETS = st.text(st.characters(exclude_categories=["C"]), min_size=MIN_SECRET_LENGTH).filter(
    lambda secret: not secret.isspace() and "•" not in secret
)


# One of each character that some encoding escapes.
EVERY_ESCAPE = "a\"b'c&d<e>f/g+h i\\j%k=l~m?n"


def _unpadded(encode: Callable[[bytes], bytes], before: str, secret: str) -> str:
    return encode(f"{before}{secret}".encode()).decode().rstrip("=")


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "URL": lambda secret: quote(secret, safe=""),
    "lower-case URL": lambda secret: quote(secret, safe="").replace("%2F", "%2f"),
    "path": quote,
    "form": quote_plus,
    "URL in a URL": lambda secret: quote(quote(secret, safe=""), safe=""),
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON with any letter": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda secret: json.dumps(json.dumps(secret))[3:-3],
    "JSON safe in HTML": lambda secret: (
        json.dumps(secret)[1:-1].replace("&", r"\u0026").replace("<", r"\u003C").replace("/", r"\/")
    ),
    "repr": lambda secret: repr(f"'\"{secret}")[4:-1],
    "repr of bytes": lambda secret: repr(secret.encode("latin-1", "ignore"))[2:-1],
    "HTML": html.escape,
    "HTML text": lambda secret: html.escape(secret, quote=False),
    "HTML in HTML": lambda secret: html.escape(html.escape(secret)),
    "HTML by number": lambda secret: html.escape(secret).replace("&quot;", "&#34;"),
    "HTML of JSON": lambda secret: html.escape(json.dumps(secret)[1:-1]),
    "Basic": lambda secret: _unpadded(base64.b64encode, "ada:", secret),
}
BINARY = {"Basic", "repr of bytes"}
for offset in range(3):
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        BINARY.add(f"{encode.__name__} after {offset} bytes")
        ENCODINGS[f"{encode.__name__} after {offset} bytes"] = (
            lambda secret, encode=encode, offset=offset: _unpadded(encode, "x" * offset, secret)
        )


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=10)
@given(SECRETS, st.text(), st.text())
@example(EVERY_ESCAPE.replace(" ", ""), "", "")
@example("!!!!", "", "")
def test_known_secret_is_masked_in_every_encoding(
    encoding: str, secret: str, before: str, after: str
) -> None:
    register_secret(secret)
    encoded = ENCODINGS[encoding](secret)
    masked = mask(f"{before} {encoded} {after}")
    assert encoded not in masked
    assert secret not in masked


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name not in BINARY])
@settings(max_examples=10)
@given(secret=WIDE_SECRETS)
@example(secret=EVERY_ESCAPE)
@example(secret=f"{EVERY_ESCAPE}é€\N{GRINNING FACE}")
@example(secret="!!!!")
def test_known_secret_of_any_letters_is_masked_in_every_encoding(
    encoding: str, secret: str
) -> None:
    encoded = ENCODINGS[encoding](secret)
    assert mask_only(f"<{encoded}>", secret).replace("\\", "") == f"<{MASK}>"


def test_control_characters_of_a_secret_are_found_in_json_and_repr() -> None:
    secret = "sword\b\t\n\f\r\x1bfish"
    assert mask_only(json.dumps([secret]), secret) == f'["{MASK}"]'
    assert mask_only(repr([secret]), secret) == f"['{MASK}']"


@given(SECRETS, st.binary(), st.binary())
def test_known_secret_within_base64_is_masked_with_the_characters_that_share_its_bits(
    secret: str, before: bytes, after: bytes
) -> None:
    register_secret(secret)
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    first, last = len(before) * 8 // 6, -(-(len(before) + len(secret)) * 8 // 6)
    masked = mask(f"Authorization: {encoded}")
    start, _, end = masked.partition(MASK)
    assert len(start) <= len("Authorization: ") + first
    assert len(end.split(MASK)[-1]) <= len(encoded) - last


@given(st.lists(SECRETS, min_size=2, max_size=4), st.text())
def test_several_known_secrets_are_masked_in_one_text(secrets: list[str], text: str) -> None:
    for secret in secrets:
        register_secret(secret)
    masked = mask(text.join(secrets))
    assert not any(secret in masked for secret in secrets)


PROSE = (
    "the key of a token: sequences, basic structure; password protected API keys and secrets "
    "Bearer authentication Basic training session storage ACGTACGTACGT MKTAYIAKQR 5'-GATTACA-3' "
    "/notebooks/42 sk-learn %20 100% &amp; \\n job fold1 (2026-11-22) https://lab.example/a?b=1 "
    "a=b {x} café \N{GREEK SMALL LETTER ALPHA}-helix"
)
LONG_SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16)


@pytest.mark.parametrize("scheme", ["Bearer", "Basic", "basic", "Token"])
def test_path_after_a_scheme_is_not_masked(scheme: str) -> None:
    assert mask(f"{scheme} /notebooks/42 is open") == f"{scheme} /notebooks/42 is open"
    assert "/notebooks/4x2" not in mask(f"{scheme} /notebooks/4x2")


@given(st.lists(st.sampled_from(PROSE.split(" "))), st.lists(LONG_SECRETS, max_size=3))
def test_prose_is_unchanged_for_any_known_secrets(words: list[str], secrets: list[str]) -> None:
    for secret in secrets:
        register_secret(secret)
    prose = " ".join(words)
    assert any(secret in prose for secret in secrets) or mask(prose) == prose


@given(st.text())
def test_masking_is_idempotent(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://ada:lovelace@lab.example/api", "lovelace"),
        ("https://store.example/k?X-Amz-Algorithm=A&X-Amz-Signature=c0ffee", "c0ffee"),
        ('{"client_secret": "two words"}', "two words"),
        (r"detail: {\"api_key\": \"two words\"}", "two words"),
        ("openai_api_key='swordfish', model=x", "swordfish"),
        ("password=swordfish&user=ada", "swordfish"),
        ("Incorrect API key: swordfish1", "swordfish1"),
        ("provided: sk-proj1234567890abcdefg.", "sk-proj1234567890abcdefg"),
        ("Incorrect API key provided: sk-other-key-1.", "sk-other-key-1"),
        ("Incorrect API key provided: sk-abcde********wxyz.", "wxyz"),
        ("Incorrect API key provided: swordf**fish.", "swordf"),
        (r"{\"message\": \"key:\nsk-other-key-12345\"}", "sk-other"),
        ("key=%22sk-other-key-12345%22", "sk-other"),
        (r"key=\u0022sk-other-key-12345\u0022", "sk-other"),
        ("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}" * 9 + " password=swordfish", "swordfish"),
        ("Authorization: Basic YWRhOnN3b3JkZmlzaA==", "YWRhOnN3"),
        (r"Authorization: Basic YWRh\/OnN3b3JkZmlzaA==", "OnN3b3Jk"),
        ("authorization=Bearer%20abcDEF123456", "abcDEF"),
        ("&quot;api_key&quot;: &quot;swordfish&quot;", "swordfish"),
        ("url=https%3A%2F%2Fx%3Fapi_key%3Dswordfish", "swordfish"),
        (r'{"password": "sword\"fish"}', "fish"),
        ('{"password": "swordfish of the', "swordfish"),
        ("https://store.example/k?a=1&amp;signature=c0ffee", "c0ffee"),
        (r"https://store.example/k?a=1\u0026signature=c0ffee", "c0ffee"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig", "eyJzdWIi"),
    ],
)
def test_text_that_looks_like_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret not in mask(text)
    assert MASK in mask(text)


@pytest.mark.parametrize("scheme", ["Bearer", "Basic", "Token"])
@pytest.mark.parametrize("case", [str, str.lower, str.upper])
def test_authorization_value_is_masked_in_any_case(scheme: str, case: Callable[[str], str]) -> None:
    assert mask(f"sent {case(scheme)} abcDEF123456 to it") == f"sent {case(scheme)} {MASK} to it"


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "apikey", "API-KEY", "secret_key", "access-key", "private_key"),
        *("access_token", "id_token", "refreshToken", "auth-token", "session_token"),
        *("secret", "client_secret", "password", "PASSWD", "passphrase"),
    ],
)
@pytest.mark.parametrize("form", ["{}=swordfish", "{}: swordfish", '"{}": "swordfish"'])
def test_value_of_a_secret_s_name_is_masked(name: str, form: str) -> None:
    text = form.format(name)
    assert mask(f"{text}, model=x") == f"{text.replace('swordfish', MASK)}, model=x"


@pytest.mark.parametrize(
    "name",
    [
        *("X-Amz-Signature", "X-Amz-Credential", "x-goog-date", "signature", "sig", "token"),
        *("access_token", "id_token", "credential", "expires", "policy", "secret", "key"),
        *("api_key", "api-key", "apikey", "password", "code"),
    ],
)
def test_query_with_a_secret_is_masked(name: str) -> None:
    assert (
        mask(f"GET https://h.example/a?b=1&{name}=c0 now") == f"GET https://h.example/a?{MASK} now"
    )
    assert mask(f"'https://h.example/a?{name}=c0'") == f"'https://h.example/a?{MASK}'"


@pytest.mark.parametrize(
    ("prefix", "shortest"),
    [
        ("sk-", 8),
        *((prefix, 10) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
        *((prefix, 10) for prefix in ("glpat-", "AIza", "hf_", "gsk_", "nvapi-", "pplx-", "xai-")),
        *((prefix, 10) for prefix in ("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-")),
        *((prefix, 16) for prefix in ("sk_", "pk_", "rk_", "pk-", "rk-", "AKIA", "ASIA")),
    ],
)
def test_key_with_a_known_prefix_is_masked_from_its_shortest_length(
    prefix: str, shortest: int
) -> None:
    rest = ("A1b2" * 4)[:shortest]
    assert mask(f"a {prefix}{rest} b") == f"a {MASK} b"
    assert mask(f"a {prefix}{rest[:-1]} b") == f"a {prefix}{rest[:-1]} b"


@pytest.mark.parametrize(
    "text",
    [
        "sequence key: value",
        "basic structure prediction of a peptide",
        "Bearer authentication required",
        "No API key: please sign in",
        "secretary: Ada",
        "sk-learn-like tools and pk_values",
        "sk-learn... and the disk-image-2026-11-22 of task-12345678",
        "half_life_of_12_hours and hf_transformers_of_a_face",
        "API key error: see the log",
        "Basic structure.Prediction of a peptide",
        "/jobs?startKey=abc&limit=3",
        "/x?monkey=3",
        "Job fold1 is not complete. Status: In Queue",
        "https://lab.example:8443/api/v2/dna-sequences",
        "Use postgresql+psycopg://USER:PASSWORD@HOST/NAME, not postgresql://ada:***@h/lab",
        ">seq1\nACDEFGHIKLMNPQRSTVWY",
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert mask(text) == text


def test_short_secrets_are_not_masked() -> None:
    register_secret("abc")
    register_secret("")
    register_secret(None)
    assert mask("abcdef") == "abcdef"


def test_masked_line_has_no_line_ends_and_no_control_characters() -> None:
    register_secret("swordfish")
    assert mask_line(" a\r\n swordfish\t\x1b[0m ") == f"a {MASK} \ufffd[0m"


@given(st.integers(0, 300), st.sampled_from(["swordfish-of-the-deep", "sk-abcdefgh12345678"]))
def test_shortened_text_contains_no_part_of_a_secret(length: int, secret: str) -> None:
    register_secret("swordfish-of-the-deep")
    text = f"{'word ' * 30}{secret}{' word' * 2_000}"
    masked = mask_start(text, length)
    assert len(masked) <= length
    assert not any(secret[:end] in masked for end in range(4, len(secret) + 1))


@pytest.mark.parametrize("total", [1, 99, 100, 101, 2_000, 4_000, 4_099, 4_100, 4_101, 50_000])
def test_start_of_a_text_of_any_length_is_shown(total: int) -> None:
    text = ("word " * 10_000)[:total]
    assert mask_start(text, 100) == text[:100]


def test_secret_at_the_cut_is_masked_after_earlier_masks() -> None:
    keys = "".join(f"password={'a' * 1_000} " for _ in range(4))
    secret = "swordfish" * 50
    register_secret(secret)
    assert "sword" not in mask_start(f"{keys}{secret}{'.' * 9_000}", len(keys) + 200 - MARGIN)


def test_longest_text_is_masked_to_its_end() -> None:
    register_secret("swordfish")
    start = "word " * (MAX_LENGTH // 5)
    assert mask(start) == start
    assert mask(f"{start[:-9]}swordfish") == f"{start[:-9]}{MASK}"


@pytest.mark.parametrize("before", [MAX_LENGTH + n for n in (-10, -9, -8, -1, 0, 1)])
def test_longer_text_is_cut_and_shows_no_secret_in_part(before: int) -> None:
    register_secret("swordfish")
    start = ("word " * (before // 5 + 1))[:before]
    masked = mask(f"{start}swordfish{' word' * 2_000}")
    assert MAX_LENGTH - 10 < len(masked) <= MAX_LENGTH
    assert masked.startswith(start[: MAX_LENGTH - 10])
    assert masked.endswith(TRUNCATION_MARK)
    assert "sword" not in masked
    assert mask(masked) == masked
    assert len(mask_start(" " * 2 * MAX_LENGTH, 2 * MAX_LENGTH)) == MAX_LENGTH


def test_log_masks_secrets_and_presigned_queries(caplog: pytest.LogCaptureFixture) -> None:
    register_secret("swordfish")
    log = get_logger("labext.test")
    with caplog.at_level(logging.DEBUG, "labext.test"):
        try:
            raise ValueError("the key swordfish")
        except ValueError:
            log.exception("GET %s with %s", "/d?signature=c0ffee", "swordfish")
    assert "swordfish" not in caplog.text
    assert "c0ffee" not in caplog.text
    assert "ValueError" in caplog.text


def test_log_masks_a_stack_and_a_finished_traceback() -> None:
    register_secret("swordfish")
    record = logging.LogRecord("x", logging.INFO, "", 0, "%s", ("swordfish",), None)
    record.stack_info = record.exc_text = "the key is swordfish"
    (masking,) = get_logger("labext.test.stack").filters
    assert isinstance(masking, logging.Filter)
    masking.filter(record)
    assert "swordfish" not in logging.Formatter().format(record)


def test_logger_has_one_filter() -> None:
    assert get_logger("labext.test.once").filters == get_logger("labext.test.once").filters
    assert len(get_logger("labext.test.once").filters) == 1


SECRET = "swordfish-of-the-deep"


class Trickle(HTTPResponse):
    """A body that arrives in pieces of a few bytes."""

    def read1(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
        return super().read1(7, decode_content)


def _response(body: bytes) -> Any:
    response = requests.Response()
    response.status_code = 200
    response.headers["Content-Type"] = "text/plain"
    response.raw = Trickle(io.BytesIO(body), preload_content=False)
    return response


def _reply(text: str) -> str:
    operation = Operation("list jobs", "GET", "jobs", RetryMode.ALWAYS, answer="json")
    error = Response(operation, 200, {}, text.encode()).validation_error()
    return f"{error} {error.server}"


def _no_event_stream(text: str) -> str:
    with pytest.raises(LabextError) as caught:
        list(read_events(_response(text.encode())))
    return str(caught.value)


def _event(text: str) -> str:
    with pytest.raises(LabextError) as caught:
        ServerSentEvent("message", text).json()
    return str(caught.value)


def _settings(text: str) -> str:
    return settings_difference({"sequence": "A"}, {"sequence": text}) or ""


def _line(text: str) -> str:
    with pytest.raises(InputError) as caught:
        line.tokenize(f"list {{{text}")
    return str(caught.value)


@pytest.mark.parametrize(
    "message",
    [
        _reply,
        _no_event_stream,
        _event,
        _settings,
        _line,
        messages.quote_value,
        shown_by_the_service,
        lambda text: server_message(text.encode()),
    ],
)
@pytest.mark.parametrize("blank", [" ", "x", "\u3000"])
def test_secret_at_the_cut_is_masked(message: Callable[[str], str], blank: str) -> None:
    register_secret(SECRET)
    for before in [*range(0, 90, 5), *range(465, 505, 5)]:
        message_text = message(f"x{blank * before}{SECRET} and more{' words' * 200}")
        assert not any(SECRET[:end] in message_text for end in range(4, len(SECRET))), (
            before,
            message_text,
        )


@pytest.mark.parametrize("message", [_reply, _no_event_stream])
def test_secret_at_the_end_of_the_read_text_is_masked(message: Callable[[str], str]) -> None:
    register_secret(SECRET)
    wide = "\u3000"  # three bytes that are removed from a line
    for limit in (4000, 4096, EXCERPT_BYTES):
        text = "x" + wide * ((limit - 10) // 3) + SECRET
        assert SECRET[:4] not in message(text + " more" * 1000)


def test_endless_response_is_quoted_without_part_of_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register_secret(SECRET)
    times: Iterator[float] = iter([0.0, 1.0, 2.0, 99.0])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    message_text = _no_event_stream(f"key {SECRET}")  # 14 bytes arrive in time
    assert "no readable text" in message_text
    assert SECRET[:4] not in message_text


def test_long_response_is_quoted() -> None:
    assert "Sign in" in _reply(f"Sign in {'first ' * 700}")
