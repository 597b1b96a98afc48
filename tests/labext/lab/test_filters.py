"""Filters of sequences: the query and the matches; pages in every format."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.dna import same_molecule
from labext.errors import InputError, ServiceError
from labext.lab.api import Page, iter_pages, parse_page
from labext.lab.sequences.filters import FILTER_NAMES, Filters

EAST = timezone(timedelta(hours=5))
PLASMID = {
    "id": "seq_1",
    "name": "pBAD30",
    "aliases": ["Arabinose vector"],
    "entityRegistryId": "PL001",
    "bases": "AACCGT",
    "isCircular": True,
    "length": 6,
    "createdAt": "2024-03-01T12:00:00.500+00:00",
    "modifiedAt": "2024-03-05T00:00:00Z",
    "folderId": "lib_1",
    "schema": {"id": "ts_1", "name": "Plasmid"},
    "creator": {"id": "ent_1", "name": "A", "handle": "a"},
    "archiveRecord": None,
}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("ids", "seq_1", "seq_2"),
        ("ids", ["seq_2", "seq_1"], ["seq_2"]),
        ("ids", pd.Series(["seq_1", "seq_1"]), pd.Series(["seq_3"])),
        ("name", "pbad30", "pBAD3"),
        ("name", "arabinose VECTOR", "arabinose"),
        ("name", "PL001", "PL00"),
        ("name_includes", "bad", "bda"),
        ("name_includes", "VECT", "vector arab"),
        ("names", "x, PBAD30", "x,y"),
        ("names", ["PL001"], ["PL0"]),
        ("bases", "aaccgt", "AACCG"),
        ("bases", "ACGGTT", "ACGGTA"),  # the reverse complement
        ("bases", "CGTAAC", "CGTACA"),  # opened elsewhere
        ("folder_id", "lib_1", "lib_2"),
        ("schema_id", "ts_1", "ts_2"),
        ("creator_ids", ["ent_1", "ent_2"], ["ent_2"]),
        ("created_at", "> 2024-03-01", "> 2024-03-02"),
        ("created_at", "> 2024-03-01 AND < 2024-03-02", "> 2024-01-01 AND <2024-03-01"),
        ("created_at", ">2024-03-01T13:00:00+02:00", ">= 2024-03-01T13:00:00+00:00"),
        ("created_at", date(2024, 3, 1), date(2024, 3, 2)),
        ("created_at", (None, date(2024, 3, 2)), (None, date(2024, 3, 1))),
        ("created_at", ("2024-03-01", "2024-03-02"), ("2024-03-02", "2024-03-03")),
        (
            "created_at",
            datetime(2024, 3, 1, 17, tzinfo=EAST),
            datetime(2024, 3, 1, 17, 1, tzinfo=EAST),
        ),
        ("created_at", datetime(2024, 3, 1, 12, tzinfo=UTC), datetime(2024, 3, 1, 13)),
        ("created_at", pd.Timestamp("2024-03-01"), pd.Timestamp("2024-03-01T13:00Z")),
        ("modified_at", "<= 2024-03-05", "< 2024-03-05"),
        ("archive_reason", "NOT_ARCHIVED", "ANY_ARCHIVED"),
        ("archive_reason", "ANY_ARCHIVED_OR_NOT_ARCHIVED", "Retired"),
        ("min_length", 6, 7),
        ("max_length", np.int64(6), np.int64(5)),
        ("circular", True, False),
        ("circular", np.True_, np.False_),
    ],
)
def test_filter_matches_records(name: str, right: Any, wrong: Any) -> None:
    assert Filters({name: right}).matches(PLASMID)
    assert not Filters({name: wrong}).matches(PLASMID)
    assert Filters({name: None}).matches({})


def test_archive_reason_filter() -> None:
    archived = {**PLASMID, "archiveRecord": {"reason": "Retired"}}
    for reason, passes in [("Retired", True), ("Made in error", False), ("ANY_ARCHIVED", True)]:
        assert Filters({"archive_reason": reason}).matches(archived) is passes


def test_all_filters_must_match() -> None:
    both = Filters({"name": "pBAD30", "min_length": 7})
    assert not both.matches(PLASMID)
    assert both.matches({**PLASMID, "length": 8})


def test_absent_fields_are_left_to_the_platform() -> None:
    sent = {
        "ids": "seq_9", "name": "x", "name_includes": "x", "names": "x", "bases": "A",
        "folder_id": "x", "project_id": "x", "schema_id": "x", "creator_ids": "x",
        "created_at": "> 2024-01-01", "archive_reason": "Retired",
    }  # fmt: skip
    assert Filters(sent).matches({})
    for name, value in {"min_length": 1, "max_length": 9, "circular": False}.items():
        assert not Filters({name: value}).matches({})
    assert not Filters({"created_at": "> 2024-01-01"}).matches({"createdAt": "soon"})
    assert Filters({"min_length": 3}).matches({"bases": "AAA"})
    assert not Filters({"folder_id": "lib_1"}).matches({"folderId": None})
    assert not Filters({"schema_id": "ts_1"}).matches({"schema": None})


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({}, {}),
        ({"name": " pBAD30 "}, {"name": "pBAD30"}),
        ({"name_includes": "pla", "sort": "name:asc"}, {"nameIncludes": "pla", "sort": "name:asc"}),
        ({"names": ["a", "b", "a"]}, {"names.anyOf": "a,b"}),
        ({"ids": "seq_1, seq_2", "names": "a"}, {"ids": "seq_1,seq_2", "names.anyOf": "a"}),
        ({"project_id": "src_1", "min_length": 5, "circular": True}, {"projectId": "src_1"}),
        ({"created_at": ">2024-01-01"}, {"createdAt": "> 2024-01-01"}),
        (
            {"modified_at": (date(2024, 1, 1), datetime(2024, 2, 1, tzinfo=UTC))},
            {"modifiedAt": "> 2024-01-01 AND < 2024-02-01T00:00:00+00:00"},
        ),
    ],
)  # fmt: skip
def test_query_of_filters(arguments: dict[str, Any], query: dict[str, str]) -> None:
    assert list(Filters(arguments).queries()) == [query]


def test_more_than_100_values_take_several_queries() -> None:
    ids = [f"seq_{n}" for n in range(250)]
    filters = Filters({"ids": ids, "names": ["a", "b"], "sort": "name"})
    queries = list(filters.queries())
    assert [len(query["ids"].split(",")) for query in queries] == [100, 100, 50]
    assert all(query["names.anyOf"] == "a,b" and query["sort"] == "name" for query in queries)
    assert not filters.local
    both = Filters({"ids": ids, "names": [f"n{n}" for n in range(101)]})
    assert both.local  # one of the two is applied here
    assert all(set(query) == {"ids"} for query in both.queries())


def test_values_too_long_for_a_url_take_several_queries() -> None:
    names = [f"{'β' * 100} {n}" for n in range(20)]
    queries = list(Filters({"names": names, "ids": ["seq_1", "seq_2"]}).queries())
    assert ",".join(query["names.anyOf"] for query in queries).split(",") == names
    assert len(queries) > 1
    assert all(len(quote(query["names.anyOf"])) <= 4000 for query in queries)
    assert {query["ids"] for query in queries} == {"seq_1,seq_2"}


@pytest.mark.parametrize("name", ["one, two", 'three "o" four'])
def test_name_with_comma_or_quote_is_matched_locally(name: str) -> None:
    filters = Filters({"names": [name, "five"]})
    assert list(filters.queries()) == [{}]
    assert filters.local
    assert filters.matches({"name": name})
    assert not filters.matches({"name": name.partition(",")[0][:3]})


def test_bases_too_long_for_a_url_are_matched_locally() -> None:
    filters = Filters({"bases": "ACGT" * 2000})
    assert list(filters.queries()) == [{}]
    assert filters.local
    assert filters.matches({"bases": "acgt" * 2000})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nameIncludes": "x"}, 'did you mean "name_includes"'),
        ({"min_lenght": 3}, 'did you mean "min_length"'),
        ({"sort": "modified"}, 'did you mean "modifiedAt"'),
        ({"sort": "name:up"}, "can't be sorted"),
        ({"bases": "MKTAYIAKQR"}, '"I" is not a base'),
        ({"bases": "AUG"}, '"U" is not a base'),
        ({"created_at": "yesterday"}, "not a time range"),
        ({"created_at": "= 2024-01-01"}, "not a time range"),
        ({"created_at": 5}, "not a time range"),
        ({"created_at": (None, None)}, "no bound"),
        ({"name": ""}, "not text"),
        ({"ids": 5}, "not a list of texts"),
        ({"ids": []}, "no values"),
        ({"ids": ["a", None]}, "not text"),
        ({"names": "a,,b"}, "not text"),
        ({"min_length": -1}, "not a length"),
        ({"max_length": True}, "not a length"),
        ({"min_length": 5, "max_length": 4}, "exceeds the maximum"),
        ({"circular": "yes"}, "neither true nor false"),
    ],
)
def test_invalid_filter_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Filters(arguments)
    assert caught.value.next_step


VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.floats() | st.dates()
RECORDS = st.dictionaries(
    st.sampled_from([*PLASMID, "x"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=4,
    ),
)


@given(
    st.dictionaries(
        st.sampled_from(FILTER_NAMES),
        VALUES | st.lists(VALUES, max_size=3) | st.tuples(VALUES, VALUES),
    ),
    RECORDS,
)
def test_arbitrary_value_is_a_filter_or_an_error(arguments: dict[str, Any], record: Any) -> None:
    try:
        filters = Filters(arguments)
    except InputError:
        return
    assert filters.matches(record) in (True, False)
    for query in filters.queries():
        assert all(isinstance(value, str) and value for value in query.values())


@given(st.text("ACGTRYKMBVDHSWN", min_size=1, max_size=30), st.integers(0, 40), st.booleans())
def test_circular_sequence_is_equal_under_rotation(bases: str, at: int, other: bool) -> None:
    at %= len(bases)
    turned = bases[at:] + bases[:at]
    if other:
        turned = turned.translate(str.maketrans("ACGTRYKMBVDHSWN", "TGCAYRMKVBHDSWN"))[::-1]
    assert same_molecule(turned.lower(), bases, circular=True)
    assert same_molecule(turned, bases, circular=False) or at


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
