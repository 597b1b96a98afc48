"""POST /submit-pipeline and /run-pipeline: stages, piped outputs, and the end of pipelines."""

from __future__ import annotations

import csv
import io
from typing import Any

import orjson
import pytest
from sqlalchemy import delete
from starlette.exceptions import HTTPException

from labext.sandbox.jobs.pipelines.service import run_pipeline
from labext.sandbox.jobs.tables import Organization, SavedPipeline, current_timestamp

pytestmark = pytest.mark.contract

PEPTIDE = "ACDEFGHIKLMNPQRSTVWY"
HELIX = {"peptide_build": {"sequence": "pipe", "conformation": "helix"}}
MODES = {"normal_modes": {"pdbFile": "pipe"}}
UNCUT = {"digest": {"sequence": "pipe", "enzymes": "EcoRI"}}
"""Without a site, the whole sequence is the only fragment, and input of the next stage."""

ISSUE = [
    {"task": "Structure Prediction", "toolSettings": HELIX},
    {"task": "Scoring PDB", "toolSettings": {"structure_summary": {"pdbFile": "pipe"}, **MODES}},
]
SLOW = {"task": "Fold", "toolSettings": {"rna_fold": {"sequence": "pipe"}}}
AFTER = {"task": "Build", "toolSettings": {"peptide_build": {"sequence": "AAAAAA"}}}


def stage(tools, task="Step"):
    return {"task": task, "toolSettings": tools}


def submit(api, kit, stages, inputs, **more):
    name = kit.name()
    body = {"jobName": name, "initialInputs": inputs, "stages": stages} | more
    assert api.accepted("submit-pipeline", body).text == f"{name} submitted to queue."
    return name


def names(api, pipeline):
    """Return the names of the pipeline's jobs without its prefix, in order."""
    return [row["JobName"].removeprefix(f"{pipeline}-") for row in api.rows(batch=pipeline)]


def test_tools_of_a_stage_run_in_parallel(api, kit):
    name = submit(api, kit, ISSUE, [PEPTIDE])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert row["Type"] == "pipeline"
    assert row["Stage"] == "2 of 2: Scoring PDB"
    assert kit.json(row["Settings"]) == {"initialInputs": [PEPTIDE], "stages": ISSUE}
    assert not {"batchStatus", "Score", "Reason", "resultUrl"} & set(row)
    assert row["Created"] <= row["Started"] <= row["Completed"]
    assert row["statuses"] == {"Complete": 3, "Running": 0, "In Queue": 0, "Stopped": 0}
    jobs = api.rows(batch=name)
    assert [job["Type"] for job in jobs] == ["peptide_build", "structure_summary", "normal_modes"]
    assert names(api, name) == [
        "stage1-peptide_build",
        "stage2-structure_summary",
        "stage2-normal_modes",
    ]
    assert row["WeightedHours"] == pytest.approx(sum(job["WeightedHours"] for job in jobs))
    assert kit.json(jobs[0]["Settings"]) == {"sequence": PEPTIDE, "conformation": "helix"}
    assert kit.json(jobs[2]["Settings"]) == {"pdbFile": f"{name}-stage1-peptide_build/peptide.pdb"}
    assert jobs[0]["Completed"] <= jobs[1]["Created"]


def test_run_pipeline_runs_a_saved_pipeline(api, kit):
    name = kit.name()
    body = {"jobName": name, "pipelineName": "helix-to-modes", "inputs": ["MKTAYIAKQRQISFVKSHFSRQ"]}
    answer = api.post("run-pipeline", body)
    assert (answer.status_code, answer.text) == (200, f"{name} submitted to queue.")
    row = api.ended(name)
    assert row["JobStatus"] == "Complete"
    settings = kit.json(row["Settings"])
    assert settings["pipelineName"] == "helix-to-modes"
    assert settings["initialInputs"] == ["MKTAYIAKQRQISFVKSHFSRQ"]
    assert [list(item["toolSettings"]) for item in settings["stages"]] == [
        ["peptide_build"],
        ["normal_modes"],
    ]
    assert names(api, name) == ["stage1-peptide_build", "stage2-normal_modes"]


def test_archive_has_a_folder_for_each_complete_job_and_the_metrics_of_all(api, kit):
    name = submit(api, kit, [stage(HELIX), stage(MODES)], [PEPTIDE, "AC", PEPTIDE[::-1]])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert row["statuses"] == {"Complete": 5, "Running": 0, "In Queue": 0, "Stopped": 1}
    failed = f"{name}-stage2-normal_modes-2"
    reason = api.row(failed)["Reason"]
    assert "2 residues" in reason
    assert row["Reason"] == f"1 of 6 jobs did not complete: {failed}: {reason}"
    archive = api.archive(name)
    parts = names(api, name)
    table = list(csv.DictReader(io.StringIO(archive.read("metrics.csv").decode())))
    assert [line["job"] for line in table] == parts
    assert [line["status"] for line in table] == ["Complete"] * 4 + ["Stopped", "Complete"]
    parts.remove("stage2-normal_modes-2")
    assert {entry.split("/")[0] for entry in archive.namelist()} == {"metrics.csv", *parts}
    response = api.session.get(api.address(name, fileName="stage1-peptide_build-2/peptide.pdb"))
    assert response.content == archive.read("stage1-peptide_build-2/peptide.pdb")
    pdbs = api.archive(name, pdbsOnly=True).namelist()
    assert len(pdbs) == 3 + 2 * 3
    assert all(pdb.endswith(".pdb") for pdb in pdbs)


def test_input_is_an_upload_an_earlier_output_or_content(api, kit):
    built = api.submit("peptide_build", {"sequence": PEPTIDE})
    api.ended(built)
    pdb = api.session.get(api.address(built, fileName="peptide.pdb")).text
    file = f"{kit.name()}.pdb"
    api.upload(file, pdb.encode())
    inputs = [file, f"{built}/peptide.pdb", pdb]
    name = submit(api, kit, [stage(MODES)], inputs)
    api.delete("delete-file", filePath=file)
    api.delete("delete-job", {"jobName": built})
    assert api.ended(name)["JobStatus"] == "Complete"
    jobs = api.rows(batch=name)
    assert [kit.json(job["Settings"])["pdbFile"] for job in jobs] == inputs
    assert len({job["Score"] for job in jobs}) == 1


def test_stopping_a_pipeline_stops_its_jobs(own_box, kit):
    api = kit.Api(own_box)
    name = submit(api, kit, [SLOW, AFTER], [kit.SLOW["sequence"]] * 6)
    api.until(name, lambda row: row["statuses"]["Running"] == 1)
    assert api.row(name)["JobStatus"] == "Running"
    answer = api.post("stop-job", {"jobName": name})
    assert answer.json() == {"message": f"{name} is stopped."}
    assert kit.processes_in(own_box.data_dir / "jobs") == []
    row = api.row(name)
    assert (row["JobStatus"], row["Reason"]) == ("Stopped", "Stopped by hand.")
    assert row["statuses"] == {"Complete": 0, "Running": 0, "In Queue": 0, "Stopped": 6}
    assert row["WeightedHours"] == pytest.approx(
        sum(job["WeightedHours"] for job in api.rows(batch=name))
    )
    again = api.post("stop-job", {"jobName": name})
    assert again.json() == {"message": f"{name} is already Stopped."}
    assert api.row(name) == row


def test_deleting_a_running_pipeline_leaves_nothing(own_box, kit):
    api = kit.Api(own_box)
    stages = [stage({"digest": UNCUT["digest"]}), SLOW]
    name = submit(api, kit, stages, [kit.SLOW["sequence"].replace("U", "T")] * 4)
    api.until(name, lambda row: row["Stage"].startswith("2") and row["statuses"]["Running"] > 0)
    assert api.delete("delete-job", {"jobName": name}).status_code == 200
    assert kit.processes_in(own_box.data_dir / "jobs") == []
    assert api.rows(includeSubjobs="true") == []
    assert list((own_box.data_dir / "jobs" / "jobs").iterdir()) == []
    for deleted_name in (name, f"{name}-stage1-digest-1"):
        kit.error_message(api.get("jobs", jobName=deleted_name), 404)
    submitted = api.post(
        "submit-pipeline", {"jobName": name, "initialInputs": ["ACGT"], "stages": stages[:1]}
    )
    assert submitted.status_code == 200
    assert api.ended(name)["JobStatus"] == "Complete"


def test_archive_over_the_quota_stops_the_pipeline(api, db, kit):
    with db.quota("student@sandbox.local", 100):
        name = submit(api, kit, [stage(UNCUT)], ["ACGT"])
        row = api.ended(name)
    assert row["JobStatus"] == "Stopped"
    assert row["Reason"].startswith("The archive could not be built: The archive is too large")
    assert row["statuses"]["Complete"] == 1


def test_pipeline_is_one_row_of_a_list(api, kit):
    name = submit(api, kit, [stage(UNCUT)], ["ACGT"], projectTag="proj_1")
    api.ended(name)
    assert name in [row["JobName"] for row in api.rows(limit=1)]
    every = [row["JobName"] for row in api.rows(limit=2, includeSubjobs="true")]
    assert every == [f"{name}-stage1-digest", name]
    assert {row["ProjectTag"] for row in api.rows(limit=2, includeSubjobs="true")} == {"proj_1"}
    job = f"{name}-stage1-digest"
    assert "batch" in kit.error_message(api.get("jobs", batch=job))
    assert api.row(job)["statuses"]["Complete"] == 1


def test_taken_name_is_refused(api, kit):
    name = submit(api, kit, [stage(UNCUT)], ["ACGT"])
    body = {"jobName": name, "initialInputs": ["ACGT"], "stages": [stage(UNCUT)]}
    message = kit.error_message(api.post("submit-pipeline", body))
    assert message == f"Job name {name} is already taken."
    other = api.submit("digest", kit.cut(), f"{kit.name()}-stage2-normal_modes")
    free = other.removesuffix("-stage2-normal_modes")
    body = {"jobName": free, "initialInputs": [PEPTIDE], "stages": [stage(HELIX), stage(MODES)]}
    assert other in kit.error_message(api.post("submit-pipeline", body))
    kit.error_message(api.get("jobs", jobName=free), 404)
    api.ended(name)


GOOD = {"initialInputs": ["ACGT"], "stages": [stage(UNCUT)]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no inputs": ({"initialInputs": None}, "initialInputs"),
    "empty inputs": ({"initialInputs": []}, "initialInputs"),
    "many inputs": ({"initialInputs": ["ACGT"] * 101}, "101"),
    "input of another type": ({"initialInputs": ["ACGT", 7]}, "initialInputs[1]"),
    "blank input": ({"initialInputs": [" "]}, "initialInputs[0]"),
    "wrong input": ({"initialInputs": ["ACGT", "J!"]}, "Stage 1 (Step): digest, the input 'J!'"),
    "no stages": ({"stages": None}, "stages"),
    "empty stages": ({"stages": []}, "stages"),
    "many stages": ({"stages": [stage(UNCUT)] * 21}, "21"),
    "stage of another type": ({"stages": ["digest"]}, "stages[0]"),
    "stages of another type": ({"stages": {"a": 1}}, "stages"),
    "no task": ({"stages": [{"toolSettings": UNCUT}]}, "stages[0].task"),
    "empty task": ({"stages": [stage(UNCUT, " ")]}, "stages[0].task"),
    "long task": ({"stages": [stage(UNCUT, "x" * 201)]}, "stages[0].task"),
    "task of two lines": ({"stages": [stage(UNCUT, "a\nb")]}, "stages[0].task"),
    "task of another type": ({"stages": [stage(UNCUT, 7)]}, "stages[0].task"),
    "no tools": ({"stages": [stage({})]}, "Stage 1 (Step)"),
    "tools missing": ({"stages": [{"task": "Step"}]}, "Stage 1 (Step): toolSettings"),
    "tools of another type": ({"stages": [stage(["digest"])]}, "Stage 1 (Step): toolSettings"),
    "unknown tool": ({"stages": [stage(UNCUT), stage({"nope": {}})]}, "Stage 2 (Step): there is"),
    "settings of another type": ({"stages": [stage({"digest": 7})]}, "Stage 1 (Step)"),
    "unknown setting": (
        {"stages": [stage(UNCUT), stage({"digest": UNCUT["digest"] | {"hue": 1}})]},
        "Stage 2 (Step), digest: Setting 'hue' is unknown",
    ),
    "missing setting": (
        {"stages": [stage(UNCUT), stage({"digest": {"sequence": "pipe"}})]},
        "Stage 2 (Step), digest: Setting enzymes is required",
    ),
    "wrong setting of a later stage": (
        {"stages": [stage(HELIX), stage({"normal_modes": {"pdbFile": "pipe", "cutoff": 1}})]},
        "Stage 2 (Step), normal_modes: cutoff",
    ),
    "gated setting": (
        {
            "stages": [
                stage(HELIX),
                stage({"normal_modes": MODES["normal_modes"] | {"springs": "uniform"}}),
            ]
        },
        "springs",
    ),
    "pipe of another kind": ({"stages": [stage(UNCUT), stage(MODES)]}, "Stage 2 (Step), normal_"),
    "pipe into a number": (
        {"stages": [stage(HELIX), stage({"normal_modes": {"pdbFile": "pipe", "cutoff": "pipe"}})]},
        "cutoff",
    ),
    "file that is not there": (
        {"initialInputs": ["me/a.pdb"], "stages": [stage(MODES)]},
        "have not been uploaded: me/a.pdb",
    ),
    "project": ({"projectTag": "x"}, "projectTag"),
    "too much": ({"initialInputs": ["A" * 500_000] * 5}, "upload"),
    "long name": ({"jobName": "x" * 95}, "jobName"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_pipeline_is_refused_with_the_field(api, kit, case):
    change, message = BAD[case]
    body = {"jobName": kit.name()} | GOOD | change
    assert message in kit.error_message(api.post("submit-pipeline", body))
    kit.error_message(api.get("jobs", jobName=body["jobName"]), 404)


@pytest.mark.parametrize("name", [None, "a b", 7])
@pytest.mark.parametrize("path", ["submit-pipeline", "run-pipeline"])
def test_invalid_pipeline_name_is_refused(api, kit, path, name):
    body = {"jobName": name, "pipelineName": "helix-to-modes"} | GOOD
    assert "jobName" in kit.error_message(api.post(path, body))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pipelineName": None}, "pipelineName"),
        ({"pipelineName": 7}, "pipelineName"),
        ({"inputs": None}, "initialInputs"),
        ({"inputs": ["A!"]}, "Stage 1 (Structure Prediction): peptide_build"),
        ({"initialInputs": ["ACD"]}, "initialInputs and inputs"),
    ],
)
def test_invalid_run_of_a_saved_pipeline_is_refused(api, kit, change, message):
    body = {"jobName": kit.name(), "pipelineName": "helix-to-modes", "inputs": ["ACD"]} | change
    assert message in kit.error_message(api.post("run-pipeline", body))


def test_saved_pipeline_of_another_organization_is_404(api, db, kit):
    with db.session() as session:
        other = Organization(name=kit.name())
        session.add(other)
        session.flush()
        theirs = {"name": "theirs", "stages": [stage(UNCUT)], "created": current_timestamp()}
        session.add(SavedPipeline(organization_id=other.id, **theirs))
    for name in ("theirs", "nobody's", ""):
        body = {"jobName": kit.name(), "pipelineName": name, "initialInputs": ["ACGT"]}
        assert "saved pipeline" in kit.error_message(api.post("run-pipeline", body), 404)


@pytest.mark.parametrize(
    ("saved", "end"),
    [
        (["fold", "helix-to-modes"], "did you mean 'helix-to-modes'?"),
        ([], "no pipeline is saved."),
        ([*"jihgfedcba"], "available: a, b, c, d, e, f, g, h, i, j."),
        ([*"kjihgfedcba"], "available: a, b, c, d, e, f, g, h, i, j, …."),
    ],
)
def test_unknown_saved_pipeline_suggests_a_similar_or_the_existing_names(site, student, saved, end):
    with site.database.write() as session:
        session.execute(delete(SavedPipeline))
        for name in saved:
            row = SavedPipeline(name=name, stages=[stage(UNCUT)], created=current_timestamp())
            row.organization_id = student.organization_id
            session.add(row)
    body = {"jobName": "run", "pipelineName": "helix-to-mode", "initialInputs": ["ACGT"]}
    with pytest.raises(HTTPException) as raised:
        run_pipeline(site, student, orjson.dumps(body))
    assert raised.value.detail.endswith(f" in your organization; {end}"), raised.value.detail
