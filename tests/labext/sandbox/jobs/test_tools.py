"""`GET /tools`, authentication and errors (JOBS-1 to JOBS-14, JOBS-27 to JOBS-29)."""

from __future__ import annotations

import hashlib

import pytest
import requests
from databases import stored_content

from labext.sandbox.jobs.tools import catalogue

pytestmark = pytest.mark.contract

ENDPOINTS = [
    ("GET", "tools"),
    ("POST", "submit-job"),
    ("POST", "submit-batch"),
    ("POST", "validate-job"),
    ("GET", "jobs"),
    ("GET", "usage-statistics"),
    ("POST", "result"),
    ("GET", "job-log"),
    ("GET", "job-outputs"),
    ("GET", "workers"),
    ("POST", "stop-job"),
    ("DELETE", "delete-job"),
    ("PUT", "upload/a.txt"),
    ("GET", "files"),
    ("DELETE", "delete-file"),
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
@pytest.mark.parametrize("key", [None, "", "wrong", "é".encode("latin-1")])
def test_every_endpoint_needs_a_valid_key(box, kit, method, path, key):
    headers = {} if key is None else {"x-api-key": key}
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


def test_too_many_requests_are_429_with_retry_after(new_box, kit):
    named = new_box(rate="named", workers=1)
    api = kit.Api(named)
    with kit.DatabaseAccess(named).limit("flood_requests", 3):
        answers = [api.get("files") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert "More than 3 requests" in kit.error_message(answers[-1], 429)
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 10
        assert kit.Api(named, kit.teacher_key(named)).get("files").status_code == 200
    assert api.get("files").status_code == 200
