"""Two kernels that run the same `%jobs` lines at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest
from two_sessions import run_in_two_sessions

from labext.jobs import JobsClient
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

JOBS = "{'j%03d' % i: {'sequence': 'ACDEFGHIKL', 'conformation': 'helix'} for i in range(120)}"
CELLS = [
    f"rows = {JOBS}",
    "%jobs batch both --type peptide_build --from rows",
    "%jobs watch both",
    "%jobs results both --to out",
    "%jobs results both --to out --file j000/peptide.pdb",
]


def test_batch_is_sent_and_downloaded_once(box: Sandbox, tmp_path: Path) -> None:
    printed = run_in_two_sessions(box, "jobs", CELLS, tmp_path)
    assert sum("both was submitted with 120 jobs" in text for text in printed) == 1
    with JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs:
        assert len(jobs.jobs(batch="both")) == 120
