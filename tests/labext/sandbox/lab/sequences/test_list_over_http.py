"""The list of sequences over HTTPS, as any client of the real service asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from labext.sandbox import Sandbox
from labext.sandbox.lab.administration import open_administration

pytestmark = pytest.mark.contract


class Api:
    """A tenant's list, asked for by somebody with an API key."""

    def __init__(self, box: Sandbox, tenant: str = "campus", who: str = "student") -> None:
        self._address = f"{box.lab.tenants[tenant]}/api/v2/dna-sequences"
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = box.lab.ca_bundle
        key = (Path(box.data_dir) / "secrets" / f"lab_{tenant}_{who}_key").read_text()
        self._session.auth = (key, "")

    def get(self, **query: Any) -> requests.Response:
        given = {name.replace("_", "."): value for name, value in query.items()}
        return self._session.get(self._address, params=given, timeout=30)

    def pages(self, **query: Any) -> Iterator[list[dict[str, Any]]]:
        token = ""
        while True:
            response = self.get(nextToken=token, **query).json()
            yield response["dnaSequences"]
            token = response["nextToken"]
            if token == "":
                return

    def all(self, **query: Any) -> list[dict[str, Any]]:
        return [record for page in self.pages(pageSize=100, **query) for record in page]


@pytest.fixture(scope="module")
def api(box: Sandbox) -> Api:
    return Api(box)


def test_pages_contain_the_whole_list(api):
    pages = [*api.pages(pageSize=7)]
    ids = [record["id"] for page in pages for record in page]
    assert [len(page) for page in pages[:-1]] == [7] * (len(pages) - 1)
    assert len(ids) == len(set(ids)) == int(api.get(pageSize=1).headers["Result-Count"])
    assert ids == [record["id"] for record in api.all()]


def test_response_is_json_with_urls_of_the_tenant(api, box):
    response = api.get(name="pBAD30")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    (record,) = response.json()["dnaSequences"]
    assert record["apiURL"] == f"{box.lab.base_url}/api/v2/dna-sequences/{record['id']}"
    assert record["webURL"] == box.lab.base_url + record["url"]


def test_query_parameters_are_decoded(api):
    names = ["kin", "plasmid pBAD30, cut with EcoRI"]
    assert {
        record["name"] for record in api.all(names_anyOf=",".join(f'"{name}"' for name in names))
    } == {*names}
    found = api.all(modifiedAt="> 2026-03-02T16:00:00+00:00 AND < 2026-03-02T17:00:00+00:00")
    assert found[0]["name"] == "pBAD30"
    assert api.get(name="pBAD30", returning="dnaSequences.id,dnaSequences.name").json() == {
        "dnaSequences": [{"id": found[0]["id"], "name": "pBAD30"}],
        "nextToken": "",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("pageSize", "101"), ("sort", "size"), ("ids", "seq_nothere1"), ("createdAt", "yesterday")],
)
def test_invalid_value_is_400(api, name, value):
    response = api.get(**{name: value})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"].startswith(name)
    assert error["userMessage"] == error["message"]


def test_page_token_of_another_tenant_is_refused(api, box):
    elsewhere = Api(box, "clinic", "clinician").get(pageSize=1).json()["nextToken"]
    assert elsewhere
    response = api.get(pageSize=1, nextToken=elsewhere)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("nextToken")


def test_page_token_of_another_user_grants_no_access(api, box):
    mine = {record["id"] for record in api.all()}
    token = Api(box, who="teacher").get(pageSize=5).json()["nextToken"]
    found = api.get(pageSize=100, nextToken=token).json()["dnaSequences"]
    assert found
    assert {record["id"] for record in found} <= mine
    assert Api(box, who="guest").get(nextToken=token).json()["dnaSequences"] == []


def test_list_is_complete_during_imports(new_box, tmp_path):
    box = new_box(sequences=700)
    api = Api(box, who="teacher")
    assert int(api.get(pageSize=0).headers["Result-Count"]) == 699  # one is archived
    before = {record["id"] for record in api.all()}
    file = tmp_path / "more.fa"
    file.write_text(">more\nACGT\n" * 3)
    added = 0

    def import_some() -> None:
        nonlocal added
        with open_administration(Path(box.data_dir)) as admin:
            for _ in range(12):
                response = admin.import_sequences(file, "Digests", "teacher@sandbox.local")
                added += len(response)

    for sort in ("modifiedAt", "createdAt:asc", "name"):
        thread = threading.Thread(target=import_some)
        thread.start()
        found = [record["id"] for page in api.pages(pageSize=25, sort=sort) for record in page]
        thread.join()
        assert len(found) == len({*found})
        assert before <= {*found}
    assert len(api.all()) == 699 + added == 699 + 3 * 3 * 12
