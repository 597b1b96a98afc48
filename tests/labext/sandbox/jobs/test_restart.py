"""After a kill, the service continues without losing or repeating anything."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.contract


@pytest.mark.data_folder
def test_jobs_batches_files_and_urls_survive_kills(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    single = api.submit("digest", kit.cut())
    row = api.ended(single)
    api.upload("a.txt", b"a")
    address = api.address(single)
    folds = [{"sequence": kit.SLOW["sequence"][: 250 + n]} for n in range(10)]
    name = api.batch(folds, type="rna_fold")
    api.until(name, lambda parent: parent["statuses"]["Complete"] >= 3)
    api = kit.kill_and_restart(box)
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"] == {"Complete": 10, "Running": 0, "In Queue": 0, "Stopped": 0}
    assert len(api.archive(name).read("metrics.csv").splitlines()) == 11
    assert len(api.rows(includeSubjobs="true")) == 1 + 11
    assert api.row(single) == row
    assert api.get("files").json() == ["a.txt"]
    assert api.session.get(address, timeout=30).status_code == 200
    assert not list((box.data_dir / "jobs").rglob("*.part"))
