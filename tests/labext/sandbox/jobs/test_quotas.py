"""Usage counted by several processes is complete."""

from __future__ import annotations

import contextlib
import subprocess
import sys

from labext.sandbox.jobs import usage
from labext.sandbox.jobs.tables import Account


def test_usage_counted_by_several_processes_is_complete(site, student):
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
    statistics = usage.usage_statistics(site, student, {"statistic": "jobs"})
    assert statistics["byTool"] == {"digest": 80}
    assert usage.usage_statistics(site, student, {})["total"] == 20


def test_removed_account_is_charged_nothing(site):
    with site.database.write() as session:
        usage.charge_hours(session, 4711, "digest", 1.0)
    with site.database.read() as session:
        assert usage.total_hours(session, Account.id > 0) == 0


def test_rolled_back_submission_is_not_counted(site, student):
    with contextlib.suppress(OSError), site.database.write() as session:
        usage.count_submitted(session, student.id, "digest", 1)
        raise OSError("no room")
    assert usage.usage_statistics(site, student, {"statistic": "jobs"})["total"] == 0
