"""After a kill, the service continues without losing or repeating anything."""

from __future__ import annotations

import pytest

from labext.sandbox import Sandbox

pytestmark = [pytest.mark.contract, pytest.mark.data_folder]

MODES = {"task": "Score", "toolSettings": {"normal_modes": {"pdbFile": "pipe", "modes": 1}}}
STAGES = [
    {"task": "Build", "toolSettings": {"peptide_build": {"sequence": "pipe"}}},
    MODES,
    MODES,
]


@pytest.fixture(scope="module")
def box(tmp_path_factory, services):
    folder = tmp_path_factory.mktemp("killed") / "data"
    with Sandbox(folder, rate="off", workers=2, services=services) as box:
        yield box


@pytest.fixture(scope="module")
def before(box, kit):
    """Kill the service while a batch and a pipeline run; return what it had responded."""
    api = kit.Api(box)
    single = api.submit("digest", kit.cut())
    row = api.ended(single)
    api.upload("a.txt", b"a")
    address = api.address(single)
    inputs = ["ACDEFGHIKL", "MKTAYIAKQR"]
    body = {"jobName": "pipeline", "initialInputs": inputs, "stages": STAGES}
    api.accepted("submit-pipeline", body)
    folds = [{"sequence": kit.SLOW["sequence"][: 250 + n]} for n in range(6)]
    batch = api.batch(folds, type="rna_fold")
    api.until("pipeline", lambda row: row["Stage"].startswith("2"))
    kit.kill_and_restart(box)
    return {"row": row, "address": address, "batch": batch}


@pytest.fixture
def again(box, before, kit):
    return kit.Api(box)


def test_batch_continues_after_a_kill(again, before):
    parent = again.ended(before["batch"])
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"] == {"Complete": 6, "Running": 0, "In Queue": 0, "Stopped": 0}
    assert len(again.archive(before["batch"]).read("metrics.csv").splitlines()) == 1 + 6


def test_pipeline_continues_after_a_kill(again):
    row = again.ended("pipeline")
    assert row["JobStatus"] == "Complete", row
    assert row["statuses"] == {"Complete": 6, "Running": 0, "In Queue": 0, "Stopped": 0}
    assert len(again.archive("pipeline").read("metrics.csv").splitlines()) == 1 + 6


def test_rows_files_and_addresses_stay_valid_after_a_kill(box, again, before):
    for name in (before["batch"], "pipeline"):
        again.ended(name)
    assert len(again.rows(includeSubjobs="true")) == 1 + (1 + 6) + (1 + 6)
    assert again.row(before["row"]["JobName"]) == before["row"]
    assert again.get("files").json() == ["a.txt"]
    assert again.session.get(before["address"], timeout=30).status_code == 200
    assert not list((box.data_dir / "jobs").rglob("*.part"))
