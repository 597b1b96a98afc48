"""Submission and validation of a job (JOBS-22 to JOBS-38, JOBS-52 to JOBS-56)."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.contract


def test_submitted_job_is_confirmed_and_completes(api, kit):
    name = kit.name()
    settings = kit.cut()
    body = {"jobName": name, "type": "digest", "settings": settings, "projectTag": "proj_a1"}
    response = api.post("submit-job", body)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text == f"{name} submitted to queue."
    row = api.ended(name)
    assert row["JobStatus"] == "Complete"
    assert row["Type"] == "digest"
    assert kit.json(row["Settings"]) == settings
    assert kit.json(row["Score"])["fragments"] == 3
    assert row["Created"] <= row["Started"] <= row["Completed"]
    assert row["Created"].endswith("Z")
    assert row["WeightedHours"] > 0
    assert row["ProjectTag"] == "proj_a1"
    assert not {"batchStatus", "AggregationError", "resultUrl", "Reason"} & set(row)
    assert None not in row.values()


def test_queued_job_has_no_started_and_no_score(new_box, kit):
    api = kit.Api(new_box(workers=1))
    api.submit("rna_fold", kit.SLOW)
    waiting = api.row(api.submit("digest", kit.cut()))
    assert waiting["JobStatus"] == "In Queue"
    assert waiting.pop("QueueReason") == "All slots are busy."
    assert set(waiting) == {"JobName", "Type", "JobStatus", "Created", "Settings", "statuses"}
    assert waiting["statuses"] == {"Complete": 0, "Running": 0, "In Queue": 1, "Stopped": 0}


def test_failing_tool_stops_its_job_with_the_reason(api, kit):
    name = api.submit("normal_modes", {"pdbFile": kit.ONE_RESIDUE})
    row = api.ended(name)
    assert row["JobStatus"] == "Stopped"
    assert "residues" in row["Reason"]
    assert "Score" not in row
    assert row["statuses"]["Stopped"] == 1


NAMES = ["", "a b", "a/b", "a.b", "ä", "x" * 101, "fold\n", "..", "a\0b", None, 7, ["a"], {"a": 1}]


@pytest.mark.parametrize("name", NAMES)
def test_invalid_job_name_is_refused(api, kit, name):
    body = {"jobName": name, "type": "digest", "settings": kit.cut()}
    assert "jobName" in kit.error_message(api.post("submit-job", body))


def test_job_name_of_100_characters_is_unique(api, kit):
    name = (kit.name() + "-_" * 50)[:100]
    api.submit("digest", kit.cut(), name)
    body = {"jobName": name, "type": "digest", "settings": kit.cut()}
    assert kit.error_message(api.post("submit-job", body)) == f"Job name {name} is already taken."


def test_accounts_may_use_the_same_job_name(api, teacher, kit):
    name = api.submit("digest", kit.cut())
    teacher.submit("digest", kit.cut(), name)


SETTINGS_FAULTS = [
    ("digest", {"sequence": "ACGT"}, "enzymes"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "submit_method": "api"}, "submit_method"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "": 1}, "''"),
    ("peptide_build", {"sequence": "ACD", "phi": [1, 2, 3]}, "phi"),
    ("normal_modes", {"pdbFile": "ATOM  ", "springs": "uniform"}, "springs"),
    ("digest", {"sequence": 7, "enzymes": "EcoRI"}, "sequence"),
    ("peptide_build", {"sequence": "ACD", "conformation": "coil"}, "conformation"),
    ("rna_fold", {"sequence": "A" * 1001}, "sequence"),
    *[("normal_modes", {"pdbFile": value}, "pdbFile") for value in (7, "", "no structure")],
]
"""One for each kind of error, and one for each invalid value of a structure."""


@pytest.mark.parametrize(("tool", "settings", "field"), SETTINGS_FAULTS)
def test_invalid_setting_is_refused_by_name(api, kit, tool, settings, field):
    name = kit.name()
    body = {"jobName": name, "type": tool, "settings": settings}
    message = api.refused("submit-job", body)
    assert field in message
    assert api.get("jobs", jobName=name).status_code == 404
    assert api.accepted("validate-job", body).json() == {"valid": False, "error": message}


BODIES = [
    (b"", "body"),
    (b"{", "body"),
    (b"[]", "object"),
    (b'"x"', "object"),
    (b"\xff\xfe", "body"),
    (b'{"jobName": "a", "type": "digest", "settings": ' + b"[" * 600 + b"]" * 600 + b"}", "body"),
    (b'{"type": "digest", "settings": {}}', "jobName"),
    (b'{"jobName": "a", "settings": {}}', "type"),
    (b'{"jobName": "a", "type": 7, "settings": {}}', "type"),
    (b'{"jobName": "a", "type": "nope", "settings": {}}', "type"),
    (b'{"jobName": "a", "type": "digest"}', "settings"),
    (b'{"jobName": "a", "type": "digest", "settings": []}', "settings"),
    (b'{"jobName": "a", "type": "digest", "settings": "x"}', "settings"),
    (b'{"jobName": "a", "type": "digest", "settings": {}, "projectTag": "x"}', "projectTag"),
    (b'{"jobName": "a", "type": "digest", "settings": {}, "projectTag": 1}', "projectTag"),
]


@pytest.mark.parametrize(("content", "field"), BODIES)
def test_malformed_body_is_refused_with_the_field(api, kit, content, field):
    response = api.session.post(api.base + "submit-job", data=content, timeout=30)
    assert field in kit.error_message(response)


def test_body_over_the_size_limit_is_refused(api, kit):
    content = b'{"jobName": "' + b"x" * (65 << 20) + b'"}'
    response = api.session.post(api.base + "submit-job", data=content, timeout=60)
    assert "larger" in kit.error_message(response)


def test_validation_reports_a_taken_name_and_stores_nothing(api, kit):
    name = kit.name()
    body = {"jobName": name, "type": "digest", "settings": kit.cut()}
    assert api.post("validate-job", body).json()["valid"] is True
    assert api.get("jobs", jobName=name).status_code == 404
    api.submit("digest", kit.cut(), name)
    checked = api.post("validate-job", body).json()
    assert checked == {"valid": False, "error": f"Job name {name} is already taken."}


def test_normalized_settings_cannot_be_submitted(api, kit):
    body = {"jobName": kit.name(), "type": "peptide_build", "settings": {"sequence": "ACD"}}
    echo = api.post("validate-job", body).json()["normalized"]
    assert echo["conformation"] == "helix"
    assert "submit_method" in echo
    assert not {"phi", "psi"} & set(echo)
    refused = api.post("submit-job", body | {"settings": echo})
    assert "submit_method" in kit.error_message(refused)


def test_normalized_settings_omit_gated_parameters(api, teacher, kit):
    body = {"type": "normal_modes", "settings": {"pdbFile": kit.ONE_RESIDUE}}  # without a name
    assert "springs" not in api.post("validate-job", body).json()["normalized"]
    assert teacher.post("validate-job", body).json()["normalized"]["springs"] == "uniform"


def test_conditional_setting_is_accepted_if_its_condition_is_met(api, kit):
    angles = [-57.0] * 3
    settings = {"sequence": "ACD", "conformation": "custom", "phi": angles, "psi": angles}
    assert api.ended(api.submit("peptide_build", settings))["JobStatus"] == "Complete"


def test_unknown_fields_are_ignored(api, kit):
    body = {"jobName": kit.name(), "type": "digest", "settings": kit.cut(), "gpuType": "a100"}
    assert api.post("submit-job", body).status_code == 200


def test_settings_are_stored_as_sent(api, kit):
    settings = {"enzymes": "EcoRI", "sequence": " gaattc "}
    row = api.row(api.submit("digest", settings))
    assert row["Settings"] == json.dumps(settings, separators=(",", ":"))


def test_content_type_of_a_body_is_not_checked(api, kit):
    content = json.dumps({"jobName": kit.name(), "type": "digest", "settings": kit.cut()})
    headers = {"content-type": "text/plain"}
    response = api.session.post(api.base + "submit-job", data=content, headers=headers, timeout=30)
    assert response.status_code == 200
