"""Sequences and folders by their addresses: `apiURL`, `:bulk-get`, `webURL` and `/folders`."""

from __future__ import annotations

import re
from html import unescape

import pytest
from lab_service import Api, message

from labext.sandbox.lab import tables

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def api(box):
    return Api.of_user(box)


@pytest.fixture(scope="module")
def hidden(box):
    """A sequence that the teacher sees and the student does not."""
    return Api.of_user(box, "teacher").rows(nameIncludes="P.exul")[0]


def test_api_url_returns_its_record(api):
    for record in api.rows()[::9]:
        response = api.url(record["apiURL"])
        assert response.status_code == 200
        assert response.headers["Content-Type"] == "application/json"
        assert response.json() == record


def test_archived_sequence_is_returned_by_id(api):
    (archived,) = api.rows(archiveReason="ANY_ARCHIVED")
    assert api.url(archived["apiURL"]).json() == archived


def test_returning_selects_fields_of_a_single_record(api):
    (record,) = api.rows(name="pBAD30")
    response = api.url(record["apiURL"], returning="id, creator.name,annotations.name")
    assert response.json() == {
        "id": record["id"],
        "creator": {"name": record["creator"]["name"]},
        "annotations": record["annotations"],
    }
    assert api.url(record["apiURL"], returning="*").json() == record
    for wrong in ("dnaSequences.id", "color", "creator."):
        assert message(api.url(record["apiURL"], returning=wrong), 400).startswith("returning")


def test_hidden_and_missing_sequences_are_refused_alike(api, hidden):
    missing = message(api.get("dna-sequences/seq_nothere1"), 403)
    assert message(api.url(hidden["apiURL"]), 403) == missing.replace("seq_nothere1", hidden["id"])
    assert message(api.get("folders/lib_nothere1"), 403)


def test_malformed_id_is_an_unknown_path(box, api):
    for path in ("dna-sequences/seq_x", "dna-sequences/seq_nothere1%0a", "folders/seq_nothere1"):
        message(api.get(path), 404)
        message(Api(box).get(path), 401)
    page = api.url(f"{box.lab.base_url}/campus/f/lib_nothere1-x/lib_nothere1-x/edit")
    assert page.status_code == 404
    assert 'role="alert"' in page.text


def test_record_needs_credentials_of_its_tenant(box, api):
    (record,) = api.rows(name="pBAD30")
    for who in ("guest", "suspended"):
        message(Api.of_user(box, who).url(record["apiURL"]), 403)
    message(Api(box).url(record["apiURL"]), 401)
    message(Api.of_user(box, "clinician", "clinic").get(f"dna-sequences/{record['id']}"), 403)


def test_bulk_get_returns_records_in_the_requested_order(api):
    records = api.rows()[:30:7]
    ids = [record["id"] for record in records][::-1]
    response = api.get("dna-sequences:bulk-get", dnaSequenceIds=",".join([*ids, ids[0]]))
    assert response.json() == {"dnaSequences": records[::-1]}
    some = api.get(
        "dna-sequences:bulk-get", dnaSequenceIds=ids[0], returning="dnaSequences.id"
    ).json()
    assert some == {"dnaSequences": [{"id": ids[0]}]}


def test_bulk_get_reports_invisible_ids(api, hidden):
    known = api.rows()[0]["id"]
    ids = ",".join([known, "seq_nothere1", hidden["id"]])
    refused = message(api.get("dna-sequences:bulk-get", dnaSequenceIds=ids), 400)
    assert f"seq_nothere1, {hidden['id']}" in refused
    assert known not in refused
    for params in ({}, {"dnaSequenceIds": ""}, {"ids": known}):
        message(api.get("dna-sequences:bulk-get", **params), 400)


@pytest.mark.parametrize(
    "path", ["dna-sequences", "dna-sequences/ID", "dna-sequences:bulk-get", "folders", "folders/F"]
)
def test_unknown_parameters_are_refused(api, path):
    (record,) = api.rows(name="pBAD30")
    path = path.replace("ID", record["id"]).replace("F", record["folderId"])
    params = {"dnaSequenceIds": record["id"]} if "bulk" in path else {}
    assert api.get(path, **params).status_code == 200
    assert '"color"' in message(api.get(path, color="red", **params), 400)


def test_web_url_shows_a_visible_sequence(box, api, hidden):
    (record,) = api.rows(name="NC_005816")
    page = api.url(record["webURL"])
    assert page.status_code == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    text = unescape(re.sub(r"<[^>]*>|\s", "", page.text))
    feature = record["annotations"][0]["name"]
    for value in (record["name"], record["id"], record["bases"], "VEC003", "circular", feature):
        assert re.sub(r"\s", "", value) in text
    assert not re.search(r"(?:src|href)=", page.text)
    assert api.url(record["webURL"], returning="id", color="red").text == page.text
    for who, url, status in (
        ("student", hidden["webURL"], 403),
        ("guest", record["webURL"], 403),
        (None, record["webURL"], 401),
    ):
        refused = Api.of_user(box, who).url(url)
        assert refused.status_code == status
        assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
        assert 'role="alert"' in refused.text
        assert record["name"] not in refused.text
    assert "Basic" in Api(box).url(record["webURL"]).headers["WWW-Authenticate"]


def test_positions_on_the_web_page_count_from_1(api):
    (record,) = api.rows(name="NC_005816")
    cells = re.findall(r"<td>([^<]*)", api.url(record["webURL"]).text)
    mark = record["annotations"][0]
    shown = [mark["name"], mark["type"], str(mark["start"] + 1), str(mark["end"])]
    assert shown in [cells[n : n + 4] for n in range(len(cells))]


def test_web_page_escapes_names(box, command, tmp_path):
    lab, file = command("lab"), tmp_path / "odd.fa"
    file.write_text("><script>alert(1)</script> a & <b>\nACGT\n")
    lab.output("folders", "add", "Odd names", "--project", "Cloning course")
    try:
        lab.output("sequences", "import", str(file), "--folder", "Odd names")
        api = Api.of_user(box)
        (record,) = api.rows(nameIncludes="<script>")
        page = api.url(record["webURL"])
    finally:
        lab.output("folders", "remove", "Odd names", "--yes")
    assert page.status_code == 200
    assert "<script" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text


def folders(api, **params) -> list[str]:
    response = api.get("folders", **params)
    assert response.status_code == 200, response.text
    assert set(response.json()) == {"folders", "nextToken"}
    return [folder["name"] for folder in response.json()["folders"]]


def test_visible_folders_are_listed_by_name(box, api):
    vectors = tables.stable_identifier("lib", "campus", "Vectors")
    project = tables.stable_identifier("src", "campus", "Cloning course")
    named = api.get("folders", name="vectors").json()
    assert named == {
        "folders": [
            {
                "id": vectors,
                "name": "Vectors",
                "parentFolderId": None,
                "projectId": project,
                "archiveRecord": None,
            }
        ],
        "nextToken": "",
    }
    assert api.get(f"folders/{vectors}").json() == named["folders"][0]
    all_folders = folders(api)
    assert all_folders == sorted(all_folders, key=str.casefold)
    assert {record["folderId"] for record in api.rows()} <= {
        folder["id"] for folder in api.get("folders").json()["folders"]
    }
    assert "Orchid ITS regions" not in all_folders
    assert "Orchid ITS regions" in folders(Api.of_user(box, "teacher"))
    assert folders(Api.of_user(box, "guest")) == []
    message(
        api.get(f"folders/{tables.stable_identifier('lib', 'campus', 'Orchid ITS regions')}"), 403
    )


def test_folder_list_is_filtered_sorted_and_paged(api):
    all_folders = folders(api)
    project = tables.stable_identifier("src", "campus", "Cloning course")
    vectors = tables.stable_identifier("lib", "campus", "Vectors")
    assert folders(api, sort="name:desc") == all_folders[::-1]
    assert folders(api, nameIncludes="GEST") == ["Digests"]
    assert set(folders(api, projectId=project)) == {"Vectors", "Digests", "Fragments and mutants"}
    assert folders(api, ids=vectors) == ["Vectors"]
    assert folders(api, parentFolderId="NO_PARENT") == all_folders
    assert folders(api, parentFolderId=vectors) == []
    assert folders(api, archiveReason="ANY_ARCHIVED") == []
    assert folders(api, archiveReason="ANY_ARCHIVED_OR_NOT_ARCHIVED") == all_folders
    assert folders(api, pageSize=0) == []
    pages, token = list[str](), ""
    while True:
        page = api.get("folders", pageSize=2, nextToken=token).json()
        assert len(page["folders"]) <= 2
        pages += [folder["name"] for folder in page["folders"]]
        token = page["nextToken"]
        if not token:
            break
    assert pages == all_folders
    token = api.get("folders", pageSize=2).json()["nextToken"]
    other = api.get("folders", sort="name:desc", nextToken=token)
    assert message(other, 400) == "nextToken belongs to another query."


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("sort", "modifiedAt", 400),
        ("ids", "lib_nothere1", 400),
        ("nextToken", "x", 400),
        ("archiveReason", "bogus", 400),
        ("name", "", 400),
        ("parentFolderId", "lib_nothere1", 403),
        ("projectId", "src_nothere1", 403),
    ],
)
def test_invalid_value_of_a_folder_list_is_refused(box, api, name, value, status):
    for who in (api, Api.of_user(box, "guest")):
        assert message(who.get("folders", **{name: value}), status).startswith(name)
