"""Pages of sequences in every format, and lists that end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import ServiceError
from labext.lab.api import Page, iter_pages, parse_page

A, B = {"id": "seq_1"}, {"id": "seq_2"}


@pytest.mark.parametrize(
    ("answer", "records", "token"),
    [
        ({"dnaSequences": [A, B], "nextToken": "t"}, [A, B], "t"),
        ({"dnaSequences": [A], "nextToken": ""}, [A], ""),
        ({"dnaSequences": [A], "nextToken": None}, [A], ""),
        ({"dnaSequences": [A], "nextToken": False}, [A], ""),
        ({"dnaSequences": [A]}, [A], ""),
        ({"dnaSequences": [], "nextToken": ""}, [], ""),
        ({"dnaSequences": [A], "others": [B], "nextToken": 7}, [A], "7"),
        ({"dnaSequences": [A], "nextToken": 0}, [A], "0"),
        ({"results": [A], "warnings": ["w"], "nextToken": "t"}, [A], "t"),
        ({"results": [A], "errors": []}, [A], ""),
        ({"results": [], "errors": []}, [], ""),
        ([A, B], [A, B], ""),
        ([], [], ""),
    ],
)
def test_page_in_every_format(answer: Any, records: list[Any], token: str) -> None:
    pages = parse_page(answer)
    assert (pages.records, pages.token) == (records, token)
    assert pages.has_token_field is ("nextToken" in answer)


@pytest.mark.parametrize(
    "answer",
    [
        None, "text", 5, {}, {"message": "hello"}, [1], {"a": [A], "b": [B]},
        {"dnaSequences": {"a": 1}}, {"dnaSequences": [A], "nextToken": {"at": 1}},
    ],
)  # fmt: skip
def test_invalid_page_is_a_service_error(answer: Any) -> None:
    with pytest.raises(ServiceError, match="list of sequences"):
        parse_page(answer)


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["dnaSequences", "nextToken", "id", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_arbitrary_response_is_a_page_or_an_error(answer: Any) -> None:
    try:
        pages = parse_page(answer)
    except ServiceError:
        return
    assert all(isinstance(record, dict) for record in pages.records)
    assert isinstance(pages.token, str)


def scripted_pages(*answers: Page) -> tuple[list[str], Any]:
    tokens: list[str] = []

    def ask(token: str) -> Page:
        tokens.append(token)
        return answers[min(len(tokens), len(answers)) - 1]

    return tokens, ask


def test_list_ends_and_repeats_no_record() -> None:
    tokens, ask = scripted_pages(
        Page([A], "1", True), Page([A, B], "2", True), Page([], "3", True), Page([{}], "", True)
    )
    assert list(iter_pages(ask, set())) == [[A], [B], [], [{}]]
    assert tokens == ["", "1", "2", "3"]


def test_pages_are_requested_lazily() -> None:
    tokens, ask = scripted_pages(Page([A], "1", True), Page([B], "", True))
    pages = iter_pages(ask, set())
    assert tokens == []
    assert next(pages) == [A]
    assert tokens == [""]


@pytest.mark.parametrize(
    "answers",
    [
        [Page([A], "1", True), Page([B], "1", True)],
        [Page([A], "1", True), Page([B], "2", True), Page([{"id": "seq_3"}], "1", True)],
    ],
)
def test_repeated_token_is_an_error(answers: list[Page]) -> None:
    _, ask = scripted_pages(*answers)
    pages = iter_pages(ask, set())
    with pytest.raises(ServiceError, match="does not end"):
        list(pages)


def test_endless_pages_without_new_records_are_an_error() -> None:
    count = 0

    def ask(token: str) -> Page:
        nonlocal count
        count += 1
        return Page([A, B], str(count), True)

    with pytest.raises(ServiceError, match="does not end"):
        list(iter_pages(ask, set()))
    assert count < 200
