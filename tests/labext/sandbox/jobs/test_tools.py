"""`GET /tools`, authentication, errors, and the description of the operations."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin

import pytest
import requests
from databases import stored_content
from openapi_spec_validator import OpenAPIV30SpecValidator
from starlette.testclient import TestClient

from labext.sandbox.core.service_protocol import Options
from labext.sandbox.jobs import app, limits, names, seed, service, submission
from labext.sandbox.jobs.tools import catalogue

pytestmark = pytest.mark.contract


ROUTES: list[Any] = app.api.routes
ENDPOINTS = [
    (method, route.path.removeprefix("/").replace("{filename:labext_name}", "a.txt"))
    for route in ROUTES
    if route.path != "/openapi.json"
    for method in route.methods
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_every_endpoint_needs_a_valid_key(box, kit, method, path):
    for headers in ({}, {"x-api-key": "wrong"}):
        response = requests.request(method, box.jobs.base_url + path, headers=headers, timeout=30)
        message = kit.error_message(response, 401)
        assert "x-api-key" in message
        assert "wrong" not in message


def test_tools_lists_the_installed_tools_without_gated_parameters(api):
    tools = api.get("tools", name="digest", nonsense="1").json()  # unknown parameters are ignored
    assert tools == [tool.record(()) for tool in catalogue.available_tools().values()]


def test_key_is_stored_as_a_hash_only(box, db):
    written = stored_content(box.data_dir)
    assert b"student@sandbox.local" in written
    assert hashlib.sha256(box.jobs.api_key.encode()).hexdigest().encode() in written
    assert box.jobs.api_key.encode() not in written


@pytest.mark.parametrize(
    ("path", "status"), [("nope", 404), ("", 404), ("jobs/", 404), ("submit-job", 405)]
)
def test_unknown_path_or_method_is_a_json_error(api, kit, path, status):
    kit.error_message(api.get(path), status)


def test_too_many_requests_are_429_with_retry_after(site, kit):
    named = replace(site, options=Options(rate="named"))
    client = TestClient(app.service.apps(named)["jobs"], base_url="http://127.0.0.1")

    def get_files(key):
        return client.get("/api/files", headers={"x-api-key": key})

    def set_limit(value):
        with site.database.write() as session:
            limits.change_limit(session, "flood_requests", value)

    set_limit(3)
    answers = [get_files(seed.student_key(site)) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert "More than 3 requests" in kit.error_message(answers[-1], 429)
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 10
    assert get_files(seed.teacher_key(site)).status_code == 200
    set_limit(None)
    assert get_files(seed.student_key(site)).status_code == 200


CORE = {
    ("post", "/submit-job"),
    ("post", "/submit-batch"),
    ("get", "/jobs"),
    ("post", "/result"),
    ("put", "/upload/{filename}"),
    ("get", "/files"),
    ("delete", "/delete-job"),
    ("delete", "/delete-file"),
}


@pytest.fixture(scope="module")
def description(box):
    answer = requests.get(box.jobs.base_url + "openapi.json", timeout=30)  # without a key
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()


def operations(description):
    return {
        (method, path): operation
        for path, item in description["paths"].items()
        for method, operation in item.items()
    }


def test_description_is_valid_openapi_3_0(description):
    assert description["openapi"] == "3.0.3"
    OpenAPIV30SpecValidator(description).validate()


def test_description_has_the_eight_core_operations(description):
    documented = operations(description)
    assert set(documented) == CORE
    assert len({operation["operationId"] for operation in documented.values()}) == len(CORE)


def test_every_operation_needs_the_key_and_lists_its_errors(description):
    schemes = description["components"]["securitySchemes"]
    assert [(s["type"], s["in"], s["name"]) for s in schemes.values()] == [
        ("apiKey", "header", "x-api-key")
    ]
    assert description["security"] == [{name: []} for name in schemes]
    for operation in operations(description).values():
        assert "security" not in operation
        assert {"200", "400", "401", "429", "500"} <= set(operation["responses"])


def test_server_url_is_that_of_the_service(description, box, api):
    (server,) = description["servers"]
    base = urljoin(box.jobs.base_url, server["url"])
    headers = {"x-api-key": box.jobs.api_key}
    assert requests.get(f"{base}/files", headers=headers, timeout=30).status_code == 200
    assert base + "/" == box.jobs.base_url


def test_described_limits_are_those_of_the_service(description):
    schemas = description["components"]["schemas"]
    assert schemas["Name"]["maxLength"] == names.MAX_NAME_LENGTH
    assert schemas["FileName"]["maxLength"] == names.MAX_FILE_NAME_BYTES
    assert schemas["MaxRuntimeSeconds"]["maximum"] == submission.MAX_RUN_SECONDS
    assert schemas["WeightedHoursBudget"]["maximum"] == submission.MAX_WEIGHTED_HOURS
    for field in (schemas["BatchOfArrays"]["properties"]["jobNames"],
                  schemas["BatchOfJobs"]["properties"]["jobs"]):  # fmt: skip
        assert field["maxItems"] == submission.MAX_JOBS
    parameters = description["paths"]["/jobs"]["get"]["parameters"]
    (limit,) = [p for p in parameters if p["name"] == "limit"]
    assert limit["schema"]["default"] == service.MAX_PAGE_SIZE


def test_described_job_fields_are_those_that_occur(description, api, teacher, kit):
    """The schema of a row allows unknown fields for newer versions; this list is exact."""
    good = api.submit("digest", kit.cut())
    api.post("submit-job", {"jobName": (tagged := kit.name()), "type": "digest",
                            "settings": kit.cut(), "projectTag": "proj_a"})  # fmt: skip
    batch = api.batch([kit.cut()] * 2)
    stopped = api.submit("rna_fold", kit.SLOW)
    api.post("stop-job", {"jobName": stopped})
    rows = [api.ended(name) for name in (good, tagged, batch, stopped)]
    rows += teacher.rows(organization="true", limit=20)
    known = set(description["components"]["schemas"]["Job"]["properties"])
    returned = set().union(*rows)
    assert returned <= known
    assert known - returned <= {"AggregationError", "QueueReason", "Stage"}
