"""A tool can have its own time limit."""

from __future__ import annotations

import pytest
from databases import open_database
from sqlalchemy import select

from labext.sandbox.core.queue import Task
from labext.sandbox.jobs.tools.catalogue import available_tools

pytestmark = pytest.mark.contract


def limits_of_waiting(box):
    database = open_database(box.data_dir)
    try:
        with database.read() as session:
            tasks = session.scalars(select(Task))
            return {task.payload["tool"]: task.max_seconds for task in tasks}
    finally:
        database.close()


def test_shortest_time_limit_applies(new_box, kit):
    box = new_box(workers=1)
    api = kit.Api(box)
    api.submit("rna_fold", kit.SLOW)  # keeps the only worker busy, so that the other jobs wait
    search = {"query": ">q\nMKTAYIAKQR\n", "targets": ">t\nMKTAYIAKQRQISFVK\n"}
    api.submit("hmm_search", search)
    api.batch([kit.cut()], maxRuntimeSeconds=30)
    limits = limits_of_waiting(box)
    assert limits["hmm_search"] == available_tools()["hmm_search"].seconds == 60
    assert limits["digest"] == 30
    assert limits["rna_fold"] == 15 * 60
