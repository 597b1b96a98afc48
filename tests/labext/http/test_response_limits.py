"""Limits of response size, response time and pagination."""

from __future__ import annotations

import io

import pytest
import requests
import urllib3

from labext.errors import ResponseLimitError, SetupError
from labext.http import Operation, RetryMode
from labext.http.connection_pool import (
    MIB,
    Deadline,
    ResponseLimits,
    ResponseTooLarge,
    ResponseTooSlow,
    read_body,
)
from labext.http.pagination import MAX_EMPTY, MAX_REPEATED, PageGuard
from labext.http.responses import Response, parse_json


def test_default_limits_are_256_mib_and_300_seconds() -> None:
    assert ResponseLimits() == ResponseLimits.from_options({}) == ResponseLimits(256 * MIB, 300.0)


def test_limits_are_read_from_profile_options() -> None:
    options = {"max_response_mib": "0.5", "max_response_seconds": "7"}
    assert ResponseLimits.from_options(options) == ResponseLimits(MIB // 2, 7.0)


@pytest.mark.parametrize("name", ["max_response_mib", "max_response_seconds"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "many", ""])
def test_limit_must_be_a_positive_number(name: str, value: str) -> None:
    with pytest.raises(SetupError, match=f"{name} is .* not a positive number"):
        ResponseLimits.from_options({name: value})


def test_deadline_counts_from_the_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("labext.http.connection_pool.time.monotonic", lambda: now)
    deadline = Deadline(5)
    now += 60
    assert deadline.remaining() is None
    deadline.start()
    now += 4
    deadline.start()
    assert deadline.remaining() == 1
    now += 1
    with pytest.raises(ResponseTooSlow) as caught:
        deadline.remaining()
    assert caught.value.seconds == 5
    deadline.lift()
    deadline.start()
    assert deadline.remaining() is None


def response(content: bytes, **headers: str) -> requests.Response:
    result = requests.Response()
    result.raw = urllib3.HTTPResponse(io.BytesIO(content), preload_content=False)
    result.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return result


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB])
def test_body_up_to_the_limit_is_read(size: int) -> None:
    content = bytes(size)
    assert read_body(response(content), 3 * MIB) == content
    assert read_body(response(content, Content_Length=str(size)), 3 * MIB) == content


@pytest.mark.parametrize("headers", [{}, {"Content_Length": str(3 * MIB + 1)}])
def test_body_beyond_the_limit_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ResponseTooLarge) as caught:
        read_body(response(bytes(3 * MIB + 1), **headers), 3 * MIB)
    assert caught.value.limit == 3 * MIB


def test_declared_length_beyond_the_limit_is_refused_unread() -> None:
    with pytest.raises(ResponseTooLarge):
        read_body(response(b"", Content_Length=str(10**30)), 3 * MIB)


@pytest.mark.parametrize(
    "content", [b"[" + b"[]," * 1000 + b"1]", b'{"a":' * 1000, b"[0" + b",0" * 1000]
)
def test_json_with_too_many_values_is_refused_before_parsing(content: bytes) -> None:
    with pytest.raises(ResponseTooLarge):
        parse_json(content, 50_000)
    operation = Operation("list", "GET", "list", RetryMode.ALWAYS, answer="json")
    reply = Response(operation, 200, {}, content, service="job service", limit=50_000)
    with pytest.raises(
        ResponseLimitError, match="job service answered 'list' with too many values"
    ):
        reply.json()


def test_long_json_with_few_values_is_parsed() -> None:
    text = "a" * 100_000
    assert parse_json(f'["{text}"]'.encode(), 50_000) == [text]


def guard() -> PageGuard:
    return PageGuard("The job service's list of jobs", "0")


def test_list_with_new_items_on_every_page_continues() -> None:
    pages = guard()
    for number in range(1, 500):
        assert pages.add_page([f"item {number}", "moved"]) >= 1
        pages.check_next(str(number))


@pytest.mark.parametrize("cursors", [["0"], ["1", "1"], ["1", "2", "3", "1"]])
def test_repeated_cursor_is_an_error(cursors: list[str]) -> None:
    pages = guard()
    for cursor in cursors[:-1]:
        pages.add_page([cursor])
        pages.check_next(cursor)
    pages.add_page(["new"])
    with pytest.raises(ResponseLimitError, match="list of jobs does not end: it repeats a page"):
        pages.check_next(cursors[-1])


@pytest.mark.parametrize(("items", "most"), [(["known"], MAX_REPEATED), ([], MAX_EMPTY)])
def test_pages_without_new_items_are_an_error(items: list[str], most: int) -> None:
    pages = guard()
    pages.add_page(["known"])
    for number in range(1, most):
        assert pages.add_page(items) == 0
        pages.check_next(str(number))
    pages.add_page(["something new"])
    for number in range(most, 2 * most - 1):
        pages.add_page(items)
        pages.check_next(str(number))
    pages.add_page(items)
    with pytest.raises(ResponseLimitError, match="continues without new items"):
        pages.check_next("last")


def test_list_beyond_the_page_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labext.http.pagination.MAX_PAGES", 20)
    pages = guard()
    for number in range(1, 20):
        pages.add_page([number])
        pages.check_next(str(number))
    pages.add_page([20])
    with pytest.raises(ResponseLimitError, match="has more than 20 pages"):
        pages.check_next()


def test_items_without_an_identifier_count_as_new() -> None:
    pages = guard()
    assert pages.add_page([None, None]) == 2
    assert pages.add_page([None]) == 1
