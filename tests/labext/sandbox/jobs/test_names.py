"""Validation of names, body fields and query fields (JOBS-16, JOBS-21 to JOBS-26)."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.sandbox.jobs import schemas
from labext.sandbox.jobs.names import file_name_error, name_error, project_error


@given(st.text(max_size=120) | st.from_regex(r"\A[a-zA-Z0-9_-]{1,101}\Z"))
def test_job_name_matches_the_pattern(name):
    good = re.fullmatch(r"[a-zA-Z0-9_-]{1,100}", name) is not None
    error = name_error("jobName", name)
    assert (error is None) == good
    assert error is None or error.startswith("jobName ")
    assert error is None or len(error) < 200


@given(st.text(max_size=300))
def test_file_name_is_a_plain_name(name):
    if file_name_error("filename", name) is None:
        assert 1 <= len(name.encode()) <= 255
        assert not set(name) & set("/\\\0\n")
        assert name not in (".", "..")
        assert all(unicodedata.category(letter) != "Cc" for letter in name)


@given(st.text(max_size=120) | st.from_regex(r"\Aproj_\w{0,5}\Z"))
def test_project_tag_matches_the_pattern(tag):
    good = re.fullmatch(r"proj_[a-zA-Z0-9_-]{1,100}", tag) is not None
    assert (project_error(tag) is None) == good


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("True", True), ("FALSE", False), (None, False)]
)
def test_query_flag_ignores_case_and_defaults_to_false(text, expected):
    assert schemas.query_flag({} if text is None else {"x": text}, "x") is expected


@given(st.text().filter(lambda text: text.lower() not in ("true", "false")))
def test_invalid_flag_is_refused_by_name(text):
    with pytest.raises(HTTPException, match=r"^400: flag "):
        schemas.query_flag({"flag": text}, "flag")


@given(st.integers(1, 10**17))
def test_query_count_is_capped(number):
    assert schemas.query_count({"limit": str(number)}, "limit", 1000) == min(number, 1000)


@given(st.integers(max_value=0).map(str) | st.text().filter(lambda text: not text.isdecimal()))
def test_invalid_count_is_refused_by_name(text):
    with pytest.raises(HTTPException, match=r"^400: limit "):
        schemas.query_count({"limit": text}, "limit", 1000)


def test_body_must_be_one_json_object():
    assert schemas.parse_body(b'{"a": 1}') == {"a": 1}
    for content in (
        b"",
        b"1",
        b"[]",
        b"{",
        b'{"a": NaN}',
        b'{"a":' + b"[" * 500 + b"]" * 500 + b"}",
    ):
        with pytest.raises(HTTPException, match=r"^400: The body "):
            schemas.parse_body(content)
