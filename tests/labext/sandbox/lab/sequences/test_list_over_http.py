"""The list of sequences over HTTPS, requested with an ordinary HTTP client."""

from __future__ import annotations

import threading

import pytest
from lab_service import Api, message

from labext.sandbox.lab.administration import open_administration

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def api(box):
    return Api.of_user(box)


def get_list(api, **query):
    return api.get("dna-sequences", **query)


def test_pages_contain_the_whole_list(api):
    pages = [*api.pages(pageSize=7)]
    ids = [record["id"] for page in pages for record in page]
    assert [len(page) for page in pages[:-1]] == [7] * (len(pages) - 1)
    assert len(ids) == len(set(ids)) == int(get_list(api, pageSize=1).headers["Result-Count"])
    assert ids == [record["id"] for record in api.rows()]


def test_response_is_json_with_urls_of_the_tenant(api, box):
    response = get_list(api, name="pBAD30")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    (record,) = response.json()["dnaSequences"]
    assert record["apiURL"] == f"{box.lab.base_url}/api/v2/dna-sequences/{record['id']}"
    assert record["webURL"] == box.lab.base_url + record["url"]


def test_query_parameters_are_decoded(api):
    names = ["kin", "plasmid pBAD30, cut with EcoRI"]
    assert {
        record["name"]
        for record in api.rows(**{"names.anyOf": ",".join(f'"{name}"' for name in names)})
    } == {*names}
    rows = api.rows(modifiedAt="> 2026-03-02T16:00:00+00:00 AND < 2026-03-02T17:00:00+00:00")
    assert rows[0]["name"] == "pBAD30"
    assert api.get(
        "dna-sequences", name="pBAD30", returning="dnaSequences.id,dnaSequences.name"
    ).json() == {
        "dnaSequences": [{"id": rows[0]["id"], "name": "pBAD30"}],
        "nextToken": "",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("pageSize", "101"), ("ids", "seq_nothere1")],
)
def test_invalid_value_is_400(api, name, value):
    response = get_list(api, **{name: value})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"].startswith(name)
    assert error["userMessage"] == error["message"]


def test_page_token_of_another_tenant_is_refused(api, box):
    clinician = Api.of_user(box, "clinician", "clinic")
    token = get_list(clinician, pageSize=1).json()["nextToken"]
    assert token
    response = get_list(api, pageSize=1, nextToken=token)
    assert message(response, 400).startswith("nextToken")


def test_page_token_of_another_user_grants_no_access(api, box):
    mine = {record["id"] for record in api.rows()}
    token = get_list(Api.of_user(box, "teacher"), pageSize=5).json()["nextToken"]
    response = get_list(api, pageSize=100, nextToken=token).json()["dnaSequences"]
    assert response
    assert {record["id"] for record in response} <= mine
    assert get_list(Api.of_user(box, "guest"), nextToken=token).json()["dnaSequences"] == []


def test_list_is_complete_during_imports(new_box, tmp_path):
    box = new_box(sequences=700)
    api = Api.of_user(box, "teacher")
    assert get_list(api, pageSize=0).headers["Result-Count"] == "699"  # one is archived
    before = {record["id"] for record in api.rows()}
    file = tmp_path / "more.fa"
    file.write_text(">more\nACGT\n" * 3)
    added = 0

    def import_some() -> None:
        nonlocal added
        with open_administration(box.data_dir) as admin:
            for _ in range(12):
                added += len(admin.import_sequences(file, "Digests", "teacher@sandbox.local"))

    for sort in ("modifiedAt", "createdAt:asc", "name"):
        thread = threading.Thread(target=import_some)
        thread.start()
        record_ids = [record["id"] for page in api.pages(pageSize=25, sort=sort) for record in page]
        thread.join()
        assert len(record_ids) == len({*record_ids})
        assert before <= {*record_ids}
    assert len(api.rows()) == 699 + added == 699 + 3 * 3 * 12
