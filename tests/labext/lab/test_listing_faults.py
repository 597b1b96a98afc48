"""Lists and folders on platforms that page, filter and respond differently."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
    NotFoundError,
    ResponseLimitError,
    ServiceError,
)
from labext.lab import LabClient

pytestmark = pytest.mark.faults


def ids(table: Any) -> list[str]:
    return [str(value) for value in table["id"]]


def test_each_page_but_the_last_is_reported(lab: LabClient, tenant: Any) -> None:
    tenant.add(250)
    reports: list[tuple[int, int | None]] = []

    def on_page(received: int, total: int | None) -> None:
        reports.append((received, total))

    lab.sequences(on_page=on_page)
    assert reports == [(100, None), (200, None)]
    tenant.states_count = True
    lab.sequences(on_page=on_page)
    lab.sequences(150, on_page=on_page)
    lab.sequences(name_includes="plasmid 1", on_page=on_page)
    assert reports[2:] == [(100, 250), (200, 250), (75, 150), (150, 150), (100, 111)]


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
        1: ["1"],
        100: ["100"],
        101: ["51", "51"],
        240: ["80", "80", "80"],
        1000: ["100", "100", "100"],
    }.items():
        tenant.received.clear()
        assert ids(lab.sequences(limit)) == [f"seq_{n:04d}" for n in range(min(limit, 250))]
        assert [query["pageSize"] for query in tenant.queries()] == sizes


@pytest.mark.parametrize("limit", [0, -1, True, "5", 2.5])
def test_invalid_limit_is_refused(lab: LabClient, tenant: Any, limit: Any) -> None:
    with pytest.raises(InputError, match="The limit is"):
        lab.sequences(limit)
    with pytest.raises(InputError, match="The limit is"):
        lab.iter_sequences(limit)
    for listed in (lab.folders, lab.names):
        with pytest.raises(InputError, match="The limit is"):
            listed(limit)
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
    # A page of nine records shows that it does not filter; then whole pages from the start.
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


def test_names_are_those_of_all_sequences(lab: LabClient, tenant: Any) -> None:
    tenant.add(1001)
    assert len(lab.names()) == 1001


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
    tenant.largest = 40
    assert len(lab.sequences(columns=["name"])) == 250
    assert len(lab.sequences(90, columns=["name"])) == 90


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


@pytest.mark.parametrize("columns", [None, ["id"]])
def test_groups_of_ids_are_sorted_as_a_whole_before_the_limit(
    lab: LabClient, tenant: Any, columns: Any
) -> None:
    tenant.add(250)
    for n, record in enumerate(tenant.records):
        record["name"] = f"{'Pp'[n % 2]}lasmid {249 - n:03}"
        record["modifiedAt"] = f"2026-01-01T00:{n % 60:02}:{n // 60:02}Z"
    del tenant.records[7]["modifiedAt"]
    requested = [record["id"] for record in tenant.records]
    by_name = list(reversed(requested))
    for sort, expected in (("name", by_name), ("name:asc", by_name), ("name:desc", requested)):
        listed = lab.sequences(ids=requested, sort=sort, columns=columns)
        assert ids(listed) == expected
        assert ids(lab.sequences(101, ids=requested, sort=sort, columns=columns)) == expected[:101]
    by_time = [*requested[:7], *requested[8:]]
    by_time.sort(key=lambda seq: tenant.records[int(seq[4:])]["modifiedAt"])
    for sort, expected in (
        ("modifiedAt", by_time[::-1]),
        ("modifiedAt:desc", by_time[::-1]),
        ("modifiedAt:asc", by_time),
    ):
        listed = lab.sequences(ids=requested, sort=sort, columns=columns)
        assert ids(listed) == [*expected, requested[7]], "those without a time are last"
    tenant.largest = 60
    reports: list[tuple[int, int | None]] = []
    lab.sequences(5, ids=requested, sort="name", on_page=lambda *page: reports.append(page))
    assert reports == [(60, None), (120, None)]


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


def test_platform_without_archived_sequences_reports_an_unknown_name(
    lab: LabClient, tenant: Any
) -> None:
    tenant.fail("dna-sequences", None, None, tenant.reply(400, {"error": {"message": "Unknown"}}))
    with pytest.raises(NotFoundError, match='No accessible sequence is named "pBAD30"'):
        lab.sequence("pBAD30")


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


def folder(identifier: str, name: str, project: str | None = "src_1") -> dict[str, Any]:
    return {"id": identifier, "name": name, "projectId": project, "parentFolderId": None}


def listing(tenant: Any, *folders: dict[str, Any], token: str = "") -> Any:
    return tenant.reply(body={"folders": list(folders), "nextToken": token})


def queries(tenant: Any, resource: str) -> list[dict[str, str]]:
    return [request.query for request in tenant.received if request.path == resource]


def test_folder_name_resolves_to_its_id(lab: LabClient, tenant: Any) -> None:
    tenant.add(7)
    tenant.fail("folders", listing(tenant, folder("lib_2", "Vectors")))
    table = lab.sequences(folder="Vectors", min_length=4)
    assert set(table["folderId"]) == {"lib_2"}
    assert queries(tenant, "folders")[0]["name"] == "Vectors"
    assert queries(tenant, "dna-sequences")[0]["folderId"] == "lib_2"
    tenant.fail("folders", listing(tenant, folder("lib_2", "Vectors")))
    assert {record["folderId"] for record in lab.iter_sequences(folder="vectors")} == {"lib_2"}


def test_folder_id_is_not_looked_up(lab: LabClient, tenant: Any) -> None:
    tenant.add(6)
    assert len(lab.sequences(folder="lib_1")) == 2
    assert tenant.count("folders") == 0


def test_folder_is_found_if_the_platform_ignores_the_name_filter(
    lab: LabClient, tenant: Any
) -> None:
    tenant.add(6)
    tenant.fail(
        "folders",
        listing(tenant, folder("lib_0", "Digests"), folder("lib_9", "vectors"), token="2"),
        listing(tenant, folder("lib_1", "Vectors")),
    )
    assert set(lab.sequences(folder="Vectors")["folderId"]) == {"lib_1"}


def test_folder_name_is_matched_case_insensitively(lab: LabClient, tenant: Any) -> None:
    tenant.add(6)
    listed_folders = listing(tenant, folder("lib_0", "Digests"), folder("lib_1", "Vectors"))
    tenant.fail("folders", listing(tenant), listed_folders)
    assert set(lab.sequences(folder="VECTORS")["folderId"]) == {"lib_1"}


@pytest.mark.parametrize("name", ["Vectors", "VECTORS"])
def test_ambiguous_folder_name_lists_the_folders(lab: LabClient, tenant: Any, name: str) -> None:
    pair = folder("lib_1", "Vectors"), folder("lib_2", "Vectors", "src_2")
    tenant.fail("folders", listing(tenant, *pair, folder("lib_3", "vectors", None)))
    with pytest.raises(ConflictError) as caught:
        lab.sequences(folder=name)
    matches = "lib_1 (project src_1), lib_2 (project src_2)"
    assert matches in caught.value.message
    assert ("lib_3" in caught.value.message) is (name == "VECTORS")
    assert "`lib_1`" in caught.value.next_step
    assert tenant.count("dna-sequences") == 0


def test_missing_folder_suggests_names(lab: LabClient, tenant: Any) -> None:
    listed_folders = listing(tenant, folder("lib_1", "Vectors"), folder("lib_2", "Digests\x1b[2J"))
    tenant.fail("folders", listing(tenant), listed_folders)
    with pytest.raises(NotFoundError) as caught:
        lab.sequences(folder="Vectrs")
    assert '"Vectrs" (did you mean "Vectors"?)' in caught.value.message
    assert "Digests" in caught.value.next_step
    assert "\x1b" not in str(caught.value)
    tenant.fail("folders", listing(tenant), listing(tenant))
    with pytest.raises(NotFoundError, match='named "x"'):
        lab.sequences(folder="x")


def test_platform_without_folder_list_requires_the_id(lab: LabClient, tenant: Any) -> None:
    with pytest.raises(NotFoundError) as caught:
        lab.sequences(folder="Vectors")
    assert "cannot list its folders" in caught.value.message
    assert "ID" in caught.value.next_step
    tenant.fail("folders", tenant.reply(403, {"error": {"message": "No."}}))
    with pytest.raises(AccessError, match="list folders"):
        lab.sequences(folder="Vectors")


def test_endless_or_invalid_folder_list_is_an_error(lab: LabClient, tenant: Any) -> None:
    page = listing(tenant, folder("lib_1", "Digests"), token="2")
    tenant.fail("folders", *[page] * 3)
    with pytest.raises(ResponseLimitError, match="list of folders does not end: it repeats a page"):
        lab.sequences(folder="Vectors")
    tenant.fail("folders", tenant.reply(body={"folders": "none"}))
    with pytest.raises(ServiceError, match="invalid list of folders"):
        lab.sequences(folder="Vectors")


@pytest.mark.parametrize("value", ["", " ", 3, ["Vectors"]])
def test_invalid_folder_is_refused_before_a_request(
    lab: LabClient, tenant: Any, value: Any
) -> None:
    with pytest.raises(InputError, match="not a folder name"):
        lab.sequences(folder=value)
    with pytest.raises(InputError, match="both given"):
        lab.sequences(folder="Vectors", folder_id="lib_1")
    with pytest.raises(InputError, match="length"):
        lab.sequences(folder="Vectors", min_length="a")
    assert not tenant.received
    lab.sequences(folder=None, folder_id="lib_1")


def test_folder_names_are_unique_and_sanitized(lab: LabClient, tenant: Any) -> None:
    many = [folder(f"lib_{n}", "Vectors") for n in range(1000)]
    first = listing(tenant, *many, token="x")
    tenant.fail("folders", *(first, first), listing(tenant, folder("lib_1000", "Digests\x1b[2J")))
    assert lab.folders(1000) == ["Vectors"]
    assert lab.folders() == ["Vectors", "Digests\N{REPLACEMENT CHARACTER}[2J"]
