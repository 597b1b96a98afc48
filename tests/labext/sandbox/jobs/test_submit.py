"""Submission and validation of a job (JOBS-22 to JOBS-38, JOBS-52 to JOBS-56)."""

from __future__ import annotations

import json

import pytest
import requests

pytestmark = pytest.mark.contract


def test_a_job_is_confirmed_in_plain_text_and_runs(api, kit):
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


def test_before_it_starts_a_row_has_no_started_and_no_score(new_box, kit):
    api = kit.Api(new_box(workers=1))
    api.submit("rna_fold", kit.SLOW)
    waiting = api.row(api.submit("digest", kit.cut()))
    assert waiting["JobStatus"] == "In Queue"
    assert set(waiting) == {"JobName", "Type", "JobStatus", "Created", "Settings", "statuses"}
    assert waiting["statuses"] == {"Complete": 0, "Running": 0, "In Queue": 1, "Stopped": 0}


def test_a_tool_that_fails_stops_its_job_with_the_reason(api, kit):
    pdb = "ATOM      1  CA  ALA A   1      11.104   6.134  -6.504  1.00  0.00           C\nEND\n"
    name = api.submit("normal_modes", {"pdbFile": pdb})
    row = api.ended(name)
    assert row["JobStatus"] == "Stopped"
    assert "residues" in row["Reason"]
    assert "Score" not in row
    assert row["statuses"]["Stopped"] == 1


NAMES = ["", "a b", "a/b", "a.b", "ä", "x" * 101, "fold\n", "..", "a\0b", None, 7, ["a"], {"a": 1}]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_outside_the_pattern_is_refused(api, kit, name):
    body = {"jobName": name, "type": "digest", "settings": kit.cut()}
    assert "jobName" in kit.sentence(api.post("submit-job", body))


def test_a_name_of_100_characters_is_taken_once(api, kit):
    name = (kit.name() + "-_" * 50)[:100]
    api.submit("digest", kit.cut(), name)
    body = {"jobName": name, "type": "digest", "settings": kit.cut()}
    assert kit.sentence(api.post("submit-job", body)) == f"Job name {name} is already taken."


def test_two_accounts_may_use_the_same_name(api, teacher, kit):
    name = api.submit("digest", kit.cut())
    teacher.submit("digest", kit.cut(), name)


SETTINGS_FAULTS = [
    # rule 1: required fields
    ("digest", {"enzymes": ["EcoRI"]}, "sequence"),
    ("digest", {"sequence": "ACGT"}, "enzymes"),
    ("digest", {"sequence": None, "enzymes": ["EcoRI"]}, "sequence"),
    # rule 2: the platform's own fields
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "submit_method": "api"}, "submit_method"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "msa": ""}, "msa"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "monomer_msa": None}, "monomer_msa"),
    # unknown fields
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "circlar": True}, "circlar"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "": 1}, "''"),
    # rule 3: conditional fields
    ("peptide_build", {"sequence": "ACD", "phi": [1, 2, 3]}, "phi"),
    ("peptide_build", {"sequence": "ACD", "conformation": "helix", "psi": [1]}, "psi"),
    # rule 5: gated fields
    ("normal_modes", {"pdbFile": "ATOM  ", "springs": "uniform"}, "springs"),
    # types, options, the tool's own limits
    ("digest", {"sequence": 7, "enzymes": "EcoRI"}, "sequence"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "circular": "yes"}, "circular"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRI", "circular": 1}, "circular"),
    ("digest", {"sequence": "ACGT", "enzymes": "EcoRJ"}, "enzymes"),
    ("digest", {"sequence": "ACGX", "enzymes": "EcoRI"}, "sequence"),
    ("rna_fold", {"sequence": "ACGU", "temperature": True}, "temperature"),
    ("rna_fold", {"sequence": "ACGU", "temperature": "warm"}, "temperature"),
    ("rna_fold", {"sequence": "A" * 1001}, "sequence"),
    ("peptide_build", {"sequence": "ACD", "conformation": "coil"}, "conformation"),
    ("normal_modes", {"pdbFile": 7}, "pdbFile"),
    ("normal_modes", {"pdbFile": ""}, "pdbFile"),
    ("normal_modes", {"pdbFile": "no structure"}, "pdbFile"),
    ("normal_modes", {"pdbFile": "ATOM  ", "modes": 2.5}, "modes"),
]


@pytest.mark.parametrize(("tool", "settings", "named"), SETTINGS_FAULTS)
def test_a_setting_that_breaks_a_rule_is_named(api, kit, tool, settings, named):
    name = kit.name()
    body = {"jobName": name, "type": tool, "settings": settings}
    words = kit.sentence(api.post("submit-job", body))
    assert named in words
    assert api.get("jobs", jobName=name).status_code == 404
    checked = api.post("validate-job", body)
    assert checked.status_code == 200
    assert checked.json() == {"valid": False, "error": words}


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


@pytest.mark.parametrize(("content", "named"), BODIES)
def test_a_malformed_body_is_a_400_that_names_the_fault(api, kit, content, named):
    response = api.session.post(api.base + "submit-job", data=content, timeout=30)
    assert named in kit.sentence(response)


def test_a_body_that_is_too_big_is_refused(api, kit):
    content = b'{"jobName": "' + b"x" * (65 << 20) + b'"}'
    response = api.session.post(api.base + "submit-job", data=content, timeout=60)
    assert "larger" in kit.sentence(response)


def test_validate_says_the_name_is_taken_and_stores_nothing(api, kit):
    name = kit.name()
    body = {"jobName": name, "type": "digest", "settings": kit.cut()}
    assert api.post("validate-job", body).json()["valid"] is True
    assert api.get("jobs", jobName=name).status_code == 404
    api.submit("digest", kit.cut(), name)
    checked = api.post("validate-job", body).json()
    assert checked == {"valid": False, "error": f"Job name {name} is already taken."}


def test_the_normalized_echo_holds_defaults_and_must_not_be_sent_back(api, kit):
    body = {"jobName": kit.name(), "type": "peptide_build", "settings": {"sequence": "ACD"}}
    echo = api.post("validate-job", body).json()["normalized"]
    assert echo["conformation"] == "helix"
    assert "submit_method" in echo
    assert not {"phi", "psi"} & set(echo)
    refused = api.post("submit-job", body | {"settings": echo})
    assert "submit_method" in kit.sentence(refused)


def test_the_echo_does_not_tell_of_gated_parameters(api, teacher, kit):
    pdb = "ATOM      1  CA  ALA A   1      11.104   6.134  -6.504  1.00  0.00           C\n"
    body = {"type": "normal_modes", "settings": {"pdbFile": pdb}}  # the name is not checked
    assert "springs" not in api.post("validate-job", body).json()["normalized"]
    assert teacher.post("validate-job", body).json()["normalized"]["springs"] == "uniform"


def test_a_conditional_field_is_taken_where_its_condition_holds(api, kit):
    angles = [-57.0] * 3
    settings = {"sequence": "ACD", "conformation": "custom", "phi": angles, "psi": angles}
    assert api.ended(api.submit("peptide_build", settings))["JobStatus"] == "Complete"


def test_fields_that_nobody_asks_for_are_ignored(api, kit):
    body = {"jobName": kit.name(), "type": "digest", "settings": kit.cut(), "gpuType": "a100"}
    assert api.post("submit-job", body).status_code == 200


def test_settings_are_kept_as_they_were_sent(api, kit):
    settings = {"enzymes": "EcoRI", "sequence": " gaattc "}
    row = api.row(api.submit("digest", settings))
    assert row["Settings"] == json.dumps(settings, separators=(",", ":"))


def test_a_content_type_is_not_needed(box, kit):
    content = json.dumps({"jobName": kit.name(), "type": "digest", "settings": kit.cut()})
    response = requests.post(
        box.jobs.base_url + "submit-job",
        data=content,
        headers={"x-api-key": box.jobs.api_key, "content-type": "text/plain"},
        timeout=30,
    )
    assert response.status_code == 200
