"""POST /submit-pipeline and /run-pipeline: stages, what they hand on, how a pipeline ends."""

from __future__ import annotations

import csv
import io
from typing import Any

import psutil
import pytest

from labext.sandbox.core.database import Database
from labext.sandbox.jobs.tables import Organization, SavedPipeline, current_timestamp

pytestmark = pytest.mark.contract

PEPTIDE = "ACDEFGHIKLMNPQRSTVWY"
HELIX = {"peptide_build": {"sequence": "pipe", "conformation": "helix"}}
MODES = {"normal_modes": {"pdbFile": "pipe"}}
UNCUT = {"digest": {"sequence": "pipe", "enzymes": "EcoRI"}}
"""Its one fragment, where there is no site in the sequence, is what the next stage cuts."""

ISSUE = [
    {"task": "Structure Prediction", "toolSettings": HELIX},
    {
        "task": "Scoring PDB",
        "toolSettings": {"structure_summary": {"pdbFile": "pipe"}, **MODES},
    },
]
SLOW = {"task": "Fold", "toolSettings": {"rna_fold": {"sequence": "pipe"}}}
AFTER = {"task": "Build", "toolSettings": {"peptide_build": {"sequence": "AAAAAA"}}}


def stage(tools, task="Step"):
    return {"task": task, "toolSettings": tools}


def submit(api, kit, stages, inputs, **more):
    name = kit.name()
    body = {"jobName": name, "initialInputs": inputs, "stages": stages} | more
    answer = api.post("submit-pipeline", body)
    assert answer.status_code == 200, answer.text
    assert answer.text == f"{name} submitted to queue."
    return name


def names(api, pipeline):
    """The pipeline's jobs without its name, in order."""
    return [row["JobName"].removeprefix(f"{pipeline}-") for row in api.rows(batch=pipeline)]


def test_the_first_example_runs_its_tools_side_by_side(api, kit):
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


def test_the_second_example_runs_what_is_saved(api, kit):
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


def test_the_archive_has_a_folder_a_job_and_the_metrics_of_all(api, kit):
    name = submit(api, kit, [stage(HELIX), stage(MODES)], [PEPTIDE, PEPTIDE[::-1]])
    assert api.ended(name)["JobStatus"] == "Complete"
    archive = api.archive(name)
    parts = [
        f"stage{k}-{tool}-{n}"
        for k, tool in ((1, "peptide_build"), (2, "normal_modes"))
        for n in (1, 2)
    ]
    assert {entry.split("/")[0] for entry in archive.namelist()} == {"metrics.csv", *parts}
    table = csv.DictReader(io.StringIO(archive.read("metrics.csv").decode()))
    assert [line["job"] for line in table] == parts
    one = api.session.get(api.address(name, fileName="stage1-peptide_build-2/peptide.pdb"))
    assert one.content == archive.read("stage1-peptide_build-2/peptide.pdb")
    pdbs = api.archive(name, pdbsOnly=True).namelist()
    assert len(pdbs) == 2 + 2 * 3
    assert all(pdb.endswith(".pdb") for pdb in pdbs)


def test_each_input_goes_through_on_its_own_and_each_output_on(api, kit):
    modes = {"normal_modes": {"pdbFile": "pipe", "modes": 2}}
    name = submit(api, kit, [stage(HELIX), stage(modes), stage(MODES)], [PEPTIDE, PEPTIDE[:12]])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert names(api, name) == [
        *(f"stage1-peptide_build-{n}" for n in (1, 2)),
        *(f"stage2-normal_modes-{n}" for n in (1, 2)),
        *(f"stage3-normal_modes-{n}" for n in (1, 2, 3, 4)),
    ]
    taken = [kit.json(job["Settings"])["pdbFile"] for job in api.rows(batch=name)[4:]]
    assert taken == [
        f"{name}-stage2-normal_modes-{job}/mode{mode}.pdb" for job in (1, 2) for mode in (1, 2)
    ]


def test_a_tool_without_a_pipe_runs_once_beside_the_others(api, kit):
    fixed = {"peptide_build": {"sequence": "AAAAAA"}, **UNCUT}
    name = submit(api, kit, [stage(fixed)], ["ACGT", "ACGA"])
    assert api.ended(name)["JobStatus"] == "Complete"
    assert names(api, name) == ["stage1-peptide_build", "stage1-digest-1", "stage1-digest-2"]


def test_a_tool_gets_what_it_takes_of_what_stands_side_by_side(api, kit):
    both = {"peptide_build": {"sequence": "pipe"}, **UNCUT}
    name = submit(api, kit, [stage(both), stage(MODES)], ["ACGTACGT", "GGGGGGGG"])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    taken = [kit.json(job["Settings"])["pdbFile"] for job in api.rows(batch=name)[4:]]
    assert taken == [f"{name}-stage1-peptide_build-{n}/peptide.pdb" for n in (1, 2)]


def test_a_sequence_goes_on_out_of_a_fasta_file(api, kit):
    name = submit(api, kit, [stage(UNCUT)] * 3, ["ACGTACGT"])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    last = api.rows(batch=name)[-1]
    assert kit.json(last["Settings"]) == {"sequence": "ACGTACGT", "enzymes": "EcoRI"}


def test_an_input_is_an_uploaded_file_an_earlier_output_or_the_content(api, kit):
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


def test_a_later_stage_keeps_what_it_takes_of_an_earlier_one(api, kit):
    name = submit(api, kit, [stage(HELIX), stage(MODES), stage(MODES)], [PEPTIDE])
    api.until(name, lambda row: row["Stage"].startswith("2"))
    assert api.delete("delete-job", {"jobName": f"{name}-stage1-peptide_build"}).status_code == 200
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert row["statuses"]["Complete"] == 4


def test_a_failed_job_ends_the_pipeline_with_its_reason(api, kit):
    stages = [stage(HELIX), stage(MODES, "Scoring PDB"), stage(MODES)]
    name = submit(api, kit, stages, ["AC"])
    row = api.ended(name)
    assert row["JobStatus"] == "Stopped"
    assert row["Reason"].startswith(
        f"Stage 2 (Scoring PDB) failed: {name}-stage2-normal_modes: pdbFile: "
    )
    assert names(api, name) == ["stage1-peptide_build", "stage2-normal_modes"]
    answer = kit.sentence(api.post("result", {"jobName": name}))
    assert answer == f"Job {name} is not complete. Status: Stopped"


def test_one_failing_input_does_not_stop_the_others(api, kit):
    stages = [stage(HELIX, "Build"), stage(MODES, "Score")]
    name = submit(api, kit, stages, [PEPTIDE, "AC", PEPTIDE[::-1]])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert row["statuses"] == {"Complete": 5, "Running": 0, "In Queue": 0, "Stopped": 1}
    failed = f"{name}-stage2-normal_modes-2"
    reason = api.row(failed)["Reason"]
    assert "2 residues" in reason
    assert row["Reason"] == f"1 of 6 jobs did not complete: {failed}: {reason}"
    archive = api.archive(name)
    table = csv.DictReader(io.StringIO(archive.read("metrics.csv").decode()))
    assert [line["status"] for line in table] == ["Complete"] * 4 + ["Stopped", "Complete"]
    folders = {entry.split("/")[0] for entry in archive.namelist()}
    assert {"stage2-normal_modes-1", "stage2-normal_modes-3"} <= folders
    assert "stage2-normal_modes-2" not in folders


def test_a_failed_job_hands_nothing_to_the_next_stage(api, kit):
    stages = [stage(HELIX), stage(MODES), stage({"structure_summary": {"pdbFile": "pipe"}})]
    name = submit(api, kit, stages, [PEPTIDE, "AC"])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    taken = [kit.json(job["Settings"])["pdbFile"] for job in api.rows(batch=name)[4:]]
    assert len(taken) == 3, "three modes of the first input"
    assert all(path.startswith(f"{name}-stage2-normal_modes-1/") for path in taken)


def test_an_output_that_does_not_fit_fails_its_own_branch_only(api, kit):
    cut = {"digest": {"sequence": "pipe", "enzymes": "EcoRI"}}
    name = submit(api, kit, [stage(cut), stage(cut)], ["AAGAATTCAAGAATTCAA", "ACGTACGT"])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert names(api, name)[2:] == ["stage2-digest-1", "stage2-digest-2"]
    refused, good = api.rows(batch=name)[2:]
    assert (refused["JobStatus"], good["JobStatus"]) == ("Stopped", "Complete")
    assert "takes one sequence, and fragments.fasta has 3" in refused["Reason"]
    assert kit.json(refused["Settings"]) == {
        "sequence": f"{name}-stage1-digest-1/fragments.fasta",
        "enzymes": "EcoRI",
    }
    assert refused["JobName"] in row["Reason"]


def test_a_tool_that_fails_does_not_stop_the_tools_beside_it(api, kit):
    tools = {"normal_modes": {"pdbFile": "ATOM  "}, **UNCUT}
    name = submit(api, kit, [stage(tools, "Mixed")], ["ACGTACGT", "ACGT"])
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert row["statuses"]["Complete"] == 2
    assert f"{name}-stage1-normal_modes" in row["Reason"]


def test_a_stage_of_more_than_a_hundred_jobs_does_not_start(api, kit):
    modes = {"normal_modes": {"pdbFile": "pipe", "modes": 20}}
    name = submit(api, kit, [stage(HELIX), stage(modes), stage(MODES, "Again")], [PEPTIDE] * 6)
    row = api.ended(name)
    assert row["JobStatus"] == "Stopped"
    assert row["Reason"].startswith("Stage 3 (Again) could not start: it would have 120 jobs")
    assert "at most 100 are allowed" in row["Reason"]
    assert row["statuses"]["Complete"] == 12


def test_what_does_not_fit_into_a_setting_ends_the_pipeline(api, kit):
    cut = {"digest": {"sequence": "pipe", "enzymes": "EcoRI"}}
    name = submit(api, kit, [stage(cut), stage(cut, "Again")], ["AAGAATTCAAGAATTCAA"])
    row = api.ended(name)
    assert row["Reason"] == (
        f"Stage 2 (Again) could not start: digest, {name}-stage1-digest/fragments.fasta: "
        "Setting sequence takes one sequence, and fragments.fasta has 3."
    )
    fold = stage({"rna_fold": {"sequence": "pipe"}}, "Fold")
    name = submit(api, kit, [stage(cut), fold], ["A" * 1001])
    row = api.ended(name)
    assert row["Reason"].startswith(
        f"Stage 2 (Fold) could not start: rna_fold, {name}-stage1-digest/fragments.fasta: sequence:"
    )


def test_stopping_a_pipeline_stops_its_jobs_and_starts_no_more(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = submit(api, kit, [SLOW, AFTER], [kit.SLOW["sequence"]] * 6)
    api.until(name, lambda row: row["statuses"]["Running"] == 2)
    assert api.row(name)["JobStatus"] == "Running"
    answer = api.post("stop-job", {"jobName": name})
    assert answer.json() == {"message": f"{name} is stopped."}
    assert working(box) == []
    row = api.row(name)
    assert (row["JobStatus"], row["Reason"]) == ("Stopped", "Stopped by hand.")
    assert row["statuses"] == {"Complete": 0, "Running": 0, "In Queue": 0, "Stopped": 6}
    assert row["WeightedHours"] == pytest.approx(
        sum(job["WeightedHours"] for job in api.rows(batch=name))
    )
    again = api.post("stop-job", {"jobName": name})
    assert again.json() == {"message": f"{name} is already Stopped."}
    assert api.row(name) == row


def test_deleting_a_running_pipeline_leaves_nothing(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    stages = [stage({"digest": UNCUT["digest"]}), SLOW]
    name = submit(api, kit, stages, [kit.SLOW["sequence"].replace("U", "T")] * 4)
    api.until(name, lambda row: row["Stage"].startswith("2") and row["statuses"]["Running"] > 0)
    assert api.delete("delete-job", {"jobName": name}).status_code == 200
    assert working(box) == []
    assert api.rows(includeSubjobs="true") == []
    assert list((box.data_dir / "jobs" / "jobs").iterdir()) == []
    for gone in (name, f"{name}-stage1-digest-1"):
        kit.sentence(api.get("jobs", jobName=gone), 404)
    submitted = api.post(
        "submit-pipeline", {"jobName": name, "initialInputs": ["ACGT"], "stages": stages[:1]}
    )
    assert submitted.status_code == 200
    assert api.ended(name)["JobStatus"] == "Complete"


@pytest.mark.parametrize("act", ["stop", "delete"])
def test_a_job_that_is_stopped_or_deleted_ends_its_own_branch_only(new_box, kit, act):
    api = kit.Api(new_box(workers=1))
    name = submit(api, kit, [SLOW], [kit.SLOW["sequence"]] * 2)
    api.until(name, lambda row: row["JobStatus"] == "Running")
    job = f"{name}-stage1-rna_fold-2"
    if act == "stop":
        api.post("stop-job", {"jobName": job})
    else:
        api.delete("delete-job", {"jobName": job})
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    stopped = f"1 of 2 jobs did not complete: {job}: Stopped by hand."
    assert row.get("Reason") == (stopped if act == "stop" else None)
    assert row["statuses"]["Complete"] == 1


@pytest.mark.parametrize("act", ["stop", "delete"])
def test_a_pipeline_whose_only_job_is_stopped_or_deleted_is_stopped(new_box, kit, act):
    api = kit.Api(new_box(workers=1))
    name = submit(api, kit, [SLOW, AFTER], [kit.SLOW["sequence"]])
    api.until(name, lambda row: row["JobStatus"] == "Running")
    job = f"{name}-stage1-rna_fold"
    if act == "stop":
        api.post("stop-job", {"jobName": job})
    else:
        api.delete("delete-job", {"jobName": job})
    row = api.ended(name)
    why = "Stopped by hand." if act == "stop" else "It was deleted."
    assert row["Reason"] == f"Stage 1 (Fold) failed: {job}: {why}"
    assert row["statuses"]["In Queue"] == row["statuses"]["Running"] == 0


@pytest.mark.parametrize("when", [1, 2])
def test_a_pipeline_survives_a_kill_of_the_service(new_box, kit, when):
    box = new_box(workers=2)
    api = kit.Api(box)
    name = submit(api, kit, [stage(HELIX), stage(MODES), stage(MODES)], [PEPTIDE] * 3)
    api.until(name, lambda row: row["Stage"].startswith(str(when)))
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    box.start()
    api = kit.Api(box)
    row = api.ended(name)
    assert row["JobStatus"] == "Complete", row
    assert row["statuses"] == {"Complete": 15, "Running": 0, "In Queue": 0, "Stopped": 0}
    listed = names(api, name)
    assert len(set(listed)) == 15
    assert len(api.archive(name).read("metrics.csv").splitlines()) == 16


def test_an_archive_over_the_quota_stops_the_pipeline(api, back, kit):
    with back.quota("student@sandbox.local", 100):
        name = submit(api, kit, [stage(UNCUT)], ["ACGT"])
        row = api.ended(name)
    assert row["JobStatus"] == "Stopped"
    assert row["Reason"].startswith("Its archive could not be built: The archive is too large")
    assert row["statuses"]["Complete"] == 1


def test_the_time_limit_of_all_jobs_holds(api, back, kit):
    with back.limit("job_seconds", 1):
        name = submit(api, kit, [SLOW], [kit.SLOW["sequence"]])
        row = api.ended(name)
    assert "time limit of 1 seconds" in row["Reason"]


def test_lists_show_a_pipeline_as_one_row(api, kit):
    name = submit(api, kit, [stage(UNCUT)], ["ACGT"], projectTag="proj_1")
    api.ended(name)
    assert name in [row["JobName"] for row in api.rows(limit=1)]
    every = [row["JobName"] for row in api.rows(limit=2, includeSubjobs="true")]
    assert every == [f"{name}-stage1-digest", name]
    assert {row["ProjectTag"] for row in api.rows(limit=2, includeSubjobs="true")} == {"proj_1"}
    job = f"{name}-stage1-digest"
    assert "batch" in kit.sentence(api.get("jobs", batch=job))
    assert api.row(job)["statuses"]["Complete"] == 1


def test_a_taken_name_is_refused(api, kit):
    name = submit(api, kit, [stage(UNCUT)], ["ACGT"])
    body = {"jobName": name, "initialInputs": ["ACGT"], "stages": [stage(UNCUT)]}
    said = kit.sentence(api.post("submit-pipeline", body))
    assert said == f"Job name {name} is already taken."
    other = api.submit("digest", kit.cut(), f"{kit.name()}-stage2-normal_modes")
    free = other.removesuffix("-stage2-normal_modes")
    body = {"jobName": free, "initialInputs": [PEPTIDE], "stages": [stage(HELIX), stage(MODES)]}
    assert other in kit.sentence(api.post("submit-pipeline", body))
    kit.sentence(api.get("jobs", jobName=free), 404)
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
def test_a_wrong_body_is_refused_with_its_place(api, kit, case):
    change, said = BAD[case]
    body = {"jobName": kit.name()} | GOOD | change
    assert said in kit.sentence(api.post("submit-pipeline", body))
    kit.sentence(api.get("jobs", jobName=body["jobName"]), 404)


@pytest.mark.parametrize("name", [None, "", "a b", "x" * 101, 7, "a\0b"])
@pytest.mark.parametrize("path", ["submit-pipeline", "run-pipeline"])
def test_a_wrong_name_is_refused(api, kit, path, name):
    body = {"jobName": name, "pipelineName": "helix-to-modes"} | GOOD
    assert "jobName" in kit.sentence(api.post(path, body))


def test_what_may_not_be_set_may_be_set_with_the_permission(api, teacher, kit):
    springs = {"normal_modes": {"pdbFile": "pipe", "springs": "distance"}}
    name = submit(teacher, kit, [stage(HELIX), stage(springs)], [PEPTIDE])
    assert teacher.ended(name)["JobStatus"] == "Complete"
    kit.sentence(api.get("jobs", jobName=name), 404)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pipelineName": None}, "pipelineName"),
        ({"pipelineName": 7}, "pipelineName"),
        ({"inputs": None}, "initialInputs"),
        ({"inputs": ["A!"]}, "Stage 1 (Structure Prediction): peptide_build"),
        ({"initialInputs": ["ACD"]}, "initialInputs and inputs"),
    ],
)
def test_a_wrong_run_is_refused(api, kit, change, said):
    body = {"jobName": kit.name(), "pipelineName": "helix-to-modes", "inputs": ["ACD"]} | change
    assert said in kit.sentence(api.post("run-pipeline", body))


def test_another_organizations_pipeline_is_not_there(box, api, kit):
    database = Database.at(box.data_dir / "sandbox.sqlite")
    try:
        with database.write() as session:
            other = Organization(name=kit.name())
            session.add(other)
            session.flush()
            session.add(
                SavedPipeline(
                    organization_id=other.id,
                    name="theirs",
                    stages=[stage(UNCUT)],
                    created=current_timestamp(),
                )
            )
    finally:
        database.close()
    for name in ("theirs", "nobody's", ""):
        body = {"jobName": kit.name(), "pipelineName": name, "initialInputs": ["ACGT"]}
        assert "saved pipeline" in kit.sentence(api.post("run-pipeline", body), 404)


def working(box):
    """The processes that work in a job's folder."""
    folder, found = str(box.data_dir / "jobs"), []
    for process in psutil.process_iter():
        try:
            if process.cwd().startswith(folder):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found
