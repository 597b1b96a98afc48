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
def test_a_name_is_what_the_contract_says(name):
    good = re.fullmatch(r"[a-zA-Z0-9_-]{1,100}", name) is not None
    fault = name_error("jobName", name)
    assert (fault is None) == good
    assert fault is None or fault.startswith("jobName ")
    assert fault is None or len(fault) < 200


@given(st.text(max_size=300))
def test_a_files_name_is_one_plain_name(name):
    if file_name_error("filename", name) is None:
        assert 1 <= len(name.encode()) <= 255
        assert not set(name) & set("/\\\0\n")
        assert name not in (".", "..")
        assert all(unicodedata.category(letter) != "Cc" for letter in name)


@given(st.text(max_size=120) | st.from_regex(r"\Aproj_\w{0,5}\Z"))
def test_a_project_has_its_form(tag):
    good = re.fullmatch(r"proj_[a-zA-Z0-9_-]{1,100}", tag) is not None
    assert (project_error(tag) is None) == good


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("True", True), ("FALSE", False), (None, False)]
)
def test_a_flag(text, expected):
    assert schemas.query_flag({} if text is None else {"x": text}, "x") is expected


@given(st.text().filter(lambda text: text.lower() not in ("true", "false")))
def test_any_other_flag_is_refused_by_name(text):
    with pytest.raises(HTTPException, match=r"^400: flag "):
        schemas.query_flag({"flag": text}, "flag")


@given(st.integers(1, 10**17))
def test_a_count_is_bounded(number):
    assert schemas.query_count({"limit": str(number)}, "limit", 1000) == min(number, 1000)


@given(st.integers(max_value=0).map(str) | st.text().filter(lambda text: not text.isdecimal()))
def test_any_other_count_is_refused_by_name(text):
    with pytest.raises(HTTPException, match=r"^400: limit "):
        schemas.query_count({"limit": text}, "limit", 1000)


def test_a_body_is_one_object_that_can_be_kept():
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
