"""Submission and validation of a job, and values of its file settings."""

from __future__ import annotations

import json

import pytest
from waiting import wait_until

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


def test_queued_job_has_no_started_and_no_score(own_box, kit):
    api = kit.Api(own_box)
    running = api.submit("rna_fold", kit.SLOW)
    api.until(running, lambda row: row["JobStatus"] == "Running")
    waiting = api.row(api.submit("digest", kit.cut()))
    assert waiting["JobStatus"] == "In Queue"
    assert waiting.pop("QueueReason") == "All slots are busy."
    assert set(waiting) == {"JobName", "Type", "JobStatus", "Created", "Settings", "statuses"}
    assert waiting["statuses"] == {"Complete": 0, "Running": 0, "In Queue": 1, "Stopped": 0}


def test_failing_tool_stops_its_job_with_the_reason(api, kit):
    name = api.submit("normal_modes", {"pdbFile": kit.ONE_RESIDUE})
    row = api.ended(name)
    assert row["JobStatus"] == "Stopped"
    assert "1 residue;" in row["Reason"]
    assert row["Reason"] in api.get("job-log", name=name).json()["text"]
    assert "Score" not in row
    assert row["statuses"]["Stopped"] == 1


NAMES = ["", "a/b", "x" * 101, None, 7]


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
    ("{}".encode("utf-16"), "body"),
    (b"\xef\xbb\xbf{}", "body"),  # a byte order mark
    (b'{"jobName": "\xe4"}', "body"),  # Latin-1
    (b"{} {}", "body"),
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


def test_settings_are_stored_as_sent_whatever_the_content_type_and_unknown_fields(api, kit):
    name, settings = kit.name(), {"enzymes": "EcoRI", "sequence": " gaattc "}
    body = {"jobName": name, "type": "digest", "settings": settings, "gpuType": "a100"}
    headers = {"content-type": "text/plain"}
    address = api.base + "submit-job"
    assert api.session.post(address, data=json.dumps(body), headers=headers, timeout=30).ok
    assert api.row(name)["Settings"] == json.dumps(settings, separators=(",", ":"))


@pytest.fixture(scope="module")
def structure(api, helix):
    """A structure of 9 residues."""
    return api.archive(helix).read("peptide.pdb")


@pytest.fixture(scope="module")
def small_structure(api, helices):
    """A structure of 6 residues."""
    return api.archive(helices).read("j1/peptide.pdb")


def modes(api, value, kit):
    name = kit.name()
    body = {"jobName": name, "type": "normal_modes", "settings": {"pdbFile": value}}
    return name, api.post("submit-job", body)


@pytest.mark.parametrize(
    "value",
    [
        "content",
        "{file}",
        "{file_in_folder}",
        "{job}/peptide.pdb",
        "{batch}-j0/peptide.pdb",
        "{batch}/j0/peptide.pdb",
    ],
)
def test_file_setting_accepts_content_uploads_and_outputs(
    api, kit, helix, helices, structure, value
):
    names = {"file": f"{kit.name()}.pdb", "file_in_folder": f"{kit.name()}.pdb"}
    if value == "{file}":
        api.upload(names["file"], structure)
    if value == "{file_in_folder}":
        api.upload(names["file_in_folder"], structure, folder="structures")
    value = value.format(job=helix, batch=helices, **names)
    value = structure.decode() if value == "content" else value
    name, answer = modes(api, value, kit)
    assert answer.status_code == 200, answer.text
    row = api.ended(name)
    assert row["JobStatus"] == "Complete"
    assert kit.json(row["Settings"]) == {"pdbFile": value}


@pytest.mark.data_folder
def test_job_uses_the_file_as_it_was_at_submission(own_box, kit, structure):
    api = kit.Api(own_box)
    slow = api.submit("rna_fold", kit.SLOW)  # keeps the only worker busy
    api.upload("a.pdb", structure)
    name, answer = modes(api, "a.pdb", kit)
    assert answer.status_code == 200
    api.upload("a.pdb", b"ATOM")
    api.delete("delete-file", filePath="a.pdb")
    (file,) = own_box.data_dir.glob("jobs/jobs/*/inputs/pdbFile/*")
    assert file.name == "a.pdb"
    api.end("stop", slow)
    assert api.ended(name)["JobStatus"] == "Complete"
    wait_until(lambda: not file.exists())  # removed once the end is recorded


ACCOUNT_FILES = [
    "student@sandbox.local/1A8O.pdb",
    "structures/1A8O.pdb",
    "student@sandbox.local/my file.pdb",
    "../etc/passwd",
]


@pytest.mark.parametrize("value", ACCOUNT_FILES)
def test_unknown_path_is_refused_as_not_uploaded(api, kit, structure, value):
    api.upload("1A8O.pdb", structure)
    _name, answer = modes(api, value, kit)
    message = kit.error_message(answer)
    assert "have not been uploaded" in message
    assert value in message


def test_all_missing_files_are_named(api, kit):
    values = ["a/1.pdb", "b/2.pdb"]
    body = {
        "batchName": kit.name(),
        "type": "normal_modes",
        "jobNames": ["x", "y"],
        "settings": [{"pdbFile": value} for value in values],
    }
    message = kit.error_message(api.post("submit-batch", body))
    assert all(value in message for value in values)


def test_missing_output_is_named(api, kit, helix):
    _name, answer = modes(api, f"{helix}/nope.pdb", kit)
    message = kit.error_message(answer)
    assert "nope.pdb" in message
    assert helix in message


@pytest.mark.parametrize("path", ["../log.txt", "../../1/work/log.txt", "/etc/passwd", "."])
def test_path_cannot_leave_the_outputs_of_its_job(api, kit, helix, path):
    _name, answer = modes(api, f"{helix}/{path}", kit)
    kit.error_message(answer)


def test_output_of_an_incomplete_job_is_refused(own_box, kit):
    api = kit.Api(own_box)
    waiting = api.submit("rna_fold", kit.SLOW)
    _name, answer = modes(api, f"{waiting}/model.pdb", kit)
    assert "not complete" in kit.error_message(answer)


def test_output_of_another_account_is_refused(teacher, kit, helix):
    _name, answer = modes(teacher, f"{helix}/peptide.pdb", kit)
    assert "have not been uploaded" in kit.error_message(answer)


def test_name_that_is_neither_upload_nor_structure_is_refused(api, kit):
    _name, answer = modes(api, "1XYZ.pdb", kit)
    message = kit.error_message(answer)
    assert "pdbFile" in message
    assert "1XYZ.pdb" in message


def test_gated_parameter_is_accepted_with_the_permission(teacher, kit, structure):
    settings = {"pdbFile": structure.decode(), "springs": "distance"}
    assert teacher.ended(teacher.submit("normal_modes", settings))["JobStatus"] == "Complete"


def test_sequences_can_be_sent_as_content(api):
    fasta = ">a/1\nACGTACGTAC\n>b\nACGTTCGTAC\n>c\nACGTTCGAAC\n"
    row = api.ended(api.submit("msa_tree", {"sequences": fasta}))
    assert row["JobStatus"] == "Complete"


def test_folder_and_name_refer_to_an_uploaded_file(api, kit, structure, small_structure):
    file, folders = f"{kit.name()}.pdb", [kit.name(), kit.name()]
    for folder, content in zip(folders, (structure, small_structure), strict=True):
        api.upload(file, content, folder=folder)
    for folder, residues in zip(folders, (9, 6), strict=True):
        name, answer = modes(api, f"{folder}/{file}", kit)
        assert answer.status_code == 200, answer.text
        row = api.ended(name)
        assert kit.json(row["Score"])["residues"] == residues
        assert kit.json(row["Settings"]) == {"pdbFile": f"{folder}/{file}"}


def test_ambiguous_name_is_refused_with_all_paths(api, kit, structure, small_structure):
    file, folders = f"{kit.name()}.pdb", sorted([kit.name(), kit.name()])
    for folder in folders:
        api.upload(file, structure, folder=folder)
    _name, answer = modes(api, file, kit)
    message = kit.error_message(answer)
    assert "2 uploaded files" in message
    assert all(f"{folder}/{file}" in message for folder in folders)
    api.upload(file, small_structure)
    name, answer = modes(api, file, kit)
    assert answer.status_code == 200, "outside all folders there is one file of that name"
    assert kit.json(api.ended(name)["Score"])["residues"] == 6


def test_folder_of_another_account_is_refused(api, teacher, kit, structure):
    file, folder = f"{kit.name()}.pdb", kit.name()
    teacher.upload(file, structure, folder=folder)
    _name, answer = modes(api, f"{folder}/{file}", kit)
    assert "have not been uploaded" in kit.error_message(answer)


def test_path_of_an_output_and_an_upload_is_refused(api, kit, helix, structure):
    file, output = f"{kit.name()}.pdb", f"{helix}/peptide.pdb"
    api.upload(file, structure, folder=helix)
    assert modes(api, f"{helix}/{file}", kit)[1].status_code == 200
    assert modes(api, output, kit)[1].status_code == 200
    api.upload("peptide.pdb", structure, folder=helix)
    message = kit.error_message(modes(api, output, kit)[1])
    assert "output of job" in message
    assert "uploaded file in the folder" in message
    api.delete("delete-file", folder=helix)
