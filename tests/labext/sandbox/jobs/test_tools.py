"""`GET /tools`, authentication and errors (JOBS-1 to JOBS-14, JOBS-27 to JOBS-29)."""

from __future__ import annotations

import hashlib

import pytest
import requests

pytestmark = pytest.mark.contract

ENDPOINTS = [
    ("GET", "tools"),
    ("POST", "submit-job"),
    ("POST", "submit-batch"),
    ("POST", "validate-job"),
    ("GET", "jobs"),
    ("GET", "usage-statistics"),
    ("POST", "result"),
    ("POST", "stop-job"),
    ("DELETE", "delete-job"),
    ("PUT", "upload/a.txt"),
    ("GET", "files"),
    ("DELETE", "delete-file"),
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
@pytest.mark.parametrize("key", [None, "", "wrong", "é".encode("latin-1")])
def test_every_endpoint_wants_a_valid_key(box, kit, method, path, key):
    headers = {} if key is None else {"x-api-key": key}
    response = requests.request(method, box.jobs.base_url + path, headers=headers, timeout=30)
    words = kit.sentence(response, 401)
    assert "x-api-key" in words
    assert "wrong" not in words


def test_tools_are_an_array_of_tool_objects(api):
    tools = api.get("tools", name="digest", nonsense="1").json()  # no parameter is honoured
    assert {tool["name"] for tool in tools} >= {"peptide_build", "digest", "align_pair"}
    for tool in tools:
        assert set(tool) == {"name", "displayName", "description", "github", "paper", "settings"}
        assert tool["github"].startswith("https://")
        assert tool["paper"].startswith("https://")
        for parameter in tool["settings"]:
            assert isinstance(parameter["name"], str)
            assert isinstance(parameter["required"], bool)
            optional = set(parameter) - {"name", "required"}
            assert optional <= {"type", "default", "description", "options"}
            assert None not in parameter.values()


def test_about_two_fifths_of_the_parameters_carry_no_type(api):
    parameters = [p for tool in api.get("tools").json() for p in tool["settings"]]
    untyped = [p for p in parameters if "type" not in p]
    assert 0.2 < len(untyped) / len(parameters) < 0.6


def test_a_gated_parameter_is_shown_to_those_alone_who_may_set_it(api, teacher):
    def names(who):
        tools = {tool["name"]: tool for tool in who.get("tools").json()}
        return {p["name"] for p in tools["normal_modes"]["settings"]}

    assert names(teacher) - names(api) == {"springs"}


def test_the_connections_key_is_kept_as_a_hash_only(box, back):
    written = b"".join(file.read_bytes() for file in box.data_dir.glob("sandbox.sqlite*"))
    assert b"student@sandbox.local" in written
    assert hashlib.sha256(box.jobs.api_key.encode()).hexdigest().encode() in written
    assert box.jobs.api_key.encode() not in written


@pytest.mark.parametrize("path", ["nope", "", "jobs/", "submit-jobs"])
def test_an_unknown_path_is_told_as_an_error_object(api, kit, path):
    kit.sentence(api.get(path), 404)


def test_a_method_that_is_not_there_is_told_as_an_error_object(api, kit):
    kit.sentence(api.get("submit-job"), 405)


def test_a_foreign_host_name_is_refused(box):
    headers = {"x-api-key": box.jobs.api_key, "Host": "evil.example"}
    response = requests.get(box.jobs.base_url + "tools", headers=headers, timeout=30)
    assert response.status_code == 400


def test_a_flood_is_answered_with_429_and_when_to_come_back(new_box, kit):
    named = new_box(rate="named", workers=1)
    api = kit.Api(named)
    with kit.Back(named).limit("flood_requests", 3):
        answers = [api.get("files") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert "More than 3 requests" in kit.sentence(answers[-1], 429)
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 10
        assert kit.Api(named, kit.teacher_key(named)).get("files").status_code == 200
    assert api.get("files").status_code == 200
