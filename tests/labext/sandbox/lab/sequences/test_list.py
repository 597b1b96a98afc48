"""The list of sequences: pages, order, filters and returned fields (LAB-97 to LAB-128)."""

from __future__ import annotations

import time

import pytest
from Bio.Seq import Seq
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from labext.sandbox.lab import tables
from labext.sandbox.lab.sequences import records
from labext.sandbox.lab.sequences.importing import add_sequences, insert_rows
from labext.sandbox.lab.sequences.records import (
    RECORD_FIELDS,
    FilingContext,
    SequenceEntry,
    sequence_row,
)
from labext.sandbox.lab.sequences.schemas import parse_sequence_query
from labext.sandbox.lab.tables import Folder, Sequence, User

ARCHIVED_OR_NOT = {"archiveReason": "ANY_ARCHIVED_OR_NOT_ARCHIVED"}


def item_id(kind, name):
    return tables.stable_identifier(kind, "campus", name)


REGISTRY = item_id("src", "Registry")
STUDENT = item_id("ent", "student")
VECTORS = item_id("lib", "Vectors")
BARCODES = item_id("src", "Barcodes")
GENE, PLASMID, FRAGMENT = (
    {"schemaId": item_id("ts", name)} for name in ("Gene", "Plasmid", "Fragment")
)


def put(lists, *names, folder="Digests", bases="ACGT"):
    """Add sequences with these names to a folder."""
    with lists.site.database.write() as session:
        target = session.get_one(Folder, lists.folder_ids[folder])
        student = session.get_one(User, STUDENT)
        return add_sequences(
            session, target, [SequenceEntry(name, bases) for name in names], student
        )


def error_detail(lists, query, **options):
    with pytest.raises(HTTPException) as caught:
        lists.page(query, **options)
    assert caught.value.status_code == 400
    return caught.value.detail


SORTS = {
    "": ("modified", True),
    "modifiedAt": ("modified", True),
    "modifiedAt:desc": ("modified", True),
    "modifiedAt:asc": ("modified", False),
    "createdAt": ("created", True),
    "createdAt:asc": ("created", False),
    "name": ("folded", False),
    "name:asc": ("folded", False),
    "name:desc": ("folded", True),
}


@pytest.fixture(scope="module")
def simultaneous(copied, lists_of):
    """Lists of a platform in which many sequences share a time and some share a name."""
    site = copied()
    with site.database.write() as session:
        same = "2026-03-01T00:00:00.000000+00:00"
        late = Sequence.folded < "m"
        session.execute(update(Sequence).where(late).values(modified=same, created=same))
    return lists_of(site)


@pytest.mark.parametrize(("sort", "column", "falling"), [(k, *v) for k, v in SORTS.items()])
def test_sort_orders_all_pages(simultaneous, sort, column, falling):
    with simultaneous.site.database.read() as session:
        visible = Sequence.folder_id.in_(simultaneous.folders), Sequence.archive_reason.is_(None)
        rows = session.scalars(select(Sequence).where(*visible)).all()
    expected = sorted(rows, key=lambda row: (getattr(row, column), row.id), reverse=falling)
    result = simultaneous.all({"pageSize": "7"} | ({"sort": sort} if sort else {}))
    assert [record["id"] for record in result] == [row.id for row in expected]
    assert simultaneous.page()[2] == len(result)


@pytest.mark.parametrize("size", [1, 2, 55, 56, 100])
def test_pages_are_within_the_page_size_and_never_empty(lists, size):
    *full, last = lists.pages({"pageSize": str(size)})
    assert {len(page) for page in full} <= {size}
    assert 1 <= len(last) <= size
    assert sum(map(len, full)) + len(last) == lists.page()[2]


def test_default_page_size_is_50(lists):
    records, token, count = lists.page()
    assert len(records) == 50
    assert token
    assert count == len(lists.all())


def test_page_size_zero_returns_only_the_count(lists):
    assert lists.page({"pageSize": "0"}) == ([], "", len(lists.all()))


def test_sequences_added_during_paging_shift_no_page(own_lists):
    before = own_lists.all()
    page, token, _ = own_lists.page({"pageSize": "30"})
    for _ in range(20):
        put(own_lists, "late", "later")
        if not token:
            break
        more, token, _ = own_lists.page({"pageSize": "30", "nextToken": token})
        page += more
    assert [record["id"] for record in page] == [record["id"] for record in before]


def test_sequence_added_after_the_current_page_is_listed(own_lists):
    query = {"pageSize": "30", "sort": "modifiedAt:asc"}
    _, token, _ = own_lists.page(query)
    (added,) = put(own_lists, "late")
    rest = []
    while token:
        more, token, _ = own_lists.page(query | {"nextToken": token})
        rest += more
    assert rest[-1]["id"] == added["id"]


def test_page_token_is_bound_to_its_query(lists):
    _, token, _ = lists.page({"pageSize": "2", "sort": "name"})
    for other in ({}, {"sort": "name:desc"}, {"sort": "name", "nameIncludes": "p"}):
        assert error_detail(lists, other | {"nextToken": token}).startswith("nextToken")
    assert error_detail(lists, {"sort": "name", "nextToken": token}, tenant_id=99).startswith(
        "nextToken"
    )


def test_page_token_of_another_user_grants_no_access(lists, lists_of):
    _, token, _ = lists.page({"pageSize": "5"})
    narrow = lists_of(lists.site, ["Cold-regulated genes", "Orchid ITS regions"])
    records, _, _ = narrow.page({"pageSize": "100", "nextToken": token})
    assert records
    assert {record["folderId"] for record in records} <= narrow.folders


def test_page_size_and_fields_may_change_between_pages(lists):
    _, token, _ = lists.page({"pageSize": "2", "sort": "name"})
    query = {"sort": "name", "nextToken": token}
    (record,), _, _ = lists.page(query | {"pageSize": "1", "returning": "dnaSequences.id"})
    assert record == {"id": lists.all({"sort": "name"})[2]["id"]}


def test_changed_page_token_is_refused(lists):
    _, token, _ = lists.page({"pageSize": "2"})
    for wrong in (token[:-1], f"{token}A", token.swapcase(), "x", "."):
        assert error_detail(lists, {"nextToken": wrong}).startswith("nextToken")


def in_schema(record, name):
    return record["schema"] is not None and record["schema"]["name"] == name


FILTERS = {
    "the whole name": ({"name": "pbad30"}, lambda r: r["name"] == "pBAD30"),
    "part of a name": ({"nameIncludes": "PLA"}, lambda r: "pla" in r["name"].lower()),
    "any of the names": (
        {"names.anyOf": 'kin, "plasmid pBAD30, cut with EcoRI",BN28A'},
        lambda r: r["name"] in ("kin", "plasmid pBAD30, cut with EcoRI", "BN28a"),
    ),
    "an alias": ({"name": "nc_005816"}, lambda r: "NC_005816" in r["aliases"]),
    "the number in the registry": ({"name": "vec001"}, lambda r: r["name"] == "pBAD30"),
    "part of an alias": ({"nameIncludes": "z7853"}, lambda r: "Z7853" in "".join(r["aliases"])),
    "some of each": (
        {"names.anyOf": "VEC002,x55053,kin,gene"},
        lambda r: r["name"] in ("plasmid pFA6a-kanMX6", "cor6.6", "kin"),
    ),
    "not the whole alias": ({"name": "NC_00581"}, lambda r: False),
    "a schema": (GENE, lambda r: in_schema(r, "Gene")),
    "creators": (
        {"creatorIds": f"{STUDENT},{item_id('ent', 'guest')}"},
        lambda r: r["creator"]["handle"] == "student",
    ),
    "a folder": ({"folderId": VECTORS}, lambda r: r["folderId"] == VECTORS),
    "a project": ({"projectId": BARCODES}, lambda r: "ITS" in r["name"] or "rpl16" in r["name"]),
    "a folder of another project": ({"projectId": BARCODES, "folderId": VECTORS}, lambda r: False),
    "after a day": (
        {"createdAt": "> 2026-02-02T12:00:00Z"},
        lambda r: r["createdAt"] > "2026-02-02T12:00:00.000000+00:00",
    ),
    "from a time on, in another zone": (
        {"createdAt": ">=2026-02-02T11:05:00+01:00"},
        lambda r: r["createdAt"] >= "2026-02-02T10:05:00",
    ),
    "until a time": (
        {"modifiedAt": "<= 2026-03-02T16:23"},
        lambda r: r["modifiedAt"] <= "2026-03-02T16:23:00.000000+00:00",
    ),
    "between two times": (
        {"modifiedAt": "> 2026-03-02T14:00 AND < 2026-03-02T15:00"},
        lambda r: "2026-03-02T14:00:00.000000+00:00" < r["modifiedAt"] < "2026-03-02T15:00:00",
    ),
    "a name in its own case": (
        {"names.anyOf.caseSensitive": "pBAD30,PBAD30"},
        lambda r: r["name"] == "pBAD30",
    ),
    "a name in another case": ({"names.anyOf.caseSensitive": "pbad30"}, lambda r: False),
    "an alias in its own case": (
        {"names.anyOf.caseSensitive": "NC_005816"},
        lambda r: "NC_005816" in r["aliases"],
    ),
    "a number and a name": (
        {"names.anyOf.caseSensitive": "VEC002,kin"},
        lambda r: r["name"] in ("plasmid pFA6a-kanMX6", "kin"),
    ),
    "the registry": ({"registryId": REGISTRY}, lambda r: r["registryId"] == REGISTRY),
    "no registry": ({"registryId": "null"}, lambda r: r["registryId"] is None),
    "numbers of the registry": (
        {"entityRegistryIds.anyOf": "VEC003,VEC001,VEC999"},
        lambda r: r["entityRegistryId"] in ("VEC001", "VEC003"),
    ),
    "no alias is a number of the registry": (
        {"entityRegistryIds.anyOf": "NC_005816,pBAD30"},
        lambda r: False,
    ),
    "an author": (
        {"authorIds.anyOf": f"app_nobody00,{STUDENT}"},
        lambda r: STUDENT in [author["id"] for author in r["authors"]],
    ),
    "mentions of an item": ({"mentions": "seq_a1B2c3D4"}, lambda r: False),
    "mentioned in an entry": ({"mentionedIn": "etr_a1B2c3D4,etr_b1B2c3D4"}, lambda r: False),
    "a text field": (
        GENE | {"schemaField.Gene": "kin2"},
        lambda r: in_schema(r, "Gene") and r["fields"]["Gene"]["value"] == "kin2",
    ),
    "part of a text field": (GENE | {"schemaField.Gene": "kin"}, lambda r: r["name"] == "kin"),
    "a text field in another case": (GENE | {"schemaField.Gene": "KIN2"}, lambda r: False),
    "two fields": (
        GENE | {"schemaField.Gene": "kin2", "schemaField.Molecule type": "DNA"},
        lambda r: (
            in_schema(r, "Gene")
            and (r["fields"]["Gene"]["value"], r["fields"]["Molecule type"]["value"])
            == ("kin2", "DNA")
        ),
    ),
    "one of several values": (
        PLASMID | {"schemaField.Selection markers": "ampicillin"},
        lambda r: (
            in_schema(r, "Plasmid")
            and "ampicillin" in (r["fields"]["Selection markers"]["value"] or ())
        ),
    ),
    "fields as an object": (
        GENE | {"schemaFields": '{"Gene": "kin1"}'},
        lambda r: r["name"] == "kin1",
    ),
    "fields as an object, prefixed": (
        GENE | {"schemaFields": '{"schemaField.Gene": "kin1"}'},
        lambda r: r["name"] == "kin1",
    ),
    "in use": ({"archiveReason": "NOT_ARCHIVED"}, lambda r: r["archiveRecord"] is None),
}


EMPTY = {
    *("not the whole alias", "a folder of another project", "a name in another case"),
    *("no alias is a number of the registry", "a text field in another case"),
    *("mentions of an item", "mentioned in an entry"),
}


@pytest.mark.parametrize("about", FILTERS)
def test_filter_returns_matching_sequences(lists, about):
    query, holds = FILTERS[about]
    expected = [r["id"] for r in lists.all() if holds(r)]
    assert [r["id"] for r in lists.all(query)] == expected
    assert lists.page(query)[2] == len(expected)
    assert (about in EMPTY) == (not expected)


def test_search_matches_both_strands_case_insensitively(lists):
    kin2 = lists.all({"name": "kin2"})[0]
    bases = kin2["bases"]
    for same in (bases.lower(), bases.upper(), str(Seq(bases).reverse_complement())):
        assert [r["id"] for r in lists.all({"bases": same})] == [kin2["id"]]
    assert lists.all({"bases": bases[:-1]}) == []
    assert lists.all({"bases": bases[1:] + bases[:1]}) == []


def test_circular_sequence_is_found_from_any_base(lists):
    pbad30 = lists.all({"name": "pBAD30"})[0]
    turned = pbad30["bases"][4000:] + pbad30["bases"][:4000]
    for same in (turned, str(Seq(turned).reverse_complement())):
        assert [r["id"] for r in lists.all({"bases": same})] == [pbad30["id"]]
    cut = lists.all({"name": "plasmid pBAD30, cut with EcoRI"})[0]
    both = lists.all({"bases": cut["bases"]})  # also as part of the circular original
    assert {record["id"] for record in both} == {cut["id"], pbad30["id"]}


BASES = st.text("ACGTN", min_size=1, max_size=12)


@given(BASES, st.integers(0, 11), st.booleans())
def test_bases_key_ignores_rotation_and_strand(bases, start, other_strand):
    start %= len(bases)
    written = bases[start:] + bases[:start]
    if other_strand:
        written = str(Seq(written).reverse_complement())
    assert records.bases_key(written, circular=True) == records.bases_key(bases, circular=True)


@given(BASES, BASES)
def test_bases_key_differs_for_other_molecules(one, other):
    strands = {one, str(Seq(one).reverse_complement())}
    circle = {strand[n:] + strand[:n] for strand in strands for n in range(len(one))}
    same_linear = records.bases_key(one, circular=False) == records.bases_key(other, circular=False)
    same_circular = records.bases_key(one, circular=True) == records.bases_key(other, circular=True)
    assert same_linear == (other in strands)
    assert same_circular == (other in circle)
    assert records.bases_key(one, circular=True) != records.bases_key(one, circular=False)


@pytest.mark.parametrize(("more", "is_found"), [(0, True), (1, False)])
def test_rotation_is_ignored_up_to_65536_bases(more, is_found):
    assert records.MAX_CIRCULAR_LENGTH == 65_536
    circle = "ACGTTGCA" * (records.MAX_CIRCULAR_LENGTH // 8 - 1) + "AACCGGTT" + "G" * more
    rotated = circle[1000:] + circle[:1000]
    assert (records.bases_key(rotated, True) == records.bases_key(circle, True)) is is_found
    reverse = str(Seq(circle).reverse_complement())
    assert records.bases_key(reverse, True) == records.bases_key(circle, True)


def test_ids_select_and_invisible_ids_are_refused(lists, lists_of):
    some = [record["id"] for record in lists.all()[3:40:9]]
    assert [r["id"] for r in lists.all({"ids": ", ".join(reversed(some))})] == some
    detail = error_detail(lists, {"ids": f"{some[0]},seq_nothere1,no"})
    assert detail.startswith("ids: ")
    assert "seq_nothere1, no" in detail
    assert some[0] not in detail
    orchid = lists.all({"nameIncludes": "P.exul"})[0]["id"]
    narrow = lists_of(lists.site, ["Vectors"])
    assert orchid in error_detail(narrow, {"ids": orchid})


def test_archived_sequences_are_listed_on_request(lists):
    (archived,) = lists.all({"archiveReason": "ANY_ARCHIVED"})
    assert archived["archiveRecord"] == {"reason": "Made in error"}
    assert lists.all({"archiveReason": "Made in error"}) == [archived]
    assert lists.all({"archiveReason": "Retired"}) == []
    assert archived not in lists.all()
    all_rows = lists.all(ARCHIVED_OR_NOT)
    assert archived in all_rows
    assert len(all_rows) == len(lists.all()) + 1
    assert lists.all({"ids": archived["id"]}) == []  # it exists, but is filtered out


def test_only_visible_folders_are_listed(lists, lists_of):
    narrow = lists_of(lists.site, ["Digests", "Cold-regulated genes"])
    result = narrow.all()
    assert {record["folderId"] for record in result} == narrow.folders
    assert narrow.page()[2] == len(result) == 8
    assert narrow.all({"folderId": lists.folder_ids["Vectors"]}) == []
    narrow.folders = frozenset()
    assert narrow.page() == ([], "", 0)


def test_wildcards_in_names_are_literal(own_lists):
    put(own_lists, "100% pure", "a_b", "aXb", "a/b", "Ölmühle", "STRASSE", "it's")
    for part, names in {
        "0%": ["100% pure"],
        "a_b": ["a_b"],
        "A/B": ["a/b"],
        "öLMÜ": ["Ölmühle"],
        "straße": ["STRASSE"],
        "'": ["it's"],
    }.items():
        assert [r["name"] for r in own_lists.all({"nameIncludes": part})] == names


BAD = {
    "pageSize": ["", "-1", "101", "1.5", "ten", "٣", "9" * 40],
    "sort": ["", "length", "name:up", "name:", "name:asc:desc", "modifiedat"],
    "nextToken": ["x", "a.b"],
    "ids": ["", " ", ",", "seq_a,,seq_b", '"seq_a', "a\nb"],
    "names.anyOf": ["", ",", ",".join(f"n{n}" for n in range(101)), f"n,{'x' * 60_000}"],
    "name": ["", "  ", "a\0b", "x" * 60_000],
    "nameIncludes": ["", "x" * 300],
    "bases": [""],
    "folderId": [""],
    "projectId": [""],
    "schemaId": [""],
    "creatorIds": ["", "a,,b"],
    "archiveReason": ["", "bogus", "retired", "ANY"],
    "names.anyOf.caseSensitive": ["", ",", ",".join(f"n{n}" for n in range(101))],
    "registryId": ["", "src_nothere1", tables.stable_identifier("src", "clinic", "Registry")],
    "entityRegistryIds.anyOf": ["", "VEC001,", ",".join(f"n{n}" for n in range(101))],
    "authorIds.anyOf": ["", ",".join(f"ent_{n}" for n in range(101))],
    "mentions": ["", "pBAD30", "seq_a,b c"],
    "mentionedIn": ["", "etr_"],
    "schemaFields": ["", "[]", "{", '{"Gene": true}', '{"": "x"}'],
    "schemaField.Gene": ["", "kin2", "x" * 300],
    "createdAt": ["", "2024-01-01", "> yesterday", "=> 2024-01-01", "> 2024-13-01", "> "],
    "modifiedAt": [
        " AND ".join(["> 2024-01-01"] * 2000),
        "> 2024-01-01 AND",
        "> 2024-01-01 AND 2025-01-01",
        "> 0001-01-01T00:00+14:00",
    ],
    "returning": ["", "id", "dnaSequences.nothing", "dnaSequences.", "dnaSequences..id", "x.id"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_invalid_value_is_refused_by_name(lists, name, value):
    assert error_detail(lists, {name: value}).startswith(name)


def test_time_range_of_blanks_is_refused_in_linear_time():
    started = time.process_time()
    params = QueryParams({"createdAt": f">{' ' * 30_000}2026\n01"})
    with pytest.raises(HTTPException, match="createdAt must be a range"):
        parse_sequence_query(params)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("color", None),
        ("nameInclude", "nameIncludes"),
        ("nameincludes", "nameIncludes"),
        ("names", "names.anyOf"),
        ("schemaField.", None),
        ("", None),
    ],
)
def test_unknown_parameter_is_refused_by_name(lists, name, suggestion):
    detail = error_detail(lists, {name: "red"})
    assert detail.startswith(f'"{name}" is not a query parameter')
    assert suggestion is None or f'(did you mean "{suggestion}"?)' in detail


def test_repeated_parameter_is_refused(lists):
    twice = QueryParams([("name", "kin"), ("name", "kin2")])
    assert error_detail(lists, twice) == "name appears 2 times."


@pytest.fixture(scope="module")
def fragments(copied, lists_of):
    """Lists of a platform with sequences whose schema has a numeric field."""
    return lists_of(copied(sequences=220))


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (">= 200", lambda start: start >= 200),
        ("<= 90.5", lambda start: start <= 90.5),
        (">= 100 AND <= 250", lambda start: 100 <= start <= 250),
        (">= 250 AND <= 100", lambda start: False),
    ],
)
def test_numeric_field_is_compared_as_a_number(fragments, value, holds):
    starts = {
        record["id"]: record["fields"]["First base"]["value"] for record in fragments.all(FRAGMENT)
    }
    result = fragments.all(FRAGMENT | {"schemaField.First base": value})
    expected = {identifier for identifier, start in starts.items() if holds(start)}
    assert {record["id"] for record in result} == expected
    exact = next(iter(starts.values()))
    for text in (f"{exact}", f"{exact}.0"):
        result = fragments.all(FRAGMENT | {"schemaField.First base": text})
        assert {r["fields"]["First base"]["value"] for r in result} == {exact}


@pytest.mark.parametrize(
    "value", ["ten", ">=10", "> 10", ">= 10 AND", ">= nan", "1_0", ">= 1 <= 2"]
)
def test_numeric_field_refuses_other_values(fragments, value):
    query = FRAGMENT | {"schemaField.First base": value}
    assert error_detail(fragments, query).startswith("schemaField.First base must be a number")


def test_unknown_schema_field_is_refused(lists, lists_of):
    query = GENE | {"schemaField.Color": "red"}
    assert error_detail(lists, query).startswith("schemaField.Color: the schema")
    assert lists.page(PLASMID | {"schemaField.Origin": "x"}) == ([], "", 0)
    hidden = lists_of(lists.site, ["Digests"])  # no sequence of the schema is visible
    assert error_detail(hidden, GENE | {"schemaField.Gene": "kin2"}).startswith("schemaField.Gene")


def test_page_token_is_bound_to_its_field_filter(lists):
    query = GENE | {"pageSize": "1", "schemaField.Molecule type": "DNA"}
    _, token, _ = lists.page(query)
    if not token:
        query["schemaField.Molecule type"] = "mRNA"
        _, token, _ = lists.page(query)
    assert lists.page(query | {"nextToken": token})[0]
    other = query | {"schemaField.Gene": "kin2", "nextToken": token}
    assert error_detail(lists, other).startswith("nextToken")


@pytest.mark.parametrize(
    "text", ["dnaSequences", "dnaSequences.*", "dnaSequences.id,dnaSequences.*"]
)
def test_every_field_is_returned_by_default(lists, text):
    assert lists.page({"returning": text}) == lists.page()


def test_returning_selects_fields(lists):
    whole, token, count = lists.page({"returning": "dnaSequences.*"})
    text = (
        "dnaSequences.name, nextToken,dnaSequences.creator.handle,dnaSequences.schema.name,"
        "dnaSequences.annotations.name"
    )
    some, same_token, same_count = lists.page({"returning": text})
    assert (same_token, same_count) == (token, count)
    for record, selected in zip(whole, some, strict=True):
        schema = record["schema"] and {"name": record["schema"]["name"]}
        assert selected == {
            "name": record["name"],
            "creator": {"handle": record["creator"]["handle"]},
            "schema": schema,
            "annotations": record["annotations"],
        }


@pytest.mark.parametrize("field", RECORD_FIELDS)
def test_every_field_can_be_selected_alone(lists, field):
    whole, _, _ = lists.page({"pageSize": "5"})
    some, _, _ = lists.page({"pageSize": "5", "returning": f"dnaSequences.{field}"})
    assert some == [{field: record[field]} for record in whole]


def test_only_url_fields_are_prefixed_with_the_origin(own_lists):
    name = "mark \x01 and \\u0001"
    folder = own_lists.folder_ids["Digests"]
    with own_lists.site.database.write() as session:
        student = session.get_one(User, STUDENT)
        context = FilingContext.of(session, session.get_one(Folder, folder), student)
        row = sequence_row(
            SequenceEntry(name, "ACGT"), context, "seq_odd00000", "2026-01-01T00:00:00.000000+00:00"
        )
        insert_rows(session, [row])
    (record,) = own_lists.all({"ids": "seq_odd00000"})
    assert record["name"] == name
    assert record["apiURL"] == "https://localhost:20001/api/v2/dna-sequences/seq_odd00000"
    assert record["webURL"] == f"https://localhost:20001{record['url']}"
    assert record["url"] == f"/campus/f/{folder}-digests/seq_odd00000-mark-and-u0001/edit"
