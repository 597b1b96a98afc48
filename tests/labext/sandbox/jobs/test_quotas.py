"""Counting that loses nothing between processes."""

from __future__ import annotations

import contextlib
import subprocess
import sys

from labext.sandbox.jobs import usage
from labext.sandbox.jobs.tables import Account


def test_no_count_is_lost_among_processes(site, student):
    path = site.database.engine.url.database
    code = (
        "import sys; from pathlib import Path\n"
        "from labext.sandbox.core.database import Database; from labext.sandbox.jobs import usage\n"
        "database = Database.at(Path(sys.argv[1]))\n"
        "for _ in range(20):\n"
        "    with database.write() as session:\n"
        "        usage.count_submitted(session, int(sys.argv[2]), 'digest', 2)\n"
        "        usage.charge_hours(session, int(sys.argv[2]), 'digest', 0.5)\n"
        "database.close()\n"
    )
    command = [sys.executable, "-c", code, str(path), str(student.id)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    told = usage.usage_statistics(site, student, {"statistic": "jobs"})
    assert told["byTool"] == {"digest": 80}
    assert usage.usage_statistics(site, student, {})["total"] == 20


def test_an_account_that_is_gone_is_charged_nothing(site):
    with site.database.write() as session:
        usage.charge_hours(session, 4711, "digest", 1.0)
    with site.database.read() as session:
        assert usage.total_hours(session, Account.id > 0) == 0


def test_what_is_taken_back_is_not_counted(site, student):
    with contextlib.suppress(OSError), site.database.write() as session:
        usage.count_submitted(session, student.id, "digest", 1)
        raise OSError("no room")
    assert usage.usage_statistics(site, student, {"statistic": "jobs"})["total"] == 0
