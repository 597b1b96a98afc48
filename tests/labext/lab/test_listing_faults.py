"""Lists of sequences on platforms that page, filter and respond differently."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import ConflictError, InputError, NotFoundError, ServiceError
from labext.lab import LabClient

pytestmark = pytest.mark.faults


def ids(table: Any) -> list[str]:
    return [str(value) for value in table["id"]]


def test_list_follows_page_tokens(lab: LabClient, tenant: Any) -> None:
    tenant.add(250)
    assert ids(lab.sequences()) == [f"seq_{n:04d}" for n in range(250)]
    assert [query.get("nextToken") for query in tenant.queries()] == [None, "100", "200"]
    assert {query["pageSize"] for query in tenant.queries()} == {"100"}
    assert [row["id"] for row in lab.iter_sequences(3)] == ["seq_0000", "seq_0001", "seq_0002"]


@pytest.mark.parametrize(
    "form",
    [
        lambda rows, token: rows,
        lambda rows, token: {"results": rows},
        lambda rows, token: {"dnaSequences": rows, "nextToken": None},
        lambda rows, token: {"items": rows, "nextToken": "", "count": 3},
    ],
)
@pytest.mark.parametrize("columns", [None, ["name", "id"]])
def test_platform_without_paging_is_read_completely(
    lab: LabClient, tenant: Any, form: Any, columns: Any
) -> None:
    tenant.add(3)
    tenant.form = form
    assert len(lab.sequences(columns=columns)) == 3
    assert len(lab.sequences(columns=columns, limit=2)) == 2


def test_page_size_follows_the_limit(lab: LabClient, tenant: Any) -> None:
    tenant.add(250)
    for limit, sizes in {
        0: [],
        1: ["1"],
        100: ["100"],
        101: ["51", "51"],
        240: ["80", "80", "80"],
        1000: ["100", "100", "100"],
    }.items():
        tenant.received.clear()
        assert ids(lab.sequences(limit)) == [f"seq_{n:04d}" for n in range(min(limit, 250))]
        assert [query["pageSize"] for query in tenant.queries()] == sizes


@pytest.mark.parametrize("limit", [-1, True, "5", 2.5])
def test_invalid_limit_is_refused(lab: LabClient, tenant: Any, limit: Any) -> None:
    with pytest.raises(InputError, match="not a limit"):
        lab.sequences(limit)
    with pytest.raises(InputError, match="not a limit"):
        lab.iter_sequences(limit)
    assert tenant.received == []


def test_smaller_pages_than_requested_are_accepted(lab: LabClient, tenant: Any) -> None:
    tenant.add(35)
    tenant.largest = 10
    assert len(lab.sequences()) == 35
    assert len(lab.sequences(25)) == 25
    assert len(lab.sequences(columns=["name"])) == 35


def test_limit_counts_filtered_records(lab: LabClient, tenant: Any) -> None:
    tenant.add(600)
    table = lab.sequences(20, min_length=24, folder_id="lib_0")
    assert len(table) == 20
    assert set(table["length"]) == {24}
    assert {query["pageSize"] for query in tenant.queries()} == {"100"}
    assert {query["folderId"] for query in tenant.queries()} == {"lib_0"}
    assert tenant.count("dna-sequences") == 2  # 14 of the first hundred pass


def test_filters_ignored_by_the_platform_are_applied_locally(lab: LabClient, tenant: Any) -> None:
    tenant.add(400)
    honest = lab.sequences(name_includes="9", folder_id="lib_1")
    tenant.filters = set()
    assert ids(lab.sequences(name_includes="9", folder_id="lib_1")) == ids(honest)
    tenant.received.clear()
    assert ids(lab.sequences(9, name_includes="9", folder_id="lib_1")) == ids(honest)[:9]
    # A page of nine told that it filters nothing; then whole pages, from the beginning.
    assert [query["pageSize"] for query in tenant.queries()] == ["9", "100", "100"]


def test_columns_for_filters_are_requested_and_dropped(lab: LabClient, tenant: Any) -> None:
    tenant.add(14)
    table = lab.sequences(columns=["name", "isCircular"], min_length=24)
    assert table.columns.tolist() == ["name", "isCircular"]
    assert table["name"].tolist() == ["plasmid 6", "plasmid 13"]
    assert tenant.queries()[0]["returning"].split(",") == [
        "dnaSequences.id",
        "dnaSequences.name",
        "dnaSequences.isCircular",
        "dnaSequences.length",
    ]
    rows = list(lab.iter_sequences(2, columns="name"))
    assert rows == [{"name": "plasmid 0"}, {"name": "plasmid 1"}]
    assert lab.names(3) == ["plasmid 0", "plasmid 1", "plasmid 2"]


def test_columns_ignored_by_the_platform_are_selected_locally(lab: LabClient, tenant: Any) -> None:
    tenant.add(3)
    tenant._returning = lambda rows, query: rows
    assert lab.sequences(columns=["bases", "name"]).columns.tolist() == ["bases", "name"]
    assert list(lab.iter_sequences(1, columns=["name"])) == [{"name": "plasmid 0"}]


def test_token_is_requested_if_the_platform_treats_it_as_a_column(
    lab: LabClient, tenant: Any
) -> None:
    tenant.add(250)
    whole = tenant._list

    def only_named(query: dict[str, str]) -> Any:
        answer = whole(query)
        if "returning" in query and "nextToken" not in query["returning"].split(","):
            del answer["nextToken"]
        return answer

    tenant._list = only_named
    assert len(lab.sequences(columns=["name"])) == 250
    assert tenant.count("dna-sequences") == 4  # the first page twice
    assert len(lab.sequences(50, columns=["name"])) == 50


def test_unknown_column_is_refused_after_one_page(lab: LabClient, tenant: Any) -> None:
    tenant.add(250, projectId="src_1")
    with pytest.raises(InputError, match='did you mean "folderId"'):
        lab.sequences(columns=["foldrId"])
    assert tenant.count("dna-sequences") == 1
    assert set(lab.sequences(5, columns=["projectId"])["projectId"]) == {"src_1"}
    with pytest.raises(InputError, match=r"fields\.Mass"):
        lab.sequences(5, columns=["name", "fields.Mass"])


def test_ids_are_requested_in_groups_of_100(lab: LabClient, tenant: Any) -> None:
    tenant.add(400)
    requested = [f"seq_{n:04d}" for n in range(0, 400, 2)]
    assert ids(lab.sequences(ids=[*requested, requested[0]])) == requested
    assert len(lab.sequences(150, ids=requested)) == 150
    assert tenant.count("dna-sequences") == 4


def test_record_moved_between_pages_is_listed_once(lab: LabClient, tenant: Any) -> None:
    tenant.add(150)
    pages = lab.iter_sequences()
    first = next(pages)
    tenant.records.insert(0, {**tenant.records[0], "id": "seq_new"})
    record_ids = [first["id"], *(row["id"] for row in pages)]
    assert len(record_ids) == len(set(record_ids)) == 150


def test_control_characters_are_replaced(lab: LabClient, tenant: Any) -> None:
    tenant.add(1, name="a\x1b[2Jb", fields={"k\u202e": {"value": "x\x07"}})
    record = lab.sequence("seq_0000")
    assert record["name"] == "a\ufffd[2Jb"
    assert record["fields"] == {"k\ufffd": {"value": "x\ufffd"}}
    assert lab.sequences()["fields"].tolist() == [record["fields"]]


@pytest.mark.parametrize(
    "body", [b"<!doctype html><title>Welcome to the hotel</title>", b'{"dnaSequences": [', b"5"]
)
def test_invalid_response_is_a_service_error(lab: LabClient, tenant: Any, body: bytes) -> None:
    lab._http._options.__dict__["attempts"] = 1
    tenant.fail("dna-sequences", tenant.reply(body=body))
    with pytest.raises(ServiceError) as caught:
        lab.sequences()
    assert caught.value.next_step


# --- one sequence ------------------------------------------------------------------------------


def test_sequence_is_found_by_name_id_or_alias(lab: LabClient, tenant: Any) -> None:
    tenant.add(5)
    tenant.records[3]["name"] = "seq_of_mine"
    tenant.records[4]["aliases"] = ["nickname"]
    assert lab.sequence("plasmid 2")["id"] == "seq_0002"
    assert lab.sequence("PLASMID 2")["id"] == "seq_0002"
    assert tenant.count("dna-sequences") == 2
    assert lab.sequence(" seq_0001 ")["name"] == "plasmid 1"
    assert tenant.count("dna-sequences") == 3
    assert lab.sequence("seq_of_mine")["id"] == "seq_0003"
    assert lab.sequence("nickname")["id"] == "seq_0004"
    tenant.filters = set()
    assert lab.sequence("plasmid 2")["id"] == "seq_0002"


def test_refused_id_falls_back_to_the_name(lab: LabClient, tenant: Any) -> None:
    tenant.add(1, name="seq_9")
    tenant.fail("dna-sequences", tenant.reply(400, {"error": {"message": "Invalid ids: seq_9"}}))
    assert lab.sequence("seq_9")["id"] == "seq_0000"


def test_ambiguous_name_lists_the_ids(lab: LabClient, tenant: Any) -> None:
    tenant.add(2, name="twin")
    tenant.add(1, name="Twin")
    with pytest.raises(ConflictError, match="seq_0000, seq_0001") as caught:
        lab.sequence("twin")
    assert "ID" in caught.value.next_step
    assert lab.sequence("Twin")["id"] == "seq_0002"


def test_missing_sequence_suggests_a_similar_name(lab: LabClient, tenant: Any) -> None:
    tenant.add(1, name="pBAD30")
    with pytest.raises(NotFoundError, match='did you mean "pBAD30"'):
        lab.sequence("pBDA30")
    with pytest.raises(NotFoundError):
        lab.sequence("a,b")
    for nothing in ("", "  ", None):
        with pytest.raises(InputError, match="not a sequence name"):
            lab.sequence(nothing)
