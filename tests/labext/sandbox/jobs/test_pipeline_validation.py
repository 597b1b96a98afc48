"""Pipelines without workers: validation, and transitions when jobs end."""

from __future__ import annotations

import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select
from starlette.exceptions import HTTPException

from labext.sandbox.core.queue import Task, TaskOutcome
from labext.sandbox.jobs import job_creation, parent_jobs, service, usage
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.pipelines import schemas
from labext.sandbox.jobs.pipelines import service as submission
from labext.sandbox.jobs.tables import Account, Job
from labext.sandbox.jobs.tools import catalogue
from labext.sandbox.jobs.tools.tool import Tool

HELIX = {"peptide_build": {"sequence": "pipe", "conformation": "helix"}}
MODES = {"normal_modes": {"pdbFile": "pipe"}}
CUT = {"digest": {"sequence": "pipe", "enzymes": "EcoRI"}}
ALIGN_PAIR = {"align_pair": {"sequence1": "pipe", "sequence2": "A"}}
TWO = [{"task": "Build", "toolSettings": HELIX}, {"task": "Score", "toolSettings": MODES}]
PDB = "ATOM      1  CA  ALA A   1       0.000   0.000   0.000  1.00  0.00           C\n"


def submit(site, student, name="p", inputs=("ACDEF",), stages=TWO):
    body = {"jobName": name, "initialInputs": [*inputs], "stages": stages}
    return submission.submit_pipeline(site, student, orjson.dumps(body))


def finish(site, name, outcome="done", files=("peptide.pdb",), seconds=36.0, content=None):
    """End the task of a job as if it had run."""
    with site.database.write() as session:
        job = named(session, name)
        out = job_files.output_folder(site, job.id)
        out.mkdir(parents=True, exist_ok=True)
        for file in files:
            (out / file).write_text(content or PDB)
        task = site.queue.find(session, job_creation.run_key(job.id))
        reason = "" if outcome == "done" else "It broke."
        site.queue.finish(session, task, TaskOutcome(outcome, reason, {"n": 1}, seconds))


def named(session, name):
    return session.scalars(select(Job).where(Job.name == name)).one()


def row(site, name):
    with site.database.read() as session:
        return named(session, name)


def waiting(site):
    """Return the names of the queued jobs and of the pipelines being aggregated."""
    with site.database.read() as session:
        tasks = session.scalars(select(Task).order_by(Task.id)).all()
        return [session.get_one(Job, task.payload["job"]).name for task in tasks]


def test_end_of_a_stage_starts_the_next_with_its_files(site, student):
    submit(site, student, inputs=["ACDEF", "FEDCA"])
    finish(site, "p-stage1-peptide_build-1")
    assert waiting(site) == ["p-stage1-peptide_build-2"]
    finish(site, "p-stage1-peptide_build-2")
    assert waiting(site) == ["p-stage2-normal_modes-1", "p-stage2-normal_modes-2"]
    assert row(site, "p").stage_text == "2 of 2: Score"
    job = row(site, "p-stage2-normal_modes-2")
    input_file = job_files.inputs_folder(site, job.id) / "pdbFile" / "peptide.pdb"
    assert input_file.read_text() == PDB
    assert orjson.loads(job.settings) == {"pdbFile": "p-stage1-peptide_build-2/peptide.pdb"}


def test_tool_runs_once_for_each_input_and_each_piped_output(site, student):
    submit(site, student, inputs=["ACDEF", "FEDCA"], stages=[*TWO, TWO[1]])
    for n in (1, 2):
        finish(site, f"p-stage1-peptide_build-{n}")
    for n in (1, 2):
        finish(site, f"p-stage2-normal_modes-{n}", files=["mode1.pdb", "mode2.pdb"])
    jobs = [f"p-stage3-normal_modes-{n}" for n in (1, 2, 3, 4)]
    assert waiting(site) == jobs
    assert [orjson.loads(row(site, job).settings)["pdbFile"] for job in jobs] == [
        f"p-stage2-normal_modes-{job}/mode{mode}.pdb" for job in (1, 2) for mode in (1, 2)
    ]


def test_tool_without_a_pipe_runs_once(site, student):
    fixed = {"peptide_build": {"sequence": "AAAAAA"}, **CUT}
    submit(site, student, inputs=["ACGT", "ACGA"], stages=[{"task": "A", "toolSettings": fixed}])
    assert waiting(site) == ["p-stage1-peptide_build", "p-stage1-digest-1", "p-stage1-digest-2"]


@pytest.mark.parametrize(("inputs", "jobs"), [(5, 100), (6, 120)])
def test_stage_of_more_than_100_jobs_does_not_start(site, student, inputs, jobs):
    submit(site, student, inputs=["ACDEF"] * inputs, stages=[*TWO, TWO[1]])
    for n in range(1, inputs + 1):
        finish(site, f"p-stage1-peptide_build-{n}")
    for n in range(1, inputs + 1):
        finish(site, f"p-stage2-normal_modes-{n}", files=[f"mode{k}.pdb" for k in range(20)])
    assert len(waiting(site)) == (100 if jobs == 100 else 0)
    if jobs > 100:
        reason = row(site, "p").reason
        assert reason.startswith("Stage 3 (Score) could not start: it would have 120 jobs")
        assert "at most 100 are allowed" in reason


@pytest.mark.parametrize(
    ("action", "others", "reason"),
    [
        ("stop", 1, "1 of 2 jobs did not complete: p-stage1-peptide_build-2: Stopped by hand."),
        ("delete", 1, None),
        ("stop", 0, "Stage 1 (Build) failed: p-stage1-peptide_build: Stopped by hand."),
        ("delete", 0, "Stage 1 (Build) failed: p-stage1-peptide_build: It was deleted."),
    ],
)
def test_stopped_or_deleted_job_ends_its_own_branch_only(site, student, action, others, reason):
    submit(site, student, inputs=["ACDEF"] * (1 + others), stages=TWO[:1] if others else TWO)
    if others:
        finish(site, "p-stage1-peptide_build-1")
    body = orjson.dumps({"jobName": "p-stage1-peptide_build" + "-2" * others})
    if action == "stop":
        service.stop_job(site, student, body)
    else:
        service.delete_job(site, student, body, None)
    parent = row(site, "p")
    assert parent.reason == reason
    assert (parent.status, waiting(site)) == (("In Queue", ["p"]) if others else ("Stopped", []))


def test_stage_starts_on_a_retry_after_a_failed_commit(site, student, monkeypatch):
    """A commit fails once, as on a full disk; the job's end is processed again."""
    submit(site, student)

    add_usage = usage.add_usage

    def full(*args, **more):
        if "jobs" in more:
            raise OSError(28, "No space left on device")
        add_usage(*args, **more)

    before = job_files.inputs_folder(site, row(site, "p-stage1-peptide_build").id)
    before.mkdir(parents=True, exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(usage, "add_usage", full)
        with pytest.raises(OSError, match="No space"):
            finish(site, "p-stage1-peptide_build")
    assert before.is_dir()
    assert row(site, "p").stage == 1
    assert waiting(site) == ["p-stage1-peptide_build"]
    finish(site, "p-stage1-peptide_build")
    assert waiting(site) == ["p-stage2-normal_modes"]
    assert not before.exists()


def test_pipeline_is_complete_once_its_archive_exists(site, student):
    submit(site, student)
    finish(site, "p-stage1-peptide_build")
    finish(site, "p-stage2-normal_modes")
    parent = row(site, "p")
    assert (parent.status, parent.batch_status) == ("In Queue", None)  # tasks are not started here
    assert waiting(site) == ["p"]
    with site.database.write() as session:
        task = site.queue.find(session, parent_jobs.aggregate_key(parent.id))
        site.queue.finish(session, task, TaskOutcome("done", result={"bytes": 7}))
    parent = row(site, "p")
    assert (parent.status, parent.bytes) == ("Complete", 7)
    assert parent.weighted_hours == pytest.approx(0.02)


def built(site, name, size):
    """End the aggregation of a parent; return the jobs of the archive."""
    with site.database.write() as session:
        task = site.queue.find(session, parent_jobs.aggregate_key(named(session, name).id))
        jobs = [part["name"] for part in task.payload["parts"]]
        site.queue.finish(session, task, TaskOutcome("done", result={"bytes": size}))
    return jobs


def test_archive_is_rebuilt_without_a_job_deleted_during_aggregation(site, student):
    submit(site, student)
    finish(site, "p-stage1-peptide_build")
    finish(site, "p-stage2-normal_modes")
    service.delete_job(site, student, b'{"jobName": "p-stage2-normal_modes"}', None)
    assert built(site, "p", 9) == ["stage1-peptide_build", "stage2-normal_modes"]
    parent = row(site, "p")
    assert (parent.status, parent.bytes, waiting(site)) == ("In Queue", 0, ["p"])
    assert built(site, "p", 7) == ["stage1-peptide_build"]
    parent = row(site, "p")
    assert (parent.status, parent.bytes, waiting(site)) == ("Complete", 7, [])
    assert parent.weighted_hours == pytest.approx(0.02)


def test_archive_of_a_complete_pipeline_is_rebuilt_after_each_deletion(site, student):
    submit(site, student, inputs=["ACDEF", "FEDCA"], stages=TWO[:1])
    for n in (1, 2):
        finish(site, f"p-stage1-peptide_build-{n}")
    built(site, "p", 7)
    service.delete_job(site, student, b'{"jobName": "p-stage1-peptide_build-1"}', None)
    parent = row(site, "p")
    assert (parent.status, parent.completed, parent.bytes) == ("Running", None, 7)
    service.delete_job(site, student, b'{"jobName": "p-stage1-peptide_build-2"}', None)
    assert built(site, "p", 5) == ["stage1-peptide_build-2"]
    parent = row(site, "p")
    assert (parent.status, parent.reason) == ("Stopped", "All its jobs were deleted.")
    assert (parent.bytes, waiting(site)) == (0, [])


def test_deleting_a_job_of_an_earlier_stage_starts_nothing_twice(site, student):
    submit(site, student)
    finish(site, "p-stage1-peptide_build")
    service.delete_job(site, student, b'{"jobName": "p-stage1-peptide_build"}', None)
    assert waiting(site) == ["p-stage2-normal_modes"]
    finish(site, "p-stage2-normal_modes")
    assert waiting(site) == ["p"]
    assert row(site, "p").weighted_hours == pytest.approx(0.02)


@pytest.mark.parametrize("outcome", ["failed", "stopped"])
def test_stage_continues_without_a_failed_job(site, student, outcome):
    submit(site, student, inputs=["ACDEF"] * 3)
    finish(site, "p-stage1-peptide_build-2", outcome)
    assert waiting(site) == ["p-stage1-peptide_build-1", "p-stage1-peptide_build-3"]
    finish(site, "p-stage1-peptide_build-1")
    finish(site, "p-stage1-peptide_build-3")
    assert waiting(site) == ["p-stage2-normal_modes-1", "p-stage2-normal_modes-2"]
    settings = [
        orjson.loads(row(site, f"p-stage2-normal_modes-{n}").settings)["pdbFile"] for n in (1, 2)
    ]
    assert settings == [f"p-stage1-peptide_build-{n}/peptide.pdb" for n in (1, 3)]
    parent = row(site, "p")
    assert (parent.status, parent.reason) == ("In Queue", None)


@pytest.mark.parametrize("outcome", ["failed", "stopped"])
def test_pipeline_stops_if_all_jobs_of_a_stage_fail(site, student, outcome):
    submit(site, student, inputs=["ACDEF"] * 3)
    for n in (3, 1, 2):
        finish(site, f"p-stage1-peptide_build-{n}", outcome)
    assert waiting(site) == []
    parent = row(site, "p")
    assert parent.reason == "Stage 1 (Build) failed: p-stage1-peptide_build-1: It broke."
    assert parent.weighted_hours == pytest.approx(0.03)
    with site.database.read() as session:
        states = session.execute(select(Job.status, func.count()).group_by(Job.status)).all()
    assert [tuple(state) for state in states] == [("Stopped", 4)]


def test_pipeline_stops_if_all_jobs_of_the_last_stage_fail(site, student):
    submit(site, student, inputs=["ACDEF", "FEDCA"])
    for n in (1, 2):
        finish(site, f"p-stage1-peptide_build-{n}")
    for n in (1, 2):
        finish(site, f"p-stage2-normal_modes-{n}", "failed")
    parent = row(site, "p")
    assert parent.status == "Stopped"
    assert parent.reason == "Stage 2 (Score) failed: p-stage2-normal_modes-1: It broke."
    assert waiting(site) == []


def test_job_with_unsuitable_input_is_stopped_and_counts_no_usage(site, student):
    cut = {"task": "Cut", "toolSettings": {"digest": {"sequence": "pipe", "enzymes": "EcoRI"}}}
    submit(site, student, inputs=["ACGT", "ACGA"], stages=[cut, cut])
    finish(site, "p-stage1-digest-1", files=["fragments.fasta"])
    out = job_files.output_folder(site, row(site, "p-stage1-digest-1").id)
    (out / "fragments.fasta").write_text(">a\nACGT\n")
    finish(site, "p-stage1-digest-2", files=["fragments.fasta"])
    assert waiting(site) == ["p-stage2-digest-1"]
    refused = row(site, "p-stage2-digest-2")
    assert refused.status == "Stopped"
    assert "takes one sequence, but fragments.fasta has 0" in (refused.reason or "")
    assert orjson.loads(refused.settings) == {
        "sequence": "p-stage1-digest-2/fragments.fasta",
        "enzymes": "EcoRI",
    }
    used = usage.usage_statistics(site, student, {"statistic": "jobs"})
    assert used["byTool"] == {"digest": 3}


def test_pipeline_stops_if_a_stage_has_no_output_to_pass_on(site, student):
    submit(site, student)
    finish(site, "p-stage1-peptide_build", files=["other.txt"])
    assert row(site, "p").reason == (
        "Stage 2 (Score) could not start: normal_modes: the previous stage has no suitable output."
    )
    assert waiting(site) == []


@pytest.mark.parametrize(
    ("after", "content", "reason"),
    [
        (CUT, ">a\nA\n>b\nG\n", "Setting sequence takes one sequence, but fragments.fasta has 2"),
        (ALIGN_PAIR, f">a\n{'A' * 5001}", "sequence1:"),
    ],
)
def test_pipeline_stops_if_no_output_is_accepted(site, student, after, content, reason):
    stages = [{"task": "Cut", "toolSettings": CUT}, {"task": "Again", "toolSettings": after}]
    submit(site, student, inputs=["ACGT"], stages=stages)
    finish(site, "p-stage1-digest", files=["fragments.fasta"], content=content)
    (tool,) = after
    assert row(site, "p").reason.startswith(
        f"Stage 2 (Again) could not start: {tool}, p-stage1-digest/fragments.fasta: {reason}"
    )


def test_failed_tool_does_not_stop_the_other_tools_of_a_stage(site, student):
    both = {"task": "Both", "toolSettings": {**HELIX, **CUT}}
    after = {"task": "Next", "toolSettings": {**MODES, **CUT}}
    submit(site, student, inputs=["ACGT"], stages=[both, after])
    finish(site, "p-stage1-peptide_build", "failed")
    finish(site, "p-stage1-digest", files=["fragments.fasta"], content=">a\nACGT\n")
    assert waiting(site) == ["p-stage2-digest"]
    refused = row(site, "p-stage2-normal_modes")
    assert (refused.status, refused.reason) == (
        "Stopped",
        "normal_modes: the previous stage has no suitable output.",
    )


def test_pipeline_stops_if_the_name_of_a_job_is_taken(site, student):
    submit(site, student)
    submit(site, student, name="p-stage2-normal_modes")
    finish(site, "p-stage1-peptide_build")
    assert row(site, "p").reason == (
        "Stage 2 (Score) could not start: Job name p-stage2-normal_modes is already taken."
    )
    assert waiting(site) == ["p-stage2-normal_modes-stage1-peptide_build"]


def test_jobs_of_a_pipeline_count_as_usage(site, student):
    submit(site, student, inputs=["ACDEF", "FEDCA"])
    finish(site, "p-stage1-peptide_build-1")
    used = usage.usage_statistics(site, student, {"statistic": "jobs"})
    assert used["byTool"] == {"peptide_build": 2}
    finish(site, "p-stage1-peptide_build-2")
    used = usage.usage_statistics(site, student, {"statistic": "jobs"})
    assert used["byTool"] == {"peptide_build": 2, "normal_modes": 2}
    assert usage.usage_statistics(site, student, {})["total"] == pytest.approx(0.02)
    assert row(site, "p").weighted_hours == pytest.approx(0.02)


def test_account_over_its_budget_cannot_submit_pipelines(site, student):
    with site.database.write() as session:
        session.get_one(Account, student.id).budget = 0.0
    for send, more in (
        (submission.submit_pipeline, {"stages": TWO}),
        (submission.run_pipeline, {"pipelineName": "helix-to-modes"}),
    ):
        body = orjson.dumps({"jobName": "p", "initialInputs": ["ACDEF"]} | more)
        with pytest.raises(HTTPException, match="budget") as caught:
            send(site, student, body)
        assert caught.value.status_code == 403


def test_pipeline_stops_if_a_tool_is_no_longer_installed(site, student, monkeypatch):
    submit(site, student)
    tools = [tool for tool in catalogue.all_tools() if tool.name != "normal_modes"]
    monkeypatch.setattr(catalogue, "all_tools", lambda: tools)
    finish(site, "p-stage1-peptide_build")
    assert row(site, "p").reason == (
        "Stage 2 (Score) could not start: there is no tool 'normal_modes'; GET /tools lists them."
    )


def test_missing_package_of_a_stage_names_the_extra_to_install(site, student, monkeypatch):
    submit(site, student)
    monkeypatch.setattr(Tool, "missing_modules", lambda tool: ["no_such_package_here"])
    finish(site, "p-stage1-peptide_build")
    assert re.fullmatch(
        r"Stage 2 \(Score\) could not start: the tool 'normal_modes' is not installed; run "
        r'`\S+ -m pip install "labext-jupyter\[sandbox\]"`\.',
        row(site, "p").reason,
    )
    with pytest.raises(HTTPException, match=r"the tool 'peptide_build' is not installed; run `"):
        submit(site, student, "q")


@pytest.mark.parametrize("withdrawn", [True, False])
def test_pipeline_stops_if_a_permission_is_withdrawn(site, student, withdrawn):
    with site.database.write() as session:
        session.get_one(Account, student.id).gates = ["advanced"]
    student.gates = ["advanced"]
    modes = {"normal_modes": {"pdbFile": "pipe", "springs": "distance"}}
    submit(site, student, stages=[TWO[0], {"task": "Score", "toolSettings": modes}])
    if withdrawn:
        with site.database.write() as session:
            session.get_one(Account, student.id).gates = []
    finish(site, "p-stage1-peptide_build")
    assert ("Setting 'springs' is unknown" in (row(site, "p").reason or "")) == withdrawn
    assert waiting(site) == ([] if withdrawn else ["p-stage2-normal_modes"])


def test_refused_pipeline_leaves_no_row_and_no_file(site, student):
    with pytest.raises(HTTPException):
        submit(site, student, inputs=["ACDEF", "B!"])
    with site.database.read() as session:
        assert session.scalars(select(Job)).all() == []
    assert list((site.folder / "jobs").iterdir()) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["pipe", "", "a\nb"])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["task", "toolSettings", "digest", "normal_modes", "pdbFile", "sequence"])
        | st.text(max_size=5),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
SETTINGS = st.dictionaries(
    st.sampled_from(["pdbFile", "sequence", "enzymes", "cutoff", "conformation", "phi", "modes"]),
    st.just("pipe") | VALUES,
    max_size=4,
)
TOOLS = st.dictionaries(
    st.sampled_from(["digest", "normal_modes", "peptide_build", "align_pair"]), SETTINGS, max_size=3
)
STAGES = st.lists(st.fixed_dictionaries({"task": st.just("a"), "toolSettings": TOOLS}), max_size=3)


@given(VALUES | STAGES)
def test_any_stages_are_valid_or_have_a_one_line_error(stages):
    error = schemas.pipeline_error(stages, [])
    if error is None:
        assert schemas.load_stages(stages) == schemas.read_stages(stages, [])
    else:
        assert error.endswith(".")
        assert "\n" not in error


def test_error_names_the_outputs_of_the_previous_stage():
    stages = [
        {"task": "Cut", "toolSettings": {"digest": {"sequence": "pipe", "enzymes": "EcoRI"}}},
        TWO[1],
    ]
    assert schemas.pipeline_error(stages, []) == (
        'Stage 2 (Score), normal_modes: setting pdbFile is "pipe", but the previous stage has no '
        "suitable output of protein structure; it passes on fragments.fasta (DNA)."
    )
    assert schemas.pipeline_error(TWO, []) is None


ALIGN = {"msa_tree": {"sequences": "pipe", "molecule": "protein"}}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (HELIX, CUT, "no suitable output of DNA; it passes on peptide.pdb"),
        (
            {"codon_optimise": {"sequence": "pipe"}},
            HELIX,
            "no suitable output of protein; it passes on optimised.fasta (DNA)",
        ),
        ({"gene_find": {"sequences": "pipe"}}, CUT, "proteins.fasta (protein)"),
        ({"conformers": {"smiles": "pipe"}}, MODES, "rank_1.pdb (small molecule)"),
        ({"gene_find": {"sequences": "pipe"}}, ALIGN, None),
        (
            {"gene_find": {"sequences": "pipe"}},
            {"msa_tree": {"sequences": "pipe"}},
            "no suitable output of DNA or",
        ),
        ({**HELIX, **CUT}, CUT, None),
    ],
)
def test_pipe_without_an_output_of_its_kind_is_refused_at_submission(before, after, message):
    stages = [{"task": "A", "toolSettings": before}, {"task": "B", "toolSettings": after}]
    tools = {name for stage in (before, after) for name in stage}
    if absent := tools - catalogue.available_tools().keys():
        pytest.skip(f"not installed: {absent}")
    error = schemas.pipeline_error(stages, [])
    if message is None:
        assert error is None
    else:
        assert message in (error or "")


def test_tool_accepts_only_outputs_of_its_kind_from_a_stage(site, student):
    both = {"task": "Both", "toolSettings": {**HELIX, **CUT}}
    submit(site, student, inputs=["ACGT"], stages=[both, {"task": "Cut", "toolSettings": CUT}])
    finish(site, "p-stage1-peptide_build")
    finish(site, "p-stage1-digest", files=["fragments.fasta"])
    with site.database.read() as session:
        stage2 = session.scalars(select(Job).where(Job.stage == 2, Job.type == "digest")).all()
    assert len(stage2) == 1, "only the FASTA file, not the text of the PDB file"
    assert "fragments.fasta" in (stage2[0].reason or "")


def test_condition_on_a_piped_setting_is_checked_later():
    custom = {"sequence": "AC", "conformation": "pipe", "phi": [1, 2], "psi": [1, 2]}
    stages = [{"task": "Build", "toolSettings": {"peptide_build": custom}}]
    assert schemas.pipeline_error(stages, []) is None


@pytest.mark.parametrize(("length", "good"), [(76, True), (77, False)])
def test_names_of_later_jobs_must_not_be_too_long(length, good):
    stages = schemas.load_stages(TWO)
    name = "x" * length
    if good:
        schemas.check_job_names(name, stages, 1)
        return
    with pytest.raises(HTTPException, match="jobName is too long"):
        schemas.check_job_names(name, stages, 1)
